"""How long a gang waited before it ran, for what, and how long others like it did."""

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
"""Fewer gangs that came to run are no basis for saying what is typical."""
MOST_CASES = 100
"""The newest ones are asked; what was typical last year is not typical now."""
MOST_SPANS_READ = 20_000
"""The newest verdicts. A search for gangs that ran reads no others."""
OBSERVED_FROM_START = timedelta(seconds=30)
"""A gang that is first seen within this time of its making was seen from its beginning."""
SUSPENDED = "suspended"
"""Time in which it was not to run, on purpose: no part of the wait."""
UNSEEN = "unknown"
"""Time in which nobody could look: part of the wait, but not known for what."""
_JOB_SUSPENDED = "job-suspended"
"""The code that says: all Jobs that are not suspended run."""
_FOR = {
    Stage.ADMISSION: "for quota",
    Stage.FORMATION: "for its pods to be made",
    Stage.PLACEMENT: "for room",
    Stage.START: "for images and containers",
    Stage.RUN: "started, but not whole",
    UNSEEN: "not observed",
    SUSPENDED: "suspended on purpose",
}
"""What follows a duration, in the order of printing."""
_AROUND = {
    "": ("Had waited", "until it was suspended"),
    "gone": ("Waited", "until it was deleted"),
    "over": ("Waited", "until it ended without having been seen to run"),
    "running": ("Waited", "before it ran"),
}
"""What stands around the length of a wait that does not go on, by how it ended."""
_GOES_ON = ("Has waited", "so far")


@dataclass(frozen=True, slots=True)
class VerdictInterval:
    """A span without its sentence."""

    health: str
    stage: str
    code: str
    began_at: datetime
    ended_at: datetime | None

    @property
    def is_known(self) -> bool:
        """Whether somebody could look."""
        return self.health != Health.UNKNOWN

    @property
    def runs(self) -> bool:
        """Whether everything that is to run runs."""
        return self.health == Health.RUNNING or self.code == _JOB_SUSPENDED

    @property
    def is_over(self) -> bool:
        """Whether the gang has come to its end."""
        return self.health in (Health.FAILED, Health.SUCCEEDED)

    @property
    def kind(self) -> str:
        """What the time counts as: a stage, SUSPENDED or UNSEEN."""
        if not self.is_known:
            return UNSEEN
        return SUSPENDED if self.health == Health.SUSPENDED else self.stage


@dataclass(frozen=True, slots=True)
class WaitPart:
    """The time in one stage."""

    kind: str
    label: str
    """`for room`."""
    seconds: float
    share: float
    """Percent of the wait; of a part that goes on as it is now."""
    counting_from: datetime | None
    """Of the part that goes on: when it would have begun if it had never been interrupted."""

    @property
    def is_unseen(self) -> bool:
        """Whether nobody could look."""
        return self.kind == UNSEEN

    @property
    def text(self) -> str:
        """How long, in words."""
        return duration_text(timedelta(seconds=self.seconds))


@dataclass(frozen=True, slots=True)
class Wait:
    """The time from the making of a gang (or from when it was first seen) until it ran first."""

    started_at: datetime
    from_creation: bool
    """Whether it begins when the gang was created; what was before it is not known otherwise."""
    ended_at: datetime | None
    """None while it waits."""
    end: str
    """running, over (it failed or succeeded without having been seen to run), gone, or empty."""
    seconds: float
    """Without the time in which it was suspended on purpose."""
    counting_from: datetime | None
    parts: tuple[WaitPart, ...]
    """In the order of the stages, without those that took no time."""
    suspended: WaitPart | None

    @property
    def text(self) -> str:
        """How long, in words."""
        return duration_text(timedelta(seconds=self.seconds))

    @property
    def verb(self) -> str:
        """What stands before the length: `Has waited`."""
        return self._around[0]

    @property
    def until(self) -> str:
        """What stands behind the length: `before it ran`."""
        return self._around[1]

    @property
    def _around(self) -> tuple[str, str]:
        return _GOES_ON if self.counting_from is not None else _AROUND[self.end]

    @property
    def by_stage(self) -> dict[str, int]:
        """Seconds per stage; what was not observed is in none."""
        return {part.kind: int(part.seconds) for part in self.parts if not part.is_unseen}


@dataclass(frozen=True, slots=True)
class TypicalWait:
    """How long gangs of the same cluster, queue, shape and size waited, as far as the viewer sees them."""

    median_seconds: int | None
    """None with fewer cases than FEWEST_CASES: they are no basis."""
    cases: int

    @property
    def text(self) -> str:
        """How long, in words."""
        return duration_text(timedelta(seconds=self.median_seconds or 0))


@dataclass(frozen=True, slots=True)
class Similarity:
    """What makes gangs comparable."""

    cluster_id: int
    queue: str
    shape: str
    """As store.verdict_spans.shape_of; empty when not known, so nothing is like it."""
    desired: int


