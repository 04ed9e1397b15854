"""Relocating a Job whose nodes Kueue has chosen: by a cordon of one node, which never stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.actions import cordons
from gangboard.actions.sweeper import Sweeper
from gangboard.domain.action import Avoid
from gangboard.store.models import Action, Cluster, Grant, LeverRecord
from tests.actions.assigned import FLEET, MARK, Topology, cordon, is_cordoned, node_of
from tests.actions.site import (
    JOBSET,
    JOBSETS,
    NAMESPACE,
    WORKER,
    Killed,
    Site,
    crash_points,
    played,
)
from tests.actions.test_relocation import nodes_of, terms
from tests.random_sets import sized

STEPS = [
    "cordon",
    "wait-tainted",
    "create-hold",
    "prove-hold",
    "patch",
    "wait-stopped",
    "wait-replaced",
    "delete-hold",
    "prove-release",
    "restart",
    "uncordon",
]
BOUNDARIES = [
    "claimed",
    "check:before-writing",
    "check:written",
    "rehearsal:answered",
    "cordon:before-writing",
    "cordon:about-to-send",
    "cordon:answered",
    "cordon:recorded",
    "wait-tainted:recorded",
    "create-hold:before-writing",
    "create-hold:about-to-send",
    "create-hold:answered",
    "create-hold:recorded",
    "prove-hold:about-to-send",
    "prove-hold:answered",
    "prove-hold:recorded",
    "patch:before-writing",
    "patch:about-to-send",
    "patch:answered",
    "patch:recorded",
    "wait-stopped:recorded",
    "wait-replaced:recorded",
    "delete-hold:before-writing",
    "delete-hold:about-to-send",
    "delete-hold:answered",
    "delete-hold:recorded",
    "prove-release:about-to-send",
    "prove-release:answered",
    "prove-release:recorded",
    "restart:before-writing",
    "restart:about-to-send",
    "restart:answered",
    "restart:recorded",
    "applied:before-writing",
    "applied:written",
    "uncordon:about-to-send",
    "uncordon:answered",
    "uncordon:recorded",
    "verified:before-writing",
    "end:before",
    "end:after",
]
"""Every one that a relocation by a cordon goes through, in order."""
LOST = {"cordon:about-to-send", "create-hold:about-to-send", "patch:about-to-send"}
"""Boundaries after which a request is never sent, so the action undoes what it did."""
RESUMED = "restart:about-to-send"
"""The same for the last request. The controller may have resumed the Job meanwhile."""


@pytest.fixture
def assigned(start: Callable[..., Site], settings: Any) -> tuple[Site, Topology]:
    """A site whose JobSet runs on the nodes that Kueue chose."""
    settings.CORDON = True
    site = start(fleet=FLEET)
    topology = Topology(site.simulator)
    topology.assign()
    site.poll()
    return site, topology


@pytest.fixture
def site(assigned: tuple[Site, Topology]) -> Site:
    return assigned[0]


@pytest.fixture
def topology(assigned: tuple[Site, Topology]) -> Topology:
    return assigned[1]


def ask(site: Site) -> str:
    return site.request("relocate", avoid=Avoid(tuple(nodes_of(site))))


def play(site: Site, when: str, do: Callable[[], object], **options: object) -> Action:
    avoid = Avoid(tuple(nodes_of(site)))
    return played(site, when, do, verb="relocate", avoid=avoid, **options)


def siblings(site: Site) -> set[str]:
    return site.uids("train-workers-1") | site.uids("train-driver-0")


def runs_uncordoned(site: Site, action: Action, node: str) -> None:
    """Check that nothing of the action is left: no cordon, no mark, no Hold, and the Job runs."""
    assert (action.finished_at is not None, action.due_at) == (True, None), action.message
    assert not is_cordoned(site, node)
    assert site.holds() == []
    assert not site.suspended()
    assert terms(site.job()) == []


def test_one_job_moves_and_the_cordon_is_over(site: Site, topology: Topology) -> None:
    (before,) = nodes_of(site)
    pods, others, uid = site.uids(WORKER), siblings(site), site.job()["metadata"]["uid"]
    action = site.engine().finish(ask(site))
    assert (action.state, action.lever) == ("verified", "hold-cordon"), action.message
    (after,) = nodes_of(site)
    assert after != before
    assert action.message == (
        f"Job {WORKER} was on {before}, runs on {after} now; siblings untouched."
    )
    assert not site.uids(WORKER) & pods
    assert siblings(site) == others
    assert site.job()["metadata"]["uid"] == uid
    assert before not in topology.assigned()
    assert [step.kind for step in action.steps.all()] == STEPS
    assert {step.state for step in action.steps.all()} == {"done"}
    runs_uncordoned(site, action, before)
    (record,) = LeverRecord.objects.filter(lever="hold-cordon")
    assert record.proved_at is not None
    writes = site.wire.writes("patch", "nodes")
    assert len(writes) == 2


def test_the_list_of_crash_points_is_complete(site: Site) -> None:
    passed: list[str] = []
    site.engine(checkpoint=passed.append).finish(ask(site))
    passed = list(dict.fromkeys(passed))
    assert sorted(passed) == sorted(BOUNDARIES)
    # The end of the cordon is not bound to the other steps.
    assert [name for name in passed if "uncordon" not in name] == [
        name for name in BOUNDARIES if "uncordon" not in name
    ]


OF_A_HOLD = ("claimed", "check:", "create-hold:", "prove-", "patch:", "delete-hold:", "restart:")
"""Steps that `test_relocation_crashes.py` interrupts at more boundaries. Here one boundary of each is enough."""
PLAYED = [
    name
    for name in crash_points(BOUNDARIES)
    if not name.startswith(OF_A_HOLD) or name.endswith((":about-to-send", ":written"))
]


@pytest.mark.parametrize("boundary", sized(PLAYED, BOUNDARIES))
def test_another_worker_takes_over(site: Site, boundary: str) -> None:
    def die(name: str) -> None:
        if name == boundary:
            raise Killed

    (before,) = nodes_of(site)
    others = siblings(site)
    action_id = ask(site)
    with pytest.raises(Killed):
        site.engine(checkpoint=die).finish(action_id)
    site.clock.advance(35)
    if Action.objects.get(pk=action_id).finished_at is None:
        assert action_id in Sweeper(site.clock).sweep().due
    action = site.engine().finish(action_id)
    runs_uncordoned(site, action, before)
    for step in action.steps.filter(dry_run=False).exclude(kind__in=("delete-hold", "uncordon")):
        assert step.sends <= 1, step.name
    assert len(site.wire.writes("create", "holds")) <= 1
    assert siblings(site) == others
    states = {"failed"} if boundary in LOST else {"verified"}
    states |= {"failed"} if boundary == RESUMED else set()
    assert action.state in states, action.message
    if action.state == "verified":
        assert before not in nodes_of(site)


def test_a_node_that_is_not_replaced_gets_its_job_back(site: Site, topology: Topology) -> None:
    """The gate of Kueue is off, which no object shows."""
    topology.replaces = False
    (before,) = nodes_of(site)
    others = siblings(site)
    action = site.engine().finish(ask(site))
    assert action.state == "failed", action.message
    assert f"Node {before} was not replaced" in action.message
    assert siblings(site) == others
    runs_uncordoned(site, action, before)
    (record,) = LeverRecord.objects.filter(lever="hold-cordon")
    assert record.refuted_at is not None


def test_an_eviction_of_the_whole_is_told(site: Site, topology: Topology) -> None:
    """The spare node is cordoned while the Job is on its way."""
    (before,) = nodes_of(site)
    topology.replaces = False
    text = "Workload was evicted as there was no replacement for unhealthy node(s)"
    action = play(site, "wait-stopped:recorded", lambda: topology.evict(text))
    assert action.state == "failed", action.message
    assert f"was evicted with all its pods: {text}." in action.message
    assert not is_cordoned(site, before)
    assert site.holds() == []


def test_an_eviction_is_told_although_the_whole_is_admitted_again(
    site: Site, topology: Topology
) -> None:
    """Kueue took a second (observed). Without a look at the admission, only the suspended Job shows."""
    (before,) = nodes_of(site)
    action = play(site, "applied:written", topology.evict_and_admit_again)
    assert action.state == "failed", action.message
    assert "was evicted with all its pods, and is admitted again." in action.message
    assert not is_cordoned(site, before)
    assert site.holds() == []


def test_a_node_that_is_promised_to_other_pods_is_no_room(site: Site, topology: Topology) -> None:
    """Another Workload is admitted to the spare node, and its pods do not exist, as those of a held Job."""
    nodes = {node["metadata"]["name"] for node in site.simulator.objects.list("v1", "Node")}
    (spare,) = nodes - topology.assigned()
    topology.promise(spare)
    site.poll()
    action = site.engine().finish(ask(site))
    assert action.state == "refused", action.message
    assert "Nothing else fits" in action.message
    assert "Kueue would evict the whole JobSet." in action.message
    assert site.wire.changes == []


def test_a_cordon_of_somebody_else_stays(site: Site, topology: Topology) -> None:
    (before,) = nodes_of(site)
    cordon(site, before)
    site.poll()
    action = site.engine().finish(ask(site))
    assert action.state == "verified", action.message
    kinds = [step.kind for step in action.steps.all()]
    assert kinds == [kind for kind in STEPS if kind not in ("cordon", "uncordon")]
    assert node_of(site, before)["spec"]["unschedulable"] is True
    assert MARK not in node_of(site, before)["metadata"]["annotations"]
    assert site.wire.writes("patch", "nodes") == []


def test_a_second_node_of_the_gang_is_not_cordoned_meanwhile(site: Site) -> None:
    """Kueue would evict the whole JobSet. Both requests are checked before the first cordon is seen."""
    (second,) = nodes_of(site, "train-workers-1")
    other = site.request("relocate", "train-workers-1", avoid=Avoid((second,)))
    ended: list[Action] = []
    action = play(site, "cordon:recorded", lambda: ended.append(site.engine().finish(other)))
    assert action.state == "verified", action.message
    (refused,) = ended
    assert refused.state == "conflict", refused.message
    assert f"Job {WORKER} of the same gang leaves node" in refused.message
    assert not is_cordoned(site, second)
    (step,) = refused.steps.filter(kind="cordon")
    assert (step.state, step.sends) == ("skipped", 0)
    # The end of the first cordon lets the next one begin.
    site.poll()
    action = site.act("relocate", "train-workers-1", avoid=Avoid((second,)))
    assert "leaves node" not in action.message


def test_a_cordon_that_comes_first_is_a_conflict(site: Site) -> None:
    """An admin cordons the node after the dry run, and is not overruled."""
    (before,) = nodes_of(site)
    action = play(site, "cordon:about-to-send", lambda: cordon(site, before))
    assert action.state == "conflict", action.message
    assert "has spec.unschedulable true now" in action.message
    assert node_of(site, before)["spec"]["unschedulable"] is True
    assert MARK not in node_of(site, before)["metadata"]["annotations"]
    assert not site.suspended()


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("step", ["cordon", "uncordon"])
def test_a_lost_answer_is_resolved_by_a_read(site: Site, step: str, applied: bool) -> None:
    def fail() -> None:
        site.simulator.faults.reset(resource="nodes", verb="patch", count=1, applied=applied)

    (before,) = nodes_of(site)
    action = play(site, f"{step}:about-to-send", fail)
    runs_uncordoned(site, action, before)
    (cordoned,) = action.steps.filter(kind="cordon")
    assert cordoned.sends == 1
    expected = "failed" if step == "cordon" and not applied else "verified"
    assert action.state == expected, action.message


def test_a_cordon_that_arrives_late_is_ended(site: Site) -> None:
    """The request was lost for the worker, and is carried out after the action gave up on it."""
    (before,) = nodes_of(site)
    action_id = ask(site)

    def lose() -> None:
        site.simulator.faults.reset(resource="nodes", verb="patch", count=1, applied=False)

    def arrive(name: str) -> None:
        if name == "cordon:about-to-send":
            lose()
        if name == "exit:begin":

            def late(obj: dict[str, dict[str, object]]) -> None:
                obj["spec"]["unschedulable"] = True
                obj["metadata"]["annotations"] = {MARK: action_id}

            site.simulator.objects.update("v1", "Node", before, late)

    action = site.engine(checkpoint=arrive).finish(action_id, seconds=4000)
    assert action.state == "failed", action.message
    runs_uncordoned(site, action, before)


def test_without_the_right_nothing_is_sent(site: Site) -> None:
    site.simulator.faults.status(
        403,
        resource="nodes",
        verb="patch",
        message='nodes "n" is forbidden: User "actor" cannot patch resource "nodes"',
    )
    action = site.engine().finish(ask(site))
    assert action.state == "failed", action.message
    assert "its role lacks the right" in action.message
    assert "manage.py print_rbac prints the role that it needs" in action.message
    assert site.wire.changes == []


def test_an_unreachable_node_does_not_keep_the_hold(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The action ends and says so, the Job runs again, and the attempts go on until the cordon is over."""
    monkeypatch.setattr(cordons, "PATIENCE_SECONDS", 5.0)
    (before,) = nodes_of(site)

    def withdraw() -> None:
        Grant.objects.all().delete()
        site.simulator.faults.status(403, resource="nodes", verb="patch", message="no")

    action_id = ask(site)
    engine = site.engine(checkpoint=_once("patch:recorded", withdraw))
    while (delay := engine.advance(action_id)) is not None and delay < 10:
        site.clock.sleep(delay)
    action = Action.objects.get(pk=action_id)
    assert action.state == "failed", action.message
    assert f"kubectl uncordon {before}" in action.message
    assert action.finished_at is not None
    assert action.due_at is not None
    assert not site.suspended()
    assert site.holds() == []
    assert is_cordoned(site, before)
    site.simulator.faults.clear()
    site.clock.advance(400)
    assert action_id in Sweeper(site.clock).sweep().due
    action = site.engine().finish(action_id)
    assert action.message.endswith(f"Node {before} takes new pods again.")
    runs_uncordoned(site, action, before)


