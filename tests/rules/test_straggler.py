"""`straggler`, which stands beside the verdict."""

from __future__ import annotations

from gangboard.domain.health import Health
from gangboard.domain.measured_use import Straggler, UseAlert
from tests.rules.use import SINCE, codes, judged
from tests.sentence_values import values_in


def test_a_straggler_is_named_with_its_siblings() -> None:
    straggler = Straggler("run-workers-1-0", SINCE, 12.4, 95.6, 3, is_told=True)
    verdict = judged(UseAlert(straggler=straggler))
    assert codes(verdict) == ["running", "straggler"]
    lag = verdict.findings[1]
    assert (lag.since, lag.health) == (SINCE, Health.DEGRADED)
    assert values_in(lag.message) == "run-workers-1-0 12 3 96"
    assert [item.value for item in lag.evidence] == ["12 %", "96 %", "n1"]


def test_a_straggler_that_left_is_not_named() -> None:
    straggler = Straggler("run-workers-1-7", SINCE, 12.4, 95.6, 3, is_told=True)
    assert codes(judged(UseAlert(straggler=straggler))) == ["running"]
