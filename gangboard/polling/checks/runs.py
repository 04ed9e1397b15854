"""Answers a check that a person has begun on the page or by the API."""

from __future__ import annotations

from django.utils import timezone

from gangboard.domain.check import ClusterCheck
from gangboard.logs import get_logger
from gangboard.polling.checks.engine import check_cluster
from gangboard.store.checks import ClaimedCheck, claim_check, finish_check

log = get_logger(__name__)


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
