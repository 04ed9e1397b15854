"""Trends: curves over the last day or fortnight of the clusters that a viewer may see.

A point is a sum over clusters. It is None if one of them was not observed, because a missing cluster would look like
a fall. Clusters that are silent now are left out of all points, and the page names them.
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
    """The period of curves, and the distance of their points."""

    days: int
    step: timedelta
    label: str
    """`24 h`."""

    @property
    def points(self) -> int:
        """The number of points of a curve."""
        return timedelta(days=self.days) // self.step

    def begin(self, now: datetime) -> datetime:
        """Return the time of the first point. `now` is in the step of the last one."""
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
    """The name of its colours."""
    values: Values

    @property
    def known(self) -> tuple[float, ...]:
        """The known values."""
        return tuple(value for value in self.values if value is not None)

    @property
    def last(self) -> float | None:
        """The newest known value."""
        return self.known[-1] if self.known else None

    @property
    def range_text(self) -> str:
        """The range of its values: `3 to 9`."""
        least, most = min(self.known), max(self.known)
        return f"{most:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"

    @property
    def can_be_drawn(self) -> bool:
        """Whether it has at least two known points, which make a line."""
        return len(self.known) > 1


@dataclass(frozen=True, slots=True)
class Trends:
    """The curves of a viewer. An empty mapping or None means hidden or unknown."""

    period: Period
    began_at: datetime
    """The time of the first point."""
    gangs: Mapping[str, Curve] = field(default_factory=dict)
    """Health → number of gangs, for every health."""
    waiting: Curve | None = None
    """Accelerators requested by blocked, degraded, waiting and starting gangs."""
    reasons: Mapping[tuple[str, str], Curve] = field(default_factory=dict)
    """(stage, code) → accelerators requested by gangs of `waiting` with that reason."""
    used: Curve | None = None
    """Accelerators of pods on nodes, without those of `held`."""
    held: Curve | None = None
    """Accelerators held by incomplete gangs."""
    free: Curve | None = None
    """Free accelerators on nodes that are ready and not cordoned."""
    away: Curve | None = None
    """Free accelerators on other nodes, which take no pods."""
    left_out: tuple[str, ...] = ()
    """Clusters that are silent now and in no point."""
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
"""The stored rows of each point, by cluster."""
CAPACITY_CURVES = {
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
    """Return the curves of one cluster, or of all `clusters`, which the viewer sees (1 query).

    Curves of gangs cover whole clusters. A viewer of some namespaces of a selected cluster gets none of them. Curves
    of accelerators on nodes are for all viewers, as are the numbers of the Capacity page.
    """
    selection = _select(viewer, clusters, cluster)
    begin = period.begin(now)
    if not selection.answering:
        return Trends(period, begin, left_out=selection.silent)
    columns = [*CAPACITY_CURVES, *(("waiting", "gangs") if selection.sees_gangs else ())]
    columns += ["reasons"] if selection.sees_gangs and with_reasons else []
    rows = _read_rows(selection.answering, columns, period, now)
    return Trends(
        period,
        begin,
        gangs=_gang_curves(rows) if selection.sees_gangs else {},
        waiting=_waiting_curve(rows) if selection.sees_gangs else None,
        reasons=_reason_curves(rows) if selection.sees_gangs and with_reasons else {},
        used=_capacity_curve(rows, "used"),
        held=_capacity_curve(rows, "held"),
        free=_capacity_curve(rows, "free"),
        away=_capacity_curve(rows, "away"),
        left_out=selection.silent,
    )


def read_gang_trends(
    *, viewer: Viewer, clusters: Mapping[int, Freshness], now: datetime, cluster: str = ""
) -> Trends:
    """Return only the curves of all healths over a day, with the rules of `read_trends` (at most 1 query)."""
    selection = _select(viewer, clusters, cluster)
    begin = DAY.begin(now)
    if not selection.answering or not selection.sees_gangs:
        return Trends(DAY, begin)
    gangs = _gang_curves(_read_rows(selection.answering, ["gangs"], DAY, now))
    return Trends(DAY, begin, gangs=gangs, left_out=selection.silent)


@dataclass(frozen=True, slots=True)
class _Selection:
    """The clusters of the curves."""

    answering: tuple[int, ...]
    silent: tuple[str, ...]
    """Names of the clusters that are left out."""
    sees_gangs: bool
    """Whether the viewer sees all gangs of all these clusters."""


def _select(viewer: Viewer, clusters: Mapping[int, Freshness], cluster: str) -> _Selection:
    selected = {
        id_: freshness
        for id_, freshness in clusters.items()
        if not cluster or freshness.cluster == cluster
    }
    return _Selection(
        answering=tuple(id_ for id_, freshness in selected.items() if not freshness.is_silent),
        silent=tuple(freshness.cluster for freshness in selected.values() if freshness.is_silent),
        sees_gangs=all(viewer.sees_cluster(id_) for id_ in selected),
    )


def _read_rows(ids: Iterable[int], columns: Sequence[str], period: Period, now: datetime) -> _Rows:
    begin = period.begin(now)
    rows: dict[int, list[Mapping[str, Any] | None]] = {id_: [None] * period.points for id_ in ids}
    stored = TrendPoint.objects.filter(cluster_id__in=rows, is_lasting=True, at__gte=begin)
    for row in stored.order_by("at").values("cluster_id", "at", *columns):
        place = (row["at"] - begin) // period.step
        points = rows[row["cluster_id"]]
        if place < period.points and points[place] is None:
            points[place] = row
    return tuple(rows.values())


def _sum(rows: _Rows, read: Callable[[Mapping[str, Any]], float | None]) -> Values:
    """Return the sum at each point, or None if a cluster is missing that has an earlier value."""
    totals: list[float | None] = []
    started: set[int] = set()
    for points in zip(*rows, strict=True):
        values = [None if row is None else read(row) for row in points]
        started |= {number for number, value in enumerate(values) if value is not None}
        known = [values[number] for number in started]
        totals.append(
            sum(value for value in known if value is not None)
            if known and None not in known
            else None
        )
    return tuple(totals)


def _capacity_curve(rows: _Rows, name: str) -> Curve:
    def read(row: Mapping[str, Any]) -> float | None:
        value: float | None = row[name]
        return value - row["held"] if name == "used" and value is not None else value

    label, tone = CAPACITY_CURVES[name]
    return Curve(name, label, tone, _sum(rows, read))


def _waiting_curve(rows: _Rows) -> Curve:
    values = _sum(rows, lambda row: row["waiting"])
    return Curve("waiting", "Waiting", Health.WAITING.value, values)


def _gang_curves(rows: _Rows) -> dict[str, Curve]:
    def values(health: str) -> Values:
        return _sum(rows, lambda row: None if row["gangs"] is None else row["gangs"].get(health, 0))

    faces = [face_of(health) for health in Health]
    return {face.word: Curve(face.word, face.label, face.tone, values(face.word)) for face in faces}


def _reason_curves(rows: _Rows) -> dict[tuple[str, str], Curve]:
    keys = sorted({key for points in rows for row in points if row for key in row["reasons"] or ()})

    def values(key: str) -> Values:
        return _sum(
            rows, lambda row: None if row["reasons"] is None else row["reasons"].get(key, (0, 0))[1]
        )

    curves = {}
    for key in keys:
        stage, _, code = key.partition("/")
        label = f"{reason_title(code)} ({printable(stage)})"
        curves[stage, code] = Curve(key, label, Health.WAITING.value, values(key))
    return curves


@dataclass(frozen=True, slots=True)
class CurrentValue:
    """The current value of a curve, with its label and colour."""

    label: str
    tone: str
    value: float | None


SHORTEST = timedelta(hours=1)
"""Shortest period of curves that are drawn."""
_CURVES = ("waiting", *CAPACITY_CURVES)


def since_known(trends: Trends) -> Trends:
    """Return the curves from the first known point on, because on the first day most of a chart would be empty.

    Curves shorter than SHORTEST are left out.
    """
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
        gangs={health: _without_first(curve, first) for health, curve in trends.gangs.items()},
        reasons={key: _without_first(curve, first) for key, curve in trends.reasons.items()},
        waiting=cut(trends.waiting),
        used=cut(trends.used),
        held=cut(trends.held),
        free=cut(trends.free),
        away=cut(trends.away),
    )


def current_values(trends: Trends, now: Mapping[str, float | None]) -> tuple[CurrentValue, ...]:
    """Return the legend of a chart with the current numbers of the page, the top curve first.

    `now` is name of a curve → its current value, or None if unknown. The last point of a curve can be a quarter of
    an hour old.
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
