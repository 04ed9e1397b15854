"""The first advice for the drawn misfits, taken on a real cluster: half of it in vain, then all."""

from __future__ import annotations

from gangboard.placement.advice.ranking import advise
from tests.agreement import kept_cases as kept
from tests.agreement.advice_cases import on_paper
from tests.agreement.advice_figures import ADVISED_AT_LEAST, faults, lines, misses
from tests.agreement.conftest import Judged
from tests.agreement.drawing import make_cases
from tests.agreement.reckoning import most

PAPER = 300


def test_the_first_advice_frees_and_half_of_it_does_not(advised: Judged) -> None:
    """The misfits among the drawn cases of `test_agreement`, and those of which advice once missed."""
    cases = [case for case in (*kept.DRAWN, *kept.ADVICE_MISSED) if most(case) < case.quorum]
    print(*lines(advised.tried), *misses(advised.tried), sep="\n")
    assert len(advised.tried) == len(cases)
    result = faults(advised.tried, advised.of(cases))
    assert not result, "\n".join(result)


def test_most_misfits_get_advice() -> None:
    """Three hundred drawn cases. Other tests check whether the advice is right."""
    cases = [case for case in make_cases(kept.SEEDS[0], PAPER) if most(case) < case.quorum]
    read, groups = on_paper(cases)
    advised = sum(bool(advise(read.unit(groups[case.name]))) for case in cases)
    print(f"{advised} of {len(cases)} misfits get advice")
    assert advised >= ADVISED_AT_LEAST * len(cases)
