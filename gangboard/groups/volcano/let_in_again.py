"""A PodGroup that waits for its queue once more while some of its pods hold nodes.

Volcano admits it again as if it had nothing. It adds what the remaining pods hold to `minResources` and compares the
sum with the queue (`JobEnqueueable` in proportion.go and capacity.go of v1.14.1), so in a queue that is just large
enough the remaining pods keep the PodGroup out for ever (seen). Volcano makes the missing pods of a Job only once the
PodGroup is in (`syncJob` in job_controller_actions.go), and tries no pod before (allocate.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.quota import Queue
from gangboard.domain.resource_units import units
from gangboard.domain.text import names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.gang_refusal import queue_of
from gangboard.facts.lost_members import how_many_run
from gangboard.facts.unit import Unit
from gangboard.groups.volcano.queue_words import (
    NO_QUOTA,
    is_back_in_queue,
    label_of_its_group,
    newest_word,
    queue_evidence,
    queue_name,
)
from gangboard.placement.amount_words import amount_of
from gangboard.plugins.rule import UnitRule


def _find_let_in_again(unit: Unit) -> Finding | None:
    """Return a finding where some of its pods run; the reason of its queue is told behind it."""
    if not unit.ready or not is_back_in_queue(unit):
        return None
    event, lacking = newest_word(unit, NO_QUOTA) or (None, "")
    cause = f": not enough {lacking} is left in it" if lacking else ""
    return unit_finding(
        LET_IN_AGAIN,
        unit,
        f"{how_many_run(unit)}; {_rest(unit)} Queue {queue_name(unit)} lets {label_of_its_group(unit)} "
        f"in{cause}.",
        evidence=(
            *((Evidence("Volcano says", event.note, event.regarding),) if event else ()),
            *queue_evidence(unit),
        ),
    )


def _rest(unit: Unit) -> str:
    """Return `the other pod is not made before`, or that it is there and waits."""
    unmade, waiting = unit.missing, len(unit.unplaced)
    number = unmade + waiting
    others = "the other pod" if number == 1 else f"the other {number} pods"
    if not unmade:
        return f"{others} {'waits' if number == 1 else 'wait'} until"
    if not waiting:
        return f"{others} {'is' if number == 1 else 'are'} not made before"
    return f"{others} wait, or are not made, until"


class _Sum(NamedTuple):
    """What it asks for of a resource, what its pods hold of that, and what its queue may have."""

    resource: str
    asked: Decimal
    held: Decimal
    most: Decimal

    def text(self, amount: Decimal) -> str:
        """Return `2 CPUs`."""
        return amount_of(self.resource, units(self.resource, amount))


def _find_own_pods_count_twice(unit: Unit) -> Finding | None:
    """Return a finding where its queue refuses it, and what it holds itself is what is too much."""
    queue, group = queue_of(unit), unit.group
    if queue is None or group is None or not is_back_in_queue(unit):
        return None
    told = newest_word(unit, NO_QUOTA)
    holding = [pod for pod in unit.placed if not pod.is_terminating]
    over = next(_too_much(unit, holding, queue), None)
    if told is None or over is None:
        return None
    event, _ = told
    asked, held, most = (over.text(one) for one in (over.asked, over.held, over.most))
    pods = f"pod {holding[0].meta.ref.name}" if len(holding) == 1 else f"pods {_listed(holding)}"
    return unit_finding(
        OWN_PODS_COUNT_TWICE,
        unit,
        f"Queue {group.queue} may have at most {most}, and {label_of_its_group(unit)} asks it for {asked} "
        f"besides the {held} of {pods}.",
        advice=(
            f"Raise capability of Queue {group.queue} to {over.text(over.asked + over.held)} at least.",
            f"{_deletion(holding, pods)}: then all of {label_of_its_group(unit)} is let in at once.",
        ),
        evidence=(
            Evidence("Volcano says", event.note, event.regarding),
            Evidence(f"{over.resource} in spec.minResources", asked, group.meta.ref),
            Evidence(f"{over.resource} of pods with a node", held, group.meta.ref),
            Evidence(f"{over.resource} in spec.capability", most, queue.meta.ref),
            *queue_evidence(unit),
        ),
        since=event.first_seen,
    )


def _deletion(holding: list[Pod], pods: str) -> str:
    """Return `Delete pod ring-0`, and who makes it anew and what is lost with it."""
    is_made_by_hand = any(pod.meta.controller is None for pod in holding)
    step = (
        f"Delete {pods} and make {'it' if len(holding) == 1 else 'them'} anew"
        if is_made_by_hand
        else f"Delete {pods}"
    )
    runs = any(pod.is_ready for pod in holding)
    return f"{step} (the work since the last checkpoint is lost)" if runs else step


def _too_much(unit: Unit, holding: list[Pod], queue: Queue) -> Iterator[_Sum]:
    """Yield resources of which its queue has enough for all of it, and not for what it holds besides."""
    most = {quota.resource: quota.nominal for quota in queue.quotas if quota.nominal is not None}
    asked = unit.group.requests if unit.group is not None else {}
    for resource, amount in sorted(asked.items()):
        limit = most.get(resource)
        held = sum((pod.requests.get(resource, Decimal(0)) for pod in holding), Decimal(0))
        if limit is not None and amount <= limit < amount + held:
            yield _Sum(resource, amount, held, limit)


def _listed(pods: list[Pod]) -> str:
    return names(pod.meta.ref.name for pod in pods)


LET_IN_AGAIN = UnitRule(
    "lost-members",
    Stage.RUN,
    "Lost members",
    15,
    _find_let_in_again,
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
