"""Groups of LeaderWorkerSets: what `spec.scheduling` asks for, and what `WorkloadSchedulingReady` says."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import Verdict
from gangboard.owners.leaderworkerset import LeaderWorkerSet
from tests.decode.reading import Json, model
from tests.domain_objects import NOW
from tests.gangs import assemble
from tests.kinds import registered
from tests.owners.test_leaderworkerset import LWS, lws, member

OWNER = registered(LeaderWorkerSet)


def with_condition(status: str, reason: str, message: str = "the API said no") -> Owner:
    """Return a LeaderWorkerSet with that condition."""
    ready = {
        "type": "WorkloadSchedulingReady",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-21T11:58:00Z",
    }
    result: Owner = model(OWNER.resource, {**LWS, "status": {"conditions": [ready]}})
    return result


def judged(owner: Owner, *pods: Any) -> Verdict:
    return assess(assemble(owner, pods, now=NOW, gang_api_version="v1beta1"))


@pytest.mark.parametrize(
    ("reason", "code", "health"),
    [
        ("APINotAvailable", "group-creation-failed", Health.BLOCKED),
        ("WorkloadCreateFailed", "group-creation-failed", Health.BLOCKED),
        ("PodGroupCreateFailed", "group-creation-failed", Health.BLOCKED),
        ("PodGroupCleanupBlocked", "podgroup-terminating", Health.BLOCKED),
        ("InvalidSchedulingConfiguration", "group-not-expressible", Health.BLOCKED),
        ("ParentWorkloadNotReady", "dependency-waiting", Health.WAITING),
        ("SomethingOfALaterRelease", "group-creation-failed", Health.BLOCKED),
    ],
)
def test_each_reason_is_a_sentence(reason: str, code: str, health: Health) -> None:
    result = judged(with_condition("False", reason)).finding
    assert (result.code, result.health) == (code, health)
    assert "the API said no" in result.message
    assert result.evidence[0].label == f"WorkloadSchedulingReady: {reason}"


def test_created_groups_are_no_finding() -> None:
    """Near miss: the condition is True, and pods are missing for another reason."""
    assert (
        judged(with_condition("True", "WorkloadSchedulingReady")).finding.code == "pods-not-created"
    )


def test_a_running_set_does_not_mention_its_groups() -> None:
    pods = [member(replica, index, on="n0") for replica in range(2) for index in range(3)]
    result = judged(with_condition("False", "PodGroupCleanupBlocked"), *pods).finding
    assert result.code == "running"


@pytest.mark.parametrize(
    ("scheduling", "policy", "quorum"),
    [
        ({}, "gang", 3),
        ({"schedulingPolicy": {"gang": {}}}, "gang", 3),
        ({"schedulingPolicy": {"gang": {"minCount": 2}}}, "gang", 2),
        ({"schedulingPolicy": {"gang": {"minCount": 0}}}, "gang", 3),
        ({"schedulingPolicy": {"basic": {}}}, "basic", None),
        ({"schedulingPolicy": {"later": {}}}, "unknown", None),
    ],
)
def test_the_scheduling_request_is_decoded(
    scheduling: Json, policy: str, quorum: int | None
) -> None:
    request = lws(scheduling=scheduling).gang_request
    assert request is not None
    assert (request.policy, request.quorum) == (policy, quorum)


def test_a_set_without_the_field_requests_no_gang() -> None:
    assert lws().gang_request is None
    assert lws(scheduling=None).gang_request is None
