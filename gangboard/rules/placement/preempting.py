"""`preempting`: the scheduler preempts other pods for the unit, and these still terminate.

Texts of the scheduler:

- `preempting 2 victims` and `ongoing preemption on nominated nodes` (observed on 1.37.0)
- `pod group is waiting for preemption to complete` (1.36, schedule_one_podgroup.go)
- `terminating pod on the nominated node` (default_preemption.go)

A single pod that preempts gets a nominated node and a text that does not mention preemption. On 1.35 pods that
wait for the rest of their gang also have a nominated node, but no condition, or the text of the timeout. On
1.36.3 a preempting gang has only `pod group is unschedulable` and no nominated node. The rule then uses the
events about its victims.
"""

from __future__ import annotations

import re
from datetime import datetime

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, names, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.gang import Victim
from gangboard.facts.preemption import never_preempts, victims_of
from gangboard.facts.scheduler_text import (
    SchedulerMessage,
    node_reasons,
    scheduler_messages,
)
from gangboard.facts.state_since import refused_since
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.plugins.rule import UnitRule

_ONGOING = re.compile(
    r"preempting \d+ victims?|ongoing preemption on nominated nodes|"
    r"waiting for preemption to complete|terminating pod on the nominated node"
)
_VICTIMS = re.compile(r"preempting (\d{1,9}) victims?")
_MAX_SHOWN = 3


def find(unit: Unit) -> Finding | None:
    """Return a finding while members wait for the end of preempted pods."""
    if not lacks_nodes(unit):
        return None
    messages = scheduler_messages(unit, "Unschedulable")
    ongoing = [message for message in messages if _ONGOING.search(message.raw)]
    # Other components also nominate nodes.
    is_non_preempting = never_preempts(unit) is not None
    nominated = [] if is_non_preempting else [pod for pod in unit.unplaced if _is_preemptor(pod)]
    victims = victims_of(unit)
    if not ongoing and not nominated and not victims:
        return None
    number = max(_victim_count(ongoing), len(victims))
    waiting = count(len(unit.unplaced), "pod")
    return unit_finding(
        RULE,
        unit,
        f"{waiting} {plural(len(unit.unplaced), 'wait')} until "
        f"{count(number, 'pod') if number else 'pods'} of lower priority "
        f"{'is' if number == 1 else 'are'} gone{_victim_names(victims, number)}.",
        evidence=(
            *_quoted(ongoing, nominated, messages),
            *_victim_evidence(victims),
            *_node_evidence(unit),
        ),
        since=refused_since(unit, ongoing) or _since(victims) or refused_since(unit, messages),
    )


def _is_preemptor(pod: Pod) -> bool:
    """Return whether the pod was refused and the scheduler makes room for it on a node."""
    condition = pod.scheduled
    if not pod.preempts or not pod.nominated_node or condition is None or not condition.is_false:
        return False
    is_refused = condition.reason == "Unschedulable" and "preemption:" not in condition.message
    return is_refused and any(
        "Insufficient" in reason for reason, _ in node_reasons(condition.message)
    )


def _quoted(
    ongoing: list[SchedulerMessage], nominated: list[Pod], messages: tuple[SchedulerMessage, ...]
) -> tuple[Evidence, ...]:
    """Return the text about the preemption, else that of a pod with a nominated node, else any text."""
    preemptors = {pod.meta.ref for pod in nominated}
    ranked = [*ongoing, *(text for text in messages if text.source in preemptors), *messages]
    return tuple(Evidence("scheduler says", text.raw, text.source) for text in ranked[:1])


def _victim_count(ongoing: list[SchedulerMessage]) -> int:
    """Return the number of victims in these texts, or 0 if they have none.

    The largest number of a group counts, else the sum over the pods.
    """
    numbers = {
        message.source: int(match[1])
        for message in ongoing
        if (match := _VICTIMS.search(message.raw))
    }
    of_groups = [number for source, number in numbers.items() if source.kind != "Pod"]
    return max(of_groups, default=0) or sum(numbers.values())


def _victim_names(victims: tuple[Victim, ...], number: int) -> str:
    """Return ` (team-b/small-0 and team-b/small-1)`: the known victims of this number."""
    if not victims:
        return ""
    known = names(_name(victim) for victim in victims)
    return f" (among them {known})" if len(victims) < number else f" ({known})"


def _name(victim: Victim) -> str:
    return f"{victim.pod.namespace}/{victim.pod.name}"


def _victim_evidence(victims: tuple[Victim, ...]) -> tuple[Evidence, ...]:
    """Return some victims by reference, because pages hide their names from viewers without access."""
    return tuple(
        Evidence("makes room", _name(victim), victim.pod) for victim in victims[:_MAX_SHOWN]
    )


def _since(victims: tuple[Victim, ...]) -> datetime | None:
    return min((victim.since for victim in victims if victim.since is not None), default=None)


def _node_evidence(unit: Unit) -> tuple[Evidence, ...]:
    pods: dict[str, ObjectRef] = {
        pod.nominated_node: pod.meta.ref for pod in unit.unplaced if pod.nominated_node
    }
    return tuple(
        Evidence("nominated node", name, node_ref(name)) for name in sorted(pods)[:_MAX_SHOWN]
    )


RULE = UnitRule(
    "preempting",
    Stage.PLACEMENT,
    "Preempting",
    42,
    find,
    health=Health.WAITING,
    for_waiting_units=True,
)
