"""`not-observed` of what runs in another cluster."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner, ReportedCounts
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.registry import owner_kinds
from tests.domain_objects import (
    a_job,
    a_jobset,
    a_meta,
    a_role,
    ago,
    an_entry,
    child_jobs,
    facts_of,
    pods_of,
)
from tests.evidence_labels import has_field
from tests.sentence_values import values_in

MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def test_an_owner_without_local_controller_is_no_alarm() -> None:
    job = a_job("remote", queue="lq", managed_by=MULTIKUEUE)
    entry = an_entry(job, admitted=True, cluster="worker1")
    finding = assess(facts_of(job, entry)).finding
    assert (finding.code, finding.health) == ("not-observed", Health.UNKNOWN)
    assert finding.message == "Runs in cluster worker1."
    assert finding.advice == ()


@pytest.mark.parametrize(
    ("reported", "code"),
    [
        (ReportedCounts(2, 2), "running"),
        (ReportedCounts(1, 2), "not-observed"),
        (None, "not-observed"),
    ],
)
def test_a_copied_status_decides_the_code(reported: ReportedCounts | None, code: str) -> None:
    job = a_job("remote", pods=2, managed_by=MULTIKUEUE, reported=reported)
    assert assess(facts_of(job)).finding.code == code


def test_owners_with_local_pods_are_judged_by_their_pods() -> None:
    jobset = a_jobset("here", a_role("worker", jobs=1), managed_by="example.com/mine")
    finding = assess(facts_of(jobset, *child_jobs(jobset))).finding
    assert finding.code == "pods-not-created"


OTHER: dict[str, Any] = {"pods": 2, "managed_by": "example.com/other-controller"}


@pytest.mark.parametrize("reported", [None, ReportedCounts(0, 2)])
def test_other_controllers_may_run_locally(reported: ReportedCounts | None) -> None:
    job = a_job("delegated", reported=reported, **OTHER)
    assert assess(facts_of(job)).finding.code == "pods-not-created"


@pytest.mark.parametrize(
    ("reported", "counts"),
    [
        (ReportedCounts(2, 2), "2 2"),
        (ReportedCounts(1, 2), "1 2"),
        (ReportedCounts(3, 3, "Job", "running"), "3 3"),
    ],
)
def test_another_manager_reports_pods_that_nobody_sees(
    reported: ReportedCounts, counts: str
) -> None:
    """It was blocked, without any pod, while its manager ran it elsewhere."""
    finding = assess(facts_of(a_job("delegated", reported=reported, **OTHER))).finding
    assert (finding.code, finding.health) == ("not-observed", Health.UNKNOWN)
    assert values_in(finding.message) == f"example.com/other-controller spec.managedBy {counts}"
    assert finding.advice == ()


def test_pods_here_are_judged_whatever_its_status_says() -> None:
    job = a_job("run", reported=ReportedCounts(2, 2), **OTHER)
    assert assess(facts_of(job, *pods_of(job, 1))).finding.code == "pods-not-created"


def test_a_suspended_or_deleted_owner_is_told_as_such() -> None:
    job = a_job("delegated", reported=ReportedCounts(2, 2), **OTHER)
    deleted = replace(job, meta=replace(job.meta, deleting_since=ago(5)))
    for changed, code in ((replace(job, suspended=True), "suspended"), (deleted, "being-deleted")):
        assert assess(facts_of(changed)).finding.code == code


@pytest.mark.parametrize(
    "kind",
    [kind for kind in owner_kinds() if has_field(kind.resource, "managedBy")],
    ids=lambda kind: kind.resource.key,
)
def test_the_field_is_that_of_the_kind(kind: OwnerKind) -> None:
    meta = a_meta(kind.resource.group, kind.resource.kind, "remote")
    owner = Owner(meta=meta, managed_by=MULTIKUEUE)
    label = assess(facts_of(owner)).finding.evidence[0].label
    assert label == ".".join(kind.managed_by_field)
