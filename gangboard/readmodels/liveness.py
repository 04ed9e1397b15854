"""Whether the processes that keep the pages true are alive, each judged by its own sign."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.store.heartbeats import ALIVE
from gangboard.store.models import Heartbeat

_BROKER = "it is busy, or the message broker (Redis) is down."
_SENTENCES = {
    "poll": (
        "Poll worker is down",
        "Poll worker is down (last sign ",
        "no page changes until it runs again.",
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
    "beat": (
        "Beat process is down",
        "Beat process is down (last sign ",
        "clusters that no worker holds are not picked up.",
    ),
    "poll-orders": (
        "No order reaches the poll worker",
        "No order reaches the poll worker (last one ",
        _BROKER,
    ),
    "act-orders": (
        "No order reaches the act worker",
        "No order reaches the act worker (last one ",
        _BROKER,
    ),
}
"""Kind → what is said when there is no sign at all, what before the age of the last, and why it matters."""
PROCESSES = ("poll", "act", "prove", "beat")
"""Kinds of process that must be alive."""
_LABELS = {"poll": "Poll worker", "act": "Act worker", "prove": "Prove worker", "beat": "Beat"}
ORDERS = {"poll-orders": ("beat", "poll"), "act-orders": ("beat", "act")}
"""Kind → from which process to which they go: while one of these is dead, they say nothing."""


@dataclass(frozen=True, slots=True)
class Banner:
    """One loud sentence, around the age of the last sign of life."""

    before: str
    since: datetime | None
    after: str


@dataclass(frozen=True, slots=True)
class Process:
    """One kind of process, and whether any of it runs."""

    kind: str
    label: str
    runs: bool


@dataclass(frozen=True, slots=True)
class Liveness:
    """What gives no sign of life, and the slots of the living poll workers."""

    dead: tuple[tuple[str, datetime | None], ...]
    """(kind of process or of orders, last sign or None)."""
    slots: int

    @property
    def processes(self) -> tuple[Process, ...]:
        """Every kind of process that must run."""
        dead = {kind for kind, _ in self.dead}
        return tuple(Process(kind, _LABELS[kind], kind not in dead) for kind in PROCESSES)

    @property
    def banners(self) -> tuple[Banner, ...]:
        """What every page must say."""
        return tuple(_banner(kind, last) for kind, last in self.dead)


@dataclass(frozen=True, slots=True)
class _Sign:
    """The newest sign of one kind."""

    at: datetime
    began_at: datetime | None
    """When its giver came back from its last silence; None when that was long ago."""


def read_liveness(*, now: datetime) -> Liveness:
    """Return who is alive (1 query)."""
    signs: dict[str, _Sign] = {}
    slots = 0
    rows = Heartbeat.objects.order_by("beat_at")
    for kind, at, began_at, its_slots in rows.values_list("kind", "beat_at", "began_at", "slots"):
        signs[kind] = _Sign(at, began_at)
        if kind == "poll" and abs(now - at) <= ALIVE:
            slots += its_slots
    dead = [kind for kind in PROCESSES if not _is_alive(signs.get(kind), now)]
    for kind, ends in ORDERS.items():
        due = all(_is_settled(signs.get(end), now) for end in ends)
        if due and not _is_alive(signs.get(kind), now):
            dead.append(kind)
    return Liveness(
        tuple((kind, signs[kind].at if kind in signs else None) for kind in dead), slots
    )


def _is_alive(sign: _Sign | None, now: datetime) -> bool:
    """Processes and orders give a sign every few seconds; silence for this long is death."""
    return sign is not None and abs(now - sign.at) <= ALIVE


def _is_settled(sign: _Sign | None, now: datetime) -> bool:
    """Whether a process has been alive for so long that an order must have passed."""
    if sign is None or not _is_alive(sign, now):
        return False
    return sign.began_at is None or now - sign.began_at > ALIVE


def _banner(kind: str, last: datetime | None) -> Banner:
    never, before, consequence = _SENTENCES[kind]
    if last is None:
        return Banner(f"{never}: {consequence}", None, "")
    return Banner(before, last, f" ago): {consequence}")
