"""`group-creation-failed`: events of the Job controller of 1.37."""

from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.owner import GangRequest
from tests.domain_objects import a_group, a_job, ago, an_event, pods_of
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of

NOTE = (
    'Failed to create Workload for Job train: workloads.scheduling.k8s.io "train-5f" is forbidden: '
    "exceeded quota: w, requested: count/workloads.scheduling.k8s.io=1, used: "
    "count/workloads.scheduling.k8s.io=3, limited: count/workloads.scheduling.k8s.io=3"
)
COMPILE = 'Failed to compile Workload for Job train: podGroupTemplates[0].name: Invalid value: "x"'
WORKLOAD = "FailedWorkloadCreate"
GANG: dict[str, Any] = {"gang_request": GangRequest("gang", 2)}


@pytest.mark.parametrize(
    ("reason", "note", "text"),
    [
        (
            "FailedWorkloadCreate",
            NOTE,
            ". ResourceQuota “w” refuses it: count/workloads.scheduling.k8s.io 3 of 3 used",
        ),
        ("FailedWorkloadCompilation", COMPILE, ": " + COMPILE.partition("Job train: ")[2]),
    ],
)
def test_quotes_the_refusal(reason: str, note: str, text: str) -> None:
    job = a_job("train", **GANG)
    unit = unit_of(job, an_event(job, reason, note))
    finding = require_finding("group-creation-failed", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == f"The group of Job train cannot be created{text}."
    assert [(item.label, item.value) for item in finding.evidence] == [(reason, note)]
    assert first_code(unit) == "group-creation-failed"


def test_the_newest_event_is_quoted() -> None:
    job = a_job("train", **GANG)
    old = an_event(job, "FailedWorkloadCreate", NOTE, last_seen=ago(300))
    new = an_event(job, "FailedWorkloadCompilation", COMPILE, last_seen=ago(3))
    assert (
        "Invalid value" in require_finding("group-creation-failed", unit_of(job, old, new)).message
    )


def test_an_existing_group_disproves_the_event() -> None:
    job = a_job("train", **GANG)
    unit = unit_of(job, an_event(job, "FailedWorkloadCreate", NOTE), a_group(quorum=2))
    assert evaluate("group-creation-failed", unit) is None


def test_younger_pods_disprove_the_event() -> None:
    job = a_job("train", **GANG)
    event = an_event(job, "FailedWorkloadCreate", NOTE, last_seen=ago(60))
    unit = unit_of(job, event, *pods_of(job, 1, created_at=ago(30)))
    assert evaluate("group-creation-failed", unit) is None


def test_missing_pods_without_an_event_are_only_missing() -> None:
    assert first_code(unit_of(a_job("train", **GANG))) == "pods-not-created"


def test_a_workload_quota_is_one_short() -> None:
    """Three of three are used, and a Job has one Workload."""
    job = a_job("train", **GANG)
    assert require_finding(
        "group-creation-failed", unit_of(job, an_event(job, WORKLOAD, NOTE))
    ).advice_texts == (
        "Raise count/workloads.scheduling.k8s.io by 1 in ResourceQuota “w”, or free as much.",
    )


def test_a_generated_name_is_too_long() -> None:
    """As 1.37.0 says it of a name of 59 characters: `-pgt-0` makes 65 of them."""
    name = "a-very-long-name-for-a-training-run-that-somebody-generated"
    note = (
        f'Failed to create Workload for Job {name}: Workload.scheduling.k8s.io "{name}-777b46d8d8" is '
        f'invalid: spec.podGroupTemplates[0].name: Invalid value: "{name}-pgt-0": must be no more '
        "than 63 bytes"
    )
    job = a_job(name, **GANG)
    assert require_finding(
        "group-creation-failed", unit_of(job, an_event(job, WORKLOAD, note))
    ).advice_texts == (
        f"Give Job {name} a name of at most 57 characters: Kubernetes appends -pgt-0, and the "
        "limit is 63 (needs re-creating).",
    )


def test_other_errors_are_quoted() -> None:
    job = a_job("train", **GANG)
    unit = unit_of(job, an_event(job, "FailedWorkloadCompilation", COMPILE))
    assert require_finding("group-creation-failed", unit).advice_texts == ()
