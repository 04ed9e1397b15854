"""What was seen of levers and Holds: each proof is written over the one before."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from gangboard.store.models import HoldCheck, LeverRecord


def save_lever_proof(
    cluster_id: int, lever: str, *, held: bool, at: datetime, build: str = "", sentence: str = ""
) -> None:
    """Record that a lever was seen to hold on a cluster, or not to."""
    column = "proved_at" if held else "refuted_at"
    LeverRecord.objects.update_or_create(
        cluster_id=cluster_id,
        lever=lever,
        build=build[:64],
        defaults={column: at, "sentence": sentence},
    )


def save_hold_check(
    cluster_id: int, hold_uid: str, *, in_force: bool | None, at: datetime, sentence: str
) -> bool:
    """Record the proof of one Hold; return whether a page would show something else than before."""
    row = HoldCheck.objects.filter(cluster_id=cluster_id, hold_uid=hold_uid)
    before = row.values_list("in_force", "sentence").first()
    HoldCheck.objects.update_or_create(
        cluster_id=cluster_id,
        hold_uid=hold_uid,
        defaults={"in_force": in_force, "checked_at": at, "sentence": sentence},
    )
    return before != (in_force, sentence)


def mark_unproved(cluster_id: int, hold_uids: Collection[str], sentence: str) -> bool:
    """Record that nothing is known now of Holds that were proved earlier; return whether that is news.

    When they were looked at last stays: nobody has looked.
    """
    rows = HoldCheck.objects.filter(cluster_id=cluster_id, hold_uid__in=hold_uids)
    known = rows.exclude(in_force=None, sentence=sentence)
    return bool(known.update(in_force=None, sentence=sentence))


def delete_stale_checks(cluster_id: int, keep: set[str]) -> None:
    """Drop the proofs of Holds that are not there any more."""
    HoldCheck.objects.filter(cluster_id=cluster_id).exclude(hold_uid__in=keep).delete()
