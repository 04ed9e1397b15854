"""The Jobs with pods on one node, each with its suspend button and its gang."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from gangboard.domain.action import Verb
from gangboard.domain.verdict import JobState
from gangboard.readmodels.action_offers import gang_offers, job_subject
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import build_rows
from gangboard.readmodels.state_labels import Face, face_of, job_face
from gangboard.store.access import Viewer
from gangboard.store.gangs import decode_detail
from gangboard.store.models import Gang


@dataclass(frozen=True, slots=True)
class NodeJob:
    """One Job on the node."""

    offer: OfferRow
    """Its suspend button."""
    state: Face
    ready: int
    desired: int
    gang: str
    gang_kind: str
    gang_state: Face
    """The state on the Board, which is unknown while the cluster is silent."""
    accelerators: float
    """Accelerators that the whole gang requests."""
    relocation: OfferRow | None = None
    """The button that relocates it, or None if that is not possible now."""


def jobs_on_node(*, viewer: Viewer, cluster: str, node: str, now: datetime) -> tuple[NodeJob, ...]:
    """Return the Jobs of visible gangs on a node, by namespace and name (about 10 queries per gang)."""
    clusters = read_freshness(viewer=viewer, now=now)
    id_ = next((key for key, row in clusters.items() if row.cluster == cluster), None)
    if id_ is None or not node or "\x00" in node:
        return ()
    rows: list[NodeJob] = []
    for gang, jobs in _gangs_on(viewer, id_, node):
        offers = gang_offers(
            viewer=viewer,
            gang=gang,
            cluster=clusters[id_],
            subjects=[job_subject(job) for job in jobs],
            now=now,
        )
        (gang_row,) = build_rows([gang], viewer=viewer, clusters=clusters, now=now)
        for job in jobs:
            job_offers = offers.get(job.ref.uid, ())
            relocations = [
                offer for offer in job_offers if offer.verb == Verb.RELOCATE and offer.allowed
            ]
            rows += [
                NodeJob(
                    offer=offer,
                    state=face_of("unknown") if clusters[id_].is_silent else job_face(job),
                    ready=job.ready,
                    desired=job.desired,
                    gang=gang_row.name,
                    gang_kind=gang_row.kind,
                    gang_state=face_of(gang_row.health),
                    accelerators=gang.accelerators,
                    relocation=next(iter(relocations), None),
                )
                for offer in job_offers
                if offer.verb == Verb.SUSPEND
            ]
    return tuple(sorted(rows, key=lambda job: (job.offer.namespace, job.offer.name)))


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The field of a stored Detail that names nodes. The decoder skips all others."""

    jobs: tuple[JobState, ...] = ()


_decoder = msgspec.msgpack.Decoder(_Jobs)


def _gangs_on(
    viewer: Viewer, cluster_id: int, node: str
) -> Iterable[tuple[Gang, tuple[JobState, ...]]]:
    """Yield the gangs with Jobs on a node, and these Jobs (2 queries)."""
    name = node.encode()
    visible = Gang.objects.filter(viewer.gang_filter(), cluster_id=cluster_id, gone_at=None)
    jobs_by_gang: dict[str, tuple[JobState, ...]] = {}
    for id_, data in visible.values_list("pk", "detail").iterator(chunk_size=200):
        detail = bytes(data)
        # Most gangs are on other nodes, and a search for the name is cheaper than decoding.
        if name not in detail:
            continue
        jobs = tuple(job for job in decode_detail(_decoder, detail).jobs if node in job.nodes)
        if jobs:
            jobs_by_gang[id_] = jobs
    for gang in visible.filter(pk__in=list(jobs_by_gang)):
        yield gang, jobs_by_gang[gang.pk]
