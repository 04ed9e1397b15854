"""`node-lost`: the unit lost members because their node does not respond or was deleted, and others still run.

It takes about 52 s until an unresponsive node shows. Until its pods are deleted they stay `Running` and only
`Ready` is False (observed on 1.37.0). The pod garbage collector deletes pods of a deleted node after about 60
s, with `DisruptionTarget`.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import is_or_are, names, sentence, sentence_case
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import (
    has_unrecovered_loss,
    lost_with_node,
    missing_advice,
    missing_evidence,
    missing_reason,
    recover_nodes_advice,
    running_members_text,
)
from gangboard.facts.silent_nodes import readiness_evidence
from gangboard.facts.state_since import below_quorum_since
from gangboard.facts.unit import Unit, unready_nodes
from gangboard.placement.sentences.finding import advice_of, reason_of
from gangboard.placement.sentences.removed_members import (
    closed_nodes_evidence,
    closed_nodes_text,
    removal_time_text,
)
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding if the unit fell below its quorum or size and a node is the cause."""
    if not has_unrecovered_loss(unit):
        return None
    not_ready = unready_nodes(unit)
    silent = {node.meta.ref.name for node in not_ready}
    lost = [pod for pod in lost_with_node(unit) if pod.node and pod.node not in silent]
    deleted = sorted({pod.node for pod in lost})
    if not not_ready and not deleted:
        return None
    texts = []
    if not_ready:
        noun = "node" if len(not_ready) == 1 else "nodes"
        listed = names(node.meta.ref.name for node in not_ready)
        texts.append(f"{noun} {listed} {is_or_are(len(not_ready))} NotReady")
    if deleted:
        noun = "node" if len(deleted) == 1 else "nodes"
        texts.append(f"members on {noun} {names(deleted)} were lost{removal_time_text(lost)}")
    reason, reason_evidence = reason_of(unit)
    sentences = (
        f"{running_members_text(unit)}: {' and '.join(texts)}.",
        sentence(sentence_case(closed_nodes_text(unit, lost))),
        missing_reason(unit, reason),
    )
    evidence = [*readiness_evidence(not_ready)]
    evidence += [
        Evidence("DisruptionTarget", pod.disruption.reason, pod.meta.ref)
        for pod in lost_with_node(unit)
        if pod.disruption is not None
    ]
    advice, name_evidence, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        " ".join(filter(None, sentences)),
        advice=(
            *missing_advice(unit),
            *advice,
            *recover_nodes_advice(not_ready),
        ),
        evidence=(
            *evidence,
            *closed_nodes_evidence(unit, lost),
            *missing_evidence(unit),
            *reason_evidence,
            *name_evidence,
        ),
        recheck_at=until,
        since=below_quorum_since(unit),
    )


RULE = UnitRule(
    "node-lost", Stage.RUN, "Node lost", 10, find, overrides=True, health=Health.DEGRADED
)
