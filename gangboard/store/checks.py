"""Checks of manifests: a person begins one, and poll workers answer for each cluster.

The web process has no caches of clusters. So it stores the shape of the manifests here, encrypted, until a worker has
answered. An answer is deleted after ten minutes.
"""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from gangboard.decode.manifests import Document
from gangboard.domain.check import ClusterCheck
from gangboard.store.access import Viewer
from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.models import CheckRun, Cluster
from gangboard.store.objects import pack, unpack
from gangboard.store.secrets import SecretUnreadableError, seal_bytes, unseal_bytes

LIFETIME = timedelta(minutes=10)
LOST_AFTER = timedelta(seconds=30)
"""A worker that holds a check for longer has died, and another worker takes it."""
MOST_CHECKS = 60
"""Maximum number of checks of one person within LIFETIME."""
MOST_AT_ONCE = 50
"""Due checks that one sweep orders."""


class CheckError(ValueError):
    """Reason why a check is not begun. It is a sentence."""


@dataclass(frozen=True, slots=True)
class ManifestShapes:
    """The reduced manifests of one check in one cluster."""

    documents: tuple[Document, ...]
    hidden: tuple[Document, ...] = ()
    """Documents in namespaces that the person may not see. They are not checked."""


@dataclass(frozen=True, slots=True, repr=False)
class ClaimedCheck:
    """A check that this worker has claimed."""

    id: str
    cluster: Cluster
    shapes: ManifestShapes
    claimed_at: datetime


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """The state of a check in one cluster."""

    cluster_id: int
    cluster: str
    answer: ClusterCheck | None
    """None while no worker has answered."""


@dataclass(frozen=True, slots=True)
class RunningCheck:
    """A check of a person, with the answers so far."""

    id: str
    created_at: datetime
    clusters: tuple[ClusterAnswer, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all clusters have an answer."""
        return all(cluster.answer is not None for cluster in self.clusters)


def begin_check(*, viewer: Viewer, shapes: Mapping[int, ManifestShapes]) -> str:
    """Store the manifests for each cluster id, and return the id of the check. Raises CheckError."""
    now = timezone.now()
    recent = _current().filter(user_id=viewer.user_id).values("check_id").distinct()
    if recent.count() >= MOST_CHECKS:
        raise CheckError(f"You have begun {MOST_CHECKS} checks within 10 minutes. Wait a little.")
    check_id = uuid.uuid4().hex
    CheckRun.objects.bulk_create(
        CheckRun(
            id=uuid.uuid4().hex,
            check_id=check_id,
            user_id=viewer.user_id,
            cluster_id=cluster_id,
            manifests=_sealed(of_cluster),
            created_at=now,
            expires_at=now + LIFETIME,
        )
        for cluster_id, of_cluster in shapes.items()
    )
    return check_id


def find_check(check_id: str, *, viewer: Viewer) -> RunningCheck | None:
    """Return a current check of this person with the clusters that the person may still see, else None."""
    if "\x00" in check_id:
        return None
    visible = Cluster.objects.filter(viewer.cluster_filter())
    rows = (
        _current()
        .filter(check_id=check_id, user_id=viewer.user_id, cluster__in=visible)
        .order_by("cluster__name")
        .values_list("cluster_id", "cluster__name", "answer", "created_at")
    )
    runs = list(rows)
    if not runs:
        return None
    clusters = tuple(
        ClusterAnswer(cluster_id, name, _answer_of(cluster_id, name, answer))
        for cluster_id, name, answer, _ in runs
    )
    return RunningCheck(check_id, runs[0][3], clusters)


def is_answered(check_id: str) -> bool:
    """Return whether all clusters of a check have answered (1 query)."""
    return not CheckRun.objects.filter(check_id=check_id).exclude(state="answered").exists()


def due_checks() -> list[str]:
    """Return the ids of runs that no living worker has claimed, the oldest first."""
    due = _current().filter(_is_due(timezone.now())).order_by("created_at")
    return list(due.values_list("pk", flat=True)[:MOST_AT_ONCE])


def claim_check(run_id: str) -> ClaimedCheck | None:
    """Claim a run. Return None if another worker has it, or if no key decrypts it."""
    now = timezone.now()
    if not _current().filter(_is_due(now), pk=run_id).update(state="running", claimed_at=now):
        return None
    run = CheckRun.objects.select_related("cluster").filter(pk=run_id, claimed_at=now).first()
    if run is None or run.manifests is None:
        return None
    try:
        shapes = _opened(bytes(run.manifests))
    except SecretUnreadableError:
        why = "No key of this installation decrypts the check."
        cluster = run.cluster
        finish_check(run_id, now, ClusterCheck(cluster.pk, cluster.name, why_unknown=why))
        return None
    return ClaimedCheck(run.pk, run.cluster, shapes, now)


def finish_check(run_id: str, claimed_at: datetime, answer: ClusterCheck) -> bool:
    """Store the answer and delete the manifests. Return False if another worker claimed the run meanwhile."""
    mine = CheckRun.objects.filter(pk=run_id, state="running", claimed_at=claimed_at)
    sealed = seal_bytes(zlib.compress(pack(answer)))
    return bool(mine.update(state="answered", answer=sealed, manifests=None))


def delete_old_checks() -> None:
    """Delete expired checks."""
    delete_in_batches(CheckRun.objects.filter(expires_at__lte=timezone.now()))


def _answer_of(
    cluster_id: int, name: str, sealed: bytes | memoryview | None
) -> ClusterCheck | None:
    if sealed is None:
        return None
    try:
        return unpack(zlib.decompress(unseal_bytes(bytes(sealed))), ClusterCheck)
    except SecretUnreadableError:
        why = "No key of this installation decrypts the answer."
        return ClusterCheck(cluster_id, name, why_unknown=why)


def _sealed(shapes: ManifestShapes) -> bytes:
    lists = {"documents": _plain(shapes.documents), "hidden": _plain(shapes.hidden)}
    return seal_bytes(zlib.compress(json.dumps(lists).encode()))


def _plain(documents: Iterable[Document]) -> list[tuple[int, object]]:
    return [(document.number, document.manifest) for document in documents]


def _opened(sealed: bytes) -> ManifestShapes:
    lists: dict[str, Sequence[tuple[int, dict[str, object]]]]
    lists = json.loads(zlib.decompress(unseal_bytes(sealed)))
    documents, hidden = (
        tuple(Document(number, manifest) for number, manifest in lists[name])
        for name in ("documents", "hidden")
    )
    return ManifestShapes(documents, hidden)


def _current() -> QuerySet[CheckRun]:
    return CheckRun.objects.filter(expires_at__gt=timezone.now())


def _is_due(now: datetime) -> Q:
    return Q(state="waiting") | Q(state="running", claimed_at__lt=now - LOST_AFTER)
