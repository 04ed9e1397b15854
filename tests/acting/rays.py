"""A story with the real KubeRay: its objects are suspended by their own fields, or refused with the
reason."""

from __future__ import annotations

from tests.acting.scene import Json, Scene, wait
from tests.controlplane.rays import RAY, cluster_spec, ray_pods, raycluster, rayjob, rayservice

KINDS = {"run": "RayJob", "kept": "RayJob", "pool": "RayCluster", "serve": "RayService"}


def suspended_and_resumed(scene: Scene) -> None:
    """A RayJob gets another RayCluster, a RayCluster other pods. Objects that KubeRay would not
    suspend are refused."""
    scene.set_up()
    _make(scene)
    # A head and a worker each, and for the RayJobs the pods that submit their work.
    scene.wait_running(10)
    for name in ("run", "kept", "pool"):
        scene.code(name, "running")
    _refused(scene)
    _rayjob(scene)
    _raycluster(scene)


def _make(scene: Scene) -> None:
    def template(name: str = "ray", restart_policy: str = "") -> Json:
        return ray_pods("100m", on=scene.where, name=name, restart_policy=restart_policy)

    spec = cluster_spec(template(), template(), workers=1)
    submitter = template("ray-job-submitter", "Never")
    namespace = scene.namespace
    scene.client.create(rayjob("run", namespace, spec, submitter))
    scene.client.create(rayjob("kept", namespace, spec, submitter, shutdownAfterJobFinishes=False))
    scene.client.create(raycluster("pool", namespace, spec))
    scene.client.create(rayservice("serve", namespace, spec))


def _object(scene: Scene, name: str) -> Json:
    """Return one of them once gangboard shows it as the cluster has it."""
    kind = KINDS[name]

    def current() -> Json | None:
        obj = scene.client.get(RAY, kind, name, scene.namespace)
        gang = scene.gang(name)
        meta = obj["metadata"]
        is_seen = (gang["uid"], gang["generation"]) == (meta["uid"], meta["generation"])
        return {**obj, "apiVersion": RAY, "kind": kind} if is_seen else None

    return wait(current, what=f"gangboard to see {kind} {name}")


def _refused(scene: Scene) -> None:
    action = scene.act("suspend", _object(scene, "kept"))
    assert action["state"] == "refused", action
    assert action["message"] == (
        "RayJob kept has spec.shutdownAfterJobFinishes false, and KubeRay suspends no such RayJob: its "
        "pods would run on, and nobody would look after it."
    )
    served = scene.act("suspend", _object(scene, "serve"))
    assert served["state"] == "refused", served
    assert served["message"] == (
        "KubeRay v1.6.2 looks after RayService serve: RayServices can be suspended since v1.7."
    )


def _rayjob(scene: Scene) -> None:
    def clusters() -> list[str]:
        listed = scene.client.list(RAY, "RayCluster", scene.namespace)
        return [
            cluster["metadata"]["uid"]
            for cluster in listed
            if cluster["metadata"]["name"].startswith("run-")
        ]

    before = clusters()
    ended = scene.act("suspend", _object(scene, "run"))
    assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
    obj = scene.client.get(RAY, "RayJob", "run", scene.namespace)
    assert obj["status"]["jobDeploymentStatus"] == "Suspended"
    assert clusters() == []
    scene.code("run", "suspended")
    ended = scene.act("resume", _object(scene, "run"))
    assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
    scene.code("run", "running")
    assert len(clusters()) == 1
    assert clusters() != before


def _raycluster(scene: Scene) -> None:
    ended = scene.act("suspend", _object(scene, "pool"))
    assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
    obj = scene.client.get(RAY, "RayCluster", "pool", scene.namespace)
    conditions = {
        condition["type"]: condition["status"] for condition in obj["status"]["conditions"]
    }
    assert (conditions["RayClusterSuspended"], conditions["RayClusterSuspending"]) == (
        "True",
        "False",
    )
    assert not [
        condition for condition in scene.pods() if condition["metadata"]["name"].startswith("pool-")
    ]
    scene.code("pool", "suspended")
    ended = scene.act("resume", _object(scene, "pool"))
    assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
    scene.code("pool", "running")
