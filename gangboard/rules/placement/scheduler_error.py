"""`scheduler-error`: the attempt to place the unit ended in an error of the scheduler.

The text can hide the cause. A missing claim was reported as `error in "DynamicResources" PodGroupPostFilter
plugins: not found` (observed on 1.37.0). The sentence quotes the text and does not interpret it. If gangboard
finds the cause by itself (no nodes, a claim), another rule reports that.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.scheduler_text import (
    ONE_SCHEDULER,
    SchedulerMessage,
    best_scheduler_message,
    scheduler_errors,
)
from gangboard.facts.state_since import refused_since
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.placement.sentences.cause import explains_error
from gangboard.plugins.rule import UnitRule

_ONE_PREEMPTION = "should have the same preemption policy"


def find(unit: Unit) -> Finding | None:
    """Return a finding while members wait and the last attempt ended in an error."""
    errors = scheduler_errors(unit)
    if not errors or not lacks_nodes(unit):
        return None
    if explains_error(unit):
        return None
    best = best_scheduler_message(errors)
    waiting = count(len(unit.unplaced), "pod")
    message = f"Scheduling {waiting} ended in an error"
    if best is not None:
        message = f"{message}: {quote(best.text)}"
    return unit_finding(
        RULE,
        unit,
        sentence(message),
        advice=_advice(unit, errors),
        evidence=(Evidence("scheduler says", best.raw, best.source),) if best is not None else (),
        since=refused_since(unit, errors),
    )


def _advice(unit: Unit, errors: tuple[SchedulerMessage, ...]) -> tuple[AdvisedStep | str, ...]:
    """Return the change that a clear text implies (schedule_one_podgroup.go, 1.36 and 1.37), else where to look."""
    group = f"all pods of group {unit.group_name}"
    if any(ONE_SCHEDULER in error.raw for error in errors):
        return (f"Give {group} one schedulerName ({ChangeMethod.RECREATE}).",)
    if any(_ONE_PREEMPTION in error.raw for error in errors):
        return (
            f"Give {group} one preemptionPolicy, that of the group if it has one ({ChangeMethod.RECREATE}).",
        )
    return (_read_log(unit),)


def _read_log(unit: Unit) -> AdvisedStep:
    """Return the step that finds a hidden cause. Names are only quoted, because any client can choose them."""
    names = sorted({pod.scheduler_name for pod in unit.unplaced if pod.scheduler_name})
    schedulers = f"scheduler {quote(names[0])}" if len(names) == 1 else "the schedulers of its pods"
    example = min((pod.meta.ref.name for pod in unit.unplaced), default="")
    pod = f" about pod {example}" if example else ""
    return AdvisedStep(
        f"Read the log of {schedulers}{pod}: the error can hide its cause, such as an object that does "
        "not exist.",
        AdviceKind.LOOK,
    )


RULE = UnitRule(
    "scheduler-error",
    Stage.PLACEMENT,
    "Scheduler error",
    40,
    find,
    health=Health.BLOCKED,
    for_waiting_units=True,
)
