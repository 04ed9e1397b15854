"""Stories with the real operators of kubeflow.org: jobs are suspended and resumed by their run policy."""

from __future__ import annotations

from tests.acting.scene import Json, Scene, wait
from tests.controlplane.kubeflow import kubeflow_job, replicas, version_of


def _wait_seen(scene: Scene, kind: str) -> Json:
    """Return the job once gangboard shows it as the cluster has it."""

    def current() -> Json | None:
        obj = scene.client.get(version_of(kind), kind, "run", scene.namespace)
        gang, meta = scene.gang("run"), obj["metadata"]
        if (gang["uid"], gang["generation"]) != (meta["uid"], meta["generation"]):
            return None
        return {**obj, "apiVersion": version_of(kind), "kind": kind}

    return wait(current, what=f"gangboard to see the {kind}")


def _stopped_and_started(scene: Scene, kind: str) -> None:
    for verb, code in (("suspend", "suspended"), ("resume", "running")):
        ended = scene.act(verb, _wait_seen(scene, kind))
        assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
        assert ended["after"] == {"spec.runPolicy.suspend": str(verb == "suspend").lower()}
        if verb == "suspend":
            assert scene.pods() == []
        scene.code("run", code)


def training_job(scene: Scene) -> None:
    """Its pods and Services are deleted, and all of them return."""
    scene.set_up()
    pods = {role: replicas(number, grace=1) for role, number in (("Master", 1), ("Worker", 2))}
    manifest = kubeflow_job("PyTorchJob", "run", scene.namespace, pods, where=scene.where)
    scene.client.create(manifest)
    scene.wait_running(3)
    scene.code("run", "running")
    _stopped_and_started(scene, "PyTorchJob")
    scene.wait_running(3)


def launcher_and_workers(scene: Scene) -> None:
    """The Job of the launcher stays and is suspended with it; alone it is refused."""
    scene.set_up()
    pods = {role: replicas(number, grace=1) for role, number in (("Launcher", 1), ("Worker", 2))}
    scene.client.create(kubeflow_job("MPIJob", "run", scene.namespace, pods, where=scene.where))
    scene.wait_running(3)
    scene.code("run", "running")
    before = scene.job("run-launcher")
    scene.wait_seen("run", "run-launcher")
    ended = scene.act(
        "suspend", {"apiVersion": "batch/v1", "kind": "Job", **scene.job("run-launcher")}
    )
    assert (ended["state"], ended["steps"]) == ("refused", []), ended
    assert "starts everything that runs on the workers" in ended["message"]
    _stopped_and_started(scene, "MPIJob")
    scene.wait_running(3)
    assert scene.job("run-launcher")["metadata"]["uid"] == before["metadata"]["uid"]