def _once(when: str, do: Callable[[], object]) -> Callable[[str], None]:
    done: list[str] = []

    def checkpoint(name: str) -> None:
        if name == when and not done:
            done.append(name)
            do()

    return checkpoint


@pytest.mark.parametrize("boundary", ["cordon:recorded", "wait-stopped:recorded"])
def test_a_read_only_cluster_gets_its_node_back(site: Site, boundary: str) -> None:
    (before,) = nodes_of(site)
    action = play(site, boundary, lambda: Cluster.objects.update(read_only=True))
    assert action.state in ("failed", "refused")
    assert "read-only" in action.message
    runs_uncordoned(site, action, before)


def test_an_action_that_expires_leaves_no_cordon(site: Site) -> None:
    """The worker was away for longer than an unsent action lives."""
    (before,) = nodes_of(site)
    pods = site.uids(WORKER)
    action = play(site, "cordon:recorded", lambda: site.clock.advance(400))
    assert action.state == "expired", action.message
    assert "Done before that: Cordon node" in action.message
    runs_uncordoned(site, action, before)
    assert site.uids(WORKER) == pods


def test_a_job_that_was_created_again_leaves_no_cordon(site: Site) -> None:
    (before,) = nodes_of(site)
    action = play(site, "patch:recorded", site.make_anew)
    assert action.state == "gone", action.message
    assert not is_cordoned(site, before)
    assert site.holds() == []


def test_a_jobset_that_is_suspended_meanwhile_leaves_no_cordon(site: Site) -> None:
    (before,) = nodes_of(site)

    def suspend() -> None:
        site.simulator.objects.update(
            JOBSETS, "JobSet", JOBSET, lambda obj: obj["spec"].update(suspend=True), NAMESPACE
        )

    action = play(site, "delete-hold:recorded", suspend)
    assert action.state in ("reverted", "failed"), action.message
    assert not is_cordoned(site, before)
    assert site.holds() == []
