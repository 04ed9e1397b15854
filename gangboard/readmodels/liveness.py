"""Whether the processes that keep the pages true are alive."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from gangboard.store.heartbeats import ALIVE_SECONDS
from gangboard.store.models import Heartbeat

ALIVE_WITHIN = timedelta(seconds=ALIVE_SECONDS)
"""A process beats every few seconds; silence for this long is its death."""

_CONSEQUENCES = {
    "poll": ("No poll worker", "nothing on this page changes until one runs again."),
    "act": ("No act worker", "what is asked for waits, and expires, until one runs again."),
    "beat": ("The beat process", "clusters that no worker holds are not picked up."),
}


@dataclass(frozen=True, slots=True)
class Banner:
    """One loud sentence, around the age of the last sign of life."""

    before: str
    since: datetime | None
    after: str


@dataclass(frozen=True, slots=True)
class Liveness:
    """The kinds of process of which none is alive, and the slots of the living poll workers."""

    dead: tuple[tuple[str, datetime | None], ...]
    """(kind, last sign of life or None)."""
    slots: int

    @property
    def banners(self) -> tuple[Banner, ...]:
        """What every page must say."""
        return tuple(_banner(kind, last) for kind, last in self.dead)


def read_liveness(*, now: datetime) -> Liveness:
    """Return who is alive (1 query)."""
    last: dict[str, datetime] = {}
    slots = 0
    for kind, beat_at, its_slots in Heartbeat.objects.values_list("kind", "beat_at", "slots"):
        last[kind] = max(beat_at, last.get(kind, beat_at))
        if kind == "poll" and now - beat_at <= ALIVE_WITHIN:
            slots += its_slots
    dead = tuple(
        (kind, last.get(kind))
        for kind in _CONSEQUENCES
        if kind not in last or now - last[kind] > ALIVE_WITHIN
    )
    return Liveness(dead, slots)


def _banner(kind: str, last: datetime | None) -> Banner:
    who, consequence = _CONSEQUENCES[kind]
    if last is None:
        never = "has ever run" if who.startswith("No ") else "has never run"
        return Banner(f"{who} {never}: {consequence}", None, "")
    if who.startswith("No "):
        return Banner(f"{who} is alive (last sign ", last, f" ago): {consequence}")
    return Banner(f"{who} is not alive (last sign ", last, f" ago): {consequence}")
