"""Stories with the real CronJob controller: a run is stopped, and the CronJob that makes runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.acting.scene import Json, Scene, wait
from tests.controlplane.objects import job

BATCH = "batch/v1"
FORBID = "CronJob hourly starts no other run while this one is there (concurrencyPolicy Forbid)."


def _cronjob(scene: Scene) -> Json:
    return {"kind": "CronJob", **scene.client.get(BATCH, "CronJob", "hourly", scene.namespace)}


def _runs(scene: Scene) -> list[Json]:
    found = scene.client.list(BATCH, "Job", scene.namespace)
    return sorted(found, key=lambda one: str(one["metadata"]["creationTimestamp"]))


def _miss_some(scene: Scene) -> None:
    """Let some runs be due: the controller counts from the time that it wrote down last."""
    past = datetime.now(UTC) - timedelta(hours=3)
    status = {"lastScheduleTime": past.strftime("%Y-%m-%dT%H:%M:%SZ")}
    scene.client.patch_status(BATCH, "CronJob", "hourly", status, scene.namespace)


def _seen(scene: Scene, run: str, obj: Json) -> Json:
    """Return the gang of a run once gangboard shows an object of it as the cluster has it."""
    wanted = (obj["metadata"]["uid"], obj["metadata"]["generation"])

    def look() -> Json | None:
        found = scene.gang(run)
        shown = [(one["uid"], one["generation"]) for one in (found, found["maker"]) if one]
        return found if wanted in shown else None

    return wait(look, what=f"gangboard to show {obj['kind']} {obj['metadata']['name']}")


def runs(scene: Scene) -> None:
    """A run is suspended and stays so; its CronJob is suspended, and the run that is there goes on."""
    template = job("x", scene.namespace, parallelism=2, grace=1, node_selector=scene.where)
    spec = {
        "schedule": "0 * * * *",
        "concurrencyPolicy": "Forbid",
        "suspend": True,
        "jobTemplate": {"spec": template["spec"]},
    }
    meta = {"name": "hourly", "namespace": scene.namespace}
    made = {"apiVersion": BATCH, "kind": "CronJob", "metadata": meta, "spec": spec}
    scene.set_up(made)
    _miss_some(scene)
    scene.client.patch(BATCH, "CronJob", "hourly", {"spec": {"suspend": False}}, scene.namespace)
    (run,) = wait(lambda: _runs(scene), what="a run")
    name = run["metadata"]["name"]
    scene.wait_running(2)
    shown = scene.code(name, "running")
    assert (shown["kind"], shown["members"]["desired"]) == ("Job", 2)

    shown = _seen(scene, name, _cronjob(scene))
    assert shown["maker"]["sentence"] == "CronJob hourly starts a run by its schedule, 0 * * * *."
    gangs = scene.installation.gangs(cluster=scene.cluster, namespace=scene.namespace)
    assert [gang["name"] for gang in gangs] == [name], "the run is the gang, the CronJob is none"

    run = {"apiVersion": BATCH, "kind": "Job", **scene.job(name)}
    _seen(scene, name, run)
    assert FORBID in scene.dry_run("suspend", run)["reactions"]
    ended = scene.act("suspend", run)
    assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
    assert scene.pods() == []
    scene.code(name, "suspended")

    # Its own suspension, and its resume while a run is suspended, change nothing of that run.
    ended = scene.act("suspend", _cronjob(scene))
    assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
    assert ended["message"] == "CronJob hourly is suspended and stays so."
    assert _cronjob(scene)["spec"]["suspend"] is True
    said = "CronJob hourly (0 * * * *) is suspended: it starts no further run."
    assert _seen(scene, name, _cronjob(scene))["maker"]["sentence"] == said
    resumed = {"apiVersion": BATCH, "kind": "Job", **scene.job(name)}
    _seen(scene, name, resumed)
    ended = scene.act("resume", resumed)
    assert ended["state"] == "verified", ended
    scene.wait_running(2)
    scene.code(name, "running")

    # What it says of a resume: a run that was missed is started at once.
    scene.client.patch(
        BATCH, "CronJob", "hourly", {"spec": {"concurrencyPolicy": "Allow"}}, scene.namespace
    )
    scene.client.delete(BATCH, "Job", name, scene.namespace)
    _miss_some(scene)
    cronjob = _cronjob(scene)
    ended = scene.act("resume", cronjob)
    assert ended["state"] == "verified", ended
    assert ended["message"] == "CronJob hourly was resumed and stays so."
    wait(
        lambda: [one for one in _runs(scene) if one["metadata"]["uid"] != run["metadata"]["uid"]],
        what="the run that was missed",
    )
