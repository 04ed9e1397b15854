"""What a gang does with its accelerators: uses them, holds them, or waits for them.

A gang is *eligible* while nothing holds it back on purpose. It then waits for nodes, for its controller, or because of
a fault of its own. It is *ineligible* while it is suspended, while its queue has not admitted it, while it waits for
another part of the gang to start or to end, or while a controller gates its pods.
"""

from __future__ import annotations

from decimal import Decimal

from gangboard.domain.health import Health, Stage
from gangboard.domain.resources import is_accelerator
from gangboard.domain.usage import AcceleratorUse
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Gang
from gangboard.facts.stored_verdict import is_whole

HELD_BACK_CODES = frozenset({"dependency-waiting", "scheduling-gated"})
"""Codes after admission with which a controller holds pods back on purpose."""
_ENDED = (Health.SUCCEEDED, Health.FAILED)


def is_eligible(health: str, stage: str, code: str) -> bool:
    """Return whether the missing pods of a gang wait for nothing but nodes and controllers."""
    if health == Health.SUSPENDED or stage == Stage.ADMISSION:
        return False
    return code not in HELD_BACK_CODES


def accelerator_use(gang: Gang, verdict: Verdict, on_nodes: float) -> AcceleratorUse:
    """Return the accelerators of a gang by what they are for.

    `on_nodes` are those of all its pods on nodes. Pods of former attempts and terminating pods are included, because
    they keep their devices until they are gone.
    """
    finding = verdict.finding
    requested = accelerators_of(verdict.requests)
    if finding.health is Health.UNKNOWN:
        return AcceleratorUse(unobserved=max(requested, on_nodes))
    whole = is_whole(finding.stage.value, finding.code)
    used, held = (on_nodes, 0.0) if whole else (0.0, on_nodes)
    missing = _missing(gang, verdict, requested)
    if is_eligible(finding.health.value, finding.stage.value, finding.code):
        return AcceleratorUse(used, held, eligible=missing)
    return AcceleratorUse(used, held, ineligible=missing)


def accelerators_of(requests: dict[str, str]) -> float:
    """Return the accelerators in resource requests, which are decimal strings in base units."""
    return float(
        sum(
            (Decimal(amount) for name, amount in requests.items() if is_accelerator(name)),
            Decimal(),
        )
    )


def _missing(gang: Gang, verdict: Verdict, requested: float) -> float:
    """Return the requested accelerators of members that are neither on a node nor done.

    Succeeded pods that were deleted count with the average of a member.
    """
    members, finding = verdict.members, verdict.finding
    is_over = finding.health in _ENDED or gang.owner.meta.deleting_since is not None
    if is_over or not requested:
        return 0.0
    placed = done = Decimal()
    succeeded = 0
    for pod in gang.pods:
        amount = sum(
            (pod.requests[name] for name in pod.requests if is_accelerator(name)), Decimal()
        )
        if pod.meta.ref.uid in gang.pods_on_nodes:
            placed += amount
        elif pod.phase == "Succeeded":
            done, succeeded = done + amount, succeeded + 1
    collected = max(0, members.succeeded - succeeded) * requested / max(members.desired, 1)
    return max(0.0, requested - float(placed + done) - collected)
