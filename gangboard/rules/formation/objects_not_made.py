"""`objects-not-made`: a controller says in events that it cannot make what it makes for an owner.

Which reasons say so is known to the owner's kind (`OwnerKind.event_reasons`). Controllers try again: what was
made after such an event disproves it.
"""

from __future__ import annotations

import re

from gangboard.domain.event import CreationFailure
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import label, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import newest_creation
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

# What a Kubernetes client says of a kind that is not served (apimachinery, meta.NoKindMatchError).
_NOT_SERVED = re.compile(r'no matches for kind "(?P<kind>\w+)" in version "(?P<version>[\w./-]+)"')


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods are missing and nothing was made after the newest such event."""
    if not unit.gang.creation_failures or not unit.missing:
        return None
    newest = unit.gang.creation_failures[0]
    if _was_made_since(unit, newest):
        return None
    event = newest.event
    cause = sentence(quote(newest.cause))
    return unit_finding(
        RULE,
        unit,
        f"What {label(event.regarding)} needs cannot be made: {cause}",
        advice=_advice(newest),
        evidence=(Evidence(event.reason, event.note, event.regarding),),
        since=event.first_seen,
    )


def _was_made_since(unit: Unit, refusal: CreationFailure) -> bool:
    """Whether a pod, or a Job, or what makes Jobs was made after it; times have whole seconds."""
    seen = refusal.event.last_seen
    made = [one.meta.created_at for one in (*unit.gang.middle, *unit.gang.jobs)]
    times = [at for at in (*made, newest_creation(unit.current)) if at is not None]
    return seen is None or any(at > seen for at in times)


def _advice(refusal: CreationFailure) -> tuple[str, ...]:
    found = _NOT_SERVED.search(refusal.cause)
    if found is None:
        return ()
    return (f"Install the CustomResourceDefinition of {found['kind']} in {found['version']}.",)


RULE = UnitRule(
    "objects-not-made",
    Stage.FORMATION,
    "Objects could not be made",
    15,
    find,
    health=Health.BLOCKED,
)
"""Nearer to the cause than that a part waits for another, or that there are no pods."""
