"""Outcomes of the gangs of controllers and of their advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gangboard.domain.advice import Advice
from tests.agreement import objects
from tests.agreement.advice_cases import MIB
from tests.agreement.advice_figures import ADVISED_AT_LEAST, FREED_AT_LEAST, End, Tried
from tests.agreement.advice_figures import lines as lines_of_tried
from tests.agreement.jobs import JobCase, Kind, is_helpable


@dataclass(frozen=True)
class Outcome:
    """One case: whether it was a misfit, and what became of the advice then."""

    one: JobCase
    tried: Tried | None
    """None: its quorum, or every pod of it, got a node without advice."""
    fault: str = ""
    """The scheduler and plain reckoning differ, or the gang never came to be."""


def wrong_on_paper(case: JobCase, advice: Advice) -> str:
    """Return the defect of advice without trying it, "" for none.

    Such advice frees capacity only the gang itself holds, or tolerates a controller's taint.

    """
    if advice.taint is not None and advice.taint.key != objects.TAINT:
        return f"nothing should tolerate {advice.taint}"
    for node in case.case.nodes:
        free = advice.free.get(node.name, {})
        expected = free.get("cpu", 0), free.get("memory", 0), free.get("nvidia.com/gpu", 0)
        held = [sum(run.amounts[index] for run in node.runs) for index in range(3)]
        held[1] *= MIB
        if any(want > have for want, have in zip(expected, held, strict=True)):
            return f"{dict(free)} on {node.name}, and others hold cpu, memory, gpu {held} there"
    return ""


def lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the figures, one on a line, and a line for each kind of gang."""
    yield f"cases                       {len(outcomes)}"
    yield from lines_of_tried([outcome.tried for outcome in outcomes if outcome.tried is not None])
    helpable = [
        outcome.tried
        for outcome in outcomes
        if outcome.tried is not None and is_helpable(outcome.one)
    ]
    helped = sum(item.advice is not None for item in helpable)
    yield f"one change can help         {len(helpable)}, {helped} with advice"
    for kind in Kind:
        tried = [
            outcome.tried
            for outcome in outcomes
            if outcome.one.kind is kind and outcome.tried is not None
        ]
        advised = [item for item in tried if item.advice is not None]
        freed = sum(item.end is End.FREED for item in advised)
        yield f"{kind:<27} {len(tried)} misfits, {len(advised)} with advice, {freed} freed"
        changes = Counter(str(item.advice.change) for item in advised if item.advice is not None)
        yield from (f"  {change:<25} {count}" for change, count in sorted(changes.items()))


def outcome_text(outcome: Outcome) -> str:
    """Return all that is needed to look into an outcome and to play it again; "" where all is well."""
    again = f"  make_job_case({outcome.one.case.seed}, {outcome.one.case.number})"
    if outcome.fault:
        return f"{outcome.fault}\n{again}"
    if outcome.tried is None or outcome.tried.end is End.FREED:
        return ""
    help_ = "one change can help" if is_helpable(outcome.one) else "no one change can help"
    return f"{outcome.tried}\n{again}: {sorted(outcome.one.leaving)} leave; {help_}"


def faults(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the failures, empty if there are none."""
    found = [outcome.fault for outcome in outcomes if outcome.fault]
    tried = [outcome.tried for outcome in outcomes if outcome.tried is not None]
    advised = [item for item in tried if item.advice is not None]
    found += [str(item) for item in advised if item.end is End.HALF]
    if len(advised) < ADVISED_AT_LEAST * len(tried):
        found.append(f"advice for {len(advised)} of {len(tried)} misfits: too few")
    freed = sum(item.end is End.FREED for item in advised)
    if freed < FREED_AT_LEAST * len(advised):
        found.append(f"the advice frees {freed} of {len(advised)}: too few")
    return found
