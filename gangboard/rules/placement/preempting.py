"""`preempting`: the scheduler is taking room from others for it, and their pods are still going.

Texts: `preempting 2 victims` and `ongoing preemption on nominated nodes` (observed on 1.37.0),
`pod group is waiting for preemption to complete` (1.36, schedule_one_podgroup.go), `terminating pod
on the nominated node` (default_preemption.go). A single pod that preempts gets a nominated node and a
text without a word of preemption. On 1.35 pods that wait at the gate have a nominated node too: those
have no condition, or the text of the timeout. On 1.36.3 nothing of a gang that preempts tells (`pod
group is unschedulable`, no nominated node): only the events about its victims do.
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
_SHOWN = 3


def find(unit: Unit) -> Finding | None:
    """Return a finding while members wait for the end of pods that the scheduler took away."""
    if not lacks_nodes(unit):
        return None
    said = scheduler_messages(unit, "Unschedulable")
    telling = [one for one in said if _ONGOING.search(one.raw)]
    # Other components nominate nodes, too.
    polite = never_preempts(unit) is not None
    nominated = [] if polite else [pod for pod in unit.unplaced if _is_preemptor(pod)]
    victims = victims_of(unit)
    if not telling and not nominated and not victims:
        return None
    number = max(_told(telling), len(victims))
    waiting = count(len(unit.unplaced), "pod")
    return unit_finding(
        RULE,
        unit,
        f"{waiting} {plural(len(unit.unplaced), 'wait')} until "
        f"{count(number, 'pod') if number else 'pods'} of lower priority "
        f"{'is' if number == 1 else 'are'} gone{_who(victims, number)}.",
        evidence=(*_quoted(telling, nominated, said), *_named(victims), *_nodes(unit)),
        since=refused_since(unit, telling) or _since(victims) or refused_since(unit, said),
    )


def _is_preemptor(pod: Pod) -> bool:
    """Whether a pod was refused, and room is being made for it on a node."""
    said = pod.scheduled
    if not pod.preempts or not pod.nominated_node or said is None or not said.is_false:
        return False
    is_refused = said.reason == "Unschedulable" and "preemption:" not in said.message
    return is_refused and any("Insufficient" in reason for reason, _ in node_reasons(said.message))


def _quoted(
    telling: list[SchedulerMessage], nominated: list[Pod], said: tuple[SchedulerMessage, ...]
) -> tuple[Evidence, ...]:
    """Return the text that tells of it; else that of a pod with a nominated node, else any."""
    preemptors = {pod.meta.ref for pod in nominated}
    ranked = [*telling, *(one for one in said if one.source in preemptors), *said]
    return tuple(Evidence("scheduler says", one.raw, one.source) for one in ranked[:1])


def _told(telling: list[SchedulerMessage]) -> int:
    """Return how many victims texts tell of: each pod of its own, a group of all; 0 when none does."""
    numbers = {one.source: int(found[1]) for one in telling if (found := _VICTIMS.search(one.raw))}
    of_groups = [number for source, number in numbers.items() if source.kind != "Pod"]
    return max(of_groups, default=0) or sum(numbers.values())


def _who(victims: tuple[Victim, ...], number: int) -> str:
    """Return ` (team-b/small-0 and team-b/small-1)`: those that are known, of so many."""
    if not victims:
        return ""
    known = names(_name(one) for one in victims)
    return f" (among them {known})" if len(victims) < number else f" ({known})"


def _name(victim: Victim) -> str:
    return f"{victim.pod.namespace}/{victim.pod.name}"


def _named(victims: tuple[Victim, ...]) -> tuple[Evidence, ...]:
    """Return some of those that go, by references: their names are only for who may see them."""
    return tuple(Evidence("makes room", _name(one), one.pod) for one in victims[:_SHOWN])


def _since(victims: tuple[Victim, ...]) -> datetime | None:
    return min((one.since for one in victims if one.since is not None), default=None)


def _nodes(unit: Unit) -> tuple[Evidence, ...]:
    found: dict[str, ObjectRef] = {
        pod.nominated_node: pod.meta.ref for pod in unit.unplaced if pod.nominated_node
    }
    return tuple(
        Evidence("nominated node", name, node_ref(name)) for name in sorted(found)[:_SHOWN]
    )


RULE = UnitRule(
    "preempting", Stage.PLACEMENT, "Preempting", 42, find, health=Health.WAITING, of_waiting=True
)
