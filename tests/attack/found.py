"""The attacks in the folder, and how one of them is run."""

from __future__ import annotations

import importlib
import json
import pkgutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from tests.attack import attacks as folder
from tests.installation import Installation

Figures = Mapping[str, float | int | str]


class OutOfTimeError(BaseException):
    """The attack has not ended. No client library takes this for a time-out of its own."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One file of the folder."""

    name: str
    seconds: float
    attack: Callable[[Installation], Figures]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an attack."""

    name: str
    passed: bool
    """Whether gangboard withstood it."""
    figures: Figures = field(default_factory=dict)
    why: str = ""
    """The error of an attack that gangboard did not withstand."""

    def line(self) -> str:
        """Return it as one line of JSON."""
        fields = {"name": self.name, "passed": self.passed, "figures": dict(self.figures)}
        return json.dumps(fields if self.passed else {**fields, "why": self.why})


def attacks() -> list[Attack]:
    """Return all attacks, by name. Raises AttributeError for a file that is half made."""
    modules = [
        importlib.import_module(f"{folder.__name__}.{module_info.name}")
        for module_info in pkgutil.iter_modules(folder.__path__)
    ]
    return [
        Attack(module.__name__.rpartition(".")[2], module.SECONDS, module.attack)
        for module in sorted(modules, key=lambda module: module.__name__)
    ]


def run(attack: Attack, board: Installation) -> Result:
    """Run one within its time, in the main thread."""
    try:
        with _at_most(attack.seconds):
            figures = attack.attack(board)
    except (AssertionError, OSError, OutOfTimeError) as error:
        return Result(attack.name, passed=False, why=f"{type(error).__name__}: {error}")
    return Result(attack.name, passed=True, figures=figures)


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError in the block when it takes longer."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTimeError(f"the attack had not ended after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
