"""Reads and writes of the plan of each cluster."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import msgspec

from gangboard.domain.cluster_plan import ClusterPlan
from gangboard.store.models import ClusterPlan as PlanRow


def save_plan(cluster_id: int, plan: ClusterPlan, *, at: datetime) -> None:
    """Store the plan of a cluster in place of the last one. Call it inside `writing`."""
    PlanRow.objects.bulk_create(
        [PlanRow(cluster_id=cluster_id, observed_at=at, plan=msgspec.to_builtins(plan))],
        update_conflicts=True,
        unique_fields=("cluster",),
        update_fields=("observed_at", "plan"),
    )


def read_stored_plan(cluster_id: int) -> ClusterPlan | None:
    """Return the stored plan of a cluster. None: there is none, or another release stored it."""
    row = PlanRow.objects.filter(cluster_id=cluster_id).first()
    return None if row is None else unpack_plan(row)


def read_plan_rows(cluster_ids: Collection[int]) -> dict[int, PlanRow]:
    """Return cluster id → its stored plan (1 query)."""
    rows = PlanRow.objects.filter(cluster_id__in=list(cluster_ids))
    return {row.cluster_id: row for row in rows}


def unpack_plan(row: PlanRow) -> ClusterPlan | None:
    """Return the plan of a row. None: another release stored it in another form."""
    try:
        return msgspec.convert(row.plan, ClusterPlan)
    except msgspec.ValidationError:
        return None
