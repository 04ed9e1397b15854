"""Points of the curves of a cluster: written once a minute, thinned after a day, bounded in days."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Sum

from gangboard.domain.health import NOT_WHOLE, Health
from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.models import Gang, TrendPoint

QUARTER = timedelta(minutes=15)
MINUTES_KEPT = timedelta(days=1)
"""Afterwards one point of each quarter of an hour stays."""
POINTS_KEPT = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class AcceleratorSums:
    """Accelerators over all nodes of a cluster, whatever their kind; as in `TrendPoint`."""

    used: float = 0.0
    held: float = 0.0
    free: float = 0.0
    away: float = 0.0


def minute_text(now: datetime) -> datetime:
    """Return the beginning of its minute."""
    return now.replace(second=0, microsecond=0)


def quarter_of(now: datetime) -> datetime:
    """Return the beginning of its quarter of an hour."""
    return minute_text(now) - timedelta(minutes=now.minute % 15)


def record_point(
    cluster_id: int, *, at: datetime, all_seen: bool, room: AcceleratorSums | None
) -> None:
    """Write the point of a minute, unless it has one. Inside `writing`.

    `all_seen`: everything that gangs are judged by could be looked at. Where it could not, nothing is
    told of gangs: those that could be judged are not all there are.
    `room`: None where nothing can be told of nodes.
    """
    values = _of_gangs(cluster_id) if all_seen else {}
    if room is not None:
        values |= {"used": room.used, "held": room.held, "free": room.free, "away": room.away}
    lasting = TrendPoint.objects.filter(
        cluster_id=cluster_id, at__gte=quarter_of(at), at__lte=at, is_lasting=True
    )
    point = TrendPoint(
        cluster_id=cluster_id,
        at=minute_text(at),
        is_lasting=bool(values) and not lasting.exists(),
        **values,
    )
    # Whoever had the cluster before may have written the minute.
    TrendPoint.objects.bulk_create([point], ignore_conflicts=True)


def _of_gangs(cluster_id: int) -> dict[str, Any]:
    """Return the columns about gangs; none where none of those that are there could be judged."""
    counted = (
        Gang.objects.filter(cluster_id=cluster_id, gone_at=None)
        .values_list("health", "stage", "code")
        .annotate(number=Count("id"), devices=Sum("accelerators"))
    )
    gangs: dict[str, int] = defaultdict(int)
    reasons: dict[str, list[float]] = {}
    for health, stage, code, number, devices in counted:
        gangs[health] += number
        if health in NOT_WHOLE:
            reason = reasons.setdefault(f"{stage}/{code}", [0, 0.0])
            reason[0] += number
            reason[1] += devices
    if set(gangs) == {Health.UNKNOWN.value}:
        return {}
    waiting = sum(devices for _, devices in reasons.values())
    return {"gangs": dict(gangs), "reasons": reasons, "waiting": waiting}


def delete_old_points(now: datetime) -> None:
    """Thin what is older than a day, and drop what is older than the days that are kept."""
    points = TrendPoint.objects
    delete_in_batches(points.filter(is_lasting=False, at__lt=now - MINUTES_KEPT))
    delete_in_batches(points.filter(is_lasting=True, at__lt=now - POINTS_KEPT))
