"""Whether the scheduler can have tried members again since they fit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from gangboard.domain.placement_result import PlacementCause
from gangboard.facts.attempt_history import latest
from gangboard.facts.scheduler_text import group_refusal, has_rejected_pods, rejected_pods
from gangboard.facts.unit import Unit

RETRY_GRACE = timedelta(seconds=30)
"""A pod or group that was refused is tried again when pods leave or nodes come, after a backoff of at
most 10 s (`podMaxBackoffSeconds`); a busy scheduler and what passes between the clusters come on top."""


def fits_now(unit: Unit) -> bool:
    """Whether by arithmetic the members that wait for a node have room now."""
    assessment = unit.placing.assessment if unit.placing is not None else None
    return assessment is not None and assessment.cause is PlacementCause.FITS


def fits_since(unit: Unit) -> datetime | None:
    """Return since when members that wait fit; None when by arithmetic they do not.

    At the first sight of a unit nobody has seen the room become free: then they fit since they were
    refused, as far as anybody knows.
    """
    if not fits_now(unit):
        return None
    if unit.memory.fits_since is not None:
        return unit.memory.fits_since
    is_first_sight = unit.memory.created_since is None
    return (_refused_at(unit) if is_first_sight else None) or unit.now


def retry_due(unit: Unit) -> datetime | None:
    """Return until when a scheduler that refused members which fit now may still try them again.

    None when nobody refused them, they do not fit, it had its time, or has refused them since.
    """
    since = fits_since(unit)
    if since is None or since + RETRY_GRACE <= unit.now:
        return None
    if not (has_rejected_pods(unit) or group_refusal(unit) is not None):
        return None
    return None if is_refused_since(unit) else since + RETRY_GRACE


def is_refused_since(unit: Unit) -> bool:
    """Whether the scheduler was seen to refuse members since they fit.

    Where it was not, it may have tried again all the same: what repeats itself is often not told.
    """
    since, last = fits_since(unit), _refused_at(unit)
    return since is not None and last is not None and last > since


def _refused_at(unit: Unit) -> datetime | None:
    return unit.placing.refused_at if unit.placing is not None else None


def last_refusal(unit: Unit) -> datetime | None:
    """Return when members were refused last, as far as it is known."""
    return latest(_refusals(unit))


def _refusals(unit: Unit) -> Iterator[datetime | None]:
    """Yield when members were refused, as far as it is known.

    A condition keeps its time while it stays False and the event of a refusal that repeats itself is
    rarely sent anew: the last attempt may be later, never earlier.
    """
    yield from (pod.scheduled.since for pod in rejected_pods(unit) if pod.scheduled is not None)
    group = group_refusal(unit)
    if group is not None:
        yield group.since
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    for event in unit.events:
        # Karpenter uses the same reason for what it says of pods that it brings no node for.
        if event.reason == "FailedScheduling" and event.reporter != "karpenter":
            yield event.last_seen if event.regarding.uid in waiting else None
