"""One run: the storm, the calm after it, and the judgement."""

from __future__ import annotations

import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from random import Random
from unittest import mock

from django.db import transaction

from gangboard.actions import dispatch, engine
from gangboard.domain.action import Verb
from gangboard.store.models import Action
from tests.interleavings.cast import Cast
from tests.interleavings.disturbance import Disturbance
from tests.interleavings.hub import Actor, Hub
from tests.interleavings.invariants import Evidence, broken
from tests.interleavings.observer import Observer
from tests.interleavings.site import Site
from tests.interleavings.trace import Trace

_LEVERS = ("hold", "native", "parallelism")
_STORM = 75.0
"""Seconds of the clock in which everything may happen."""
_CALM = 1500.0
"""Seconds of the clock after which everything must have come to rest."""
_MOST_TURNS = 30_000
_DELICATE = ("hold", "patch", "exit", "removal", "undo", "POST", "PATCH", "DELETE")
"""Words in the names of boundaries at which a worker is killed more often than elsewhere."""


@dataclass(frozen=True)
class Result:
    """The result of one run."""

    seed: int
    broken: dict[str, list[str]]
    """Name of an invariant → violations. Empty if all hold."""
    trace: str
    states: Counter[str] = field(default_factory=Counter)
    """Final states of the actions."""
    relocations: Counter[str] = field(default_factory=Counter)
    """Those of relocations."""

    def text(self) -> str:
        """Return the text that explains a failure."""
        lines = [f"seed {self.seed} (GANGBOARD_SEED={self.seed} repeats it)"]
        for name, wrong in self.broken.items():
            lines += [f"{name} does not hold:", *(f"  - {line}" for line in wrong)]
        return "\n".join([*lines, "", self.trace])


def play(seed: int, *, relocates: bool = False) -> Result:
    """Run one interleaving. The database is rolled back afterwards.

    With `relocates` most requests relocate a Job.
    """
    with transaction.atomic(), _repeatable(seed):
        result = _play(seed, relocates=relocates)
        transaction.set_rollback(True)
    return result


def _play(seed: int, *, relocates: bool) -> Result:
    random = Random(seed)
    lever = random.choices(_LEVERS, (8, 1, 1))[0]
    site = Site(seed, "hold" if relocates else lever, relocates=relocates)
    trace = Trace(lambda: site.clock.seconds)
    hub = Hub(random, site.clock, trace)
    cast = Cast(site, hub, random, trace)
    observer = Observer(site, trace)
    cast.on_read = observer.on_read
    doom = Doom(cast, random)

    def on_turn(actor: Actor) -> None:
        if actor.name == "poller":
            observer.skip()
        else:
            observer.record_changes()
        doom(actor)

    hub.on_turn = on_turn
    disturbance = Disturbance(cast)
    _begin(cast, disturbance)
    with ExitStack() as stack:
        stack.callback(hub.bury)
        stack.enter_context(mock.patch.object(engine, "log", _Log(cast)))
        hub.run_until(lambda: site.clock.seconds > _STORM, most=_MOST_TURNS)
        cast.calm_down()
        doom.is_over = True
        ends_at = site.clock.seconds + _CALM
        is_over = _come_to_rest(cast, observer, ends_at)
        observer.record_changes()
        wrong = broken(Evidence(cast, disturbance.switches, observer, is_over))
        states = Counter(Action.objects.values_list("state", flat=True))
        relocated = Action.objects.filter(verb=Verb.RELOCATE.value)
        relocations = Counter(relocated.values_list("state", flat=True))
    return Result(seed, wrong, trace.text(), states, relocations)


def _begin(cast: Cast, disturbance: Disturbance) -> None:
    hub, random = cast.hub, cast.random
    for user in cast.site.people:
        hub.spawn(str(user), cast.operator(user, random.choice((2, 3, 4))))
    for _ in range(2):
        cast.start_worker()
    hub.spawn("sweeper", cast.sweeper)
    hub.spawn("poller", cast.poller)
    hub.spawn("admin", disturbance.admin)
    hub.spawn("kubectl", disturbance.meddler)
    hub.spawn("fate", disturbance.fate)


def _come_to_rest(cast: Cast, observer: Observer, ends_at: float) -> bool:
    """Step until no work is due and the poll has run for a while afterwards."""
    hub, clock = cast.hub, cast.site.clock
    rested_at: float | None = None
    for _ in range(_MOST_TURNS):
        if clock.seconds > ends_at:
            return False
        if observer.has_work:
            rested_at = None
        elif rested_at is None:
            rested_at = clock.seconds
        elif clock.seconds > rested_at + cast.rest:
            return True
        hub.step()
    return False


class _Log:
    """Log of the engine's own errors. Each is a crash, although the worker lives on."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast

    def info(self, event: str, **about: object) -> None:
        """Record no news, because the database has them."""

    def warning(self, event: str, **about: object) -> None:
        """Take note for the trace."""
        self._cast.trace.write("engine", f"{event}: {about}")

    def exception(self, event: str, **about: object) -> None:
        """Take note of a crash."""
        error = sys.exc_info()[1]
        assert error is not None
        self._cast.note_crash("engine", f"{event}, {about}", error)


class Doom:
    """Kills workers in the middle of their work, or stops them for a while."""

    def __init__(self, cast: Cast, random: Random) -> None:
        self._cast = cast
        self._random = random
        self._kills = random.choice((0.0, 0.005, 0.015))
        self._stops = random.choice((0.0, 0.005, 0.02))
        self.is_over = False

    def __call__(self, actor: Actor) -> None:
        """Decide about an actor that has just come to a boundary."""
        if self.is_over or not self._cast.is_busy(actor):
            return
        worse = 4.0 if any(boundary in actor.where for boundary in _DELICATE) else 1.0
        if self._random.random() < self._kills * worse:
            self._kill(actor)
        elif self._random.random() < self._stops and actor.in_flight is None:
            # A request sent by a stopped process is under way all the same. Earlier requests wait.
            actor.wake_at += self._random.uniform(0.5, 45.0)
            self._cast.trace.write(actor.name, f"stopped at: {actor.where}")

    def _kill(self, actor: Actor) -> None:
        arrive = actor.in_flight
        self._cast.hub.kill(actor)
        if arrive is not None and self._random.random() < 0.5:
            self._cast.site.clock.soon(arrive, self._random.uniform(0.01, 2.0))
        self._cast.start_worker(after=self._random.uniform(0.2, 4.0))


@contextmanager
def _repeatable(seed: int) -> Iterator[None]:
    """Have ids repeat, and no real worker be woken."""
    numbers = Random(f"ids {seed}")

    def new_id() -> uuid.UUID:
        return uuid.UUID(int=numbers.getrandbits(128), version=4)

    with mock.patch.object(uuid, "uuid4", new_id), mock.patch.object(dispatch, "wake"):
        yield
