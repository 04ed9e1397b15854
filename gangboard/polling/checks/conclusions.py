"""Forecasts from verdicts: the word, the code and the sentence about a gang that does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.check import NOT_OBSERVED, REFUSED, CheckVerdict
from gangboard.domain.forecast import Forecast, ManifestFault
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import STOCK_SCHEDULER
from gangboard.domain.text import all_of, count, names, sentence_case
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Gang
from gangboard.polling.checks.expansion import UID_PREFIX

_UNPREDICTED = frozenset({"unschedulable", "scheduler-error"})
"""Codes of waiting pods for which the arithmetic has no answer: they quote a scheduler that has not run."""
_PARTLY_PLACED = "partly-placed"
"""Code of a gang that lacks nodes, even if its groups have their quorums."""
_NOT_UNDERSTOOD = "not understood: "
"""Begin of `FitRow.why` for requirements that could also add capacity."""


class Conclusion(NamedTuple):
    """A forecast about a gang."""

    word: CheckVerdict
    code: str
    message: str


def conclude(
    gang: Gang, verdict: Verdict, faults: Sequence[ManifestFault], forecast: Forecast | None
) -> Conclusion:
    """Return the forecast about a gang whose pods have nodes as far as they fit.

    `forecast` is the decision of its admission system, if it has one.
    """
    finding = verdict.finding
    if faults:
        return refusal(faults)
    if forecast is not None and forecast.unknown:
        return Conclusion(CheckVerdict.UNKNOWN, NOT_OBSERVED, forecast.unknown)
    other = _other_schedulers(gang)
    if other:
        message = (
            f"Scheduler {names(other)} places pods by rules of its own, which no check computes."
        )
        return Conclusion(CheckVerdict.UNKNOWN, NOT_OBSERVED, message)
    word = forecast_of(verdict)
    if finding.code in _UNPREDICTED:
        return Conclusion(word, NOT_OBSERVED, _uncovered_sentence(verdict))
    if word is CheckVerdict.WOULD_RUN and finding.health is Health.RUNNING:
        return Conclusion(word, finding.code, _running_sentence(gang))
    return Conclusion(word, finding.code, finding.message)


def refusal(faults: Sequence[ManifestFault]) -> Conclusion:
    """Return the forecast about a manifest with faults."""
    first = faults[0]
    return Conclusion(CheckVerdict.WOULD_BLOCK, REFUSED, f"{first.field}: {first.sentence}")


def forecast_of(verdict: Verdict) -> CheckVerdict:
    """Return the forecast that corresponds to the verdict on a gang whose pods were placed as far as they fit."""
    finding, members = verdict.finding, verdict.members
    if finding.health is Health.UNKNOWN or finding.code in _UNPREDICTED:
        return CheckVerdict.UNKNOWN
    if finding.health in (Health.RUNNING, Health.SUCCEEDED):
        return CheckVerdict.WOULD_RUN
    if finding.health in (Health.DEGRADED, Health.STARTING):
        needed = members.desired if members.quorum is None else members.quorum
        is_placed = 0 < needed <= members.scheduled and finding.code != _PARTLY_PLACED
        return CheckVerdict.WOULD_RUN if is_placed else CheckVerdict.WOULD_WAIT
    return CheckVerdict.WOULD_WAIT if finding.health is Health.WAITING else CheckVerdict.WOULD_BLOCK


def awaits_completion(gang: Gang) -> bool:
    """Return whether a part of the gang waits for the end of another part."""
    return any(
        dependency.status not in ("", "Ready")
        for role in gang.owner.roles
        for dependency in role.depends_on
    )


def preemption_notes(gang: Gang, verdict: Verdict) -> list[str]:
    """Return a note if pods with a priority class wait for nodes, because they may preempt other pods."""
    if verdict.finding.stage is not Stage.PLACEMENT:
        return []
    classes = dict.fromkeys(
        pod.priority_class for pod in gang.pods if not pod.is_placed and pod.priority_class
    )
    if not classes:
        return []
    return [
        f"The check does not foresee preemption. With priority class {names(classes)} it may start"
        " by preempting other pods."
    ]


def is_about_check(step: AdvisedStep) -> bool:
    """Return whether a step is about an object that does not exist."""
    return any(ref.uid.startswith(UID_PREFIX) for ref in step.objects)


def _running_sentence(gang: Gang) -> str:
    pods = len(gang.pods)
    nodes = len({pod.node for pod in gang.pods if pod.node})
    fits = "fits" if pods == 1 else "fit"
    return f"{sentence_case(all_of(pods, 'pod'))} {fits} on {count(nodes, 'node')} now."


def _uncovered_sentence(verdict: Verdict) -> str:
    """Return why the arithmetic has no answer about the waiting pods."""
    causes = dict.fromkeys(
        cause.removeprefix(_NOT_UNDERSTOOD)
        for row in verdict.fit
        for cause in (row.why, *row.unsupported)
        if cause
    )
    why = f": {names(causes)}" if causes else ""
    return f"gangboard cannot tell whether the pods fit{why}."


def _other_schedulers(gang: Gang) -> tuple[str, ...]:
    """Return the schedulers of waiting pods that the arithmetic does not know."""
    schedulers = (
        pod.scheduler_name
        for pod in gang.pods
        if not pod.is_placed and pod.scheduler_name not in ("", STOCK_SCHEDULER)
    )
    return tuple(dict.fromkeys(schedulers))
