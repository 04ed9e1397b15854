"""What to do next: names are links, and what carries a step out stands beside it."""

from __future__ import annotations

import pytest

from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence
from gangboard.readmodels.gang_page import GangDetail, gang_detail
from gangboard.readmodels.next_steps import NextStep, make_steps_to_take
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from tests.factories import NOW, make_cluster, make_finding, make_gang, make_job

pytestmark = pytest.mark.django_db

NODES = tuple(ObjectRef("", "Node", "", name, "") for name in ("a10g-4", "a10g-5"))


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.fixture
def other(cluster: Cluster) -> Gang:
    return make_gang(cluster, "dreamer", namespace="team-rl", kind="JobSet")


def read(
    viewer: Viewer, cluster: Cluster, advice: str, *named: ObjectRef, message: str = ""
) -> tuple[GangDetail, NextStep]:
    evidence = tuple(Evidence(NAMED_IN_ADVICE, ref.name, ref) for ref in named)
    finding = make_finding(advice=(advice,), evidence=evidence, message=message)
    gang = make_gang(cluster, "run", detail=Detail((finding,)), advice=[advice], message=message)
    detail = gang_detail(viewer=viewer, gang_id=gang.id, now=NOW)
    assert detail is not None
    (step,) = make_steps_to_take(detail.row.advice, detail.named, detail.actions)
    return detail, step


def ref_of(gang: Gang) -> ObjectRef:
    return ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)


def test_uncordoning_is_a_command_with_all_its_nodes(owner: Viewer, cluster: Cluster) -> None:
    _, step = read(owner, cluster, "Uncordon nodes a10g-4 and a10g-5: then the pod fits.", *NODES)
    assert step.command == "kubectl uncordon a10g-4 a10g-5"
    assert [piece.node for piece in step.pieces if piece.node] == ["a10g-4", "a10g-5"]
    assert "".join(piece.text for piece in step.pieces) == step.text


def test_no_command_where_only_some_of_the_nodes_are_named(owner: Viewer, cluster: Cluster) -> None:
    text = "Uncordon 9 nodes (a10g-4, a10g-5, …): then the pod fits."
    _, step = read(owner, cluster, text, *NODES)
    assert step.command == ""


def test_reading_the_log_is_a_command(owner: Viewer, cluster: Cluster) -> None:
    _, step = read(owner, cluster, "Read what it wrote last: kubectl logs -n a b -c main")
    assert step.command == "kubectl logs -n a b -c main"
    assert [piece.text for piece in step.pieces] == ["Read what it wrote last."]


def test_whom_to_suspend_is_a_link(owner: Viewer, cluster: Cluster, other: Gang) -> None:
    text = "Suspend JobSet team-rl/dreamer (priority 0), which holds 8 cpu: then the pod fits."
    detail, step = read(owner, cluster, text, ref_of(other), message="dreamer is not named so.")
    assert [(one.text, one.gang_id) for one in step.pieces if one.gang_id] == [
        ("JobSet team-rl/dreamer", other.id)
    ]
    assert [piece.gang_id for piece in detail.named.pieces(detail.row.message)] == [""]


def test_who_may_not_see_a_gang_gets_no_link_and_no_button(cluster: Cluster, other: Gang) -> None:
    reader = Viewer(1, "reader", (Scope(cluster.pk, "research", "operator"),))
    finding = make_finding(
        advice=("Wait for JobSet team-rl/dreamer to end.",),
        evidence=(Evidence(NAMED_IN_ADVICE, other.name, ref_of(other)),),
    )
    gang = make_gang(cluster, "run", detail=Detail((finding,)), advice=list(finding.advice))
    detail = gang_detail(viewer=reader, gang_id=gang.id, now=NOW)
    assert detail is not None
    assert detail.named.gangs == {}
    (step,) = make_steps_to_take(detail.row.advice, detail.named, ())
    assert (step.offers, [piece.gang_id for piece in step.pieces]) == ((), [""])


def test_a_job_of_another_name_is_not_meant(owner: Viewer, cluster: Cluster) -> None:
    job = make_job("run-1", suspended=True)
    text = "Resume Job run-10 to let it run (in place)."
    gang = make_gang(cluster, "run", detail=Detail((), (job,)), advice=[text])
    detail = gang_detail(viewer=owner, gang_id=gang.id, now=NOW)
    assert detail is not None
    offers = [offer for one in detail.jobs for offer in one.actions]
    (step,) = make_steps_to_take(detail.row.advice, detail.named, offers)
    assert step.offers == ()
