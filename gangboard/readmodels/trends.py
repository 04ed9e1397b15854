"""Curves over the last day or fortnight of the clusters that a viewer may see.

A point is a sum over clusters. It is None where one of them could not be looked at: what is missing would
look like a fall. Clusters that are silent now are left out of all points and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from gangboard.domain.health import Health
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.state_labels import face_of, reason_title
from gangboard.store.access import Viewer
from gangboard.store.models import TrendPoint
from gangboard.store.trends import quarter_of

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Period:
    """How far back curves go, and how far apart their points are."""

    days: int
    step: timedelta
    label: str
    """`24 h`."""

    @property
    def points(self) -> int:
        """How many points a curve has."""
        return timedelta(days=self.days) // self.step

    def begin(self, now: datetime) -> datetime:
        """Return the time of the first point; the last one is in the step of `now`."""
        quarters = self.step // timedelta(minutes=15)
        last = quarter_of(now)
        last -= timedelta(minutes=15) * ((last.hour * 4 + last.minute // 15) % quarters)
        return last - self.step * (self.points - 1)


DAY = Period(1, timedelta(minutes=15), "24 h")
FORTNIGHT = Period(14, timedelta(hours=2), "14 days")
PERIODS: Mapping[int, Period] = {period.days: period for period in (DAY, FORTNIGHT)}


@dataclass(frozen=True, slots=True)
class Curve:
    """One amount over the points of a period."""

    key: str
    label: str
    tone: str
    """The pair of colours that it has."""
    values: Values

    @property
    def known(self) -> tuple[float, ...]:
        """The points at which it could be told."""
        return tuple(value for value in self.values if value is not None)

    @property
    def last(self) -> float | None:
        """The newest point that could be told."""
        return self.known[-1] if self.known else None

    @property
    def range_text(self) -> str:
        """Between which values it was: `3 to 9`."""
        least, most = min(self.known), max(self.known)
        return f"{most:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"

    @property
    def can_be_drawn(self) -> bool:
        """Whether there is more than one point: one makes no line."""
        return len(self.known) > 1


@dataclass(frozen=True, slots=True)
class Trends:
    """The curves of a viewer. An empty mapping or curve: nothing that may be shown, or nothing is known."""

    period: Period
    began_at: datetime
    """The time of the first point."""
    gangs: Mapping[str, Curve] = field(default_factory=dict)
    """Health → number of gangs; every health word."""
    waiting: Curve | None = None
    """Accelerators that blocked, degraded, waiting and starting gangs ask for."""
    reasons: Mapping[tuple[str, str], Curve] = field(default_factory=dict)
    """(stage, code) → accelerators that gangs of `waiting` with that reason ask for."""
    used: Curve | None = None
    """Accelerators that pods on nodes ask for, without those of `held`."""
    held: Curve | None = None
    """Those that gangs hold that are not whole."""
    free: Curve | None = None
    """On nodes that are ready and not cordoned."""
    away: Curve | None = None
    """On other nodes: nobody can have them."""
    left_out: tuple[str, ...] = ()
    """Clusters that are silent now: they are in no point."""
    unknown_points: int = 0
    """Points without a known value at the beginning of the period. They are left out."""

    @property
    def times(self) -> tuple[datetime, ...]:
        """The time of each point."""
        points = self.period.points - self.unknown_points
        return tuple(self.began_at + self.period.step * place for place in range(points))

    @property
    def known_since(self) -> datetime | None:
        """The time of the first point, if that is later than the beginning of the period."""
        return self.began_at if self.unknown_points else None


_Rows = Sequence[Sequence[Mapping[str, Any] | None]]
"""Of each cluster, what is stored for each point."""
ROOM = {
    "used": ("In use", "running"),
    "held": ("Held by incomplete gangs", "degraded"),
    "free": ("Free", "free"),
    "away": ("Out of use", "unknown"),
}


def read_trends(
    *,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
    cluster: str = "",
    period: Period = DAY,
    with_reasons: bool = False,
) -> Trends:
    """Return the curves (1 query) of one cluster, or of all that the viewer sees.

    `clusters` are those that the viewer sees. Curves of gangs are of whole clusters: who sees only some
    namespaces of one that is asked for gets none of them. Those of accelerators on nodes are for all,
    as the numbers of the Capacity page are.
    """
    asked = _ask(viewer, clusters, cluster)
    begin = period.begin(now)
    if not asked.heard:
        return Trends(period, begin, left_out=asked.silent)
    columns = [*ROOM, *(("waiting", "gangs") if asked.sees_gangs else ())]
    columns += ["reasons"] if asked.sees_gangs and with_reasons else []
    rows = _read_rows(asked.heard, columns, period, now)
    return Trends(
        period,
        begin,
        gangs=_gang_curves(rows) if asked.sees_gangs else {},
        waiting=_waiting_curve(rows) if asked.sees_gangs else None,
        reasons=_reason_curves(rows) if asked.sees_gangs and with_reasons else {},
        used=_room_curve(rows, "used"),
        held=_room_curve(rows, "held"),
        free=_room_curve(rows, "free"),
        away=_room_curve(rows, "away"),
        left_out=asked.silent,
    )


def read_gang_trends(
    *, viewer: Viewer, clusters: Mapping[int, Freshness], now: datetime, cluster: str = ""
) -> Trends:
    """Return the curves of all healths over a day, and no others (1 query).

    As `read_trends`; no query for who gets none of them.
    """
    asked = _ask(viewer, clusters, cluster)
    begin = DAY.begin(now)
    if not asked.heard or not asked.sees_gangs:
        return Trends(DAY, begin)
    gangs = _gang_curves(_read_rows(asked.heard, ["gangs"], DAY, now))
    return Trends(DAY, begin, gangs=gangs, left_out=asked.silent)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The clusters that curves are of."""

    heard: tuple[int, ...]
    silent: tuple[str, ...]
    """Names of those that are left out."""
    sees_gangs: bool
    """Whether the viewer sees all gangs of all of them."""


