"""Reactions of the controllers to a suspension, a Hold and a failure, on both servers."""

from __future__ import annotations

import time

from tests.contract.site import Site
from tests.controlplane.client import Json, wait
from tests.controlplane.objects import JOBSET, job, jobset

BATCH = "batch/v1"
HOLD = "gangboard.dev/v1alpha1"
CHILD = "run-workers-1"


def _run(site: Site, *, max_restarts: int | None = None, backoff: int = 0) -> Json:
    """Make a JobSet of a driver and two Jobs of two workers, and wait until all of it runs."""
    jobs = {
        "driver": {},
        "workers": {"replicas": 2, "pods": 2, "gpu": 1, "grace": 1, "backoff_limit": backoff},
    }
    created = jobset("run", site.namespace, jobs=jobs, max_restarts=max_restarts)  # type: ignore[arg-type]
    site.client.create(created)
    return _settled(site)


def _settled(site: Site, ready: int = 3) -> Json:
    return site.client.wait_for(
        JOBSET, "JobSet", "run", site.namespace, until=lambda result: _ready(result) == ready
    )


def _ready(obj: Json) -> int:
    return sum(row["ready"] for row in obj.get("status", {}).get("replicatedJobsStatus", []))


def _row(obj: Json, name: str = "workers") -> Json:
    rows = {row["name"]: row for row in obj["status"]["replicatedJobsStatus"]}
    found_row: Json = rows[name]
    return found_row


def _child(site: Site, name: str = CHILD) -> Json:
    return site.client.get(BATCH, "Job", name, site.namespace)


def _pods(site: Site, job_name: str = CHILD) -> list[Json]:
    result = site.client.list("v1", "Pod", site.namespace, labels=f"job-name={job_name}")
    return [item for item in result if "deletionTimestamp" not in item["metadata"]]


def _texts(site: Site, job_name: str) -> list[str]:
    return sorted(
        condition["message"]
        for item in _pods(site, job_name)
        for condition in item["status"].get("conditions", [])
    )


def _uids(pods: list[Json]) -> set[str]:
    return {item["metadata"]["uid"] for item in pods}


def _suspend(site: Site, value: bool, *, dry_run: bool = False) -> Json:
    body = {"spec": {"suspend": value}}
    return site.client.patch(
        BATCH, "Job", CHILD, body, site.namespace, dry_run=dry_run, field_manager="contract"
    )


def _hold(site: Site) -> Json:
    owner = _child(site)["metadata"]["ownerReferences"][0]
    created = {
        "apiVersion": HOLD,
        "kind": "Hold",
        "metadata": {"name": CHILD, "namespace": site.namespace, "ownerReferences": [owner]},
        "spec": {"jobName": CHILD, "ownerUID": owner["uid"], "by": "ada", "reason": "looking"},
    }
    return site.client.create(created)


