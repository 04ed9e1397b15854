"""`idle-accelerators`, which stands beside the verdict."""

from __future__ import annotations

from gangboard.domain.health import Health
from gangboard.domain.measured_use import UseAlert
from tests.rules.use import SINCE, codes, judged
from tests.sentence_values import values_in


def test_idle_accelerators_stand_beside_running() -> None:
    verdict = judged(UseAlert(idle_since=SINCE))
    assert codes(verdict) == ["running", "idle-accelerators"]
    assert verdict.finding.health is Health.RUNNING
    idle = verdict.findings[1]
    assert (idle.since, idle.unit, idle.health) == (SINCE, "", Health.DEGRADED)
    assert values_in(idle.message) == "4"
    assert "JobSet run" in idle.message
    (step,) = idle.advice
    assert step.command[:5] == ("kubectl", "logs", "-n", "team-a", "run-workers-0-0")


def test_without_a_long_idle_time_there_is_no_finding() -> None:
    assert codes(judged(UseAlert())) == ["running"]


def test_a_gang_that_is_not_whole_is_not_called_idle() -> None:
    assert "idle-accelerators" not in codes(judged(UseAlert(idle_since=SINCE), ready=1))
