"""A Job of Volcano that its controller restarts: what the restart still waits for.

Its policies (`RestartJob`, `RestartTask`, `RestartPod`) and people bring a restart about. The controller deletes pods
and the PodGroup, makes another PodGroup at once, and then the missing pods. The Job stays `Restarting` as long as so
many pods terminate that fewer than `minAvailable` are left (state/restarting.go of v1.14.1, seen).
"""

from __future__ import annotations

from datetime import datetime

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.domain.text import is_or_are, label, names, out_of
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempt_history import latest, restart_under_way
from gangboard.facts.creation_refusal import newest_creation_refusal
from gangboard.facts.dead_nodes import bring_back, give_up
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import COUNT_GRACE, CREATION_GRACE, newest_creation
from gangboard.facts.unit import Unit
from gangboard.facts.unit_counts import sick_nodes
from gangboard.plugins.rule import UnitRule

_CONTROLLER = "Volcano's controller (vc-controller-manager)"


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods of before terminate, or others are not made yet."""
    restart = restart_under_way(unit) if unit.owner.restarting else None
    if restart is None:
        return None
    leaving = [pod for pod in unit.pods if pod.is_live and pod.is_terminating]
    is_refused = newest_creation_refusal(unit) is not None
    if not leaving and (is_refused or not unit.missing):
        return None  # what its pods lack is another reason
    ready = len(unit.ready)
    counts = f"{restart.text}: {out_of(ready, unit.wanted, 'pod')} {is_or_are(ready)} ready"
    due = _end_of_patience(unit, leaving)
    is_stuck = bool(_sick_nodes_of(leaving, unit)) or (due is not None and due <= unit.now)
    return unit_finding(
        RESTARTING,
        unit,
        f"{counts}; {_waits_until_gone(leaving, unit) if leaving else _is_to_make(unit)}.",
        health=Health.BLOCKED if is_stuck and not unit.ready else None,
        advice=_advice(unit, leaving) if is_stuck else (),
        evidence=(
            Evidence("status.state.phase", "Restarting", unit.owner.meta.ref),
            *(
                Evidence("metadata.deletionTimestamp", _time(pod), pod.meta.ref)
                for pod in leaving[:1]
            ),
        ),
        recheck_at=due if due is not None and due > unit.now else None,
        since=_begun(unit),
        stage=Stage.RUN,
    )


def _waits_until_gone(leaving: list[Pod], unit: Unit) -> str:
    """Return `pod run-0 is still being deleted on node n0, which is NotReady`."""
    pods = names(pod.meta.ref.name for pod in leaving)
    noun = "pod" if len(leaving) == 1 else "pods"
    text = f"{noun} {pods} {is_or_are(len(leaving))} still being deleted"
    sick = _sick_nodes_of(leaving, unit)
    if not sick:
        return text
    nodes = "node" if len(sick) == 1 else "nodes"
    listed = names(node.meta.ref.name for node in sick)
    return f"{text} on {nodes} {listed}, which {is_or_are(len(sick))} NotReady"


def _sick_nodes_of(pods: list[Pod], unit: Unit) -> tuple[Node, ...]:
    where = {pod.node for pod in pods}
    return tuple(node for node in sick_nodes(unit) if node.meta.ref.name in where)


def _is_to_make(unit: Unit) -> str:
    number = unit.missing
    rest = "the other pod" if number == 1 else f"the other {number} pods"
    text = f"{_CONTROLLER} has not made {rest} yet"
    if unit.gang.cluster.events_known:
        return text
    return f"{text}. Events cannot be read, so a refusal would not be seen"


def _end_of_patience(unit: Unit, leaving: list[Pod]) -> datetime | None:
    """Return when a pod should be gone, or be made: nothing goes on by itself after that."""
    if leaving:
        # Their `deletionTimestamp` is when their grace is over.
        over = latest(pod.meta.deleting_since for pod in leaving)
        return over + COUNT_GRACE if over is not None else None
    begun = latest((_begun(unit), newest_creation(unit.current)))
    return begun + CREATION_GRACE if begun is not None else None


def _begun(unit: Unit) -> datetime | None:
    """Return when its controller said that it restarts."""
    return latest(one.since for one in unit.owner.conditions)


def _advice(unit: Unit, leaving: list[Pod]) -> tuple[AdvisedStep | str, ...]:
    if not leaving and not unit.gang.cluster.events_known:
        return ()
    if not leaving:
        return (f"Start {_CONTROLLER} if it does not run, and look into its log.",)
    sick = _sick_nodes_of(leaving, unit)
    if sick:
        return (*bring_back(sick), *give_up(unit))
    first = label(leaving[0].meta.ref)
    return (
        f"Look why {first} does not end: its finalizers, and the kubelet of node {leaving[0].node}.",
    )


def _time(pod: Pod) -> str:
    return pod.meta.deleting_since.isoformat() if pod.meta.deleting_since is not None else ""


RESTARTING = UnitRule("restarting", Stage.FORMATION, "Restarting", 30, find, health=Health.DEGRADED)
