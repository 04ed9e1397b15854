"""Liveness of the processes behind the pages, judged by their heartbeats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.text import listed
from gangboard.readmodels.formatting import duration_text
from gangboard.store.heartbeats import ALIVE
from gangboard.store.models import Heartbeat

_BROKER = "it is busy, or the message broker (Redis) is down."
_SENTENCES = {
    "poll": (
        "Poll worker is down",
        "Poll worker is down (last sign ",
        "pages are not updated until it runs again.",
    ),
    "act": (
        "Act worker is down",
        "Act worker is down (last sign ",
        "actions wait and expire.",
    ),
    "prove": (
        "Prove worker is down",
        "Prove worker is down (last sign ",
        "Holds are not tested, and undone actions are not noticed, until it runs again.",
    ),
    "notify": (
        "Notify worker is down",
        "Notify worker is down (last sign ",
        "messages wait until it runs again.",
    ),
    "beat": (
        "Beat process is down",
        "Beat process is down (last sign ",
        "clusters that no worker holds are not picked up.",
    ),
    "poll-orders": (
        "Poll worker receives no tasks",
        "Poll worker receives no tasks (last task ",
        _BROKER,
    ),
    "act-orders": (
        "Act worker receives no tasks",
        "Act worker receives no tasks (last task ",
        _BROKER,
    ),
}
"""Kind → sentence without any heartbeat, text before the age of the last heartbeat, and consequence."""
MOST_APART = 2
"""Dead processes that have a banner each. More share one, because their banners would fill the screen of a phone."""
_SHORT = {
    "poll": "pages are not updated",
    "act": "actions wait and expire",
    "prove": "Holds are not tested",
    "notify": "messages wait",
    "beat": "free clusters are not picked up",
}
"""Kind of process → consequence in the banner of several."""
PROCESSES = ("poll", "act", "prove", "notify", "beat")
"""Kinds of processes that must be alive."""
_LABELS = {
    "poll": "Poll worker",
    "act": "Act worker",
    "prove": "Prove worker",
    "notify": "Notify worker",
    "beat": "Beat",
}
ORDERS = {"poll-orders": ("beat", "poll"), "act-orders": ("beat", "act")}
"""Kind of orders → their sender and receiver. While one of these is dead, missing orders mean nothing."""


_LastHeartbeats = Mapping[str, datetime | None]
"""Kind → last heartbeat, or None if there was none."""


@dataclass(frozen=True, slots=True)
class Banner:
    """A banner: the text before and after the age of the last heartbeat."""

    before: str
    since: datetime | None
    after: str


@dataclass(frozen=True, slots=True)
class Process:
    """A kind of process, and whether at least one such process runs."""

    kind: str
    label: str
    runs: bool


@dataclass(frozen=True, slots=True)
class Liveness:
    """Dead kinds of processes, and the slots of the living poll workers."""

    dead: tuple[tuple[str, datetime | None], ...]
    """(kind of process or of orders, last heartbeat or None)."""
    slots: int
    read_at: datetime

    @property
    def processes(self) -> tuple[Process, ...]:
        """All kinds of processes that must run."""
        dead = {kind for kind, _ in self.dead}
        return tuple(Process(kind, _LABELS[kind], kind not in dead) for kind in PROCESSES)

    @property
    def banners(self) -> tuple[Banner, ...]:
        """The banners of every page."""
        silent: dict[str, datetime | None] = {}
        ahead: dict[str, datetime | None] = {}
        for kind, last in self.dead:
            is_ahead = last is not None and last > self.read_at
            (ahead if is_ahead else silent)[kind] = last
        return (
            *_banners(silent, _shared_banner, self.read_at),
            *_banners(ahead, _shared_clock_banner, self.read_at),
        )


@dataclass(frozen=True, slots=True)
class _Heartbeat:
    """The newest heartbeat of one kind."""

    at: datetime
    began_at: datetime | None
    """When the process came back after its last silence. None if that was long ago."""


def read_liveness(*, now: datetime) -> Liveness:
    """Return the liveness of all processes (1 query)."""
    heartbeats: dict[str, _Heartbeat] = {}
    slots = 0
    rows = Heartbeat.objects.order_by("beat_at")
    for kind, beat_at, began_at, its_slots in rows.values_list(
        "kind", "beat_at", "began_at", "slots"
    ):
        heartbeats[kind] = _Heartbeat(beat_at, began_at)
        if kind == "poll" and abs(now - beat_at) <= ALIVE:
            slots += its_slots
    dead = [kind for kind in PROCESSES if not _is_alive(heartbeats.get(kind), now)]
    for kind, processes in ORDERS.items():
        due = all(_is_settled(heartbeats.get(process), now) for process in processes)
        if due and not _is_alive(heartbeats.get(kind), now):
            dead.append(kind)
    last_heartbeats = [heartbeats[kind].at if kind in heartbeats else None for kind in dead]
    return Liveness(tuple(zip(dead, last_heartbeats, strict=True)), slots, now)


def _is_alive(heartbeat: _Heartbeat | None, now: datetime) -> bool:
    """Return whether the last heartbeat is recent. Processes and orders send one every few seconds."""
    return heartbeat is not None and abs(now - heartbeat.at) <= ALIVE


def _is_settled(heartbeat: _Heartbeat | None, now: datetime) -> bool:
    """Return whether a process has been alive long enough for an order to have arrived."""
    if heartbeat is None or not _is_alive(heartbeat, now):
        return False
    return heartbeat.began_at is None or now - heartbeat.began_at > ALIVE


def _banners(
    dead: _LastHeartbeats, shared: Callable[[_LastHeartbeats, datetime], Banner], now: datetime
) -> Iterator[Banner]:
    """Yield one banner for several dead processes, and one for each other kind."""
    processes = {kind: last for kind, last in dead.items() if kind in _SHORT}
    folded = processes if len(processes) > MOST_APART else {}
    if folded:
        yield shared(folded, now)
    for kind, last in dead.items():
        if kind not in folded:
            yield _banner(kind, last, now)


def _shared_banner(dead: _LastHeartbeats, _now: datetime) -> Banner:
    """Return one banner for several dead processes, with the newest of their heartbeats."""
    subject = _subject(dead)
    consequence = listed([_SHORT[kind] for kind in dead])
    last = max((time for time in dead.values() if time is not None), default=None)
    if last is None:
        return Banner(f"{subject} are down: {consequence}.", None, "")
    return Banner(f"{subject} are down (last sign ", last, f" ago): {consequence}.")


def _shared_clock_banner(ahead: _LastHeartbeats, now: datetime) -> Banner:
    """Return one banner for several processes whose last heartbeats are in the future."""
    least = duration_text(min(time for time in ahead.values() if time is not None) - now)
    sentence = f"their last signs are dated {least} or more ahead of now."
    return Banner(f"{_subject(ahead)} are down, or a clock is wrong: {sentence}", None, "")


def _subject(kinds: Collection[str]) -> str:
    """Return the words for several processes, at the beginning of a sentence."""
    workers = [kind for kind in kinds if kind != "beat"]
    return f"The {listed(workers)} workers" + (" and the beat process" if "beat" in kinds else "")


def _banner(kind: str, last: datetime | None, now: datetime) -> Banner:
    never, before, consequence = _SENTENCES[kind]
    if last is None:
        return Banner(f"{never}: {consequence}", None, "")
    if last > now:
        ahead = duration_text(last - now)
        sentence = f"{never}, or a clock is wrong: its last sign is dated {ahead} ahead of now."
        return Banner(sentence, None, "")
    return Banner(before, last, f" ago): {consequence}")
