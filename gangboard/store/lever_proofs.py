"""What was seen of levers and Holds: each proof is written over the one before."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from gangboard.domain.hold import HOLDS
from gangboard.store.models import HoldCheck, LeverRecord, WatchedObject


def save_lever_proof(
    cluster_id: int, lever: str, *, held: bool, at: datetime, build: str = "", sentence: str = ""
) -> None:
    """Record that a lever was seen to hold on a cluster, or not to, in one statement."""
    column = "proved_at" if held else "refuted_at"
    row = LeverRecord(cluster_id=cluster_id, lever=lever, build=build[:64], sentence=sentence)
    setattr(row, column, at)
    LeverRecord.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=("cluster", "lever", "build"),
        update_fields=(column, "sentence"),
    )


def save_hold_check(
    cluster_id: int, hold_uid: str, *, in_force: bool | None, at: datetime, sentence: str
) -> None:
    """Record the proof of one Hold, in one statement."""
    row = HoldCheck(
        cluster_id=cluster_id,
        hold_uid=hold_uid,
        in_force=in_force,
        checked_at=at,
        sentence=sentence,
    )
    HoldCheck.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=("cluster", "hold_uid"),
        update_fields=("in_force", "checked_at", "sentence"),
    )


def mark_unproved(cluster_id: int, hold_uids: Collection[str], sentence: str) -> bool:
    """Record that nothing is known now of Holds that were proved earlier; return whether that is news.

    When they were looked at last stays: nobody has looked.
    """
    rows = HoldCheck.objects.filter(cluster_id=cluster_id, hold_uid__in=hold_uids)
    known = rows.exclude(in_force=None, sentence=sentence)
    return bool(known.update(in_force=None, sentence=sentence))


def delete_stale_checks(cluster_id: int) -> None:
    """Drop the proofs of Holds that are not there any more."""
    there = WatchedObject.objects.filter(cluster_id=cluster_id, resource=HOLDS).values("uid")
    HoldCheck.objects.filter(cluster_id=cluster_id).exclude(hold_uid__in=there).delete()
