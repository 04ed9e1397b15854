"""`priority-mismatch`: pods of a group have another priority than the group.

The scheduler of 1.37 refuses them with SchedulerError and the text below (k8s-gang-api.md §4.2, #15). A Job
with a `priorityClassName` gets a group of that priority, so this needs a group that a person made.
"""

from __future__ import annotations

from collections import Counter

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import count, is_or_are, names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.scheduler_text import scheduler_errors
from gangboard.facts.state_since import refused_since
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.plugins.rule import UnitRule

_TEXT = "should have the same priority"


def find(unit: Unit) -> Finding | None:
    """Return a finding if the scheduler's error names the priorities."""
    errors = [error for error in scheduler_errors(unit) if _TEXT in error.raw]
    if not errors or not lacks_nodes(unit):
        return None
    priorities = Counter(pod.priority for pod in unit.current if pod.priority is not None)
    ranked = sorted(priorities.items(), key=lambda item: (-item[1], item[0]))
    pods = names(
        f"{count(number, 'pod')} {is_or_are(number)} at {priority}" for priority, number in ranked
    )
    own = unit.group.priority if unit.group is not None else None
    group = f"group {unit.group_name}"
    message = f"All pods of {group} need one priority, that of the group"
    if own is not None and priorities and set(priorities) != {own}:
        message = f"The priority of {group} is {own}, and {pods}: the scheduler wants them equal"
    return unit_finding(
        RULE,
        unit,
        f"{message}.",
        advice=(_advice(unit, own),),
        evidence=(Evidence("scheduler says", errors[0].raw, errors[0].source),),
        since=refused_since(unit, errors),
    )


def _advice(unit: Unit, own: int | None) -> str:
    """Return the step that makes the priorities equal. The priorities of pods and PodGroups are immutable."""
    if own is None:
        return f"Give group {unit.group_name} and all its pods one priorityClassName ({ChangeMethod.RECREATE})."
    return (
        f"Give all pods a priorityClassName of value {own}, that of group {unit.group_name}, or "
        f"group and pods another one together ({ChangeMethod.RECREATE})."
    )


RULE = UnitRule(
    "priority-mismatch",
    Stage.PLACEMENT,
    "Priority mismatch",
    30,
    find,
    health=Health.BLOCKED,
    for_waiting_units=True,
)
