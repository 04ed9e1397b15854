"""The Jobs with pods on one node, with what suspending them would stop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from gangboard.domain.action import Verb
from gangboard.domain.verdict import JobState
from gangboard.readmodels.action_offers import gang_offers, job_subject
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.child_job_face import job_face
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import build_rows
from gangboard.readmodels.state_labels import Face, face_of
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
    """As the Board shows it: unknown while the cluster is silent."""
    accelerators: float
    """Requests of the whole gang."""


def jobs_on_node(*, viewer: Viewer, cluster: str, node: str, now: datetime) -> tuple[NodeJob, ...]:
    """Return the Jobs of the gangs that the viewer may see, by namespace and name.

    About 10 queries a gang.
    """
    clusters = read_freshness(viewer=viewer, now=now)
    id_ = next((key for key, known in clusters.items() if known.cluster == cluster), None)
    if id_ is None or not node or "\x00" in node:
        return ()
    found: list[NodeJob] = []
    for gang, jobs in _gangs_on(viewer, id_, node):
        offered = gang_offers(
            viewer=viewer,
            gang=gang,
            cluster=clusters[id_],
            subjects=[job_subject(job) for job in jobs],
            now=now,
        )
        (row,) = build_rows([gang], viewer=viewer, clusters=clusters, now=now)
        for job in jobs:
            found += [
                NodeJob(
                    offer=offer,
                    state=face_of("unknown") if clusters[id_].is_silent else job_face(job),
                    ready=job.ready,
                    desired=job.desired,
                    gang=row.name,
                    gang_kind=row.kind,
                    gang_state=face_of(row.health),
                    accelerators=gang.accelerators,
                )
                for offer in offered.get(job.ref.uid, ())
                if offer.verb == Verb.SUSPEND
            ]
    return tuple(sorted(found, key=lambda one: (one.offer.namespace, one.offer.name)))


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The part of a stored Detail that names nodes. The decoder skips the rest."""

    jobs: tuple[JobState, ...] = ()


_decoder = msgspec.msgpack.Decoder(_Jobs)


def _gangs_on(
    viewer: Viewer, cluster_id: int, node: str
) -> Iterable[tuple[Gang, tuple[JobState, ...]]]:
    """Yield the gangs with Jobs on a node, and these Jobs (2 queries)."""
    name = node.encode()
    visible = Gang.objects.filter(viewer.gang_filter(), cluster_id=cluster_id, gone_at=None)
    found: dict[str, tuple[JobState, ...]] = {}
    for id_, data in visible.values_list("pk", "detail").iterator(chunk_size=200):
        detail = bytes(data)
        # Most gangs are elsewhere: looking for the name costs less than decoding.
        if name not in detail:
            continue
        jobs = tuple(job for job in decode_detail(_decoder, detail).jobs if node in job.nodes)
        if jobs:
            found[id_] = jobs
    for gang in visible.filter(pk__in=list(found)):
        yield gang, found[gang.pk]
