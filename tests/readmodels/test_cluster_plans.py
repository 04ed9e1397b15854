"""The plan of a cluster by viewer: names, commands, costs and buttons, and counts of what is hidden."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.cluster_plan import (
    ClusterPlan,
    PlanGain,
    PlanStep,
    PlanStepKind,
    UntriedGangs,
)
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.domain.pod_constraints import Taint
from gangboard.pages.reasons.plan_queries import read_plans
from gangboard.pages.reasons.plan_rows import ClusterPlanRow
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Scope, Viewer
from gangboard.store.cluster_plans import save_plan
from gangboard.store.models import Cluster, Gang
from gangboard.store.models import ClusterPlan as PlanRow
from tests.factories import NOW, make_cluster, make_gang
from tests.web.acting import make_acting_cluster

pytestmark = pytest.mark.django_db

TAINT = Taint("example.com/team", "NoSchedule", "infra")


def read(viewer: Viewer, **options: Any) -> tuple[ClusterPlanRow, ...]:
    clusters = read_freshness(viewer=viewer, now=NOW)
    defaults: dict[str, Any] = {"cluster": "", "whole_gangs": False}
    return read_plans(viewer=viewer, clusters=clusters, now=NOW, **(defaults | options))


def ref(gang: Gang) -> ObjectRef:
    return ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)


def gain(*gangs: Gang, count: int = 1, accelerators: int = 8) -> PlanGain:
    return PlanGain(tuple(map(ref, gangs)), len(gangs), count, accelerators)


def pod(name: str, namespace: str = "research") -> ObjectRef:
    return ObjectRef("", "Pod", namespace, name, f"uid-{name}")


def store(cluster: Cluster, *steps: PlanStep, **options: Any) -> None:
    save_plan(cluster.pk, ClusterPlan(steps, **options), at=NOW - timedelta(minutes=2))


def incomplete(cluster: Cluster, name: str, **options: Any) -> Gang:
    return make_gang(cluster, name, code="partly-placed", stage="placement", **options)


def viewer_of(namespace: str) -> Viewer:
    return Viewer(9, "guest", (Scope(None, namespace, "viewer"),))


def test_each_kind_of_step_has_its_sentence_and_its_commands(owner: Viewer) -> None:
    eu = make_cluster(context="eu-admin")
    run = make_gang(eu, "run")
    gains = (gain(run),)
    nodes = (node_ref("a"), node_ref("b"))
    pods = (pod("x"), pod("y", "web"), pod("z"))
    store(
        eu,
        PlanStep(PlanStepKind.UNCORDON, gains, 8, nodes, by="with kubectl at 02:19"),
        PlanStep(PlanStepKind.REMOVE_TAINT, gains, 8, nodes[:1], TAINT),
        PlanStep(PlanStepKind.MOVE_PODS, gains, 8, nodes, pods=pods),
        waiting_gangs=3,
        waiting_accelerators=24,
    )
    (plan,) = read(owner)
    uncordon, untaint, move = plan.steps
    assert (uncordon.text, uncordon.cost) == (
        "Uncordon a and b.",
        "Cordoned with kubectl at 02:19.",
    )
    assert uncordon.commands == ("kubectl --context eu-admin uncordon a b",)
    assert untaint.text == "Remove the taint example.com/team=infra:NoSchedule from a."
    assert untaint.cost == "Any other pod may then start there, too."
    assert untaint.commands == (
        "kubectl --context eu-admin taint nodes a example.com/team:NoSchedule-",
    )
    assert move.commands == (
        "kubectl --context eu-admin cordon a b",
        "kubectl --context eu-admin delete pods -n research x z",
        "kubectl --context eu-admin delete pods -n web y",
        "kubectl --context eu-admin uncordon a b",
    )
    assert move.cost == (
        "Each of these pods restarts once, on another node. A deletion ignores PodDisruptionBudgets."
    )
    assert [item.name for item in uncordon.gains[0].gangs] == ["run"]
    assert (plan.waiting_gangs, plan.waiting_accelerators, plan.accelerators) == (3, 24, 24)


def test_a_step_names_its_cluster_if_its_commands_cannot(owner: Viewer) -> None:
    """Without a context, the commands change the cluster that kubectl uses at that moment."""
    west = make_cluster("west")
    gains, nodes = (gain(make_gang(west)),), (node_ref("a"),)
    half = incomplete(west, "half")
    store(
        west,
        PlanStep(PlanStepKind.UNCORDON, gains, 8, nodes),
        PlanStep(PlanStepKind.REMOVE_TAINT, gains, 8, nodes, TAINT),
        PlanStep(PlanStepKind.END_INCOMPLETE, gains, 8, gangs=(ref(half),)),
        PlanStep(PlanStepKind.MOVE_PODS, gains, 8, nodes, pods=(pod("x"),)),
        PlanStep(PlanStepKind.UNCORDON, gains, 8, (node_ref("a;reboot"),)),
    )
    uncordon, untaint, end, move, unsafe = read(owner)[0].steps
    assert uncordon.text == "Uncordon a (in cluster west)."
    assert uncordon.commands == ("kubectl uncordon a",)
    assert untaint.text.endswith(" from a (in cluster west).")
    assert move.text.endswith(" created them elsewhere (in cluster west).")
    # There is no command to copy.
    assert end.text == "Suspend JobSet half, which is not complete."
    assert (unsafe.text, unsafe.commands) == ("Uncordon a;reboot.", ())


def test_an_incomplete_gang_is_named_with_its_cost(owner: Viewer) -> None:
    eu = make_cluster()
    half = incomplete(eu, "half", since=NOW - timedelta(hours=3), ready=2, desired=4)
    store(eu, PlanStep(PlanStepKind.END_INCOMPLETE, (gain(make_gang(eu)),), 8, gangs=(ref(half),)))
    (step,) = read(owner)[0].steps
    (victim,) = step.victims
    assert victim.facts.startswith("2 of 4 ready, namespace research")
    assert step.text == f"Suspend {half.kind} half, which is not complete."
    assert (step.commands, step.hidden) == ((), 0)


def test_only_an_operator_gets_the_button_to_suspend(owner: Viewer) -> None:
    eu = make_acting_cluster("eu", now=NOW)
    half = incomplete(eu, "half", now=NOW)
    store(eu, PlanStep(PlanStepKind.END_INCOMPLETE, (gain(make_gang(eu)),), 8, gangs=(ref(half),)))
    (step,) = read(owner)[0].steps
    assert [(offer.verb, offer.name) for offer in step.offers] == [("suspend", "half")]
    (step,) = read(viewer_of("research"))[0].steps
    assert (step.offers, step.hidden) == ((), 0)


def test_a_viewer_of_one_namespace_reads_counts_for_the_rest() -> None:
    eu = make_cluster()
    mine, theirs = make_gang(eu, "mine", namespace="vision"), make_gang(eu, "theirs")
    half = incomplete(eu, "half")
    store(
        eu,
        PlanStep(
            PlanStepKind.UNCORDON,
            (gain(mine, theirs, count=2),),
            16,
            (node_ref("a"), node_ref("b")),
            by="with kubectl",
        ),
        PlanStep(PlanStepKind.REMOVE_TAINT, (), 8, (node_ref("a"),), TAINT),
        PlanStep(PlanStepKind.END_INCOMPLETE, (gain(theirs),), 8, gangs=(ref(half),)),
        PlanStep(PlanStepKind.MOVE_PODS, (gain(mine),), 8, (node_ref("a"),), pods=(pod("x"),)),
    )
    (plan,) = read(viewer_of("vision"))
    uncordon, untaint, end, move = plan.steps
    assert (uncordon.text, uncordon.cost, uncordon.commands) == ("Uncordon 2 nodes.", "", ())
    assert (uncordon.nodes, uncordon.hidden) == ((), 2)
    assert [item.name for item in uncordon.gains[0].gangs] == ["mine"]
    assert (uncordon.gains[0].of, uncordon.gains[0].unnamed) == (2, 1)
    assert untaint.text == "Remove a taint from 1 node."
    assert end.text == "Suspend 1 gang that you may not see, which is not complete."
    assert (end.victims, end.hidden, end.offers) == ((), 1, ())
    assert (move.pods, move.hidden, move.commands) == ((), 2, ())
    assert "theirs" not in repr(plan)
    assert "half" not in repr(plan)


def test_steps_that_stop_complete_gangs_come_only_on_request(owner: Viewer) -> None:
    eu = make_cluster()
    whole = make_gang(eu, "whole", code="running", stage="run", health="running")
    store(eu, PlanStep(PlanStepKind.STOP_WHOLE, (gain(make_gang(eu)),), 8, gangs=(ref(whole),)))
    assert read(owner)[0].steps == ()
    (step,) = read(owner, whole_gangs=True)[0].steps
    assert step.text == f"Suspend {whole.kind} whole, which runs completely."
    assert step.stops_whole_gangs


@pytest.mark.parametrize(
    "change", [{"gone_at": NOW}, {"code": "running", "stage": "run", "health": "running"}]
)
def test_a_plan_ends_before_a_gang_that_has_changed(owner: Viewer, change: dict[str, Any]) -> None:
    """A gang that has become complete, or is gone, is not to be suspended. Later steps rely on it."""
    eu = make_cluster()
    run, half = make_gang(eu, "run"), incomplete(eu, "half")
    store(
        eu,
        PlanStep(PlanStepKind.UNCORDON, (gain(run),), 8, (node_ref("a"),)),
        PlanStep(PlanStepKind.END_INCOMPLETE, (gain(run),), 8, gangs=(ref(half),)),
        PlanStep(PlanStepKind.MOVE_PODS, (gain(run),), 8, (node_ref("a"),), pods=(pod("x"),)),
    )
    assert [step.kind for step in read(owner)[0].steps] == [
        "uncordon",
        "end-incomplete",
        "move-pods",
    ]
    Gang.objects.filter(pk=half.pk).update(**change)
    (plan,) = read(owner)
    assert ([step.kind for step in plan.steps], plan.outdated) == (["uncordon"], True)


def test_unknown_is_never_an_empty_plan(owner: Viewer) -> None:
    """No plan yet, nodes that cannot be read, and the form of another release."""
    eu, us, asia = make_cluster(), make_cluster("us-train"), make_cluster("asia")
    save_plan(us.pk, ClusterPlan(why="nodes: forbidden"), at=NOW)
    PlanRow.objects.create(cluster=asia, observed_at=NOW, plan={"steps": 1})
    plans = {plan.cluster: plan for plan in read(owner)}
    assert plans[eu.name].why == "not made yet"
    assert plans["us-train"].why == "nodes: forbidden"
    assert plans["asia"].why == "stored by another release"
    assert all(plan.waiting_gangs is None and plan.complete is None for plan in plans.values())


def test_a_silent_cluster_has_no_plan(owner: Viewer) -> None:
    eu = make_cluster(contact_at=NOW - timedelta(minutes=10))
    store(eu, PlanStep(PlanStepKind.UNCORDON, (), 8, (node_ref("a"),)))
    assert read(owner) == ()


def test_the_rest_goes_to_gangs_that_the_scheduler_tries_first(owner: Viewer) -> None:
    eu = make_cluster()
    run = make_gang(eu, "run")
    store(eu, PlanStep(PlanStepKind.UNCORDON, (gain(run, accelerators=4),), 12, (node_ref("a"),)))
    (step,) = read(owner)[0].steps
    assert step.rest == 8
    assert step.gains[0].lead == "1 gang with 4 accelerators"


def test_an_unsafe_name_gets_no_command(owner: Viewer) -> None:
    eu = make_cluster()
    store(eu, PlanStep(PlanStepKind.UNCORDON, (), 8, (node_ref("a; rm -rf /"),)))
    (step,) = read(owner)[0].steps
    assert step.commands == ()


def test_queries_do_not_grow(owner: Viewer, django_assert_num_queries: Any) -> None:
    eu = make_cluster()
    clusters = read_freshness(viewer=owner, now=NOW)
    for number in (1, 20):
        gangs = [make_gang(eu, f"g{number}-{index}") for index in range(number)]
        store(eu, PlanStep(PlanStepKind.UNCORDON, tuple(map(gain, gangs)), 8, (node_ref("a"),)))
        with django_assert_num_queries(2):
            read_plans(viewer=owner, cluster="", clusters=clusters, whole_gangs=False, now=NOW)


def test_untried_gangs_are_counted_for_each_kind_of_step(owner: Viewer) -> None:
    """A plan without steps is not complete if steps were not tried."""
    untried = (
        UntriedGangs(PlanStepKind.UNCORDON, 12, 96),
        UntriedGangs(PlanStepKind.STOP_WHOLE, 1, 0),
    )
    store(make_cluster(), is_complete=False, untried=untried)
    (plan,) = read(owner)
    assert plan.complete is False
    assert [entry.text for entry in plan.untried] == [
        "Uncordons were not tried for 12 gangs with 96 accelerators."
    ]
    (plan,) = read(owner, whole_gangs=True)
    assert [(entry.kind, entry.gangs, entry.accelerators) for entry in plan.untried] == [
        ("uncordon", 12, 96),
        ("stop-whole", 1, 0),
    ]


def test_a_plan_without_the_stops_of_whole_gangs_is_complete_without_their_trials(
    owner: Viewer,
) -> None:
    untried = (UntriedGangs(PlanStepKind.STOP_WHOLE, 1, 8),)
    store(make_cluster(), is_complete=False, untried=untried)
    assert [plan.complete for plan in (*read(owner), *read(owner, whole_gangs=True))] == [
        True,
        False,
    ]


def test_an_incomplete_plan_of_an_earlier_release_stays_incomplete(owner: Viewer) -> None:
    store(make_cluster(), is_complete=False)
    assert [plan.complete for plan in read(owner)] == [False]
