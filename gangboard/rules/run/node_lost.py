"""`node-lost`: members that ran are gone or silent because their node is, and others still run.

A silent node takes about 52 s to show; until its pods are deleted they stay `Running` and only
`Ready` turns False (observed on 1.37.0). Pods of a deleted node go after about 60 s, with
`DisruptionTarget` by the pod garbage collector.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.node import Node
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.losses import by_node, how_many_run, is_loss
from gangboard.domain.reading.missing_members import (
    missing_advice,
    missing_evidence,
    missing_reason,
)
from gangboard.domain.reading.progress import missing, on_sick_nodes, sick_nodes
from gangboard.domain.reading.state_since import fell_since
from gangboard.domain.reading.wording import is_or_are, names
from gangboard.domain.registry import UnitRule
from gangboard.domain.shell import command
from gangboard.domain.verdict import Evidence, Finding
from gangboard.placement.sentences.finding import advice_of, reason_of


def find(unit: Unit) -> Finding | None:
    """Return a finding when the unit fell below what it needs and a node is the cause."""
    if not is_loss(unit):
        return None
    sick = sick_nodes(unit)
    gone = sorted({pod.node for pod in by_node(unit) if pod.node} - {n.meta.ref.name for n in sick})
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
    message = f"{how_many_run(unit)}: {' and '.join(texts)}. {missing_reason(unit, why)}"
    evidence = [
        Evidence("Ready", node.ready.status if node.ready else "never reported", node.meta.ref)
        for node in sick
    ]
    evidence += [
        Evidence("DisruptionTarget", pod.disruption.reason, pod.meta.ref)
        for pod in by_node(unit)
        if pod.disruption is not None
    ]
    advice, named, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        message.strip(),
        advice=(*missing_advice(unit), *advice, *_bring_back(sick), *_give_up(unit)),
        evidence=(*evidence, *missing_evidence(unit), *told_of, *named),
        recheck_at=until,
        since=fell_since(unit),
    )


def _bring_back(sick: tuple[Node, ...]) -> tuple[str, ...]:
    """Return the step that is right whatever else is: the evidence has the nodes as its sources."""
    if not sick:
        return ()
    listed = names(one.meta.ref.name for one in sick)
    if len(sick) == 1:
        return (f"Bring node {listed} back: a member is still bound to it.",)
    return (f"Bring nodes {listed} back: members are still bound to them.",)


def _give_up(unit: Unit) -> tuple[AdvisedStep, ...]:
    """Return the other step, where a node that does not answer keeps pods whose successors are not made.

    Only its kubelet ends them by itself. A pod that is forced away may run on unseen, so the node has to be off.
    """
    stuck = [pod for pod in on_sick_nodes(unit) if pod.is_terminating]
    if not stuck or not missing(unit):
        return ()
    nodes = sorted({pod.node for pod in stuck})
    pods = [pod.meta.ref for pod in stuck]
    listed = names(ref.name for ref in pods)
    noun = "pod" if len(pods) == 1 else "pods"
    are_off = "it is off" if len(nodes) == 1 else "they are off"
    node = "node" if len(nodes) == 1 else "nodes"
    text = f"If {are_off} for good, delete {node} {names(nodes)}, or force-delete {noun} {listed}"
    words = command(
        "kubectl delete pod -n {} {} --grace-period=0 --force", pods[0].namespace, pods[0].name
    )
    return (AdvisedStep(f"{text}.", AdviceKind.OTHER, words if len(pods) == 1 else ()),)


RULE = UnitRule(
    "node-lost", Stage.RUN, "Node lost", 10, find, overrides=True, health=Health.DEGRADED
)
