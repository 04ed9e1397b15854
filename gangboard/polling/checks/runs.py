"""Answers checks that people have begun on the page or by the API."""

from __future__ import annotations

import threading
import time

from django.utils import timezone

from gangboard.domain.check import ClusterCheck
from gangboard.logs import get_logger
from gangboard.polling.checks.engine import check_cluster
from gangboard.store.checks import ClaimedCheck, claim_check, due_checks, finish_check

log = get_logger(__name__)

DRAIN_SECONDS = 10.0
"""Seconds in which one task also answers further due checks. Then another worker may go on."""

_slot = threading.BoundedSemaphore(1)
"""Limits a process to one check at a time, because the arithmetic takes processor time from its polls."""


def run_checks(run_id: str) -> int:
    """Answer a check in one cluster, and then others that are due. Return the number of stored answers.

    It is 0 if this process answers checks already, which also covers this one.
    """
    if not _slot.acquire(blocking=False):
        return 0
    try:
        give_up_at = time.monotonic() + DRAIN_SECONDS
        answered = int(run_check(run_id))
        while time.monotonic() < give_up_at and (due := due_checks()):
            answered += run_check(due[0])
        return answered
    finally:
        _slot.release()


def run_check(run_id: str) -> bool:
    """Check the manifests in one cluster and store the answer. Return False if another worker has the run."""
    claimed = claim_check(run_id)
    if claimed is None:
        return False
    return finish_check(run_id, claimed.claimed_at, _answer(claimed))


def _answer(claimed: ClaimedCheck) -> ClusterCheck:
    cluster, shapes = claimed.cluster, claimed.shapes
    try:
        return check_cluster(cluster, shapes.documents, timezone.now(), hidden=shapes.hidden)
    except Exception as defect:  # the edge of a task: recorded and logged
        log.exception("check ended in a defect", cluster=cluster.name)
        why = (
            f"A defect of gangboard ended the check ({type(defect).__name__}). The log of the poll"
            " worker has the details."
        )
        return ClusterCheck(cluster.pk, cluster.name, why_unknown=why)
