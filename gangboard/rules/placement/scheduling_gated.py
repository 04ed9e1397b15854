"""`scheduling-gated`: pods carry scheduling gates, so the scheduler does not try them.

The API server writes `PodScheduled=False/SchedulingGated` when it makes the pod; whoever put a
gate there removes it. One gated member keeps a whole gang back; pod by pod the others are tried all
the same, and why one of them is refused is nearer to the cause. A queue removes its gates once it has admitted
the pods: two minutes later it will not without somebody's help.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.text import names, out_of, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import latest
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import CREATION_GRACE, newest_creation
from gangboard.facts.queue_sentences import system
from gangboard.facts.scheduler_text import has_rejected_pods
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while members that the unit needs are gated."""
    gated = [pod for pod in unit.unplaced if pod.gates]
    if not gated or not lacks_nodes(unit) or (unit.quorum is None and has_rejected_pods(unit)):
        return None
    gates = sorted({gate for pod in gated for gate in pod.gates})
    number = len(gated)
    what = "scheduling gate" if len(gates) == 1 else "scheduling gates"
    due = _removal_due(unit, gated)
    is_late = due is not None and due <= unit.now
    it = "it" if number == 1 else "them"
    late = f", though {system(unit.gang)} admitted {it} over 2 min ago" if is_late else ""
    since = [pod.scheduled.since for pod in gated if pod.scheduled and pod.scheduled.since]
    return unit_finding(
        RULE,
        unit,
        f"{out_of(number, len(unit.current), 'pod')} {plural(number, 'wait')} for {what} "
        f"{names(gates)}{late}.",
        health=Health.BLOCKED if is_late else None,
        advice=(_look_at_queue(unit, gates) if is_late else _who_removes(gates),),
        evidence=tuple(
            Evidence("spec.schedulingGates", names(pod.gates), pod.meta.ref) for pod in gated[:3]
        ),
        since=min(since, default=None),
        recheck_at=due if due is not None and not is_late else None,
    )


def _removal_due(unit: Unit, gated: Sequence[Pod]) -> datetime | None:
    """Return the time by which a queue should have removed its gates from pods that it admitted.

    None if another controller has set a gate, some entry is not admitted, or an assigned node is being replaced. The domain of a queue's gates is the API
    group of its entries.
    """
    domains = {gate.partition("/")[0] for pod in gated for gate in pod.gates}
    entries = [one for one in unit.gang.entries if one.is_in_use]
    admitted = [one.admitted_at for one in entries if one.admitted]
    if not entries or None in admitted or len(admitted) < len(entries):
        return None
    if any(one.failed_nodes for one in entries) or domains != {
        one.meta.ref.group for one in entries
    }:
        return None
    start = latest((*admitted, newest_creation(tuple(gated))))
    return start + CREATION_GRACE if start is not None else None


def _look_at_queue(unit: Unit, gates: Sequence[str]) -> str:
    what = "the gate" if len(gates) == 1 else "the gates"
    return f"Look at the log of {system(unit.gang)}, which removes {what}. Its quota is taken meanwhile."


def _who_removes(gates: Sequence[str]) -> str:
    """Say whose work it is: names of gates begin with the domain of who sets and removes them."""
    whose = sorted({gate.partition("/")[0] for gate in gates if "/" in gate})
    who = f"the controller of {names(whose)}" if whose else "who set the gate"
    return f"Look at {who}: only there is the gate removed, the scheduler never does."


RULE = UnitRule(
    "scheduling-gated",
    Stage.PLACEMENT,
    "Scheduling gates",
    10,
    find,
    health=Health.WAITING,
    of_waiting=True,
)
