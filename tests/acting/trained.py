"""A story with the real Trainer: one Job of a TrainJob is held, also through a suspend and a resume of the whole."""

from __future__ import annotations

from tests.acting.scene import Json, Scene, Witness, wait
from tests.controlplane.objects import PodOptions
from tests.controlplane.trainjobs import TRAINER, create_when_taken, runtime, trainjob

HELD = "run-driver-0"


def _trainjob(scene: Scene) -> Json:
    trainjob = scene.client.get(TRAINER, "TrainJob", "run", scene.namespace)
    return {**trainjob, "apiVersion": TRAINER, "kind": "TrainJob"}


def _wait_seen(scene: Scene) -> Json:
    """Return the TrainJob once gangboard shows it as the cluster has it."""

    def current() -> Json | None:
        trainjob, gang = _trainjob(scene), scene.gang("run")
        visible = (gang["uid"], gang["generation"])
        return (
            trainjob
            if visible == (trainjob["metadata"]["uid"], trainjob["metadata"]["generation"])
            else None
        )

    return wait(current, what="gangboard to see the TrainJob")


def one_of_a_trainjob(scene: Scene) -> None:
    """JobSet and Trainer both leave a held Job alone; the TrainJob itself is suspended by its own field."""
    scene.set_up()
    pods: PodOptions = {"grace": 1, "node_selector": scene.where}
    name = scene.namespace
    scene.client.create(runtime(name, node=pods, beside={"driver": pods}))
    try:
        create_when_taken(scene.client, trainjob("run", scene.namespace, name, nodes=2))
        scene.wait_running(3)
        scene.code("run", "running")
        _play(scene)
    finally:
        scene.client.delete(TRAINER, "ClusterTrainingRuntime", name)


def _play(scene: Scene) -> None:
    scene.hold("run", HELD)
    before = scene.uids("run-node-0")
    gang = scene.code("run", "job-suspended")
    assert (gang["kind"], gang["members"]["held"], gang["members"]["ready"]) == ("TrainJob", 1, 2)
    assert scene.uids("run-node-0") == before
    witness = Witness(scene.client, scene.namespace, HELD)
    with witness.watching():
        ended = scene.act("suspend", _wait_seen(scene))
        assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
        assert scene.pods() == []
        assert scene.jobset("run")["spec"]["suspend"] is True
        scene.code("run", "suspended")
        ended = scene.act("resume", _wait_seen(scene))
        assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
        scene.wait_running(2, "run-node-0")
        wait(lambda: witness.checks > 20, what="the witness to have looked often")
    assert witness.lapses == []
    scene.code("run", "job-suspended")
    scene.wait_seen("run", HELD)
    ended = scene.act("resume", {"apiVersion": "batch/v1", "kind": "Job", **scene.job(HELD)})
    assert ended["state"] == "verified", ended
    scene.wait_running(1, HELD)
    scene.code("run", "running")
    managers = {fields["manager"] for fields in scene.jobset("run")["metadata"]["managedFields"]}
    assert "gangboard" not in managers
