"""Outcomes of the first advice for many misfits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import floor

from gangboard.domain.advice import Advice
from tests.agreement.cases import Case
from tests.agreement.figures import Outcome, Result

ADVISED_AT_LEAST, FREED_AT_LEAST = 0.8, 0.95


class End(StrEnum):
    """Outcome of a gang whose first advice was followed."""

    NONE = "no advice"
    FREED = "freed"
    ORDER = "freed, but the scheduler's order misses the placement"
    """The scheduler places the very same pods if each is assigned its node."""
    MISSED = "not freed"
    HALF = "half of it is enough"


@dataclass(frozen=True)
class Tried:
    """One misfit with its first advice and what came of it."""

    case: Case
    advice: Advice | None
    end: End
    was_halved: bool = False
    words: str = ""

    def __str__(self) -> str:
        text = self.advice.text if self.advice is not None else ""
        free = dict(self.advice.free) if self.advice is not None else {}
        return (
            f"{self.end}: seed {self.case.seed}, case {self.case.number}: {text} {free or ''}\n"
            f"  {self.words}\n  {self.case}"
        )


def lines(tried: Sequence[Tried]) -> Iterator[str]:
    """Yield the figures, one on a line."""
    advised = [item for item in tried if item.advice is not None]
    yield f"misfits                     {len(tried)}"
    yield f"with advice                 {len(advised)} ({_share(len(advised), len(tried))})"
    changes = sorted({item.advice.change for item in advised if item.advice is not None})
    for change in changes:
        count = sum(item.advice is not None and item.advice.change is change for item in advised)
        yield f"  first is to {change:<15} {count}"
    for end in (End.FREED, End.ORDER, End.MISSED, End.HALF):
        count = sum(item.end is end for item in advised)
        yield f"{end:<27} {count} ({_share(count, len(advised))})"
    yield f"halved before               {sum(item.was_halved for item in advised)}"


def _share(part: int, whole: int) -> str:
    return f"{part / max(1, whole):.1%}"


def misses(tried: Iterable[Tried]) -> list[Tried]:
    """Return the advice that did not work as described, explained by the scheduler's order or not."""
    return [item for item in tried if item.end in (End.ORDER, End.MISSED, End.HALF)]


def faults(tried: Sequence[Tried], results: Sequence[Result]) -> list[str]:
    """Return the failures: wrong advice, and too much advice that does not free itself."""
    found = [str(item) for item in tried if item.end in (End.MISSED, End.HALF)]
    found += [str(result) for result in results if result.outcome is Outcome.WRONG]
    advised = [item for item in tried if item.advice is not None]
    freed = sum(item.end is End.FREED for item in advised)
    if freed < floor(FREED_AT_LEAST * len(advised)):  # of a few one may meet the scheduler's order
        found.append(f"the first advice frees {_share(freed, len(advised))}: too few")
    return found


def too_rare(tried: Sequence[Tried]) -> list[str]:
    """Return that too few of the misfits get advice, if so."""
    advised = sum(item.advice is not None for item in tried)
    if advised >= ADVISED_AT_LEAST * len(tried):
        return []
    return [f"advice for {_share(advised, len(tried))} of the misfits: too few"]
