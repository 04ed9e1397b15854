"""`lost-members`: it ran, fell below its quorum (without one: its size), and some member still runs.

Gang scheduling acts only when pods are placed: a gang that loses a member later runs on without
it, and its PodGroup stays True (observed on 1.37.0). Why the replacement is not there is part of
the sentence. With a node as the cause it is `node-lost`.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import (
    disrupted_pods,
    disruption_text,
    has_unrecovered_loss,
    lost_with_node,
    missing_advice,
    missing_evidence,
    missing_reason,
    running_members_text,
)
from gangboard.facts.preemption import last_preemption, preemptors_evidence
from gangboard.facts.state_since import below_quorum_since
from gangboard.facts.unit import Unit, ready_count, unready_nodes
from gangboard.placement.sentences.finding import advice_of, reason_of
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding when the unit fell below what it needs and no node is the cause."""
    if (
        not has_unrecovered_loss(unit)
        or unready_nodes(unit)
        or any(pod.node for pod in lost_with_node(unit))
    ):
        return None
    taken = last_preemption(unit)
    left = disruption_text(unit, taken)
    why, told_of = reason_of(unit)
    message = f"{running_members_text(unit)}.{left} {missing_reason(unit, why)}"
    source = unit.group.meta.ref if unit.group is not None else unit.owner.meta.ref
    evidence = [Evidence("members ready", f"{ready_count(unit)} of {unit.wanted}", source)]
    evidence += [
        Evidence("DisruptionTarget", pod.disruption.reason, pod.meta.ref)
        for pod in disrupted_pods(unit)
        if pod.disruption is not None
    ]
    advice, named, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        message.strip(),
        advice=(*missing_advice(unit), *advice),
        evidence=(
            *evidence,
            *preemptors_evidence(taken),
            *missing_evidence(unit),
            *told_of,
            *named,
        ),
        recheck_at=until,
        since=below_quorum_since(unit),
    )


RULE = UnitRule(
    "lost-members", Stage.RUN, "Lost members", 20, find, overrides=True, health=Health.DEGRADED
)
