"""Figures of many cases, and each case where we and the scheduler differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gangboard.domain.placement_result import FitAnswer
from tests.agreement.arena import Arena, Judgement, Played
from tests.agreement.cases import Case
from tests.agreement.ours import Ours, Reading, ours
from tests.agreement.reckoning import is_boundary

CANNOT_TELL_AT_MOST = 0.05


class Outcome(StrEnum):
    """Relation of our answer to the scheduler's result."""

    AGREED = "agreed"
    CANNOT_TELL = "cannot tell"
    MISSED = "the scheduler's order misses a placement that there is"
    """Legal in one direction only: the scheduler takes pod after pod and never backtracks.

    The scheduler proves it:     it places the very same pods if each is assigned its node.
    """
    WRONG = "wrong"


@dataclass(frozen=True)
class Result:
    """One case with both answers."""

    played: Played
    ours: Ours
    outcome: Outcome
    note: str = ""

    def __str__(self) -> str:
        case = self.played.case
        lines = [
            f"{self.outcome}: seed {case.seed}, case {case.number} "
            f"(make_case({case.seed}, {case.number}))",
            f"  scheduler: {self.played.judgement}: {self.played.words}",
            f"  ours: {self.ours.answer}: {self.ours.why}",
            *([f"  {self.note}"] if self.note else []),
            f"  {case}",
        ]
        return "\n".join(lines)


def compare(arena: Arena, cases: Iterable[Case]) -> Iterator[Result]:
    """Play the cases and yield each with its outcome."""
    for batch in arena.play(cases):
        # All looks of a batch share their nodes and pods.
        before, after = Reading(batch[0].before), Reading(batch[0].after)
        results = []
        for played in batch:
            mine = ours(before, played.before.group)
            informed = None
            if played.judgement is Judgement.REFUSED:
                # The product's view of a waiting gang, and the expected view.
                informed = ours(after, played.after.group)
            results.append(_compared(played, mine, informed))
        yield from _proved(arena, results)


def _compared(played: Played, mine: Ours, informed: Ours | None) -> Result:
    """Return how the answers stand to each other; that the scheduler missed is still to be proved."""
    if informed is not None and mine.answer is FitAnswer.CANNOT_TELL:
        # The scheduler's message can settle facts that nodes do not show (placement/devices.py).
        mine = informed
    if informed is not None and informed.answer is not mine.answer:
        note = (
            f"{mine.answer} before the scheduler spoke, {informed.answer} after it: {informed.why}"
        )
        return Result(played, mine, Outcome.WRONG, note)
    if played.judgement is Judgement.ODD:
        return Result(played, mine, Outcome.WRONG, "the scheduler said neither yes nor no")
    if mine.answer is FitAnswer.CANNOT_TELL:
        return Result(played, mine, Outcome.CANNOT_TELL)
    if (mine.answer is FitAnswer.YES) == (played.judgement is Judgement.FITS):
        return Result(played, mine, Outcome.AGREED)
    if mine.answer is FitAnswer.NO:
        return Result(played, mine, Outcome.WRONG, "it runs, and we say that it cannot")
    if len(mine.placement) < played.case.quorum:
        return Result(played, mine, Outcome.WRONG, f"a placement of {mine.placement} only")
    if played.case.is_spread:
        # Pinned pods would be spread over one node each, so the scheduler is silent. Equal pods are not
        # missed.
        return Result(played, mine, Outcome.WRONG, "refused, and we say that it fits")
    return Result(played, mine, Outcome.MISSED)


def _proved(arena: Arena, results: Sequence[Result]) -> Iterator[Result]:
    """Let the scheduler try our placement of a gang it missed. A refusal proves us wrong."""
    missed = [result for result in results if result.outcome is Outcome.MISSED]
    message = arena.try_pinned((result.played.case, result.ours.placement) for result in missed)
    for result in results:
        if result.outcome is not Outcome.MISSED:
            yield result
            continue
        judgement, words = message[result.played.case.name]
        outcome = Outcome.MISSED if judgement is Judgement.FITS else Outcome.WRONG
        note = f"pinned to {result.ours.placement}: {judgement}: {words}"
        yield replace(result, outcome=outcome, note=note)


@dataclass
class Figures:
    """Counts over results."""

    results: list[Result] = field(default_factory=list)

    def share(self, *outcomes: Outcome) -> float:
        """Return the part of the cases with one of these outcomes."""
        return self._part(result.outcome in outcomes for result in self.results)

    def _part(self, marks: Iterable[bool]) -> float:
        return sum(marks) / max(1, len(self.results))

    @property
    def disagreements(self) -> list[Result]:
        """Cases where the answers differ, legal or not."""
        return [
            result for result in self.results if result.outcome in (Outcome.MISSED, Outcome.WRONG)
        ]

    @property
    def faults(self) -> list[str]:
        """Return the failures, empty if there are none."""
        found = [str(result) for result in self.results if result.outcome is Outcome.WRONG]
        unknown = self.share(Outcome.CANNOT_TELL)
        if unknown > CANNOT_TELL_AT_MOST:
            found.append(f"cannot tell in {unknown:.1%} of the cases, more than one in twenty")
        fitting = self.fitting
        if not 0.3 <= fitting <= 0.7:
            found.append(f"{fitting:.1%} fit: the cases are not a fair draw")
        return found

    @property
    def fitting(self) -> float:
        """The part that the scheduler places, or would if it looked further."""
        return self._part(
            result.played.judgement is Judgement.FITS or result.outcome is Outcome.MISSED
            for result in self.results
        )

    def lines(self) -> Iterator[str]:
        """Yield the figures, one on a line."""
        cases = [result.played.case for result in self.results]
        yield f"cases                       {len(cases)}"
        yield f"fitting                     {self.fitting:.1%}"
        yield f"within one unit             {self._part(map(is_boundary, cases)):.1%}"
        yield f"mixed shapes                {self._part(case.is_mixed for case in cases):.1%}"
        yield f"one topology domain         {self._part(case.topology for case in cases):.1%}"
        yield f"topology spread             {self._part(case.is_spread for case in cases):.1%}"
        for outcome in Outcome:
            count = sum(result.outcome is outcome for result in self.results)
            yield f"{outcome:<27} {count} ({self.share(outcome):.1%})"
