"""Stories with the real CronJob controller: a run is stopped, and the CronJob that creates runs.

A past last schedule time makes a run due at once, so no test waits for the clock.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.acting.scene import Json, Scene, wait
from tests.controlplane.objects import job

BATCH = "batch/v1"
FORBID = "CronJob hourly starts no other run while this one is there (concurrencyPolicy Forbid)."


def _cronjob(scene: Scene, name: str = "hourly") -> Json:
    return {"kind": "CronJob", **scene.client.get(BATCH, "CronJob", name, scene.namespace)}


def _runs(scene: Scene, of: str = "hourly") -> list[Json]:
    """Return the runs of a CronJob, the oldest first."""
    jobs = scene.client.list(BATCH, "Job", scene.namespace)
    own = [job for job in jobs if job["metadata"]["ownerReferences"][0]["name"] == of]
    return sorted(own, key=lambda job: str(job["metadata"]["creationTimestamp"]))


def _miss_some(scene: Scene, name: str = "hourly") -> None:
    """Let some runs be due: the controller counts from the time that it wrote down last."""
    past = datetime.now(UTC) - timedelta(hours=3)
    status = {"lastScheduleTime": past.strftime("%Y-%m-%dT%H:%M:%SZ")}
    scene.client.patch_status(BATCH, "CronJob", name, status, scene.namespace)


def _hourly(minutes: int) -> str:
    """Return a schedule of once an hour whose next time is so many minutes away."""
    return f"{(datetime.now(UTC) + timedelta(minutes=minutes)).minute} * * * *"


def _make(
    scene: Scene,
    name: str = "hourly",
    schedule: str = "0 * * * *",
    policy: str = "Forbid",
    cpu: str = "1",
) -> Json:
    """Return a suspended CronJob whose runs have two pods."""
    template = job("x", scene.namespace, parallelism=2, grace=1, cpu=cpu, node_selector=scene.where)
    spec = {
        "schedule": schedule,
        "concurrencyPolicy": policy,
        "suspend": True,
        "jobTemplate": {"spec": template["spec"]},
    }
    meta = {"name": name, "namespace": scene.namespace}
    return {"apiVersion": BATCH, "kind": "CronJob", "metadata": meta, "spec": spec}


def _change(scene: Scene, name: str, **spec: Any) -> None:
    scene.client.patch(BATCH, "CronJob", name, {"spec": spec}, scene.namespace)


def _start(scene: Scene, name: str = "hourly") -> Json:
    """Let a run begin at once; return it."""
    _miss_some(scene, name)
    _change(scene, name, suspend=False)
    (run,) = wait(lambda: _runs(scene, name), what=f"a run of {name}")
    return {"apiVersion": BATCH, "kind": "Job", **run}


def _wait_seen(scene: Scene, run: str, obj: Json) -> Json:
    """Return the gang of a run once gangboard shows the cluster's version of an object."""
    expected = (obj["metadata"]["uid"], obj["metadata"]["generation"])

    def current() -> Json | None:
        gang = scene.gang(run)
        visible = [(row["uid"], row["generation"]) for row in (gang, gang["maker"]) if row]
        return gang if expected in visible else None

    return wait(current, what=f"gangboard to show {obj['kind']} {obj['metadata']['name']}")


