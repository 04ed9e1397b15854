"""`lost-members`: the unit was complete, fell below its quorum or size, and some member still runs.

The quorum counts, or the size if there is none. Gang scheduling acts only when pods are placed. A gang that
loses a member later continues without it, and its PodGroup stays True (observed on 1.37.0). The sentence says
why the replacement is missing. If a node is the cause, the code is `node-lost`.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import (
    disrupted_pods,
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
from gangboard.placement.sentences.removed_members import (
    removed_members_evidence,
    removed_members_text,
)
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding if the unit fell below its quorum or size and no node is the cause."""
    if (
        not has_unrecovered_loss(unit)
        or unready_nodes(unit)
        or any(pod.node for pod in lost_with_node(unit))
    ):
        return None
    preemption = last_preemption(unit)
    loss = removed_members_text(unit, preemption)
    reason, reason_evidence = reason_of(unit)
    message = f"{running_members_text(unit)}.{loss} {missing_reason(unit, reason)}"
    source = unit.group.meta.ref if unit.group is not None else unit.owner.meta.ref
    evidence = [Evidence("members ready", f"{ready_count(unit)} of {unit.wanted}", source)]
    evidence += [
        Evidence("DisruptionTarget", pod.disruption.reason, pod.meta.ref)
        for pod in disrupted_pods(unit)
        if pod.disruption is not None
    ]
    advice, name_evidence, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        message.strip(),
        advice=(*missing_advice(unit), *advice),
        evidence=(
            *evidence,
            *removed_members_evidence(unit),
            *preemptors_evidence(preemption),
            *missing_evidence(unit),
            *reason_evidence,
            *name_evidence,
        ),
        recheck_at=until,
        since=below_quorum_since(unit),
    )


RULE = UnitRule(
    "lost-members", Stage.RUN, "Lost members", 20, find, overrides=True, health=Health.DEGRADED
)
