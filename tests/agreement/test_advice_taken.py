"""The first advice for the drawn misfits, taken on a real cluster: half of it in vain, then all."""

from __future__ import annotations

from gangboard.placement.advice import advise
from tests.agreement.advice_cases import on_paper
from tests.agreement.advice_figures import ADVISED_AT_LEAST, faults, lines, misses
from tests.agreement.advice_play import play
from tests.agreement.arena import Arena
from tests.agreement.drawing import make_case, make_cases
from tests.agreement.reckoning import most
from tests.agreement.test_agreement import CASES_OF_EACH, SEEDS, arena

__all__ = ["arena"]


PAPER = 300
ONCE_MISSED = ((661730, 109),)
"""Cases whose first advice did not free once: seed and number."""


def test_the_first_advice_frees_and_half_of_it_does_not(arena: Arena) -> None:
    """The misfits among the forty cases of `test_agreement`."""
    cases = [
        case
        for seed in SEEDS
        for case in make_cases(seed, CASES_OF_EACH)
        if most(case) < case.quorum
    ]
    cases += [make_case(*one) for one in ONCE_MISSED]
    ((results, tried),) = play(arena, cases)
    print(*lines(tried), *misses(tried), sep="\n")
    assert len(tried) == len(cases)
    found = faults(tried, results)
    assert not found, "\n".join(found)


def test_most_misfits_get_advice() -> None:
    """Of three hundred drawn cases; whether the advice is right is asked elsewhere."""
    cases = [case for case in make_cases(SEEDS[0], PAPER) if most(case) < case.quorum]
    look, groups = on_paper(cases)
    advised = sum(bool(advise(look.unit(groups[case.name]))) for case in cases)
    print(f"{advised} of {len(cases)} misfits get advice")
    assert advised >= ADVISED_AT_LEAST * len(cases)
