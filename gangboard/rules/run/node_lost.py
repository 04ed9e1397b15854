"""`node-lost`: members that ran are gone or silent because their node is, and others still run.

A silent node takes about 52 s to show; until its pods are deleted they stay `Running` and only
`Ready` turns False (observed on 1.37.0). Pods of a deleted node go after about 60 s, with
`DisruptionTarget` by the pod garbage collector.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import is_or_are, names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import (
    force_delete_advice,
    has_unrecovered_loss,
    lost_with_node,
    missing_advice,
    missing_evidence,
    missing_reason,
    recover_nodes_advice,
    running_members_text,
)
from gangboard.facts.state_since import below_quorum_since
from gangboard.facts.unit import Unit, unready_nodes
from gangboard.placement.sentences.finding import advice_of, reason_of
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding when the unit fell below what it needs and a node is the cause."""
    if not has_unrecovered_loss(unit):
        return None
    sick = unready_nodes(unit)
    gone = sorted(
        {pod.node for pod in lost_with_node(unit) if pod.node} - {n.meta.ref.name for n in sick}
    )
    if not sick and not gone:
        return None
    texts = []
    if sick:
        noun = "node" if len(sick) == 1 else "nodes"
        listed = names(node.meta.ref.name for node in sick)
        texts.append(f"{noun} {listed} {is_or_are(len(sick))} NotReady")
    if gone:
        noun = "node" if len(gone) == 1 else "nodes"
        texts.append(f"members were lost with {noun} {names(gone)}")
    why, told_of = reason_of(unit)
    message = f"{running_members_text(unit)}: {' and '.join(texts)}. {missing_reason(unit, why)}"
    evidence = [
        Evidence("Ready", node.ready.status if node.ready else "never reported", node.meta.ref)
        for node in sick
    ]
    evidence += [
        Evidence("DisruptionTarget", pod.disruption.reason, pod.meta.ref)
        for pod in lost_with_node(unit)
        if pod.disruption is not None
    ]
    advice, named, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        message.strip(),
        advice=(
            *missing_advice(unit),
            *advice,
            *recover_nodes_advice(sick),
            *force_delete_advice(unit),
        ),
        evidence=(*evidence, *missing_evidence(unit), *told_of, *named),
        recheck_at=until,
        since=below_quorum_since(unit),
    )


RULE = UnitRule(
    "node-lost", Stage.RUN, "Node lost", 10, find, overrides=True, health=Health.DEGRADED
)
