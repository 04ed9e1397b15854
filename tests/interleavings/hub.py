"""Scheduling of actors: they take turns in one thread, each until its next boundary.

A seeded random picks the actor and moves the time, so a seed repeats a run step by step. Actors are
greenlets. The hub never switches to a killed actor again, so its `finally` does not run either, as
in a process after `kill -9`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from greenlet import GreenletExit, getcurrent, greenlet

from simulator.clock import SteppedClock
from tests.interleavings.trace import Trace

_STEPS = (0.003, 0.01, 0.03, 0.08, 0.2, 0.5, 1.2)
"""Seconds by which the time moves while actors could run: around the 10 and 70 ms of controllers."""
_MOVES = 0.35
"""Probability that the time moves although an actor could run."""
_LONGEST = 5.0
"""Largest step of the time in seconds while no actor can run."""


@dataclass(eq=False)
class Actor:
    """An actor: a person, a worker, a sweeper."""

    name: str
    turn: greenlet
    wake_at: float = 0.0
    """When it can go on, in seconds of the clock."""
    where: str = "begins"
    """The boundary at which it has paused."""
    stood_at: deque[float] = field(default_factory=lambda: deque([0.0, 0.0], maxlen=2))
    """When it came to its last two boundaries."""
    in_flight: Callable[[], None] | None = None
    """Has a request that it has sent arrive, while it is on its way."""
    is_killed: bool = False

    @property
    def is_alive(self) -> bool:
        """Whether it has work left."""
        return not self.is_killed and not self.turn.dead


class Hub:
    """Runs the actors of one interleaving."""

    def __init__(self, random: Random, clock: SteppedClock, trace: Trace) -> None:
        self.random = random
        self.clock = clock
        self.trace = trace
        self.actors: list[Actor] = []
        self.on_turn: Callable[[Actor], None] = lambda _actor: None
        """Called after every turn: those who look on, and those who kill."""
        self._graveyard: list[Actor] = []
        self._main = getcurrent()

    def spawn(self, name: str, work: Callable[[], None], *, after: float = 0.0) -> Actor:
        """Add an actor that begins after some seconds."""
        actor = Actor(name, greenlet(work, parent=self._main))
        actor.wake_at = self.clock.seconds + after
        self.actors.append(actor)
        return actor

    @property
    def current(self) -> Actor | None:
        """The actor that runs now; None in the test itself."""
        running = getcurrent()
        return next((actor for actor in self.actors if actor.turn is running), None)

    # What actors call

    def pause(self, where: str) -> None:
        """Pause at a boundary. Others may run before the caller continues."""
        self.sleep(0.0, where)

    def sleep(self, seconds: float, where: str = "sleeps") -> None:
        """Go on after some seconds at the earliest."""
        actor = self.current
        if actor is None:
            return  # set-up and checks by the test itself are not interleaved
        actor.where = where
        actor.wake_at = self.clock.seconds + seconds
        actor.stood_at.append(self.clock.seconds)
        self._main.switch()

    # Called by the test

    def kill(self, actor: Actor) -> None:
        """End an actor where it stands, without any cleanup."""
        self.trace.write(actor.name, f"killed at: {actor.where}")
        actor.is_killed = True
        self.actors.remove(actor)
        self._graveyard.append(actor)

    def step(self) -> None:
        """Let one actor run to its next boundary, or move the time."""
        ready = [actor for actor in self.actors if actor.wake_at <= self.clock.seconds]
        if not ready:
            self.clock.advance(self._until_something())
        elif self.random.random() < _MOVES:
            self.clock.advance(self.random.choice(_STEPS))
        else:
            chosen = self.random.choice(ready)
            chosen.turn.switch()
            if chosen.turn.dead:
                self.actors.remove(chosen)
            self.on_turn(chosen)

    def _until_something(self) -> float:
        moments = [actor.wake_at for actor in self.actors]
        if self.clock.next_at is not None:
            moments.append(self.clock.next_at)
        until = min(moments, default=self.clock.seconds + _LONGEST) - self.clock.seconds
        # A little beyond, so that rounding never keeps the time from moving.
        return min(max(until, 0.0) + 0.001, _LONGEST)

    def run_until(self, is_over: Callable[[], bool], *, most: int) -> bool:
        """Step until it is over; False: it was not within so many steps."""
        for _ in range(most):
            if is_over():
                return True
            self.step()
        return is_over()

    def bury(self) -> None:
        """Take the stacks of all actors down, at the very end."""
        for actor in (*self.actors, *self._graveyard):
            actor.is_killed = True
            while not actor.turn.dead:
                actor.turn.throw(GreenletExit)
        self.actors.clear()
        self._graveyard.clear()