def _ask(viewer: Viewer, clusters: Mapping[int, Freshness], cluster: str) -> _Asked:
    asked = {id_: one for id_, one in clusters.items() if not cluster or one.cluster == cluster}
    return _Asked(
        heard=tuple(id_ for id_, one in asked.items() if not one.is_silent),
        silent=tuple(one.cluster for one in asked.values() if one.is_silent),
        sees_gangs=all(viewer.sees_cluster(id_) for id_ in asked),
    )


def _read_rows(ids: Iterable[int], columns: Sequence[str], period: Period, now: datetime) -> _Rows:
    begin = period.begin(now)
    rows: dict[int, list[Mapping[str, Any] | None]] = {id_: [None] * period.points for id_ in ids}
    stored = TrendPoint.objects.filter(cluster_id__in=rows, is_lasting=True, at__gte=begin)
    for row in stored.order_by("at").values("cluster_id", "at", *columns):
        place = (row["at"] - begin) // period.step
        mine = rows[row["cluster_id"]]
        if place < period.points and mine[place] is None:
            mine[place] = row
    return tuple(rows.values())


def _sum(rows: _Rows, read: Callable[[Mapping[str, Any]], float | None]) -> Values:
    """Return the sum at each point; None where a cluster is missing that was looked at before."""
    totals: list[float | None] = []
    began: set[int] = set()
    for points in zip(*rows, strict=True):
        found = [None if row is None else read(row) for row in points]
        began |= {number for number, value in enumerate(found) if value is not None}
        known = [found[number] for number in began]
        totals.append(
            sum(value for value in known if value is not None)
            if known and None not in known
            else None
        )
    return tuple(totals)


def _room_curve(rows: _Rows, name: str) -> Curve:
    def read(row: Mapping[str, Any]) -> float | None:
        value: float | None = row[name]
        return value - row["held"] if name == "used" and value is not None else value

    label, tone = ROOM[name]
    return Curve(name, label, tone, _sum(rows, read))


def _waiting_curve(rows: _Rows) -> Curve:
    values = _sum(rows, lambda row: row["waiting"])
    return Curve("waiting", "Waiting", Health.WAITING.value, values)


def _gang_curves(rows: _Rows) -> dict[str, Curve]:
    def values(word: str) -> Values:
        return _sum(rows, lambda row: None if row["gangs"] is None else row["gangs"].get(word, 0))

    faces = [face_of(health) for health in Health]
    return {face.word: Curve(face.word, face.label, face.tone, values(face.word)) for face in faces}


def _reason_curves(rows: _Rows) -> dict[tuple[str, str], Curve]:
    keys = sorted({key for mine in rows for row in mine if row for key in row["reasons"] or ()})

    def values(key: str) -> Values:
        return _sum(
            rows, lambda row: None if row["reasons"] is None else row["reasons"].get(key, (0, 0))[1]
        )

    found = {}
    for key in keys:
        stage, _, code = key.partition("/")
        label = f"{reason_title(code)} ({printable(stage)})"
        found[stage, code] = Curve(key, label, Health.WAITING.value, values(key))
    return found


@dataclass(frozen=True, slots=True)
class CurrentValue:
    """The present value of a curve, with its colour."""

    label: str
    tone: str
    value: float | None


SHORTEST = timedelta(hours=1)
"""Shorter curves are not drawn."""
_CURVES = ("waiting", *ROOM)


def since_known(trends: Trends) -> Trends:
    """Return the curves from the first point at which one of them is known; none under an hour."""
    first = min(map(_first_known, _curves(trends)), default=trends.period.points)
    if not first:
        return trends
    if trends.period.step * (trends.period.points - 1 - first) < SHORTEST:
        return Trends(trends.period, trends.began_at, left_out=trends.left_out)

    def cut(curve: Curve | None) -> Curve | None:
        return curve and _without_first(curve, first)

    return replace(
        trends,
        began_at=trends.began_at + trends.period.step * first,
        unknown_points=first,
        gangs={word: _without_first(curve, first) for word, curve in trends.gangs.items()},
        reasons={key: _without_first(curve, first) for key, curve in trends.reasons.items()},
        waiting=cut(trends.waiting),
        used=cut(trends.used),
        held=cut(trends.held),
        free=cut(trends.free),
        away=cut(trends.away),
    )


def current_values(trends: Trends, now: Mapping[str, float | None]) -> tuple[CurrentValue, ...]:
    """Return the legend of a chart, the highest curve first: the numbers of the page, not of the curves.

    `now`: name of a curve → its value now, None where that is not known. A curve has a point each quarter
    of an hour, so its last one is older than the page.
    """
    curves = [(getattr(trends, name), value) for name, value in now.items()]
    drawn = [(curve, value) for curve, value in curves if curve is not None and curve.can_be_drawn]
    return tuple(CurrentValue(curve.label, curve.tone, value) for curve, value in drawn[::-1])


def _curves(trends: Trends) -> Iterator[Curve]:
    yield from trends.gangs.values()
    yield from trends.reasons.values()
    yield from (curve for name in _CURVES if (curve := getattr(trends, name)) is not None)


def _without_first(curve: Curve, points: int) -> Curve:
    return replace(curve, values=curve.values[points:])


def _first_known(curve: Curve) -> int:
    known = (place for place, value in enumerate(curve.values) if value is not None)
    return next(known, len(curve.values))