def runs(scene: Scene) -> None:
    """A run is suspended and stays so. Its CronJob is suspended, and the existing run goes on."""
    scene.set_up(_make(scene))
    run = _start(scene)
    name = run["metadata"]["name"]
    scene.wait_running(2)
    visible = scene.code(name, "running")
    assert (visible["kind"], visible["members"]["desired"]) == ("Job", 2)

    visible = _wait_seen(scene, name, _cronjob(scene))
    assert visible["maker"]["sentence"] == "CronJob hourly starts a run by its schedule, 0 * * * *."
    gangs = scene.installation.gangs(cluster=scene.cluster, namespace=scene.namespace)
    assert [gang["name"] for gang in gangs] == [name], "the run is the gang, the CronJob is none"

    run = {"apiVersion": BATCH, "kind": "Job", **scene.job(name)}
    _wait_seen(scene, name, run)
    assert FORBID in scene.dry_run("suspend", run)["reactions"]
    ended = scene.act("suspend", run)
    assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
    assert scene.pods() == []
    scene.code(name, "suspended")

    # A suspend and a resume of the CronJob do not change a suspended run.
    ended = scene.act("suspend", _cronjob(scene))
    assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
    assert ended["message"] == "CronJob hourly is suspended and stays so."
    assert _cronjob(scene)["spec"]["suspend"] is True
    sentences = "CronJob hourly (0 * * * *) is suspended: it starts no further run."
    assert _wait_seen(scene, name, _cronjob(scene))["maker"]["sentence"] == sentences
    resumed = {"apiVersion": BATCH, "kind": "Job", **scene.job(name)}
    _wait_seen(scene, name, resumed)
    ended = scene.act("resume", resumed)
    assert ended["state"] == "verified", ended
    scene.wait_running(2)
    scene.code(name, "running")

    # The resume warns that a missed run starts at once.
    _change(scene, "hourly", concurrencyPolicy="Allow")
    scene.client.delete(BATCH, "Job", name, scene.namespace)
    _miss_some(scene)
    cronjob = _cronjob(scene)
    ended = scene.act("resume", cronjob)
    assert ended["state"] == "verified", ended
    assert ended["message"] == "CronJob hourly was resumed and stays so."
    wait(
        lambda: [
            other_run
            for other_run in _runs(scene)
            if other_run["metadata"]["uid"] != run["metadata"]["uid"]
        ],
        what="the run that was missed",
    )


def _run_after(scene: Scene, of: str, first: Json) -> Json:
    """Return the next run of a CronJob once it exists."""
    uid = first["metadata"]["uid"]

    def look() -> Json | None:
        gang = [one for one in _runs(scene, of) if one["metadata"]["uid"] != uid]
        return gang[-1] if gang else None

    return wait(look, what=f"the next run of {of}")


def next_runs(scene: Scene) -> None:
    """The next run behaves as predicted while another run is suspended."""
    policies = ("Replace", "Allow")
    names = {policy: policy.lower() for policy in policies}
    last_schedule = _hourly(40)
    scene.set_up(*(_make(scene, names[policy], last_schedule, policy) for policy in policies))
    first = {}
    for policy, name in names.items():
        first[policy] = _start(scene, name)
    scene.wait_running(4)
    sentences = {
        "Replace": (
            "At its next time CronJob replace deletes this run and starts another (concurrencyPolicy "
            "Replace); suspend that as well to keep this one."
        ),
        "Allow": (
            "CronJob allow starts its next run all the same; suspend that as well to stop it."
        ),
    }
    for policy, run in first.items():
        name = run["metadata"]["name"]
        run = {"apiVersion": BATCH, "kind": "Job", **scene.job(name)}
        _wait_seen(scene, name, run)
        assert sentences[policy] in scene.dry_run("suspend", run)["reactions"]
        ended = scene.act("suspend", run)
        assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
        scene.code(name, "suspended")

    # Its next time has come: another minute of the hour, so that the run has another name.
    for name in names.values():
        _change(scene, name, schedule=_hourly(20))
        _miss_some(scene, name)
    for policy, name in names.items():
        second = _run_after(scene, name, first[policy])
        scene.code(second["metadata"]["name"], "running")
        remaining = first[policy]["metadata"]["uid"] in {
            job["metadata"]["uid"] for job in _runs(scene, name)
        }
        assert remaining is (policy == "Allow"), policy
    scene.code(first["Allow"]["metadata"]["name"], "suspended")


def run_waits(scene: Scene) -> None:
    """A run without a fitting node has its own verdict, while its twin runs. A suspended CronJob
    starts no run."""
    scene.set_up(
        _make(scene, "large", cpu="65"), _make(scene, "small"), _make(scene, "off"), cpu="64"
    )
    _miss_some(scene, "off")
    large, small = _start(scene, "large"), _start(scene, "small")
    unplaced = scene.code(large["metadata"]["name"], "no-matching-node")
    assert (unplaced["health"], unplaced["members"]["scheduled"]) == ("blocked", 0)
    assert unplaced["maker"]["name"] == "large"
    assert scene.code(small["metadata"]["name"], "running")["maker"]["name"] == "small"
    gangs = scene.installation.gangs(cluster=scene.cluster, namespace=scene.namespace)
    names = {large["metadata"]["name"], small["metadata"]["name"]}
    assert {gang["name"] for gang in gangs} == names, "who is suspended makes no gang"
    assert _runs(scene, "off") == []
