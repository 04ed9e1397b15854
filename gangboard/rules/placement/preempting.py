"""`preempting`: the scheduler is taking room from others for it, and their pods are still going.

Texts: `preempting 2 victims` and `ongoing preemption on nominated nodes` (observed on 1.37.0),
`pod group is waiting for preemption to complete` (1.36, schedule_one_podgroup.go), `terminating pod
on the nominated node` (default_preemption.go). A single pod that preempts gets a nominated node and a
text without a word of preemption. On 1.35 pods that wait at the gate have a nominated node too: those
have no condition, or the text of the timeout.
"""

from __future__ import annotations

import re

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod import Pod
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.progress import lacks_room
from gangboard.domain.reading.scheduler_text import Saying, earliest, node_reasons, sayings
from gangboard.domain.reading.wording import count, plural
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding
from gangboard.placement.sentences.obstacle import node_ref

_ONGOING = re.compile(
    r"preempting \d+ victims?|ongoing preemption on nominated nodes|"
    r"waiting for preemption to complete|terminating pod on the nominated node"
)
_VICTIMS = re.compile(r"preempting (\d+) victims?")
_SHOWN = 3


def find(unit: Unit) -> Finding | None:
    """Return a finding while members wait for the end of pods that the scheduler took away."""
    if not lacks_room(unit):
        return None
    said = sayings(unit, "Unschedulable")
    telling = [one for one in said if _ONGOING.search(one.raw)]
    nominated = [pod for pod in unit.unplaced if _is_preemptor(pod)]
    if not telling and not nominated:
        return None
    quoted = telling[0] if telling else _of(nominated[0], said)
    waiting = count(len(unit.unplaced), "pod")
    return unit_finding(
        RULE,
        unit,
        f"The scheduler takes {_victims(telling)} of lower priority away to make room, and "
        f"{waiting} {plural(len(unit.unplaced), 'wait')} until they are gone.",
        evidence=(
            *((Evidence("scheduler says", quoted.raw, quoted.source),) if quoted else ()),
            *_nodes(unit),
        ),
        since=earliest(tuple(telling) or said),
    )


def _is_preemptor(pod: Pod) -> bool:
    """Whether a pod was refused, and room is being made for it on a node."""
    said = pod.scheduled
    if not pod.nominated_node or said is None or not said.is_false:
        return False
    is_refused = said.reason == "Unschedulable" and "preemption:" not in said.message
    return is_refused and any("Insufficient" in reason for reason, _ in node_reasons(said.message))


def _of(pod: Pod, said: tuple[Saying, ...]) -> Saying | None:
    return next((one for one in said if one.source == pod.meta.ref), None)


def _victims(telling: list[Saying]) -> str:
    for one in telling:
        found = _VICTIMS.search(one.raw)
        if found is not None:
            return count(int(found[1]), "pod")
    return "pods"


def _nodes(unit: Unit) -> tuple[Evidence, ...]:
    found: dict[str, ObjectRef] = {
        pod.nominated_node: pod.meta.ref for pod in unit.unplaced if pod.nominated_node
    }
    return tuple(
        Evidence("nominated node", name, node_ref(name)) for name in sorted(found)[:_SHOWN]
    )


RULE = UnitRule("preempting", Stage.PLACEMENT, "Preempting", 42, find, health=Health.WAITING)
