"""Failures during a relocation: the Job runs again, no Hold is left, and the sentence says what happened."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gangboard.actions import relocation
from gangboard.actions.sweeper import Sweeper
from gangboard.domain.action import Avoid
from gangboard.store.models import Action, Cluster, Grant, LeverRecord
from simulator.job_controller import JobController
from tests.actions.site import (
    JOBSET,
    JOBSETS,
    NAMESPACE,
    POLICY_NOT_READY,
    WORKER,
    Json,
    Site,
    played,
)
from tests.actions.test_relocation import nodes_of, terms, wait_running

_LATER = "2100-01-01T00:00:00Z"


def play(site: Site, when: str, do: Callable[[], object], **options: object) -> Action:
    options = {"verb": "relocate", "avoid": Avoid(tuple(nodes_of(site))), **options}
    return played(site, when, do, **options)


def runs_as_before(site: Site, action: Action) -> None:
    assert (action.finished_at is not None, action.due_at) == (True, None), action.message
    assert site.holds() == []
    assert not site.suspended()
    assert terms(site.job()) == []


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "denied request: gangboard may exclude nodes"),
        (422, "spec.template: field is immutable"),
    ],
)
def test_a_refused_template_is_undone_and_remembered(site: Site, status: int, message: str) -> None:
    def fail() -> None:
        site.simulator.faults.status(
            status, resource="jobs", verb="patch", count=1, message=message
        )

    action = play(site, "exclude:rehearsal", fail)
    assert action.state == "failed", action.message
    assert f"So the template of Job {WORKER} was not changed." in action.message
    # Its controller may resume it before gangboard does.
    assert f"Job {WORKER} was resumed." in action.message or "runs again." in action.message
    runs_as_before(site, action)
    assert LeverRecord.objects.get(lever="exclusion").refuted_at is not None
    # The next one is warned about it.
    wait_running(site)
    action = site.act("relocate", avoid=Avoid(tuple(nodes_of(site))))
    assert any("restart for nothing" in warning for warning in action.warnings)
    assert action.state == "verified", action.message
    assert LeverRecord.objects.get(lever="exclusion").proved_at is not None


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("step", ["patch", "exclude", "restart"])
def test_a_lost_answer_is_resolved_by_a_read(site: Site, step: str, applied: bool) -> None:
    def fail() -> None:
        site.simulator.faults.reset(resource="jobs", verb="patch", count=1, applied=applied)

    action = play(site, f"{step}:about-to-send", fail)
    assert action.finished_at is not None
    assert site.holds() == []
    assert not site.suspended()
    for sent in action.steps.filter(dry_run=False).exclude(kind="delete-hold"):
        assert sent.sends <= 1
    # The controller may resume the Job as soon as its Hold is gone.
    states = (
        ["verified"] if applied else ["failed", "verified"] if step == "restart" else ["failed"]
    )
    assert action.state in states, action.message
    assert bool(terms(site.job())) is (applied or step == "restart")


@pytest.mark.parametrize(
    "step", ["check:written", "exclude:rehearsal", "exclude:about-to-send", "delete-hold:recorded"]
)
def test_an_api_server_that_has_just_started_is_waited_for(site: Site, step: str) -> None:
    def fail() -> None:
        site.simulator.faults.status(
            403, resource="jobs", verb="patch", count=6, message=POLICY_NOT_READY
        )

    action = play(site, step, fail)
    assert action.state == "verified", action.message
    assert LeverRecord.objects.get(lever="exclusion").refuted_at is None


_NO_RIGHT = (
    'jobs.batch "train" is forbidden: User "system:serviceaccount:gangboard:gangboard-actor" cannot '
    'patch resource "jobs" in API group "batch" in the namespace "team-a"'
)


@pytest.mark.parametrize("verb", ["get", "patch"])
@pytest.mark.parametrize(
    "step",
    ["create-hold:recorded", "patch:recorded", "exclude:about-to-send", "delete-hold:recorded"],
)
def test_roles_that_load_slowly_are_waited_for(site: Site, step: str, verb: str) -> None:
    """An API server that has just started refuses what it allowed before."""

    def fail() -> None:
        site.simulator.faults.status(403, resource="jobs", verb=verb, count=3, message=_NO_RIGHT)

    action = play(site, step, fail)
    assert action.state == "verified", action.message
    assert {entry.sends for entry in action.steps.filter(dry_run=False)} <= {0, 1}
    assert LeverRecord.objects.get(lever="exclusion").refuted_at is None


def test_a_right_that_is_missing_from_the_start_ends_it_at_once(site: Site) -> None:
    site.simulator.faults.status(403, resource="jobs", verb="patch", count=1, message=_NO_RIGHT)
    action = play(site, "check:written", lambda: None)
    assert action.state == "failed", action.message
    assert "its role lacks the right" in action.message
    assert site.wire.changes == []


def test_a_right_that_is_lost_for_good_ends_it(site: Site) -> None:
    def fail() -> None:
        site.simulator.faults.status(
            403, resource="jobs", verb="patch", count=1000, message=_NO_RIGHT
        )

    action = play(site, "patch:recorded", fail)
    assert action.state == "failed", action.message
    assert "its role lacks the right" in action.message
    assert site.holds() == []


def test_pods_that_do_not_end_are_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relocation, "BEYOND_GRACE", -100.0)
    pods = {pod["metadata"]["name"] for pod in site.pods()}
    action = play(site, "applied:written", lambda: None)
    assert action.state == "failed", action.message
    assert "did not end within" in action.message
    assert any(f"{name} on node" in action.message for name in pods)
    # New pods would run beside the old ones, so the Job stays held until a person resumes it.
    assert site.suspended()
    assert len(site.holds()) == 1
    site.poll()
    site.clock.advance(60)
    assert Sweeper(site.clock).sweep().due == ()
    assert site.act("resume").state == "verified"
    assert site.holds() == []
    assert not site.suspended()


def test_a_jobset_that_is_suspended_meanwhile_keeps_its_job(site: Site) -> None:
    def suspend() -> None:
        site.simulator.objects.update(
            JOBSETS, "JobSet", JOBSET, lambda obj: obj["spec"].update(suspend=True), NAMESPACE
        )

    action = play(site, "delete-hold:recorded", suspend)
    assert action.state == "reverted", action.message
    assert "the exclusion is in its template" in action.message
    assert site.suspended()
    assert site.holds() == []
    (step,) = action.steps.filter(kind="restart")
    assert step.state in ("skipped", "done")


def test_a_template_that_another_client_changed_is_left_alone(site: Site) -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    required = {"nodeSelectorTerms": [term]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}

    def change() -> None:
        site.simulator.objects.update(
            "batch/v1",
            "Job",
            WORKER,
            lambda obj: obj["spec"]["template"]["spec"].update(affinity=affinity),
            NAMESPACE,
        )

    action = play(site, "exclude:rehearsal", change)
    assert action.state == "conflict", action.message
    assert f"Job {WORKER} has another spec.template.spec.affinity now" in action.message
    assert terms(site.job()) == [term]
    assert not site.suspended()


def test_a_job_that_was_created_again_is_not_left_suspended(site: Site) -> None:
    action = play(site, "patch:recorded", site.make_anew)
    assert action.state == "gone", action.message
    assert "created again meanwhile" in action.message
    assert site.holds() == []
    assert not site.suspended()


def test_a_hold_of_somebody_else_keeps_the_job_and_is_named(site: Site) -> None:
    def hold() -> None:
        owner = site.jobset()["metadata"]["uid"]
        spec = {"jobName": WORKER, "ownerUID": owner, "by": "mallory", "reason": "mine"}
        site.simulator.objects.put(
            {
                "apiVersion": "gangboard.dev/v1alpha1",
                "kind": "Hold",
                "metadata": {"name": "mine", "namespace": NAMESPACE},
                "spec": spec,
            },
            scripted=False,
        )

    action = play(site, "exclude:recorded", hold)
    assert action.state == "failed", action.message
    assert "mine" in action.message or "another Hold" in action.message, action.message
    assert [obj["metadata"]["name"] for obj in site.holds()] == ["mine"]


@pytest.mark.parametrize("boundary", ["create-hold:recorded", "exclude:recorded"])
def test_a_withdrawn_right_stops_it_and_the_job_runs_again(site: Site, boundary: str) -> None:
    action = play(site, boundary, lambda: Grant.objects.all().delete())
    assert "no longer an operator" in action.message
    assert site.holds() == []
    assert not site.suspended()


def test_a_read_only_cluster_gets_nothing_but_the_way_back(site: Site) -> None:
    action = play(site, "exclude:recorded", lambda: Cluster.objects.update(read_only=True))
    assert action.state == "failed"
    assert "read-only" in action.message
    assert site.holds() == []
    assert not site.suspended()


def test_a_pod_that_finds_no_place_is_quoted(site: Site) -> None:
    """Others take the room while the Job is away."""

    def fill() -> None:
        for node in site.simulator.objects.list("v1", "Node"):
            site.simulator.objects.update(
                "v1",
                "Node",
                node["metadata"]["name"],
                lambda obj: obj["spec"].update(unschedulable=True),
            )

    action = play(site, "exclude:recorded", fill)
    assert action.state == "failed", action.message
    assert "0 of 2 pods are ready" in action.message
    assert "nodes are available" in action.message
    assert "remove the exclusion" in action.message
    assert site.holds() == []


def test_a_pod_that_ends_is_not_where_it_runs(site: Site) -> None:
    """A new pod was evicted, and its replacement runs elsewhere."""

    def evict_one() -> None:
        wait_running(site)
        pod = site.pods()[0]
        pod["metadata"] |= {"name": "evicted", "uid": "evicted", "deletionTimestamp": _LATER}
        pod["spec"]["nodeName"] = "another"
        site.simulator.objects.put({"apiVersion": "v1", "kind": "Pod", **pod})

    action = play(site, "applied:written", evict_one)
    assert action.state == "verified", action.message
    assert "another" in nodes_of(site)
    assert "another" not in action.message
    assert "another" not in action.after["nodes"]


def test_nothing_is_sent_if_the_place_holds_no_pod(site: Site) -> None:
    others = {node["metadata"]["name"] for node in site.simulator.objects.list("v1", "Node")}
    free = min(others - nodes_of(site))
    action = site.act("relocate", avoid=Avoid((free,)))
    assert action.state == "refused"
    assert action.message.startswith(f"No pod of Job {WORKER} is on node {free}: nothing to move.")
    assert site.wire.changes == []


def test_a_job_of_its_own_is_resumed_after_a_refusal(site: Site) -> None:
    """It has no Hold and no controller that would resume it."""

    def fail() -> None:
        site.simulator.faults.status(403, resource="jobs", verb="patch", count=1, message="no")

    avoid = Avoid(tuple(nodes_of(site, "alone")))
    action = play(site, "exclude:rehearsal", fail, name="alone", avoid=avoid)
    assert action.state == "failed", action.message
    assert "Job alone was resumed." in action.message
    assert not site.suspended("alone")
    assert terms(site.job("alone")) == []


def fail_after_suspension(
    site: Site, monkeypatch: pytest.MonkeyPatch, during: Callable[[], object] = lambda: None
) -> tuple[Action, int]:
    """Fail a relocation right after its suspension. Return it, and the number of pods when its Hold is removed.

    `during` is called before each pause of the way back.
    """
    remaining: list[int] = []
    is_way_back = False
    sleep = site.clock.sleep

    def watch(name: str) -> None:
        nonlocal is_way_back
        if name == "patch:recorded":
            Cluster.objects.update(read_only=True)
        is_way_back = is_way_back or name == "exit:begin"
        if name == "removal:about-to-send":
            remaining.append(len(site.pods()))

    def pause(seconds: float) -> None:
        if is_way_back:
            during()
        sleep(seconds)

    monkeypatch.setattr(site.clock, "sleep", pause)
    action_id = site.request("relocate", avoid=Avoid(tuple(nodes_of(site))))
    action = site.engine(checkpoint=watch).finish(action_id, seconds=4000)
    assert action.state == "failed", action.message
    (number,) = remaining
    return action, number


class SlowJobController:
    """Job controller that leaves Job `WORKER` as it is until `go_on`."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
        self._site, self._is_held = site, True
        sync = JobController._sync

        def sync_later(controller: JobController, obj: Json) -> None:
            if not self._is_held or obj["metadata"]["name"] != WORKER:
                sync(controller, obj)

        monkeypatch.setattr(JobController, "_sync", sync_later)

    def go_on(self) -> None:
        self._is_held = False
        self._site.touch(WORKER, lambda obj: obj["metadata"].setdefault("labels", {}).update(a="b"))


def test_the_way_back_waits_for_the_old_pods(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the old pods still there, each index of the Job would run twice at once."""
    action, pods = fail_after_suspension(site, monkeypatch)
    assert pods == 0
    runs_as_before(site, action)


def test_the_way_back_waits_for_a_controller_that_is_about_to_delete_the_pods(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have read the suspension. If the Job were resumed before its deletes, both would run."""
    pauses: list[int] = []
    controller = SlowJobController(site, monkeypatch)

    def count() -> None:
        pauses.append(len(site.pods()))
        if len(pauses) == 5:
            controller.go_on()

    action, pods = fail_after_suspension(site, monkeypatch, count)
    assert (pauses[:5], pods) == ([2] * 5, 0)
    runs_as_before(site, action)


def test_a_controller_that_does_nothing_is_not_waited_for_long(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pods run on, so the Job is not left suspended."""
    before = site.uids(WORKER)
    SlowJobController(site, monkeypatch)
    started = site.clock.monotonic()
    action, pods = fail_after_suspension(site, monkeypatch)
    assert pods == 2
    assert site.clock.monotonic() - started < 60
    runs_as_before(site, action)
    assert site.uids(WORKER) == before