def make_wait(
    stretches: Sequence[VerdictInterval], created_at: datetime | None, now: datetime
) -> Wait | None:
    """Return the first wait of a gang; None when it was not seen waiting.

    `stretches` are its verdicts, the oldest first, up to its first run at least. Later waits (after a loss, a preemption) are not in it.
    """
    known = next((item for item in stretches if item.is_known), None)
    if known is None or known.runs or known.is_over or known.stage == Stage.RUN:
        return None
    first = stretches[0]
    from_creation = created_at is not None and created_at >= first.began_at - OBSERVED_FROM_START
    start = first.began_at
    if from_creation and created_at is not None:
        start = min(created_at, start)
    before = _before_the_end(stretches)
    after = next(iter(stretches[len(before) :]), None)
    ended_at = after.began_at if after is not None else before[-1].ended_at
    spent, still = _spent(before, start, ended_at or now)
    waited = sum((time for kind, time in spent.items() if kind != SUSPENDED), timedelta())
    goes_on = ended_at is None
    parts = {
        kind: WaitPart(
            kind=kind,
            label=_FOR.get(kind, f"in stage {kind}"),
            seconds=time.total_seconds(),
            share=round(100 * (time / waited), 1) if waited and kind != SUSPENDED else 0.0,
            counting_from=now - time if goes_on and kind == still else None,
        )
        for kind, time in spent.items()
    }
    return Wait(
        started_at=start,
        from_creation=from_creation,
        ended_at=ended_at,
        end=_end(after, goes_on=goes_on),
        seconds=waited.total_seconds(),
        counting_from=now - waited if goes_on and still != SUSPENDED else None,
        parts=tuple(parts[kind] for kind in _order(parts) if kind != SUSPENDED),
        suspended=parts.get(SUSPENDED),
    )


def _before_the_end(stretches: Sequence[VerdictInterval]) -> Sequence[VerdictInterval]:
    for index, item in enumerate(stretches):
        if item.is_known and (item.runs or item.is_over):
            return stretches[:index]
    return stretches


def _end(after: VerdictInterval | None, *, goes_on: bool) -> str:
    if after is not None:
        return "running" if after.runs else "over"
    return "" if goes_on else "gone"


def _spent(
    stretches: Sequence[VerdictInterval], start: datetime, end: datetime
) -> tuple[dict[str, timedelta], str]:
    """Return the time by kind, and the kind of the last stretch.

    The moments before the first sight count as what was seen first. A gap (it was taken for
    deleted and was there again) counts as not observed.
    """
    spent: dict[str, timedelta] = {}

    def add(kind: str, time: timedelta) -> None:
        if time > timedelta():
            spent[kind] = spent.get(kind, timedelta()) + time

    add(stretches[0].kind, stretches[0].began_at - start)
    for item in stretches:
        add(item.kind, (item.ended_at or end) - item.began_at)
    for one, next_ in pairwise(stretches):
        add(UNSEEN, next_.began_at - (one.ended_at or next_.began_at))
    return spent, stretches[-1].kind


def _order(kinds: Iterable[str]) -> list[str]:
    order = [str(kind) for kind in _FOR]
    return sorted(kinds, key=lambda kind: order.index(kind) if kind in order else len(order))


def typical_wait(*, viewer: Viewer, like: Similarity, gang_id: str) -> TypicalWait:
    """Return how long other gangs like this one waited until they ran (2 queries).

    A case is a gang that the viewer may see, that came to run, and whose whole wait was seen.
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
    """Return the seconds that gangs waited before they ran first, of those whose whole wait was seen (1 query).

    `ran`: when each was seen running. Time in which it was suspended on purpose is in none.
    """
    return {
        gang_id: wait.seconds
        for gang_id, stretches, created_at, ran_at in _stories(ran)
        if (wait := make_wait(stretches, created_at, ran_at)) is not None
        and wait.from_creation
        and wait.end == "running"
        and not any(part.is_unseen for part in wait.parts)
    }


def _ran(viewer: Viewer, like: Similarity, gang_id: str) -> dict[str, datetime]:
    """Return the newest gangs like this one that came to run, with when they did so."""
    found = (
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
    return {row["gang_id"]: row["ran_at"] for row in found}


def _stories(
    ran: Mapping[str, datetime],
) -> Iterable[tuple[str, list[VerdictInterval], datetime | None, datetime]]:
    """Yield what was said of each gang until it ran, with when it was made and when it ran."""
    wanted = Q()
    for gang_id, ran_at in ran.items():
        wanted |= Q(gang_id=gang_id, began_at__lte=ran_at)
    rows = (
        VerdictSpan.objects.filter(wanted)
        .order_by("gang_id", "began_at", "pk")
        .values_list("gang_id", "created_at", "health", "stage", "code", "began_at", "ended_at")
    )
    for gang_id, group in groupby(rows, key=lambda row: row[0]):
        spans = list(group)
        yield gang_id, [VerdictInterval(*row[2:]) for row in spans], spans[-1][1], ran[gang_id]
