"""The cases of `kept_cases`, played once for all tests that ask what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest

from tests.agreement import kept_cases as kept
from tests.agreement.advice_figures import Tried
from tests.agreement.advice_play import play
from tests.agreement.arena import Arena
from tests.agreement.cases import Case
from tests.agreement.figures import Result, compare
from tests.controlplane.cluster import ControlPlane


@pytest.fixture
def arena(controlplane_137: ControlPlane) -> Iterator[Arena]:
    """Where cases play, cleared afterwards."""
    with Arena(controlplane_137.client) as result:
        yield result


@dataclass(frozen=True)
class Judged:
    """Outcomes of cases."""

    results: Mapping[Case, Result]
    tried: Sequence[Tried] = ()
    """Those that do not fit, with their first advice taken."""

    def of(self, cases: Iterable[Case]) -> list[Result]:
        """Return the results of these."""
        return [self.results[case] for case in cases]


@pytest.fixture(scope="session")
def advised(controlplane_137: ControlPlane) -> Judged:
    """The drawn cases, and the first advice for the misfits among them taken."""
    with Arena(controlplane_137.client) as arena:
        ((results, tried),) = play(arena, [*kept.DRAWN, *kept.ADVICE_MISSED])
    return Judged({result.played.case: result for result in results}, tried)


@pytest.fixture(scope="session")
def judged(controlplane_137: ControlPlane) -> Judged:
    """All others."""
    cases = [*kept.RACKS, *kept.SPREADS, *kept.SETTLED, *kept.MADE, *kept.ORDER_MISSED]
    with Arena(controlplane_137.client) as arena:
        return Judged({item.played.case: item for item in compare(arena, cases)})
