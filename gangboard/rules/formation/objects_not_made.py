"""`objects-not-made`: a controller reports in events that it cannot create an object for an owner.

The owner's kind lists the reasons of such events (`OwnerKind.event_reasons`). Controllers retry, so an object
that was created after the event disproves it.
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

# Error text of a Kubernetes client for a kind that is not served (apimachinery, meta.NoKindMatchError).
_NOT_SERVED = re.compile(r'no matches for kind "(?P<kind>\w+)" in version "(?P<version>[\w./-]+)"')


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods are missing and no object was created after the newest such event."""
    if not unit.gang.creation_failures or not unit.missing:
        return None
    newest = unit.gang.creation_failures[0]
    if _has_newer_object(unit, newest):
        return None
    event = newest.event
    cause = sentence(quote(newest.cause))
    return unit_finding(
        RULE,
        unit,
        f"An object of {label(event.regarding)} cannot be created: {cause}",
        advice=_advice(newest),
        evidence=(Evidence(event.reason, event.note, event.regarding),),
        since=event.first_seen,
    )


def _has_newer_object(unit: Unit, refusal: CreationFailure) -> bool:
    """Return whether a pod, a Job or a controller of Jobs was created after the event. Times have whole seconds."""
    last_seen = refusal.event.last_seen
    created = [owner.meta.created_at for owner in (*unit.gang.middle, *unit.gang.jobs)]
    times = [time for time in (*created, newest_creation(unit.current)) if time is not None]
    return last_seen is None or any(time > last_seen for time in times)


def _advice(refusal: CreationFailure) -> tuple[str, ...]:
    kind = _NOT_SERVED.search(refusal.cause)
    if kind is None:
        return ()
    return (f"Install the CustomResourceDefinition of {kind['kind']} in {kind['version']}.",)


RULE = UnitRule(
    "objects-not-made",
    Stage.FORMATION,
    "Objects not created",
    15,
    find,
    health=Health.BLOCKED,
)
"""It is nearer to the cause than a dependency on another role or missing pods."""
