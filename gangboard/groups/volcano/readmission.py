"""Findings about a PodGroup that waits for its queue again while some of its pods hold nodes.

Volcano adds the requests of the remaining pods to `minResources` and compares the sum with the queue (`JobEnqueueable`
in proportion.go and capacity.go of v1.14.1). In a queue that is just large enough, the remaining pods keep the PodGroup
out for ever (observed). Until the PodGroup is admitted, Volcano does not create the missing pods of a Job (`syncJob` in
job_controller_actions.go). It places no pod before that either (allocate.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.quota import Queue
from gangboard.domain.resources import scheduler_units
from gangboard.domain.text import names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import running_members_text
from gangboard.facts.scheduler_rules import queue_of
from gangboard.facts.unit import Unit
from gangboard.groups.volcano.queue_state import (
    QUOTA_INSUFFICIENT,
    group_label,
    is_back_in_queue,
    newest_quota_event,
    queue_evidence,
    queue_name,
)
from gangboard.placement.amounts import format_amount
from gangboard.plugins.rule import UnitRule


def _find_waits_for_readmission(unit: Unit) -> Finding | None:
    """Return a finding while some pods run and the group waits for its queue, with the cause."""
    if not unit.ready or not is_back_in_queue(unit):
        return None
    event, lacking = newest_quota_event(unit, QUOTA_INSUFFICIENT) or (None, "")
    cause = f": not enough {lacking} is left in it" if lacking else ""
    return unit_finding(
        WAITS_FOR_READMISSION,
        unit,
        f"{running_members_text(unit)}; {_other_pods_text(unit)} Queue {queue_name(unit)} admits {group_label(unit)}"
        f"{cause}.",
        evidence=(
            *((Evidence("Volcano says", event.note, event.regarding),) if event else ()),
            *queue_evidence(unit),
        ),
    )


def _other_pods_text(unit: Unit) -> str:
    """Return `the other pod is not created before`, or `the other pod waits until`."""
    unmade, waiting = unit.missing, len(unit.unplaced)
    number = unmade + waiting
    other_pods = "the other pod" if number == 1 else f"the other {number} pods"
    if not unmade:
        return f"{other_pods} {'waits' if number == 1 else 'wait'} until"
    if not waiting:
        return f"{other_pods} {'is' if number == 1 else 'are'} not created before"
    return f"{other_pods} wait, or are not created, until"


class _ResourceSum(NamedTuple):
    """Amounts of one resource: requested by the PodGroup, held by its pods, and the limit of the queue."""

    resource: str
    requested: Decimal
    held: Decimal
    limit: Decimal

    def text(self, amount: Decimal) -> str:
        """Return `2 CPUs`."""
        return format_amount(self.resource, scheduler_units(self.resource, amount))


def _find_own_pods_count_twice(unit: Unit) -> Finding | None:
    """Return a finding if the queue refuses the group only because its own pods count twice."""
    queue, group = queue_of(unit), unit.group
    if queue is None or group is None or not is_back_in_queue(unit):
        return None
    refusal = newest_quota_event(unit, QUOTA_INSUFFICIENT)
    holding = [pod for pod in unit.placed if not pod.is_terminating]
    excess = next(_find_excess(unit, holding, queue), None)
    if refusal is None or excess is None:
        return None
    event, _ = refusal
    requested, held, limit = (
        excess.text(size) for size in (excess.requested, excess.held, excess.limit)
    )
    pods = (
        f"pod {holding[0].meta.ref.name}" if len(holding) == 1 else f"pods {_names_text(holding)}"
    )
    return unit_finding(
        OWN_PODS_COUNT_TWICE,
        unit,
        f"Queue {group.queue} allows at most {limit}, and {group_label(unit)} requests {requested} "
        f"besides the {held} of {pods}.",
        advice=(
            f"Raise capability of Queue {group.queue} to {excess.text(excess.requested + excess.held)} at least.",
            f"{_deletion_text(holding, pods)}: then all of {group_label(unit)} is admitted at once.",
        ),
        evidence=(
            Evidence("Volcano says", event.note, event.regarding),
            Evidence(f"{excess.resource} in spec.minResources", requested, group.meta.ref),
            Evidence(f"{excess.resource} of pods with a node", held, group.meta.ref),
            Evidence(f"{excess.resource} in spec.capability", limit, queue.meta.ref),
            *queue_evidence(unit),
        ),
        since=event.first_seen,
    )


def _deletion_text(holding: list[Pod], pods: str) -> str:
    """Return `Delete pod ring-0`, with the lost work, and with the re-creation of pods without a controller."""
    is_made_by_hand = any(pod.meta.controller is None for pod in holding)
    step = (
        f"Delete {pods} and re-create {'it' if len(holding) == 1 else 'them'}"
        if is_made_by_hand
        else f"Delete {pods}"
    )
    runs = any(pod.is_ready for pod in holding)
    return f"{step} (the work since the last checkpoint is lost)" if runs else step


def _find_excess(unit: Unit, holding: list[Pod], queue: Queue) -> Iterator[_ResourceSum]:
    """Yield the resources whose request fits into the queue, but not together with the pods' requests."""
    limits = {quota.resource: quota.nominal for quota in queue.quotas if quota.nominal is not None}
    requests = unit.group.requests if unit.group is not None else {}
    for resource, amount in sorted(requests.items()):
        limit = limits.get(resource)
        held = sum((pod.requests.get(resource, Decimal(0)) for pod in holding), Decimal(0))
        if limit is not None and amount <= limit < amount + held:
            yield _ResourceSum(resource, amount, held, limit)


def _names_text(pods: list[Pod]) -> str:
    return names(pod.meta.ref.name for pod in pods)


WAITS_FOR_READMISSION = UnitRule(
    "lost-members",
    Stage.RUN,
    "Lost members",
    15,
    _find_waits_for_readmission,
    overrides=True,
    health=Health.DEGRADED,
)
OWN_PODS_COUNT_TWICE = UnitRule(
    "exceeds-quota",
    Stage.ADMISSION,
    "Exceeds the quota",
    15,
    _find_own_pods_count_twice,
    health=Health.BLOCKED,
)
