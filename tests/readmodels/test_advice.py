"""Advice in read models: order of steps, cost of each victim, and permissions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.advice import AdviceKind, AdvisedStep, Harm
from gangboard.domain.objects import ObjectRef
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.readmodels.advice import typical_text
from gangboard.readmodels.time_to_start import TypicalWait
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail, pack_advice, pack_detail
from gangboard.store.models import Cluster, Gang
from tests.factories import NOW, make_cluster, make_finding, make_gang

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster("east")


def ref_of(gang: Gang) -> ObjectRef:
    return ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)


def stop(*gangs: Gang, kind: AdviceKind = AdviceKind.SUSPEND_GANGS) -> AdvisedStep:
    names = " and ".join(gang.name for gang in gangs)
    return AdvisedStep(f"Suspend {names}.", kind, objects=tuple(map(ref_of, gangs)))


def advised(cluster: Cluster, name: str, *steps: AdvisedStep, **columns: Any) -> Gang:
    return make_gang(cluster, name, advice=pack_advice(steps), health="waiting", **columns)


def read(viewer: Viewer, gang: Gang) -> GangDetail:
    detail = gang_detail(viewer=viewer, gang_id=gang.pk, now=NOW)
    assert detail is not None
    return detail


def runs(cluster: Cluster, name: str, priority: int = 0, **columns: Any) -> Gang:
    values: dict[str, Any] = {
        "health": "running",
        "stage": "run",
        "code": "running",
        "ready": 4,
        "desired": 4,
    }
    since = NOW - timedelta(days=9)
    return make_gang(
        cluster, name, **{**values, "since": since, "priority_value": priority, **columns}
    )


def test_advice_is_ordered_by_harm_then_priority(owner: Viewer, cluster: Cluster) -> None:
    high, low = runs(cluster, "high", 5), runs(cluster, "low", -3)
    broken = runs(cluster, "half", stage="placement", code="partly-placed", health="degraded")
    steps = (
        stop(high),
        stop(low),
        AdvisedStep("Lower the quorum.", AdviceKind.QUORUM),
        stop(broken, kind=AdviceKind.SUSPEND_BROKEN),
        AdvisedStep("Uncordon node a.", AdviceKind.UNCORDON),
        AdvisedStep("Wait for 4 cpu.", AdviceKind.WAIT_FOR_ROOM),
    )
    next_steps = read(owner, advised(cluster, "run", *steps)).row.next_steps
    assert [step.harm for step in next_steps] == [
        *(Harm.NOTHING, Harm.NODES, Harm.BROKEN_GANGS, Harm.OWN_GANG),
        *(Harm.WHOLE_GANGS, Harm.WHOLE_GANGS),
    ]
    assert [victim.name for step in next_steps for victim in step.victims] == [
        "half",
        "low",
        "high",
    ]


def test_stopping_a_complete_gang_is_never_first(owner: Viewer, cluster: Cluster) -> None:
    moe = runs(cluster, "moe")
    for kind in (AdviceKind.SUSPEND_GANGS, AdviceKind.SUSPEND_BROKEN):
        row = read(owner, advised(cluster, f"run-{kind}", stop(moe, kind=kind))).row
        assert [step.harm for step in row.next_steps] == [Harm.NOTHING, Harm.WHOLE_GANGS]
        assert "Suspend" not in row.next_step


def test_a_now_incomplete_gang_is_not_complete(owner: Viewer, cluster: Cluster) -> None:
    half = runs(cluster, "half", stage="placement", code="partly-placed", health="degraded")
    (step,) = read(owner, advised(cluster, "run", stop(half))).row.next_steps
    assert step.harm is Harm.BROKEN_GANGS


def test_a_victim_has_its_cost_and_beneficiaries(owner: Viewer, cluster: Cluster) -> None:
    moe = runs(cluster, "moe")
    run, *_ = [advised(cluster, f"run-{index}", stop(moe), priority_value=0) for index in range(3)]
    _, step = read(owner, run).row.next_steps
    (victim,) = step.victims
    assert (victim.ready, victim.desired, victim.namespace) == (4, 4, moe.namespace)
    assert victim.others == 2
    assert step.sentence == (
        f"Suspend moe. Cost: moe runs 9 d, 4 of 4 ready, namespace {moe.namespace}, same priority, "
        "also advised to 2 other gangs."
    )


def test_a_step_below_the_verdict_has_its_cost_and_is_not_first(
    owner: Viewer, cluster: Cluster
) -> None:
    """A further finding, which the page shows as also found, follows the same rules."""
    moe = runs(cluster, "moe")
    half = runs(cluster, "half", stage="placement", code="partly-placed", health="degraded")
    findings = (make_finding(), make_finding(advice=(stop(moe), stop(half))))
    gang = advised(cluster, "run", detail=Detail(findings), priority_value=0)
    also = read(owner, gang).other_findings[-1]
    costs = f"4 of 4 ready, namespace {moe.namespace}, same priority."
    assert also.advice == (f"Suspend half. Cost: half, {costs}", f"Suspend moe. Cost: moe, {costs}")
    alone = replace(findings[1], advice=(stop(moe),))
    gang.detail = pack_detail(Detail((findings[0], alone)))
    gang.save()
    first, second = read(owner, gang).other_findings[-1].advice
    assert first == "Wait for capacity to become free."
    assert second == f"Suspend moe. Cost: moe, {costs}"


def test_hidden_gangs_are_not_counted(cluster: Cluster) -> None:
    moe = runs(cluster, "moe")
    run = advised(cluster, "run", stop(moe))
    advised(cluster, "other", stop(moe), namespace="secret")
    viewer = Viewer(1, "reader", (Scope(cluster.pk, run.namespace, "operator"),))
    _, step = read(viewer, run).row.next_steps
    assert step.victims[0].others == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "message"), [(0, 0, "same"), (5, 0, "lower"), (0, None, "same")]
)
def test_priority_is_compared(
    owner: Viewer, cluster: Cluster, ours: int, theirs: int | None, message: str
) -> None:
    moe = runs(cluster, "moe", priority_value=theirs)
    _, step = read(owner, advised(cluster, "run", stop(moe), priority_value=ours)).row.next_steps
    assert step.victims[0].compared.startswith(message)


def test_the_typical_wait_is_shown_or_unknown() -> None:
    assert typical_text(TypicalWait(720, 9)) == "Typical wait: 12 min."
    assert "unknown, no similar gang" in typical_text(TypicalWait(None, 0))
    assert "unknown, only 3 similar gangs" in typical_text(TypicalWait(None, 3))
