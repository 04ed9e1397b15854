"""`volume-unavailable` and `claim-unavailable` by the claims themselves, with any text of the scheduler.

The texts are those seen on 1.35.4, 1.36.3 and 1.37.0. For a Job on 1.37 there is only an error, for a pod with
a missing ResourceClaim there is no text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.health import Health
from gangboard.domain.objects import Condition
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import (
    OF_DEVICES,
    OF_VOLUMES,
    ClaimName,
    ClaimProblem,
    PodClaim,
    UnusableClaim,
)
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_group, a_job, a_meta, a_pod, ago
from tests.domain_objects import placed as said_of_group
from tests.placement.making import node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.rules.waiting_gangs import (
    GANG,
    capacity_of,
    evidence_values,
    message_of,
    pod_requests,
    selecting,
    with_placement,
)
from tests.sentence_values import values_in

DATA = PodClaim(OF_VOLUMES, "data")
LINKS = PodClaim(OF_DEVICES, "links")
ERROR = a_condition(
    "PodScheduled", "False", reason="SchedulerError", message=texts.CLAIM_HIDDEN, since=ago(300)
)
FREE = capacity_of(node("n0"), node("n1"), node("n2"))
FULL = capacity_of(node("n0", used=4), node("n1", used=4))
VOLUMES, CLAIMS = (
    PodConstraints(unsupported=("volumes",)),
    PodConstraints(unsupported=("resource claims",)),
)


def place(claim: PodClaim) -> ClaimName:
    return claim.kind, "team-a", claim.name


def unusable(*result: tuple[PodClaim, ClaimProblem]) -> dict[ClaimName, UnusableClaim]:
    existing = {ClaimProblem.DELETED, ClaimProblem.LOST, ClaimProblem.UNBOUND}
    return {
        place(claim): UnusableClaim(
            problem,
            a_meta("", claim.kind, claim.name) if problem in existing else None,
            "pv-7" if problem is ClaimProblem.LOST else "",
        )
        for claim, problem in result
    }


def waiting(
    *claims: tuple[PodClaim, ...],
    because: dict[ClaimName, UnusableClaim],
    scheduled: Condition | None = ERROR,
    room: ClusterCapacity = FREE,
    needs: PodConstraints = VOLUMES,
    **more: Any,
) -> Unit:
    """Return a gang with a pod for each of these lists of claims. `because` has the results of the lookups."""
    job = a_job("train", pods=len(claims), group_name=GANG)
    reported = None
    if scheduled is not None:
        reported = said_of_group("False", scheduled.message, scheduled.reason)
    group = a_group(GANG, quorum=len(claims), placed=reported)
    pods = [
        a_pod(
            f"train-{index}",
            of=job,
            group=GANG,
            scheduled=scheduled,
            requests=pod_requests(4),
            needs=needs,
            claims=named,
            **more,
        )
        for index, named in enumerate(claims)
    ]
    return with_placement(unit_of(job, group, *pods, facts={"room": room, "claims": because}))


MISSING = unusable((DATA, ClaimProblem.MISSING))


def test_a_claim_that_an_error_hides() -> None:
    unit = waiting((DATA,), (DATA,), because=MISSING)
    finding = require_finding("volume-unavailable", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == "2 pods need PersistentVolumeClaim data, which does not exist."
    assert evidence_values(finding, "scheduler says") == [texts.CLAIM_HIDDEN]
    (observed,) = (item for item in finding.evidence if item.label == "PersistentVolumeClaim data")
    assert observed.value == "does not exist"
    assert observed.source is not None
    assert (observed.source.kind, observed.source.name) == ("Pod", "train-0")
    assert finding.since == ago(300)
    assert first_code(unit) == "volume-unavailable"


def test_twin_with_an_unreadable_claim() -> None:
    unit = waiting((DATA,), (DATA,), because={})
    assert evaluate("volume-unavailable", unit) is None
    assert first_code(unit) == "scheduler-error"


def test_twin_where_another_claim_is_in_trouble() -> None:
    other = unusable(
        (PodClaim(OF_VOLUMES, "other"), ClaimProblem.MISSING), (LINKS, ClaimProblem.MISSING)
    )
    assert first_code(waiting((DATA,), (DATA,), because=other)) == "scheduler-error"
    elsewhere = {(OF_VOLUMES, "team-b", "data"): UnusableClaim(ClaimProblem.MISSING)}
    assert first_code(waiting((DATA,), (DATA,), because=elsewhere)) == "scheduler-error"


def test_a_claim_before_which_a_pod_is_held_back() -> None:
    because = unusable((LINKS, ClaimProblem.MISSING))
    unit = waiting((LINKS,), (LINKS,), because=because, scheduled=None, needs=CLAIMS)
    finding = require_finding("claim-unavailable", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "2"
    assert finding.since == ago(600)
    assert first_code(unit) == "claim-unavailable"


def test_a_missing_claim_is_reported_within_the_first_minute() -> None:
    because = unusable((LINKS, ClaimProblem.MISSING))
    young = waiting((LINKS,), because=because, scheduled=None, needs=CLAIMS, created_at=ago(5))
    assert first_code(young) == "claim-unavailable"
    unobserved = waiting((LINKS,), because={}, scheduled=None, needs=CLAIMS, created_at=ago(5))
    assert first_code(unobserved) == "starting"
    old = waiting((LINKS,), because={}, scheduled=None, needs=CLAIMS)
    assert first_code(old) == "not-attempted"


def test_no_pod_is_held_back_for_a_volume() -> None:
    """Without a text no scheduler has tried these pods."""
    unit = waiting((DATA,), (DATA,), because=MISSING, scheduled=None)
    assert first_code(unit) == "not-attempted"


@pytest.mark.parametrize(
    ("claim", "problem", "health", "says"),
    [
        (
            DATA,
            ClaimProblem.DELETED,
            Health.BLOCKED,
            "2 pods need PersistentVolumeClaim data, which is being deleted.",
        ),
        (
            DATA,
            ClaimProblem.LOST,
            Health.BLOCKED,
            "2 pods need PersistentVolumeClaim data, whose PersistentVolume pv-7 does not exist.",
        ),
        (
            DATA,
            ClaimProblem.UNBOUND,
            Health.WAITING,
            "2 pods wait for PersistentVolumeClaim data, which is not bound to a volume yet.",
        ),
        (
            LINKS,
            ClaimProblem.DELETED,
            Health.BLOCKED,
            "2 pods need ResourceClaim links, which is being deleted.",
        ),
    ],
)
def test_unusable_claims_are_reported(
    claim: PodClaim, problem: ClaimProblem, health: Health, says: str
) -> None:
    code = "volume-unavailable" if claim is DATA else "claim-unavailable"
    unit = waiting((claim,), (claim,), because=unusable((claim, problem)))
    finding = require_finding(code, unit)
    assert (finding.health, finding.message) == (health, says)
    (observed,) = (item for item in finding.evidence if item.label == f"{claim.kind} {claim.name}")
    assert (observed.value, observed.source and observed.source.kind) == (problem.value, claim.kind)
    assert first_code(unit) == code


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (
            ClaimProblem.MISSING,
            "3 pods need PersistentVolumeClaims d-0, d-1 and d-2, which do not exist.",
        ),
        (
            ClaimProblem.LOST,
            (
                "3 pods need PersistentVolumeClaims d-0, d-1 and d-2, whose PersistentVolumes do not "
                "exist."
            ),
        ),
        (
            ClaimProblem.UNBOUND,
            (
                "3 pods wait for PersistentVolumeClaims d-0, d-1 and d-2, which are not bound to "
                "volumes yet."
            ),
        ),
    ],
)
def test_a_claim_for_each_pod(problem: ClaimProblem, says: str) -> None:
    claims = [PodClaim(OF_VOLUMES, f"d-{index}") for index in range(3)]
    because = unusable(*((claim, problem) for claim in claims))
    assert (
        message_of("volume-unavailable", waiting(*((claim,) for claim in claims), because=because))
        == says
    )


def test_claims_that_a_controller_will_create_are_not_missing() -> None:
    scratch = [PodClaim(OF_VOLUMES, f"train-{n}-scratch", generated=True) for n in (0, 1)]
    because = unusable(*((claim, ClaimProblem.UNMADE) for claim in scratch))
    assert message_of("volume-unavailable", waiting((scratch[0],), because=because)) == (
        "1 pod waits for PersistentVolumeClaim train-0-scratch of an ephemeral volume to be "
        "created."
    )
    assert message_of(
        "volume-unavailable", waiting((scratch[0],), (scratch[1],), because=because)
    ) == (
        "2 pods wait for PersistentVolumeClaims train-0-scratch and train-1-scratch of "
        "ephemeral volumes to be created."
    )
    gpu = PodClaim(OF_DEVICES, "gpu", generated=True, unmade=True)
    because = unusable((gpu, ClaimProblem.UNMADE))
    unit = waiting((gpu,), because=because, scheduled=None, needs=CLAIMS)
    assert (
        message_of("claim-unavailable", unit)
        == "1 pod waits for a ResourceClaim that has not been created yet."
    )
    unit = waiting((gpu,), (gpu,), because=because, scheduled=None, needs=CLAIMS)
    finding = require_finding("claim-unavailable", unit)
    assert finding.message == "2 pods wait for ResourceClaims that have not been created yet."
    assert finding.health is Health.WAITING


def test_only_members_with_the_claim_are_counted() -> None:
    unit = waiting((DATA,), (), (), because=MISSING)
    assert message_of("volume-unavailable", unit) == (
        "3 pods wait together; 1 pod needs PersistentVolumeClaim data, which does not exist."
    )


def test_permanent_problems_precede_transient_ones() -> None:
    because = unusable((DATA, ClaimProblem.UNBOUND), (LINKS, ClaimProblem.DELETED))
    unit = waiting((DATA,), (DATA,), (LINKS,), because=because)
    assert first_code(unit) == "claim-unavailable"
    assert require_finding("claim-unavailable", unit).health is Health.BLOCKED


UNBOUND_TEXT = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
NOT_THERE = '0/2 nodes are available: persistentvolumeclaim "data" not found. not found'


def refused(text: str) -> Condition:
    return a_condition("PodScheduled", "False", reason="Unschedulable", message=text)


def test_the_claim_is_named_and_all_pods_counted_if_the_scheduler_agrees() -> None:
    because = unusable((DATA, ClaimProblem.UNBOUND))
    unit = waiting((DATA,), (DATA,), because=because, scheduled=refused(UNBOUND_TEXT))
    finding = require_finding("volume-unavailable", unit)
    assert finding.message == (
        "2 pods wait for PersistentVolumeClaim data, which is not bound to a volume yet."
    )
    assert evidence_values(finding, "scheduler says") == [UNBOUND_TEXT]


def test_the_scheduler_text_is_used_if_claims_are_forbidden() -> None:
    unit = waiting((DATA,), (DATA,), because={}, scheduled=refused(NOT_THERE))
    assert message_of("volume-unavailable", unit) == (
        "2 pods need PersistentVolumeClaim data, which does not exist."
    )


def test_claims_are_irrelevant_if_no_node_can_ever_fit() -> None:
    assert first_code(waiting((DATA,), (DATA,), because=MISSING, room=FULL)) == "volume-unavailable"
    nowhere = replace(selecting(pool="gone"), unsupported=("volumes",))
    assert first_code(waiting((DATA,), because=MISSING, needs=nowhere)) == "no-matching-node"


def test_node_facts_do_not_change_the_claim_finding() -> None:
    unit = waiting((DATA,), (DATA,), because=MISSING, room=capacity_of(why="nodes: forbidden"))
    assert first_code(unit) == "volume-unavailable"


def test_a_single_pod_without_a_group() -> None:
    because = unusable((LINKS, ClaimProblem.MISSING))
    pod: Pod = a_pod("train-0", of=a_job("train", pods=1), claims=(LINKS,), needs=CLAIMS)
    job = a_job("train", pods=1)
    unit = with_placement(unit_of(job, pod, facts={"room": FREE, "claims": because}))
    assert message_of("claim-unavailable", unit) == (
        "1 pod needs ResourceClaim links, which does not exist."
    )
    gated = replace(pod, gates=("example.com/later",))
    unit = with_placement(unit_of(job, gated, facts={"room": FREE, "claims": because}))
    assert evaluate("claim-unavailable", unit) is None
