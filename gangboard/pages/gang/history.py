"""The history of a gang: its verdicts and its wait, also after its deletion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.pages.gang.findings import FindingRow, finding_row
from gangboard.pages.gang.timeline import TimelineRow, make_timeline
from gangboard.readmodels.actions import actions_of_gang
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.evictions import NO_EVICTIONS, GangEvictions, read_gang_evictions
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.outages import OutageRow, read_outages, with_outages
from gangboard.readmodels.redaction import Redactor, finding_texts, hidden_names
from gangboard.readmodels.state_labels import Face, past_face
from gangboard.readmodels.time_to_start import (
    Similarity,
    TypicalWait,
    Wait,
    make_wait,
    typical_wait,
)
from gangboard.readmodels.verdict_spans import SpanRow, read_spans
from gangboard.store.access import Viewer
from gangboard.store.models import Gang, VerdictSpan
from gangboard.store.verdict_spans import request_digest, unpack_span_detail


@dataclass(frozen=True, slots=True)
class Typical:
    """How long comparable gangs waited."""

    median_seconds: int = shown("Median")
    cases: int = shown("Cases", "Similar gangs that ran, at least 5.")


@dataclass(frozen=True, slots=True)
class Waits:
    """The time before the gang ran first."""

    total_seconds: int = shown(
        "Waited",
        "From its creation, or from when it was first seen, to its first `running`, its end, or now, without suspended time.",
    )
    by_stage: Mapping[str, int] = shown("By stage", "Seconds by stage. Unobserved time is in none.")
    typical: Typical | None = shown(
        "Typical",
        "Of other gangs of the same cluster, queue, size and requests per member that "
        "the caller may see; null: fewer than 5.",
    )


@dataclass(frozen=True, slots=True)
class GangHistory:
    """The verdicts of a gang, and how long it waited."""

    spans: tuple[SpanRow, ...] = ()
    """The newest first."""
    has_older: bool = False
    """Whether there are older verdicts than these."""
    outages: tuple[OutageRow, ...] = ()
    """Outages of its cluster within the time of `spans`, the newest first."""
    wait: Wait | None = None
    typical: TypicalWait | None = None
    """The typical wait, or None without a wait to compare."""
    evictions: GangEvictions = NO_EVICTIONS

    @property
    def printed_fields(self) -> tuple[object, ...]:
        """The values that the page prints, except those that change with the clock."""
        # The spans and the clock determine the wait.
        verdicts = (self.spans, self.has_older, self.outages)
        return (*verdicts, self.wait is None, self.typical, self.evictions)

    @property
    def waits(self) -> Waits | None:
        """The wait and the typical wait, or None if the gang was not seen waiting."""
        if self.wait is None:
            return None
        typical = None
        if self.typical is not None and self.typical.median_seconds is not None:
            typical = Typical(self.typical.median_seconds, self.typical.cases)
        return Waits(int(self.wait.seconds), self.wait.by_stage, typical)


@dataclass(frozen=True, slots=True)
class DeletedGang:
    """A deleted gang with only its history."""

    id: str
    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    queue: str
    created_at: datetime | None
    face: Face
    """The state of its last verdict."""
    health: str
    stage: str
    code: str
    title: str
    message: str
    since: datetime
    gone_at: datetime | None
    verdict: FindingRow | None
    gang_history: GangHistory
    timeline: tuple[TimelineRow, ...]

    @property
    def last_face(self) -> Face:
        """The state of its last verdict, in grey: `Was degraded`."""
        return past_face(self.face)

    @property
    def findings(self) -> tuple[FindingRow, ...]:
        """The finding of the verdict. The other findings are not stored."""
        return () if self.verdict is None else (self.verdict,)

    @property
    def waits(self) -> Waits | None:
        """The wait of the gang."""
        return self.gang_history.waits

    @property
    def evictions(self) -> GangEvictions:
        """Its preemptions, evictions and requeues."""
        return self.gang_history.evictions

    @property
    def advice(self) -> tuple[str, ...]:
        """The advice, which a deleted gang does not have."""
        return ()

    @property
    def observed_at(self) -> datetime:
        """The last time for which its verdict is known to be true."""
        return self.gone_at or self.since


def read_gang_history(
    *, viewer: Viewer, gang: Gang, cluster: Freshness, now: datetime
) -> GangHistory:
    """Return the history of a stored gang."""
    shape = request_digest(gang.requests, gang.desired)
    like = Similarity(gang.cluster_id, gang.queue, shape, gang.desired)
    return _history(viewer, gang.pk, cluster, gang.created_at, like, now)


def find_deleted_gang(*, viewer: Viewer, gang_id: str, now: datetime) -> DeletedGang | None:
    """Return the history of a deleted gang, or None if it does not exist or the viewer may not see it."""
    if "\x00" in gang_id:  # the one character that PostgreSQL refuses
        return None
    spans = VerdictSpan.objects.filter(viewer.gang_filter(), gang_id=gang_id)
    last = spans.order_by("-began_at", "-pk").first()
    if last is None:
        return None
    cluster = read_freshness(viewer=viewer, now=now).get(last.cluster_id)
    if cluster is None:
        return None
    like = Similarity(last.cluster_id, last.queue, last.shape, last.desired)
    history = _history(viewer, gang_id, cluster, last.created_at, like, now)
    newest = history.spans[0]
    return DeletedGang(
        id=gang_id,
        cluster=cluster.cluster,
        api_group=printable(last.api_group),
        kind=printable(last.kind),
        namespace=printable(last.namespace),
        name=printable(last.name),
        uid=last.uid,
        queue=printable(last.queue),
        created_at=last.created_at,
        face=newest.face,
        health=newest.health,
        stage=newest.stage,
        code=newest.code,
        title=newest.title,
        message=newest.message,
        since=newest.began_at,
        gone_at=last.ended_at,
        verdict=_verdict(last, viewer),
        gang_history=history,
        timeline=make_timeline(
            actions_of_gang(viewer=viewer, gang_id=gang_id), {}, history.spans, history.outages
        ),
    )


def _history(
    viewer: Viewer,
    gang_id: str,
    cluster: Freshness,
    created_at: datetime | None,
    like: Similarity,
    now: datetime,
) -> GangHistory:
    spans = read_spans(viewer=viewer, gang_id=gang_id)
    outages = read_outages(viewer=viewer, clusters=(cluster,))[cluster.cluster_id]
    wait = make_wait(with_outages(spans.oldest, outages), created_at, now)
    typical = None
    if wait is not None:
        typical = typical_wait(viewer=viewer, like=like, gang_id=gang_id)
    overlapping = _overlapping(spans.newest, outages)
    evictions = read_gang_evictions(viewer=viewer, gang_id=gang_id, cluster=cluster, now=now)
    return GangHistory(spans.newest, spans.more, overlapping, wait, typical, evictions)


def _overlapping(
    spans: tuple[SpanRow, ...], outages: tuple[OutageRow, ...]
) -> tuple[OutageRow, ...]:
    """Return the outages that overlap the time of these verdicts."""
    if not spans:
        return ()
    began_at, ended_at = spans[-1].began_at, spans[0].ended_at
    return tuple(
        outage
        for outage in outages
        if (outage.ended_at is None or outage.ended_at > began_at)
        and (ended_at is None or outage.began_at < ended_at)
    )


def _verdict(span: VerdictSpan, viewer: Viewer) -> FindingRow | None:
    detail = unpack_span_detail(bytes(span.findings))
    quoted = hidden_names(finding_texts(detail.findings), viewer=viewer, cluster_id=span.cluster_id)
    redactor = Redactor(viewer, span.cluster_id, span.name, detail.own_nodes, quoted)
    hidden = redactor.hidden_refs(detail.findings)
    rows = (finding_row(redactor.redact_finding(finding, hidden)) for finding in detail.findings)
    first = next(rows, None)
    return replace(first, advice=()) if first is not None else None
