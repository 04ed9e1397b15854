"""`scheduling-gated`: pods have scheduling gates, so the scheduler does not try them.

The API server writes `PodScheduled=False/SchedulingGated` at the creation of the pod. The controller that set a
gate removes it. One gated member blocks a whole gang. Without a gang the other pods are tried, and the reason
why one is refused is nearer to the cause. A queue removes its gates after it has admitted the pods. If it has
not done so after two minutes, it needs help.
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
    gate_noun = "scheduling gate" if len(gates) == 1 else "scheduling gates"
    due = _removal_due(unit, gated)
    is_late = due is not None and due <= unit.now
    pronoun = "it" if number == 1 else "them"
    delay = f", though {system(unit.gang)} admitted {pronoun} over 2 min ago" if is_late else ""
    since = [pod.scheduled.since for pod in gated if pod.scheduled and pod.scheduled.since]
    return unit_finding(
        RULE,
        unit,
        f"{out_of(number, len(unit.current), 'pod')} {plural(number, 'wait')} for {gate_noun} "
        f"{names(gates)}{delay}.",
        health=Health.BLOCKED if is_late else None,
        advice=(_look_at_queue(unit, gates) if is_late else _remover_advice(gates),),
        evidence=tuple(
            Evidence("spec.schedulingGates", names(pod.gates), pod.meta.ref) for pod in gated[:3]
        ),
        since=min(since, default=None),
        recheck_at=due if due is not None and not is_late else None,
    )


def _removal_due(unit: Unit, gated: Sequence[Pod]) -> datetime | None:
    """Return the time by which a queue should have removed its gates from admitted pods.

    The API group of the entries is the domain of the queue's gates. Returns None if another controller has set
    a gate, an entry is not admitted or runs in another cluster, or an assigned node is being replaced.
    """
    domains = {gate.partition("/")[0] for pod in gated for gate in pod.gates}
    entries = [entry for entry in unit.gang.entries if entry.is_in_use]
    admitted = [entry.admitted_at for entry in entries if entry.admitted]
    if not entries or None in admitted or len(admitted) < len(entries):
        return None
    if any(entry.failed_nodes or entry.cluster for entry in entries) or domains != {
        entry.meta.ref.group for entry in entries
    }:
        return None
    start = latest((*admitted, newest_creation(tuple(gated))))
    return start + CREATION_GRACE if start is not None else None


def _look_at_queue(unit: Unit, gates: Sequence[str]) -> str:
    gates_text = "the gate" if len(gates) == 1 else "the gates"
    return f"Check the log of {system(unit.gang)}, which removes {gates_text}. The quota stays in use meanwhile."


def _remover_advice(gates: Sequence[str]) -> str:
    """Return which controller removes the gates. Their names begin with the domain of that controller."""
    domains = sorted({gate.partition("/")[0] for gate in gates if "/" in gate})
    remover = (
        f"the controller of {names(domains)}" if domains else "the controller that set the gate"
    )
    return f"Check {remover}: it removes the gate, the scheduler never does."


RULE = UnitRule(
    "scheduling-gated",
    Stage.PLACEMENT,
    "Scheduling gates",
    10,
    find,
    health=Health.WAITING,
    for_waiting_units=True,
)
