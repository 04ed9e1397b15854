"""Points of a cluster's curves: one per minute, thinned after a day, deleted after two weeks."""

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
MINUTE_RETENTION = timedelta(days=1)
"""Later, one point of each quarter of an hour stays."""
POINT_RETENTION = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class AcceleratorSums:
    """Accelerators over all nodes of a cluster and all models, with the fields of `TrendPoint`."""

    used: float = 0.0
    held: float = 0.0
    free: float = 0.0
    away: float = 0.0


def minute_text(now: datetime) -> datetime:
    """Return the beginning of the minute."""
    return now.replace(second=0, microsecond=0)


def quarter_of(now: datetime) -> datetime:
    """Return the beginning of the quarter of an hour."""
    return minute_text(now) - timedelta(minutes=now.minute % 15)


def record_point(
    cluster_id: int, *, at: datetime, all_seen: bool, accelerators: AcceleratorSums | None
) -> None:
    """Write the point of a minute unless it exists. Call it inside `writing`.

    `all_seen` is True if everything that verdicts need was visible. Otherwise the point has no numbers of
    gangs, because the assessed gangs are only a part. `accelerators` None means that the nodes are unknown.
    """
    values = _gang_columns(cluster_id) if all_seen else {}
    if accelerators is not None:
        values |= {
            "used": accelerators.used,
            "held": accelerators.held,
            "free": accelerators.free,
            "away": accelerators.away,
        }
    lasting = TrendPoint.objects.filter(
        cluster_id=cluster_id, at__gte=quarter_of(at), at__lte=at, is_lasting=True
    )
    point = TrendPoint(
        cluster_id=cluster_id,
        at=minute_text(at),
        is_lasting=bool(values) and not lasting.exists(),
        **values,
    )
    # The previous holder of the cluster may have written this minute.
    TrendPoint.objects.bulk_create([point], ignore_conflicts=True)


def _gang_columns(cluster_id: int) -> dict[str, Any]:
    """Return the columns about gangs; none if no gang could be assessed."""
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
    """Thin the points older than a day, and delete those beyond the retention time."""
    points = TrendPoint.objects
    delete_in_batches(points.filter(is_lasting=False, at__lt=now - MINUTE_RETENTION))
    delete_in_batches(points.filter(is_lasting=True, at__lt=now - POINT_RETENTION))
