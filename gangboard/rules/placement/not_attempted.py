"""`not-attempted`: enough pods exist, and no scheduler has said a word about them for a minute.

`SchedulingGated` on a pod without gates is no word: it stays from when there were some.
A scheduler name that nobody serves, a scheduler that is down, or one whose gate is off: pods stay
Pending without a condition and without an event (observed on 1.37.0). On 1.35 a pod that waits at
the gate for the rest of its gang has no condition either, but a nominated node: not meant here.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, label, names, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import latest, restart_under_way
from gangboard.facts.dependencies import waiting_for_missing_group
from gangboard.facts.findings import starting_finding, unit_finding
from gangboard.facts.grace_periods import ATTEMPT_GRACE, newest_creation
from gangboard.facts.scheduler_text import group_refusal
from gangboard.facts.unit import Unit, is_formed, lacks_nodes
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while none of the pods that wait has been tried."""
    if not lacks_nodes(unit) or not is_formed(unit) or group_refusal(unit) is not None:
        return None
    if unit.group_name and unit.group is None and not _may_be_there(unit):
        return None
    silent = tuple(pod for pod in unit.unplaced if pod.is_untried and not pod.nominated_node)
    if not silent or not all(pod.is_untried for pod in unit.unplaced):
        return None
    since = _silent_since(unit, silent)
    due = since + ATTEMPT_GRACE if since is not None else None
    waiting = f"{count(len(silent), 'pod')} {plural(len(silent), 'wait')}"
    if due is not None and due > unit.now:
        if restart_under_way(unit) is not None:
            return None
        message = f"{waiting} for a first word from {_schedulers(silent)}."
        return starting_finding(RULE, unit, message, recheck_at=due)
    return unit_finding(
        RULE,
        unit,
        f"{waiting}, and for over a minute {_schedulers(silent)} said nothing about "
        f"{'it' if len(silent) == 1 else 'them'}.",
        advice=_advice(unit, silent),
        evidence=_evidence(unit, silent),
        since=since,
    )


def _may_be_there(unit: Unit) -> bool:
    """Whether the group that its pods name can exist although it is not known."""
    if any(pod.group_kind for pod in unit.unplaced):
        return not waiting_for_missing_group(unit)
    return unit.gang.cluster.groups_unobserved


def _silent_since(unit: Unit, silent: tuple[Pod, ...]) -> datetime | None:
    """Return since when a scheduler could have tried them: made, and without gates.

    When gates went nobody writes down: it was after a member was seen with one, and before the first
    look where none was.
    """
    newest = newest_creation(silent)
    if all(pod.scheduled is None for pod in silent):
        return newest
    return latest((newest, unit.memory.gated_at or unit.gang.memory_since or unit.now))


def _schedulers(pods: tuple[Pod, ...]) -> str:
    found = Counter(pod.scheduler_name for pod in pods if pod.scheduler_name)
    if not found:
        return "the scheduler"
    listed = names(name for name, _ in sorted(found.items(), key=lambda item: (-item[1], item[0])))
    return f"scheduler {listed}" if len(found) == 1 else f"schedulers {listed}"


def _advice(unit: Unit, silent: tuple[Pod, ...]) -> tuple[str, ...]:
    """Return what makes somebody answer; nothing in a tree of groups, whose quorum can be the cause."""
    wanted = {pod.scheduler_name for pod in silent if pod.scheduler_name}
    if not wanted or (unit.group is not None and unit.group.parent_name):
        return ()
    placing = Counter(pod.scheduler_name for pod in unit.gang.pods if pod.is_placed)
    others = {name: number for name, number in placing.items() if name and name not in wanted}
    do_not = "does not run" if len(wanted) == 1 else "do not run"
    start = f"tart {_schedulers(silent)} if {'it' if len(wanted) == 1 else 'they'} {do_not}"
    if len(others) == 1:
        ((name, number),) = others.items()
        return (
            f"Give the pods schedulerName {name}, which has placed {count(number, 'other pod')} of "
            f"{label(unit.owner.meta.ref)} ({ChangeMethod.RECREATE}), or s{start}.",
        )
    return (
        f"S{start}, or give the pods the schedulerName of one that does ({ChangeMethod.RECREATE}).",
    )


def _evidence(unit: Unit, silent: tuple[Pod, ...]) -> tuple[Evidence, ...]:
    first = silent[0]
    found = [
        Evidence("spec.schedulerName", first.scheduler_name, first.meta.ref),
        Evidence(
            "PodScheduled", first.scheduled.reason if first.scheduled else "absent", first.meta.ref
        ),
    ]
    if unit.group is not None and unit.quorum is not None:
        found.append(Evidence("quorum", str(unit.quorum), unit.group.meta.ref))
    return tuple(found)


RULE = UnitRule(
    "not-attempted",
    Stage.PLACEMENT,
    "Not attempted",
    95,
    find,
    health=Health.BLOCKED,
    of_waiting=True,
)
