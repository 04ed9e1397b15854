"""What to do about nodes that do not answer and still have pods of a gang."""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.node import Node
from gangboard.domain.shell import command
from gangboard.domain.text import names
from gangboard.facts.unit import Unit
from gangboard.facts.unit_counts import on_sick_nodes


def bring_back(sick: tuple[Node, ...]) -> tuple[str, ...]:
    """Return the step that is right whatever else is: the evidence has the nodes as its sources."""
    if not sick:
        return ()
    listed = names(one.meta.ref.name for one in sick)
    if len(sick) == 1:
        return (f"Bring node {listed} back: a member is still bound to it.",)
    return (f"Bring nodes {listed} back: members are still bound to them.",)


def give_up(unit: Unit) -> tuple[AdvisedStep, ...]:
    """Return the other step, where a node that does not answer keeps pods whose successors are not made.

    Only its kubelet ends them by itself. A pod that is forced away may run on unseen, so the node has to be off.
    """
    stuck = [pod for pod in on_sick_nodes(unit) if pod.is_terminating]
    if not stuck or not unit.missing:
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
