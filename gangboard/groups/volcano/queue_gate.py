"""Pods that Volcano keeps gated until their queue has capacity for them (v1.15)."""

from __future__ import annotations

from gangboard.domain.text import out_of
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.scheduler_rules import waiting_for_quota
from gangboard.facts.unit import Unit
from gangboard.facts.unit_counts import lacks_room

_GATE = "scheduling.volcano.sh/queue-allocation-gate"


def find_gated(unit: Unit) -> Finding | None:
    """Return a finding while this gate alone keeps members from the scheduler."""
    gated = [pod for pod in unit.unplaced if pod.gates]
    if not gated or not lacks_room(unit) or any(set(pod.gates) != {_GATE} for pod in gated):
        return None
    group = unit.group
    queue = f"Queue {group.queue}" if group is not None and group.queue else "Its queue"
    named = (Evidence("queue", group.queue, group.meta.ref),) if group is not None else ()
    since = [pod.scheduled.since for pod in gated if pod.scheduled and pod.scheduled.since]
    them = "it" if len(gated) == 1 else "them"
    return unit_finding(
        GATED,
        unit,
        f"{queue} has no capacity for {out_of(len(gated), len(unit.current), 'pod')}, so Volcano keeps "
        f"{them} gated.",
        evidence=(Evidence("spec.schedulingGates", _GATE, gated[0].meta.ref), *named),
        since=min(since, default=None),
    )


GATED = waiting_for_quota(find_gated)