def test_a_job_is_suspended_and_resumed(site: Site) -> None:
    site.client.create(job("train", site.namespace, parallelism=2, gpu=1, gang=2, grace=1))
    running = site.client.wait_for(
        BATCH, "Job", "train", site.namespace, until=lambda j: j["status"].get("ready") == 2
    )
    first = _uids(_pods(site, "train"))
    body = {"spec": {"suspend": True}}
    site.client.patch(BATCH, "Job", "train", body, site.namespace)
    stopped = site.client.wait_for(
        BATCH, "Job", "train", site.namespace, until=lambda j: j["status"].get("conditions")
    )
    condition = stopped["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("Suspended", "True")
    assert (condition["reason"], condition["message"]) == ("JobSuspended", "Job suspended")
    assert "active" not in stopped["status"]
    assert "startTime" not in stopped["status"]
    assert running["metadata"]["generation"] + 1 == stopped["metadata"]["generation"]
    wait(lambda: not _pods(site, "train"), what="pods to go")
    site.client.patch(BATCH, "Job", "train", {"spec": {"suspend": False}}, site.namespace)
    resumed = site.client.wait_for(
        BATCH, "Job", "train", site.namespace, until=lambda j: j["status"].get("ready") == 2
    )
    condition = resumed["status"]["conditions"][0]
    assert (condition["status"], condition["reason"]) == ("False", "JobResumed")
    assert not first & _uids(_pods(site, "train"))
    groups = site.client.list("scheduling.k8s.io/v1beta1", "PodGroup", site.namespace)
    assert [group["status"]["conditions"][0]["reason"] for group in groups] == ["Scheduled"]


def test_an_unplaceable_gang_is_refused_with_the_scheduler_text(site: Site) -> None:
    site.client.create(job("big", site.namespace, parallelism=6, gpu=4, gang=6))
    group = wait(
        lambda: next(
            (
                result
                for result in site.client.list(
                    "scheduling.k8s.io/v1beta1", "PodGroup", site.namespace
                )
                # Its first look may come before those of the last test have left.
                if "4 scheduled, 1 remaining" in str(result["status"])
            ),
            None,
        ),
        what="the group's condition",
    )
    condition = group["status"]["conditions"][0]
    assert condition["type"] == "PodGroupInitiallyScheduled"
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    status = (
        "0/1 placements are available, first placement status: minCount (6) cannot be satisfied: "
        "4 scheduled, 1 remaining"
    )
    tail = ", pod group preemption: No preemption victims found for incoming preemptor"
    assert condition["message"] == f"pod group is unschedulable, {status}{tail}"
    double = f"pod group is unschedulable, pod group is unschedulable, {status}{tail}"
    single = f"pod group is unschedulable, {status}"
    own = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
    expected = sorted([own, single, double, double, double, double])
    wait(lambda: _texts(site, "big") == expected, what="its pods' texts")


def test_a_suspended_child_job_is_resumed_by_jobset_and_loses_its_pods(site: Site) -> None:
    _run(site)
    before, pods = _child(site), _uids(_pods(site))
    siblings = _uids(_pods(site, "run-workers-0"))
    patched = _suspend(site, True)
    assert patched["spec"]["suspend"] is True
    reverted = site.client.wait_for(
        BATCH, "Job", CHILD, site.namespace, until=lambda j: not j["spec"]["suspend"], timeout=5
    )
    assert reverted["metadata"]["generation"] == before["metadata"]["generation"] + 2
    owners = [
        entry["manager"]
        for entry in reverted["metadata"]["managedFields"]
        if "f:suspend" in entry["fieldsV1"].get("f:spec", {})
    ]
    assert owners == ["jobset"]
    wait(lambda: len(_pods(site)) == 2 and not pods & _uids(_pods(site)), what="other pods")
    _settled(site)
    assert _uids(_pods(site, "run-workers-0")) == siblings


def test_a_whole_jobset_is_suspended_and_resumed(site: Site) -> None:
    _run(site)
    site.client.patch(JOBSET, "JobSet", "run", {"spec": {"suspend": True}}, site.namespace)
    stopped = site.client.wait_for(
        JOBSET,
        "JobSet",
        "run",
        site.namespace,
        until=lambda found: (
            sum(r["suspended"] for r in found["status"]["replicatedJobsStatus"]) == 3
        ),
    )
    condition = stopped["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("Suspended", "True")
    assert (condition["reason"], condition["message"]) == ("SuspendedJobs", "jobset is suspended")
    wait(lambda: not _pods(site), what="pods to go")
    site.client.patch(JOBSET, "JobSet", "run", {"spec": {"suspend": False}}, site.namespace)
    resumed = site.client.wait_for(
        JOBSET,
        "JobSet",
        "run",
        site.namespace,
        until=lambda result: (
            _ready(result) == 3 and result["status"]["conditions"][0]["status"] == "False"
        ),
    )
    condition = resumed["status"]["conditions"][0]
    assert (condition["reason"], condition["message"]) == ("ResumeJobs", "jobset is resumed")


def test_a_hold_is_proved_holds_and_is_released(site: Site) -> None:
    _run(site)
    siblings = _uids(_pods(site, "run-workers-0"))
    assert _suspend(site, False, dry_run=True)["spec"]["suspend"] is False
    _hold(site)
    wait(lambda: _suspend(site, False, dry_run=True)["spec"]["suspend"], what="the proof")
    _suspend(site, True)
    wait(lambda: not _pods(site), what="pods to go")
    site.client.wait_for(
        JOBSET,
        "JobSet",
        "run",
        site.namespace,
        until=lambda result: (_row(result)["suspended"], _row(result)["ready"]) == (1, 1),
    )
    time.sleep(1)
    held = _child(site)
    assert held["spec"]["suspend"] is True
    assert held["metadata"]["annotations"]["gangboard.dev/held-by"] == CHILD
    version = held["metadata"]["resourceVersion"]
    time.sleep(1)
    assert _child(site)["metadata"]["resourceVersion"] == version
    turned_back = _suspend(site, False)
    assert turned_back["spec"]["suspend"] is True
    assert _uids(_pods(site, "run-workers-0")) == siblings
    site.client.delete(HOLD, "Hold", CHILD, site.namespace)
    wait(lambda: not _suspend(site, False, dry_run=True)["spec"]["suspend"], what="the release")
    _suspend(site, False)
    _settled(site)


def test_a_hold_survives_a_restart_of_the_jobset(site: Site) -> None:
    _run(site, max_restarts=3)
    _hold(site)
    wait(lambda: _suspend(site, False, dry_run=True)["spec"]["suspend"], what="the proof")
    _suspend(site, True)
    wait(lambda: not _pods(site), what="pods to go")
    before = _child(site)["metadata"]["uid"]
    site.fail_pod(_pods(site, "run-workers-0")[0])
    born = site.client.wait_for(
        BATCH,
        "Job",
        CHILD,
        site.namespace,
        until=lambda result: result["metadata"]["uid"] != before,
    )
    assert born["spec"]["suspend"] is True
    assert _pods(site) == []
    site.client.delete(HOLD, "Hold", CHILD, site.namespace)


def test_a_failure_restarts_the_jobset_with_the_same_names(site: Site) -> None:
    _run(site, max_restarts=1)
    before = {name: _child(site, name)["metadata"]["uid"] for name in ("run-driver-0", CHILD)}
    site.fail_pod(_pods(site)[0])
    site.client.wait_for(
        JOBSET,
        "JobSet",
        "run",
        site.namespace,
        until=lambda result: result["status"].get("restarts") == 1,
    )
    restarted = site.client.wait_for(
        JOBSET,
        "JobSet",
        "run",
        site.namespace,
        until=lambda result: (
            _ready(result) == 3 and result["status"]["conditions"][0]["status"] == "False"
        ),
    )
    condition = restarted["status"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("RestartingJobSet", "JobsReady")
    assert restarted["status"]["restartsCountTowardsMax"] == 1
    for name, uid in before.items():
        recreated = _child(site, name)
        assert recreated["metadata"]["uid"] != uid
        assert recreated["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1"
    site.fail_pod(_pods(site)[0])
    failed = site.client.wait_for(
        JOBSET,
        "JobSet",
        "run",
        site.namespace,
        until=lambda result: result["status"].get("terminalState") == "Failed",
    )
    conditions = {c["type"]: c for c in failed["status"]["conditions"]}
    assert conditions["RestartingJobSet"]["reason"] == "JobSetFailed"
    assert conditions["Failed"]["reason"] == "ReachedMaxRestarts"
    assert conditions["Failed"]["message"] == (
        f"jobset failed due to reaching max number of restarts (first failed job: {CHILD})"
    )


def test_objects_of_a_jobset_are_deleted_with_it(site: Site) -> None:
    _run(site)
    _hold(site)
    site.client.delete(JOBSET, "JobSet", "run", site.namespace)
    for kind, version in (("Job", BATCH), ("Hold", HOLD), ("Pod", "v1")):
        wait(
            lambda kind=kind, version=version: not site.client.list(version, kind, site.namespace),  # type: ignore[misc]
            timeout=60,
            what=f"{kind}s to go",
        )
