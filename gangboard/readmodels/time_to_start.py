"""The wait of a gang before its first run, by stage, and the typical wait of similar gangs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from statistics import median

from django.db.models import Min, Q

from gangboard.domain.health import Health, Stage
from gangboard.readmodels.formatting import duration_text
from gangboard.store.access import Viewer
from gangboard.store.models import VerdictSpan

FEWEST_CASES = 5
"""Fewest gangs for a typical wait."""
MOST_CASES = 100
"""Newest gangs for a typical wait. Older waits are not typical any more."""
MOST_SPANS_READ = 20_000
"""Newest verdicts that a search for started gangs reads."""
OBSERVED_FROM_START = timedelta(seconds=30)
"""A gang first observed this soon after its creation counts as observed from the start."""
SUSPENDED = "suspended"
"""Kind of time in which the gang was suspended on purpose. It is no part of the wait."""
UNOBSERVED = "unknown"
"""Kind of time in which the gang was not observed. It is a part of the wait without a known stage."""
_PART_LABELS = {
    Stage.ADMISSION: "for quota",
    Stage.FORMATION: "for its pods to be created",
    Stage.PLACEMENT: "for capacity",
    Stage.START: "for images and containers",
    Stage.RUN: "started, but not whole",
    UNOBSERVED: "not observed",
    SUSPENDED: "suspended on purpose",
}
"""Kind → text after a duration, in the order of printing."""
_AROUND = {
    "": ("Had waited", "until it was suspended"),
    "gone": ("Waited", "until it was deleted"),
    "over": ("Waited", "until it ended; it was never seen running"),
    "running": ("Waited", "before it ran"),
}
"""End of a wait → texts before and after its duration."""
_GOES_ON = ("Has waited", "so far")


@dataclass(frozen=True, slots=True)
class VerdictInterval:
    """A verdict over time, without its sentence."""

    health: str
    stage: str
    code: str
    began_at: datetime
    ended_at: datetime | None

    @property
    def is_known(self) -> bool:
        """Whether the gang was observed."""
        return self.health != Health.UNKNOWN

    @property
    def runs(self) -> bool:
        """Whether everything runs that is not stopped on purpose."""
        is_partly_stopped = self.health == Health.SUSPENDED and self.stage == Stage.RUN
        return self.health == Health.RUNNING or is_partly_stopped

    @property
    def is_over(self) -> bool:
        """Whether the gang has ended."""
        return self.health in (Health.FAILED, Health.SUCCEEDED)

    @property
    def kind(self) -> str:
        """Kind of the time: a stage, SUSPENDED or UNOBSERVED."""
        if not self.is_known:
            return UNOBSERVED
        return SUSPENDED if self.health == Health.SUSPENDED else self.stage


@dataclass(frozen=True, slots=True)
class WaitPart:
    """The time in one stage."""

    kind: str
    label: str
    """`for room`."""
    seconds: float
    share: float
    """Percent of the wait so far."""
    counting_from: datetime | None
    """For the current part, when it would have begun without interruptions. A script counts from it."""

    @property
    def is_unseen(self) -> bool:
        """Whether the gang was not observed in this time."""
        return self.kind == UNOBSERVED

    @property
    def text(self) -> str:
        """The duration in words."""
        return duration_text(timedelta(seconds=self.seconds))


@dataclass(frozen=True, slots=True)
class Wait:
    """The time from the creation of a gang, or from its first observation, until its first run."""

    started_at: datetime
    from_creation: bool
    """Whether it begins at the creation of the gang. Otherwise the time before is unknown."""
    ended_at: datetime | None
    """None while the gang waits."""
    end: str
    """running, over (failed or succeeded without an observed run), gone, or empty."""
    seconds: float
    """Duration without the time in which it was suspended on purpose."""
    counting_from: datetime | None
    parts: tuple[WaitPart, ...]
    """Parts in the order of the stages, without those that took no time."""
    suspended: WaitPart | None

    @property
    def text(self) -> str:
        """The duration in words."""
        return duration_text(timedelta(seconds=self.seconds))

    @property
    def verb(self) -> str:
        """The text before the duration: `Has waited`."""
        return self._around[0]

    @property
    def until(self) -> str:
        """The text after the duration: `before it ran`."""
        return self._around[1]

    @property
    def _around(self) -> tuple[str, str]:
        return _GOES_ON if self.counting_from is not None else _AROUND[self.end]

    @property
    def by_stage(self) -> dict[str, int]:
        """Seconds per stage, without unobserved time."""
        return {
            stage_part.kind: int(stage_part.seconds)
            for stage_part in self.parts
            if not stage_part.is_unseen
        }


@dataclass(frozen=True, slots=True)
class TypicalWait:
    """The typical wait of visible gangs of the same cluster, queue, shape and size."""

    median_seconds: int | None
    """None with fewer cases than FEWEST_CASES."""
    cases: int

    @property
    def text(self) -> str:
        """How long, in words."""
        return duration_text(timedelta(seconds=self.median_seconds or 0))


@dataclass(frozen=True, slots=True)
class Similarity:
    """Properties by which gangs are similar."""

    cluster_id: int
    queue: str
    shape: str
    """The shape, see `store.verdict_spans.request_digest`. Empty if unknown, and then no gang is similar."""
    desired: int


def make_wait(
    intervals: Sequence[VerdictInterval], created_at: datetime | None, now: datetime
) -> Wait | None:
    """Return the first wait of a gang, or None if it was not observed waiting.

    `stretches` are its verdicts, the oldest first, up to its first run at least. Later waits (after a loss, a preemption) are not in it.
    """
    known = next((item for item in intervals if item.is_known), None)
    if known is None or known.runs or known.is_over or known.stage == Stage.RUN:
        return None
    first = intervals[0]
    from_creation = created_at is not None and created_at >= first.began_at - OBSERVED_FROM_START
    start = first.began_at
    if from_creation and created_at is not None:
        start = min(created_at, start)
    before = _before_the_end(intervals)
    after = next(iter(intervals[len(before) :]), None)
    ended_at = after.began_at if after is not None else before[-1].ended_at
    spent, last_kind = _spent(before, start, ended_at or now)
    waited = sum((time for kind, time in spent.items() if kind != SUSPENDED), timedelta())
    goes_on = ended_at is None
    parts = {
        kind: WaitPart(
            kind=kind,
            label=_PART_LABELS.get(kind, f"in stage {kind}"),
            seconds=time.total_seconds(),
            share=round(100 * (time / waited), 1) if waited and kind != SUSPENDED else 0.0,
            counting_from=now - time if goes_on and kind == last_kind else None,
        )
        for kind, time in spent.items()
    }
    return Wait(
        started_at=start,
        from_creation=from_creation,
        ended_at=ended_at,
        end=_end_of(after, goes_on=goes_on),
        seconds=waited.total_seconds(),
        counting_from=now - waited if goes_on and last_kind != SUSPENDED else None,
        parts=tuple(parts[kind] for kind in _order(parts) if kind != SUSPENDED),
        suspended=parts.get(SUSPENDED),
    )


def _before_the_end(intervals: Sequence[VerdictInterval]) -> Sequence[VerdictInterval]:
    for index, item in enumerate(intervals):
        if item.is_known and (item.runs or item.is_over):
            return intervals[:index]
    return intervals


def _end_of(after: VerdictInterval | None, *, goes_on: bool) -> str:
    if after is not None:
        return "running" if after.runs else "over"
    return "" if goes_on else "gone"


def _spent(
    intervals: Sequence[VerdictInterval], start: datetime, end_time: datetime
) -> tuple[dict[str, timedelta], str]:
    """Return the time by kind, and the kind of the last stretch.

    The moments before the first observation count as the first observed kind. A gap counts as unobserved: the gang
    was taken for deleted and existed again.
    """
    spent: dict[str, timedelta] = {}

    def add(kind: str, time: timedelta) -> None:
        if time > timedelta():
            spent[kind] = spent.get(kind, timedelta()) + time

    add(intervals[0].kind, intervals[0].began_at - start)
    for item in intervals:
        add(item.kind, (item.ended_at or end_time) - item.began_at)
    for earlier, later in pairwise(intervals):
        add(UNOBSERVED, later.began_at - (earlier.ended_at or later.began_at))
    return spent, intervals[-1].kind


def _order(kinds: Iterable[str]) -> list[str]:
    order = [str(kind) for kind in _PART_LABELS]
    return sorted(kinds, key=lambda kind: order.index(kind) if kind in order else len(order))


def typical_wait(*, viewer: Viewer, like: Similarity, gang_id: str) -> TypicalWait:
    """Return the typical wait of other gangs like this one (2 queries).

    A case is a visible gang that ran and whose whole wait was observed.
    """
    if not like.shape:
        return TypicalWait(None, 0)
    ran = _ran(viewer, like, gang_id)
    if not ran:
        return TypicalWait(None, 0)
    waits = whole_waits(ran).values()
    basis = len(waits) >= FEWEST_CASES
    return TypicalWait(round(median(waits)) if basis else None, len(waits))


def whole_waits(ran: Mapping[str, datetime]) -> dict[str, float]:
    """Return the seconds that gangs waited before their first run, if their whole wait was observed (1 query).

    `ran` is gang id → when it was observed running. Time in which it was suspended on purpose is left out.
    """
    return {
        gang_id: wait.seconds
        for gang_id, intervals, created_at, ran_at in _verdicts_until_run(ran)
        if (wait := make_wait(intervals, created_at, ran_at)) is not None
        and wait.from_creation
        and wait.end == "running"
        and not any(wait_part.is_unseen for wait_part in wait.parts)
    }


def _ran(viewer: Viewer, like: Similarity, gang_id: str) -> dict[str, datetime]:
    """Return the newest gangs like this one that ran, with the time of their first run."""
    spans = (
        VerdictSpan.objects.filter(
            viewer.gang_filter(),
            cluster_id=like.cluster_id,
            queue=like.queue,
            shape=like.shape,
            desired=like.desired,
            health=Health.RUNNING.value,
        )
        .exclude(gang_id=gang_id)
        .values("gang_id")
        .annotate(ran_at=Min("began_at"))
        .order_by("-ran_at")[:MOST_CASES]
    )
    return {row["gang_id"]: row["ran_at"] for row in spans}


def _verdicts_until_run(
    ran: Mapping[str, datetime],
) -> Iterable[tuple[str, list[VerdictInterval], datetime | None, datetime]]:
    """Yield each gang with its verdicts until it ran, its creation time and the time of its run."""
    condition = Q()
    for gang_id, ran_at in ran.items():
        condition |= Q(gang_id=gang_id, began_at__lte=ran_at)
    rows = (
        VerdictSpan.objects.filter(condition)
        .order_by("gang_id", "began_at", "pk")
        .values_list("gang_id", "created_at", "health", "stage", "code", "began_at", "ended_at")
    )
    for gang_id, group in groupby(rows, key=lambda row: row[0]):
        spans = list(group)
        yield gang_id, [VerdictInterval(*row[2:]) for row in spans], spans[-1][1], ran[gang_id]
