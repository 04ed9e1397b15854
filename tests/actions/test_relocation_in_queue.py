"""Relocating a Job that a queue admits, by its queue entry, on a simulated cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gangboard.actions import relocation
from gangboard.actions.sweeper import Sweeper
from gangboard.actions.verify import relocated
from gangboard.domain.action import Avoid
from gangboard.store.models import Action, Cluster, Grant, LeverRecord
from simulator.fleet_spec import Fleet, Gang, NodePool, QueueSpec, Role
from simulator.kueue import KueueController
from simulator.manifests import PodTemplate
from tests.actions.conftest import FLEET
from tests.actions.site import NAMESPACE, Killed, Site, played
from tests.actions.test_relocation import nodes_of, relocate, terms, wait_running

Json = dict[str, Any]
JOB, RIVAL = "queued", "rival"
WORKLOADS = "kueue.x-k8s.io/v1beta2"
HOST = "kubernetes.io/hostname"
GPUS = PodTemplate(cpu="1", gpus=2, pool="gpu", grace=1)
IN_QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def fleet(*, quota: int = 8, rivals: int = 0) -> Fleet:
    """Return the fleet of the room with a queue, an admitted Job of 4 GPUs, and Jobs of 8 GPUs that wait."""
    waiting = tuple(
        Gang(
            NAMESPACE,
            "Job",
            f"{RIVAL}-{index}",
            "waiting-for-quota",
            age="1h",
            suspended=True,
            labels=IN_QUEUE,
            roles=(Role("", GPUS, pods=quota // 2, states=("absent",)),),
        )
        for index in range(rivals)
    )
    queued = Gang(
        NAMESPACE, "Job", JOB, "running", labels=IN_QUEUE, roles=(Role("", GPUS, pods=2),)
    )
    return replace(
        FLEET,
        pools=(*FLEET.pools, NodePool("gpu", 3, gpus=8)),
        gangs=(*FLEET.gangs, queued, *waiting),
        queues=(QueueSpec("team", {"gpu": quota}, (NAMESPACE,), "all"),),
    )


@pytest.fixture
def site(start: Callable[..., Site]) -> Site:
    """A cluster with the admitted Job, and quota for it at any time."""
    return start(fleet=fleet())


def workload(site: Site, job: str = JOB) -> Json:
    uid = site.job(job)["metadata"]["uid"]
    return next(
        entry
        for entry in site.simulator.objects.list(WORKLOADS, "Workload", NAMESPACE)
        if entry["metadata"]["ownerReferences"][0]["uid"] == uid
    )


def is_admitted(site: Site, job: str = JOB) -> bool:
    conditions = workload(site, job)["status"]["conditions"]
    return {entry["type"]: entry["status"] for entry in conditions}.get("Admitted") == "True"


def set_active(site: Site, active: bool) -> None:
    """Let another client deactivate or activate the entry."""
    name = workload(site)["metadata"]["name"]
    site.simulator.objects.update(
        WORKLOADS, "Workload", name, lambda obj: obj["spec"].update(active=active), NAMESPACE
    )


def wait_for(check: Callable[[], bool], what: str) -> None:
    ends_at = time.monotonic() + 10
    while not check():
        assert time.monotonic() < ends_at, what
        time.sleep(0.05)


def play(site: Site, when: str, do: Callable[[], object]) -> Action:
    avoid = Avoid(tuple(nodes_of(site, JOB)))
    return played(site, when, do, verb="relocate", name=JOB, avoid=avoid)


def runs_as_before(site: Site) -> None:
    """Check that the entry is active, and that the Job runs without an exclusion."""
    assert workload(site)["spec"]["active"] is True
    assert terms(site.job(JOB)) == []
    wait_running(site, JOB)
    assert is_admitted(site)


def test_a_job_in_a_queue_moves_through_its_entry(site: Site) -> None:
    (before,) = nodes_of(site, JOB)
    pods, uid = site.uids(JOB), site.job(JOB)["metadata"]["uid"]
    action = relocate(site, name=JOB)
    assert (action.state, action.lever) == ("verified", "kueue-exclusion"), action.message
    (after,) = nodes_of(site, JOB)
    assert after != before
    assert action.message == f"Job {JOB} was on {before}, runs on {after} now."
    assert site.job(JOB)["metadata"]["uid"] == uid
    assert not site.uids(JOB) & pods
    assert terms(site.job(JOB)) == [
        {"matchExpressions": [{"key": HOST, "operator": "NotIn", "values": [before]}]}
    ]
    note = site.job(JOB)["metadata"]["annotations"]["gangboard.dev/exclusion"]
    assert json.loads(note) == {"key": HOST, "values": [before]}
    kinds = [step.kind for step in action.steps.all()]
    assert kinds == ["patch", "wait-stopped", "exclude", "restart"]
    assert {step.state for step in action.steps.all()} == {"done"}
    assert LeverRecord.objects.get(lever="exclusion").proved_at is not None


def test_gangboard_never_writes_the_suspend_field_of_a_job_in_a_queue(site: Site) -> None:
    relocate(site, name=JOB)
    (write,) = site.wire.writes("patch", "jobs")
    assert "suspend" not in {
        operation["path"].rpartition("/")[2]
        for operation in json.loads(write.body)
        if operation["op"] != "test"
    }
    written = [json.loads(write.body) for write in site.wire.writes("patch", "workloads")]
    values = [
        operation["value"]
        for body in written
        for operation in body
        if operation["path"] == "/spec/active"
    ]
    assert values == [False, True]


def test_an_exclusion_is_removed_by_a_further_relocation(site: Site) -> None:
    assert relocate(site, name=JOB).state == "verified"
    wait_running(site, JOB)
    action = site.act("relocate", JOB, avoid=Avoid())
    assert (action.state, action.lever) == ("verified", "kueue-exclusion"), action.message
    assert terms(site.job(JOB)) == []
    assert "gangboard.dev/exclusion" not in site.job(JOB)["metadata"]["annotations"]


def test_a_resume_of_the_entry_removes_the_exclusion(site: Site) -> None:
    assert relocate(site, name=JOB).state == "verified"
    site.poll()
    assert site.act(name=JOB).state == "verified"
    site.poll()
    action = site.act("resume", JOB)
    assert (action.state, action.lever) == ("verified", "kueue-active"), action.message
    assert any("may run on node" in text for text in action.reactions)
    assert terms(site.job(JOB)) == []


def test_waiting_entries_are_counted_before_the_click(start: Callable[..., Site]) -> None:
    site = start(fleet=fleet(rivals=2))
    action_id = site.request("relocate", JOB, avoid=Avoid(tuple(nodes_of(site, JOB))))
    site.engine().advance(action_id)
    warnings = Action.objects.get(pk=action_id).warnings
    assert any("2 waiting Workloads could be admitted before it" in text for text in warnings)


def test_a_job_that_others_overtake_is_never_called_done(
    start: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rival needs the whole quota, so the Job waits until the rival ends."""
    monkeypatch.setattr(relocated, "LONG_PAUSE", 30.0)
    site = start(fleet=fleet(rivals=1))
    (before,) = nodes_of(site, JOB)
    seen: list[str] = []
    action_id = site.request("relocate", JOB, avoid=Avoid((before,)))
    action = site.engine(checkpoint=seen.append).finish(action_id, seconds=4000)
    assert action.state == "failed", action.message
    assert "has not run again within 10 min" in action.message
    assert "it waits in queue team, not admitted yet" in action.message
    assert f"it starts outside node {before} when its queue admits it" in action.message
    assert "verified:before-writing" not in seen
    assert workload(site)["spec"]["active"] is True
    assert is_admitted(site, f"{RIVAL}-0")
    assert not is_admitted(site)
    name = workload(site, f"{RIVAL}-0")["metadata"]["name"]
    site.simulator.objects.update(
        WORKLOADS, "Workload", name, lambda obj: obj["spec"].update(active=False), NAMESPACE
    )
    wait_for(lambda: is_admitted(site), "the Job to be admitted")
    wait_running(site, JOB)
    assert before not in nodes_of(site, JOB)


