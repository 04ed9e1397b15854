"""Gangs that a search matches, and their Jobs and pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from gangboard.domain.health import Health
from gangboard.domain.verdict import JobState, MemberState
from gangboard.pages.search.rows import MOST_HITS, Hit, place_text
from gangboard.readmodels.filters import search_words
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gang_query import GangFilters
from gangboard.readmodels.gangs import GangRow, list_gangs
from gangboard.readmodels.members import member_row
from gangboard.readmodels.state_labels import Face, face_of, job_face
from gangboard.store.access import Viewer
from gangboard.store.gang_search import LABEL
from gangboard.store.gangs import Detail, unpack_detail
from gangboard.store.models import Gang


@dataclass(slots=True)
class GangHits:
    """The hits among gangs and their members."""

    gangs: list[Hit] = field(default_factory=list)
    """Gangs whose name, place, reason, label or submitter matches, an exact name first."""
    jobs: list[Hit] = field(default_factory=list)
    """Jobs and groups of other gangs."""
    pods: list[Hit] = field(default_factory=list)
    """Pods of other gangs, by their own name or that of their node."""
    has_more: bool = False
    """Whether further gangs match."""


def read_gang_hits(
    text: str,
    *,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
    gone: bool,
) -> GangHits:
    """Return the hits among existing or deleted gangs (2 queries, 1 more for members).

    A gang whose own name does not match may have matching Jobs or pods. These then stand for it. Deleted gangs
    have none.
    """
    page = list_gangs(
        viewer=viewer,
        filters=GangFilters(q=text, gone=gone),
        limit=MOST_HITS,
        now=now,
        clusters=clusters,
    )
    exact = list_gangs(
        viewer=viewer,
        filters=GangFilters(name=text.strip().lower(), gone=gone),
        limit=MOST_HITS,
        now=now,
        clusters=clusters,
    )
    rows = {row.id: row for row in (*exact.rows, *page.rows)}
    terms = [term.lower() for term in search_words(text)]
    others = [row.id for row in rows.values() if not gone and not _has_all(row.name, terms)]
    details = Gang.objects.filter(pk__in=others).values_list("id", "cluster_id", "detail")
    members = {
        id_: _Members(
            rows[id_],
            unpack_detail(bytes(detail)),
            terms,
            names_nodes=viewer.names_nodes(cluster_id),
        )
        for id_, cluster_id, detail in details
    }
    found = GangHits(has_more=page.next_cursor is not None)
    for row in rows.values():
        jobs, pods = members[row.id].hits() if row.id in members else ([], [])
        found.jobs += jobs
        found.pods += pods
        if not jobs and not pods:
            found.gangs.append(_gang_hit(row, terms))
    return found


def _gang_hit(row: GangRow, terms: Sequence[str]) -> Hit:
    match = "" if _has_all(row.name, terms) else _match(row, terms)
    return Hit(
        name=row.name,
        href=reverse("gang", args=(row.id,)),
        place=place_text(row.kind, row.namespace, row.cluster),
        face=row.face,
        match=match,
        gone_at=row.gone_at,
        is_implied=bool(match),
    )


def _match(row: GangRow, terms: Sequence[str]) -> str:
    """Return the label or submitter that matches. Empty if neither does."""
    if _has_all(row.submitter, terms):
        return f"submitter {row.submitter}"
    labels = (f"{key}={value}" for key, value in row.labels.items())
    words = [term.removeprefix(LABEL) for term in terms]
    return next((f"label {label}" for label in labels if _has_all(label, words)), "")


@dataclass(frozen=True, slots=True)
class _Members:
    """The Jobs, groups and pods of a gang that match."""

    row: GangRow
    detail: Detail
    terms: Sequence[str]
    names_nodes: bool

    def hits(self) -> tuple[list[Hit], list[Hit]]:
        """Return the first Jobs and groups, and the first pods."""
        pods = [member for member in self.detail.members if _has_all(member.ref.name, self.terms)]
        jobs = [job for job in self.detail.jobs if _has_all(job.ref.name, self.terms)]
        if not pods and not jobs and self.names_nodes:
            pods = [member for member in self.detail.members if _has_all(member.node, self.terms)]
        first_jobs = [self._job_hit(job) for job in jobs[: MOST_HITS + 1]]
        first_pods = [self._pod_hit(pod) for pod in pods[: MOST_HITS + 1]]
        return (first_jobs or ([] if first_pods else list(self._group_hits()))), first_pods

    def _job_hit(self, job: JobState) -> Hit:
        return self._hit(job.ref.name, job_face(job), opens=job.ref.name)

    def _pod_hit(self, member: MemberState) -> Hit:
        node = printable(member.node) if self.names_nodes else ""
        opens = member.job or member.part
        return self._hit(member.ref.name, member_row(member).state, opens=opens, node=node)

    def _group_hits(self) -> Iterator[Hit]:
        for group in self.detail.groups:
            if _has_all(group.name, self.terms):
                yield self._hit(group.name, None, kind=group.kind)

    def _hit(
        self, name: str, face: Face | None, *, opens: str = "", node: str = "", kind: str = ""
    ) -> Hit:
        row = self.row
        # The states in a silent cluster are outdated.
        is_unknown = face is not None and row.health == Health.UNKNOWN
        query = f"?{urlencode({'open': opens})}" if opens else ""
        return Hit(
            name=printable(name),
            href=f"{reverse('gang', args=(row.id,))}{query}",
            place=place_text(kind, f"{row.kind} {row.name}", row.namespace, row.cluster),
            face=face_of(Health.UNKNOWN) if is_unknown else face,
            node=node,
            cluster=row.cluster,
        )


def _has_all(text: str, terms: Sequence[str]) -> bool:
    return all(term in text.lower() for term in terms)
