"""`scheduling-gated`: pods carry scheduling gates, so the scheduler does not try them.

The API server writes `PodScheduled=False/SchedulingGated` when it makes the pod; whoever put a
gate there removes it. One gated member keeps a whole gang back; pod by pod the others are tried all
the same, and why one of them is refused is nearer to the cause.
"""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.progress import lacks_room
from gangboard.domain.reading.scheduler_text import has_rejected_pods
from gangboard.domain.reading.wording import names, out_of, plural
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding while members that the unit needs are gated."""
    gated = [pod for pod in unit.unplaced if pod.gates]
    if not gated or not lacks_room(unit) or (unit.quorum is None and has_rejected_pods(unit)):
        return None
    gates = sorted({gate for pod in gated for gate in pod.gates})
    number = len(gated)
    what = "scheduling gate" if len(gates) == 1 else "scheduling gates"
    since = [pod.scheduled.since for pod in gated if pod.scheduled and pod.scheduled.since]
    return unit_finding(
        RULE,
        unit,
        f"{out_of(number, len(unit.current), 'pod')} {plural(number, 'wait')} for {what} "
        f"{names(gates)}.",
        advice=(_who_removes(gates),),
        evidence=tuple(
            Evidence("schedulingGates", names(pod.gates), pod.meta.ref) for pod in gated[:3]
        ),
        since=min(since, default=None),
    )


def _who_removes(gates: Sequence[str]) -> str:
    """Say whose work it is: names of gates begin with the domain of who sets and removes them."""
    whose = sorted({gate.partition("/")[0] for gate in gates if "/" in gate})
    who = f"the controller of {names(whose)}" if whose else "who set the gate"
    return f"Look at {who}: only there is the gate removed, the scheduler never does."


RULE = UnitRule(
    "scheduling-gated", Stage.PLACEMENT, "Scheduling gates", 10, find, health=Health.WAITING
)
