"""Applications of YuniKorn: no object, a label, and what its scheduler says on the pods."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.diagnosis import registry
from gangboard.diagnosis.assemble import assemble
from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from tests.decode.reading import model, with_identity
from tests.domain_objects import NOW, a_condition, a_job, a_pod

KIND = "Application.yunikorn.apache.org"
# gang-owners.md §9.
SKIPPED = "pod is skipped from scheduling because the queue quota has been exceed"


def named(scheduler: str, **labels: str) -> Pod:
    pod = {"metadata": {"labels": labels}, "spec": {"schedulerName": scheduler}}
    found: Pod = model(registry.pods(), with_identity(pod))
    return found


def test_pods_name_their_application_by_a_label() -> None:
    pod = named("yunikorn", **{"yunikorn.apache.org/app-id": "etl-7"})
    assert (pod.group_name, pod.group_kind, pod.other_scheduler) == ("etl-7", KIND, True)
    assert named("yunikorn", applicationId="etl-7").group_name == "etl-7"
    stock = named("default-scheduler", **{"yunikorn.apache.org/app-id": "etl-7"})
    assert (stock.ignores_group, stock.other_scheduler) == (True, False)


def members(**fields: Any) -> list[Pod]:
    job = a_job("etl", pods=2)
    given = {"of": job, "scheduler_name": "yunikorn", "other_scheduler": True, **fields}
    return [a_pod(f"p{n}", group="etl-7", group_kind=KIND, **given) for n in range(2)]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("SchedulingSkipped", SKIPPED),
        ("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu."),
    ],
)
def test_what_it_says_on_the_pods_is_told(reason: str, text: str) -> None:
    said = a_condition("PodScheduled", "False", reason=reason, message=text)
    verdict = assess(assemble(a_job("etl", pods=2), members(scheduled=said), now=NOW))
    found = verdict.finding
    assert (found.code, found.health) == ("unschedulable", Health.WAITING)
    assert found.message == f"Scheduler yunikorn finds no room for 2 pods: {text.rstrip('.')}."
    assert found.advice == ()


def test_a_group_without_an_object_is_not_missed() -> None:
    verdict = assess(assemble(a_job("etl", pods=2), members(on="n0"), now=NOW))
    assert (verdict.finding.code, verdict.members.desired, verdict.members.quorum) == (
        "running",
        2,
        None,
    )
    silent = assess(assemble(a_job("etl", pods=2), members(), now=NOW))
    assert silent.finding.code == "not-attempted"
