"""`below-quorum`: fewer live pods than the quorum, and nothing says that the rest was refused.

The scheduler tries no member before the quorum exists, and writes neither a condition nor an event
about it (k/k#141900, by design; observed on 1.35.4 to 1.37.0). Until the count has not changed for
30 seconds the gang is still starting.
"""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.attempt import restart_under_way
from gangboard.domain.reading.dependencies import waiting_parts
from gangboard.domain.reading.findings import still_starting, unit_finding
from gangboard.domain.reading.grace import COUNT_GRACE, unchanged_since
from gangboard.domain.reading.progress import (
    failing_jobs,
    is_formed,
    is_full,
    live_count,
    missing,
    seats,
    succeeded,
)
from gangboard.domain.reading.refusal import newest_refusal
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding for a gang of which some pods exist, and not enough."""
    if unit.quorum is None or is_formed(unit) or is_full(unit) or not live_count(unit):
        return None
    if waiting_parts(unit) or failing_jobs(unit):
        return None
    if missing(unit) and newest_refusal(unit) is not None:
        return None
    since = unchanged_since(unit)
    due = since + COUNT_GRACE if since is not None else None
    name = unit.group_name or unit.name
    live = live_count(unit)
    counts = f"{live} of the {unit.quorum} pods that group {name} needs "
    counts += "exists" if live == 1 else "exist"
    evidence = _evidence(unit)
    if due is not None and due > unit.now:
        if restart_under_way(unit) is not None:
            return None
        return still_starting(RULE, unit, f"{counts}.", evidence=evidence, recheck_at=due)
    return unit_finding(RULE, unit, f"{counts}{_rest(unit)}", evidence=evidence)


def _rest(unit: Unit) -> str:
    others = sum(pod.is_live for pod in unit.strangers)
    if seats(unit) + others < (unit.quorum or 0) and not succeeded(unit) and not unit.held:
        return f", and its owner asks for only {seats(unit)}."
    if not unit.facts.events_known:
        return ". Events cannot be read, so a refusal would not be seen."
    return "; nothing refuses the rest."


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    source = unit.group.meta.ref if unit.group is not None else None
    return (
        Evidence("quorum", str(unit.quorum), source),
        Evidence("live pods", str(live_count(unit)), source),
        Evidence("pods asked for", str(unit.wanted), unit.owner.meta.ref),
    )


RULE = UnitRule("below-quorum", Stage.FORMATION, "Below quorum", 80, find, health=Health.BLOCKED)