def test_an_entry_that_its_queue_gives_up_ends_it(
    start: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = start(fleet=fleet(rivals=1))

    def give_up() -> None:
        monkeypatch.setattr(KueueController, "_reconcile_all", lambda _self: None)
        reason = "DeactivatedDueToRequeuingLimitExceeded"
        conditions = [
            {"type": "Evicted", "status": "True", "reason": reason, "message": "too often"},
            {"type": "Requeued", "status": "False", "reason": reason, "message": "too often"},
        ]
        site.simulator.objects.update(
            WORKLOADS,
            "Workload",
            workload(site)["metadata"]["name"],
            lambda obj: obj["status"].update(conditions=conditions),
            NAMESPACE,
        )

    action = play(site, "applied:written", give_up)
    assert action.state == "failed", action.message
    assert "Its queue does not admit Workload" in action.message
    assert "so that Kueue creates a new one" in action.message


def test_a_deleted_entry_is_said(
    start: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relocated, "LONG_PAUSE", 30.0)
    site = start(fleet=fleet(rivals=1))
    name = workload(site)["metadata"]["name"]

    def delete() -> None:
        site.simulator.objects.delete(WORKLOADS, "Workload", name, NAMESPACE)

    action = play(site, "applied:written", delete)
    assert action.state == "failed", action.message
    assert f"it waits for a new queue entry, because Workload {name} was deleted" in action.message


def test_an_entry_that_is_deleted_before_the_exclusion_ends_it(site: Site) -> None:
    name = workload(site)["metadata"]["name"]
    action = play(
        site,
        "patch:recorded",
        lambda: site.simulator.objects.delete(WORKLOADS, "Workload", name, NAMESPACE),
    )
    assert action.state == "gone", action.message
    assert f"Workload {name} was deleted meanwhile" in action.message
    assert terms(site.job(JOB)) == []


BOUNDARIES = [
    "claimed",
    "check:before-writing",
    "check:written",
    "rehearsal:answered",
    "patch:before-writing",
    "patch:about-to-send",
    "patch:answered",
    "patch:recorded",
    "wait-stopped:recorded",
    "exclude:rehearsal",
    "exclude:before-writing",
    "exclude:about-to-send",
    "exclude:answered",
    "exclude:recorded",
    "restart:before-writing",
    "restart:about-to-send",
    "restart:answered",
    "restart:recorded",
    "applied:before-writing",
    "applied:written",
    "verified:before-writing",
    "end:before",
    "end:after",
]
"""Every one that such a relocation goes through, in order."""
LOST = {"patch:about-to-send", "exclude:about-to-send", "restart:about-to-send"}
"""Boundaries after which a request is never sent, so the action puts the Job back into its queue."""


def test_the_list_of_crash_points_is_complete(site: Site) -> None:
    passed: list[str] = []
    action_id = site.request("relocate", JOB, avoid=Avoid(tuple(nodes_of(site, JOB))))
    site.engine(checkpoint=passed.append).finish(action_id)
    assert list(dict.fromkeys(passed)) == BOUNDARIES


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_another_worker_takes_over(site: Site, boundary: str) -> None:
    def die(name: str) -> None:
        if name == boundary:
            raise Killed

    (before,) = nodes_of(site, JOB)
    action_id = site.request("relocate", JOB, avoid=Avoid((before,)))
    with pytest.raises(Killed):
        site.engine(checkpoint=die).finish(action_id)
    site.clock.advance(35)
    if Action.objects.get(pk=action_id).finished_at is None:
        assert action_id in Sweeper(site.clock).sweep().due
    action = site.engine().finish(action_id)
    assert (action.finished_at is not None, action.due_at) == (True, None)
    for step in action.steps.filter(dry_run=False):
        assert step.sends <= 1, step.name
    assert len(site.wire.writes("patch", "workloads")) <= 2
    assert action.state == ("failed" if boundary in LOST else "verified"), action.message
    assert workload(site)["spec"]["active"] is True
    wait_running(site, JOB)
    excluded = boundary not in LOST or boundary == "restart:about-to-send"
    assert bool(terms(site.job(JOB))) is excluded
    if excluded:
        assert before not in nodes_of(site, JOB)


@pytest.mark.parametrize("boundary", ["undo:before-writing", "undo:about-to-send", "undo:answered"])
def test_another_worker_ends_the_way_back(site: Site, boundary: str) -> None:
    """The patch of the way back is sent at most once. If it is lost, the action says so."""

    def die(name: str) -> None:
        if name == "patch:recorded":
            Cluster.objects.update(read_only=True)
        if name == boundary:
            raise Killed

    action_id = site.request("relocate", JOB, avoid=Avoid(tuple(nodes_of(site, JOB))))
    with pytest.raises(Killed):
        site.engine(checkpoint=die).finish(action_id)
    site.clock.advance(35)
    action = site.engine().finish(action_id)
    assert action.state == "failed", action.message
    assert len(site.wire.writes("patch", "workloads")) <= 2
    if boundary == "undo:about-to-send":
        assert "is still inactive" in action.message
        assert workload(site)["spec"]["active"] is False
    else:
        assert "is back in its queue" in action.message
        runs_as_before(site)


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("step", ["patch", "exclude", "restart"])
def test_a_lost_answer_is_resolved_by_a_read(site: Site, step: str, applied: bool) -> None:
    resource = "jobs" if step == "exclude" else "workloads"

    def fail() -> None:
        site.simulator.faults.reset(resource=resource, verb="patch", count=1, applied=applied)

    action = play(site, f"{step}:about-to-send", fail)
    assert action.state == ("verified" if applied else "failed"), action.message
    for sent in action.steps.filter(dry_run=False):
        assert sent.sends <= 1
    assert workload(site)["spec"]["active"] is True
    wait_running(site, JOB)
    assert bool(terms(site.job(JOB))) is (applied or step == "restart")


@pytest.mark.parametrize(("status", "message"), [(403, "no"), (422, "field is immutable")])
def test_a_refused_template_puts_the_job_back(site: Site, status: int, message: str) -> None:
    def fail() -> None:
        site.simulator.faults.status(
            status, resource="jobs", verb="patch", count=1, message=message
        )

    action = play(site, "exclude:rehearsal", fail)
    assert action.state == "failed", action.message
    assert f"So the template of Job {JOB} was not changed." in action.message
    assert f"Job {JOB} is back in its queue." in action.message
    assert LeverRecord.objects.get(lever="exclusion").refuted_at is not None
    runs_as_before(site)


@pytest.mark.parametrize("boundary", ["patch:recorded", "exclude:recorded"])
def test_a_withdrawn_right_stops_it_and_the_job_is_queued_again(site: Site, boundary: str) -> None:
    action = play(site, boundary, lambda: Grant.objects.all().delete())
    assert "no longer an operator" in action.message
    assert f"Job {JOB} is back in its queue." in action.message
    wait_running(site, JOB)
    assert is_admitted(site)


def test_an_api_server_that_is_away_is_waited_for_on_the_way_back(site: Site) -> None:
    """The patch of the way back is sent once, so a dry run has to succeed first."""

    def fail() -> None:
        Cluster.objects.update(read_only=True)
        site.simulator.faults.reset(resource="workloads", verb="patch", count=2, applied=False)

    action = play(site, "patch:recorded", fail)
    assert action.state == "failed", action.message
    assert f"Job {JOB} is back in its queue." in action.message
    runs_as_before(site)


def test_a_refused_way_back_is_said(site: Site) -> None:
    def fail() -> None:
        Cluster.objects.update(read_only=True)
        site.simulator.faults.status(403, resource="workloads", verb="patch", count=9, message="no")

    action = play(site, "patch:recorded", fail)
    assert action.state == "failed", action.message
    assert "could not be activated again: " in action.message
    assert workload(site)["spec"]["active"] is False


def test_a_refused_deactivation_changes_nothing(site: Site) -> None:
    def fail() -> None:
        site.simulator.faults.status(403, resource="workloads", verb="patch", count=1, message="no")

    pods = site.uids(JOB)
    action = play(site, "patch:about-to-send", fail)
    assert action.state == "failed", action.message
    assert site.uids(JOB) == pods
    runs_as_before(site)


def test_an_entry_that_another_client_deactivated_stays_so(site: Site) -> None:
    action = play(site, "patch:about-to-send", lambda: set_active(site, False))
    assert action.state == "conflict", action.message
    assert "Another client made Workload" in action.message
    assert workload(site)["spec"]["active"] is False
    assert terms(site.job(JOB)) == []


def test_an_entry_that_another_client_activates_ends_it(site: Site) -> None:
    action = play(site, "patch:recorded", lambda: set_active(site, True))
    assert action.state == "conflict", action.message
    assert "set spec.active true of Workload" in action.message
    runs_as_before(site)


def test_an_entry_that_is_deactivated_while_it_is_watched_is_reverted(site: Site) -> None:
    action = play(site, "applied:written", lambda: set_active(site, False))
    assert action.state == "reverted", action.message
    assert "set spec.active false of Workload" in action.message
    assert "the exclusion is in its template" in action.message


def test_a_queue_that_does_not_suspend_the_job_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its controller is away: nothing happens to the Job, and its entry is active again at the end."""
    monkeypatch.setattr(relocation, "BEYOND_GRACE", 3.0)
    monkeypatch.setattr(KueueController, "_reconcile_all", lambda _self: None)
    pods = site.uids(JOB)
    action = play(site, "claimed", lambda: None)
    assert action.state == "failed", action.message
    assert "its queue has not suspended it yet" in action.message
    assert f"Job {JOB} is back in its queue." in action.message
    assert workload(site)["spec"]["active"] is True
    assert site.uids(JOB) == pods
