"""The verdicts of one gang over time: as a list of spans, and as one strip."""

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
"""Verdicts from the beginning that are looked through for when it ran first."""
THINNEST = 0.7
"""Percent of the strip that the shortest verdict takes, so that it can be seen."""
_ROOMS = ((30.0, "words"), (12.0, "word"), (7.0, "icon"), (2.6, "thin"))
"""What has room in the strip from how many percent on; `word` and `thin` have less on a phone."""
_UNSEEN = face_of(Health.UNKNOWN)
_NOT_THERE = Face("gone", "Not there", "–", Health.UNKNOWN.value)


@dataclass(frozen=True, slots=True)
class SpanRow:
    """One verdict from its beginning to its end."""

    began_at: datetime
    ended_at: datetime | None
    """None while it holds."""
    health: str
    face: Face
    stage: str
    code: str
    title: str
    message: str
    """As it was said first."""
    last: bool
    """The gang was deleted at the end of it."""

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
    """All of them or the first MOST_OLD with the first run in it, the oldest first; else none."""
    more: bool
    """There are older ones than `newest` has."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the strip."""

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
        """What can be printed in it: icon and word, icon, or nothing; on a phone as well or not."""
        return next((room for least, room in _ROOMS if self.width >= least), "")


def read_spans(*, viewer: Viewer, gang_id: str) -> Spans:
    """Return the verdicts of a gang that the viewer may see (1 query, 2 when there are many)."""
    mine = VerdictSpan.objects.filter(viewer.gang_filter(), gang_id=gang_id)
    stored = list(mine.order_by("-began_at", "-pk")[: MOST_SPANS + 1])
    more = len(stored) > MOST_SPANS
    shown = stored[:MOST_SPANS]
    quoted: tuple[ObjectRef, ...] = ()
    if shown:
        texts = (span.message for span in shown)
        quoted = hidden_names(texts, viewer=viewer, cluster_id=shown[0].cluster_id)
    newest = tuple(_row(span, viewer, quoted) for span in shown)
    known = tuple(span.stretch for span in reversed(newest))
    if not more:
        return Spans(newest, known, more)
    older = mine.filter(began_at__lt=known[0].began_at).order_by("began_at", "pk")
    rows = older.values_list("health", "stage", "code", "began_at", "ended_at")[:MOST_OLD]
    oldest = tuple(VerdictInterval(*row) for row in rows)
    if len(oldest) < MOST_OLD:
        return Spans(newest, (*oldest, *known), more)
    # Between the two there are others: without its first run the beginning says nothing of the wait.
    ran = any(item.runs or item.is_over for item in oldest)
    return Spans(newest, oldest if ran else (), more)


def rows_of_spans(spans: Iterable[VerdictSpan], *, viewer: Viewer) -> dict[int, SpanRow]:
    """Return the spans that the viewer may see, by id, as the viewer may read them.

    No query for a viewer who sees the whole cluster, else those of `hidden_names` for each cluster.
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
    """Return the pieces of the strip, the oldest first; `spans` and `outages` are the newest first.

    As wide as they are long, but for very short ones, which are widened until they can be seen.
    """
    pieces: list[tuple[Face, str, datetime, datetime, bool]] = []
    for span in reversed(spans):
        if pieces and pieces[-1][3] < span.began_at:
            pieces.append((_NOT_THERE, "", pieces[-1][3], span.began_at, False))
        for began, ended, unseen in cut(span.began_at, span.ended_at, outages):
            face, title = (_UNSEEN, NOT_OBSERVED_TITLE) if unseen else (span.face, span.title)
            end = max(ended or now, began)
            if end > began or ended is None:
                pieces.append((face, title, began, end, ended is None))
    widths = _widths([end - began for _, _, began, end, _ in pieces])
    segments: list[Segment] = []
    start = 0.0
    for (face, title, began, end, is_open), width in zip(pieces, widths, strict=True):
        length = duration_text(end - began)
        ended_at = None if is_open else end
        segments.append(Segment(face, title, round(start, 2), width, began, ended_at, length))
        start += width
    return tuple(segments)


def _widths(lengths: Sequence[timedelta]) -> list[float]:
    """Return percents that sum up to 100, none of them too thin."""
    total = sum(lengths, timedelta()).total_seconds() or 1.0
    wanted = [max(100 * length.total_seconds() / total, THINNEST) for length in lengths]
    scale = 100 / sum(wanted) if wanted else 1.0
    return [round(width * scale, 2) for width in wanted]
