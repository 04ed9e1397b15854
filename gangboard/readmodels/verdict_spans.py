"""Verdicts of a gang over time, as spans and as a strip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.readmodels.formatting import duration_text, printable
from gangboard.readmodels.outages import OutageRow, cut
from gangboard.readmodels.redaction import hidden_names, hidden_refs_in_detail, redact
from gangboard.readmodels.state_labels import NOT_OBSERVED_TITLE, Face, face_of
from gangboard.readmodels.time_to_start import VerdictInterval
from gangboard.store.access import Viewer
from gangboard.store.models import VerdictSpan

MOST_SPANS = 100
"""Verdicts of one gang that its page shows."""
MOST_OLD = 1000
"""Oldest verdicts that the search for the first run reads."""
THINNEST = 0.7
"""Minimum width of a verdict in percent of the strip, so that it is visible."""
_TEXT_CLASSES = ((30.0, "words"), (12.0, "word"), (7.0, "icon"), (2.6, "thin"))
"""(minimum width in percent, CSS class) of a segment. On a phone, `word` and `thin` show less."""
_UNSEEN = face_of(Health.UNKNOWN)
_NOT_THERE = Face("gone", "Not present", "–", Health.UNKNOWN.value)


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A verdict with its start and end."""

    began_at: datetime
    ended_at: datetime | None
    """None for the current verdict."""
    health: str
    face: Face
    stage: str
    code: str
    title: str
    message: str
    """The sentence at the start of the verdict."""
    last: bool
    """Whether the gang was deleted at its end."""

    @property
    def stretch(self) -> VerdictInterval:
        """The span without its sentence."""
        return VerdictInterval(self.health, self.stage, self.code, self.began_at, self.ended_at)


@dataclass(frozen=True, slots=True)
class Spans:
    """The newest verdicts of a gang, and the oldest ones."""

    newest: tuple[SpanRow, ...]
    """The newest first, at most MOST_SPANS."""
    oldest: tuple[VerdictInterval, ...]
    """The oldest first: all, or the first MOST_OLD if the first run is among them. Empty otherwise."""
    more: bool
    """Whether older ones than those in `newest` exist."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of the strip."""

    face: Face
    title: str
    start: float
    width: float
    """Percent of the strip."""
    began_at: datetime
    ended_at: datetime | None
    duration: str

    @property
    def room(self) -> str:
        """CSS class that says how much fits into it. Empty: no text fits."""
        return next((room for least, room in _TEXT_CLASSES if self.width >= least), "")


def read_spans(*, viewer: Viewer, gang_id: str) -> Spans:
    """Return the verdicts of a gang that the viewer may see (1 query, 2 if there are many)."""
    visible = VerdictSpan.objects.filter(viewer.gang_filter(), gang_id=gang_id)
    stored = list(visible.order_by("-began_at", "-pk")[: MOST_SPANS + 1])
    has_more = len(stored) > MOST_SPANS
    newest_spans = stored[:MOST_SPANS]
    quoted: tuple[ObjectRef, ...] = ()
    if newest_spans:
        texts = (span.message for span in newest_spans)
        quoted = hidden_names(texts, viewer=viewer, cluster_id=newest_spans[0].cluster_id)
    newest = tuple(_row(span, viewer, quoted) for span in newest_spans)
    known = tuple(span.stretch for span in reversed(newest))
    if not has_more:
        return Spans(newest, known, has_more)
    older = visible.filter(began_at__lt=known[0].began_at).order_by("began_at", "pk")
    rows = older.values_list("health", "stage", "code", "began_at", "ended_at")[:MOST_OLD]
    oldest = tuple(VerdictInterval(*row) for row in rows)
    if len(oldest) < MOST_OLD:
        return Spans(newest, (*oldest, *known), has_more)
    # There are others between the two. Without the first run, the oldest verdicts do not show the whole wait.
    ran = any(item.runs or item.is_over for item in oldest)
    return Spans(newest, oldest if ran else (), has_more)


def rows_of_spans(spans: Iterable[VerdictSpan], *, viewer: Viewer) -> dict[int, SpanRow]:
    """Return the spans that the viewer may see by id, with hidden names redacted.

    A viewer of the whole cluster needs no query. Other viewers need those of `hidden_names` for each cluster.
    """
    visible = [span for span in spans if viewer.sees(span.cluster_id, span.namespace)]
    quoted = {
        id_: hidden_names(
            (span.message for span in visible if span.cluster_id == id_),
            viewer=viewer,
            cluster_id=id_,
        )
        for id_ in {span.cluster_id for span in visible}
    }
    return {span.pk: _row(span, viewer, quoted[span.cluster_id]) for span in visible}


def _row(span: VerdictSpan, viewer: Viewer, quoted: tuple[ObjectRef, ...]) -> SpanRow:
    hidden: tuple[ObjectRef, ...] = ()
    if not viewer.sees_cluster(span.cluster_id):
        hidden = hidden_refs_in_detail(viewer, span.cluster_id, bytes(span.findings), quoted)
    return SpanRow(
        began_at=span.began_at,
        ended_at=span.ended_at,
        health=span.health,
        face=face_of(span.health),
        stage=span.stage,
        code=printable(span.code),
        title=printable(span.title),
        message=printable(redact(span.message, hidden, own=span.name)),
        last=span.last,
    )


def make_strip(
    spans: Sequence[SpanRow], now: datetime, outages: Sequence[OutageRow] = ()
) -> tuple[Segment, ...]:
    """Return the segments of the strip, the oldest first. `spans` and `outages` are sorted, the newest first.

    The width of a segment is its share of the time, but at least THINNEST.
    """
    sections: list[tuple[Face, str, datetime, datetime, bool]] = []
    for span in reversed(spans):
        if sections and sections[-1][3] < span.began_at:
            sections.append((_NOT_THERE, "", sections[-1][3], span.began_at, False))
        for started_at, ended, is_outage in cut(span.began_at, span.ended_at, outages):
            face, title = (_UNSEEN, NOT_OBSERVED_TITLE) if is_outage else (span.face, span.title)
            end_time = max(ended or now, started_at)
            if end_time > started_at or ended is None:
                sections.append((face, title, started_at, end_time, ended is None))
    widths = _widths([end_time - started_at for _, _, started_at, end_time, _ in sections])
    segments: list[Segment] = []
    start = 0.0
    for (face, title, started_at, end_time, is_open), width in zip(sections, widths, strict=True):
        length = duration_text(end_time - started_at)
        ended_at = None if is_open else end_time
        segments.append(Segment(face, title, round(start, 2), width, started_at, ended_at, length))
        start += width
    return tuple(segments)


def _widths(lengths: Sequence[timedelta]) -> list[float]:
    """Return the widths in percent. They sum up to 100."""
    total = sum(lengths, timedelta()).total_seconds() or 1.0
    percents = [max(100 * length.total_seconds() / total, THINNEST) for length in lengths]
    scale = 100 / sum(percents) if percents else 1.0
    return [round(width * scale, 2) for width in percents]
