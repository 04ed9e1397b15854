"""The finding about a Job of Volcano that restarts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.domain.text import is_or_are, label, names, out_of
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import latest, restart_under_way
from gangboard.facts.creation_refusal import newest_creation_refusal
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import COUNT_GRACE, CREATION_GRACE, newest_creation
from gangboard.facts.unit import Unit, unready_nodes
from gangboard.plugins.rule import UnitRule

RESTARTING_PHASE = "Restarting"
_CONTROLLER = "Volcano's controller (vc-controller-manager)"


def _find_restart(unit: Unit) -> Finding | None:
    """Return a finding while old pods terminate, or new ones do not exist yet."""
    restart = restart_under_way(unit) if unit.owner.restarting else None
    if restart is None:
        return None
    leaving = unit.terminating
    is_refused = newest_creation_refusal(unit) is not None
    if not leaving and (is_refused or not unit.missing):
        return None  # other rules report why the pods wait
    ready = len(unit.ready)
    counts = f"{restart.text}: {out_of(ready, unit.wanted, 'pod')} {is_or_are(ready)} ready"
    due = _restart_due(unit, leaving)
    is_stuck = due is not None and due <= unit.now
    return unit_finding(
        RESTARTING,
        unit,
        f"{counts}; {_deletion_text(leaving, unit) if leaving else _creation_text(unit)}.",
        health=Health.BLOCKED if is_stuck and not unit.ready else None,
        advice=_advice(unit, leaving) if is_stuck else (),
        evidence=(
            Evidence("status.state.phase", "Restarting", unit.owner.meta.ref),
            *(
                Evidence("metadata.deletionTimestamp", _deletion_time(pod), pod.meta.ref)
                for pod in leaving[:1]
            ),
        ),
        recheck_at=due if due is not None and due > unit.now else None,
        since=_restarting_since(unit),
        stage=Stage.RUN,
    )


def _deletion_text(leaving: Sequence[Pod], unit: Unit) -> str:
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


def _sick_nodes_of(pods: Sequence[Pod], unit: Unit) -> tuple[Node, ...]:
    nodes = {pod.node for pod in pods}
    return tuple(node for node in unready_nodes(unit) if node.meta.ref.name in nodes)


def _creation_text(unit: Unit) -> str:
    number = unit.missing
    rest = "the other pod" if number == 1 else f"the other {number} pods"
    text = f"{_CONTROLLER} has not created {rest} yet"
    if unit.gang.cluster.events_known:
        return text
    return f"{text}. Events cannot be read, so a refusal would not be seen"


def _restart_due(unit: Unit, leaving: Sequence[Pod]) -> datetime | None:
    """Return the time by which pods should be deleted or created. After that, the restart is stuck."""
    if leaving:
        # `deletionTimestamp` is the end of the grace period.
        grace_ends = latest(pod.meta.deleting_since for pod in leaving)
        return grace_ends + COUNT_GRACE if grace_ends is not None else None
    since = latest((_restarting_since(unit), newest_creation(unit.current)))
    return since + CREATION_GRACE if since is not None else None


def _restarting_since(unit: Unit) -> datetime | None:
    """Return the time at which the Job entered the phase `Restarting`."""
    return latest(condition.since for condition in unit.owner.conditions)


def _advice(unit: Unit, leaving: Sequence[Pod]) -> tuple[AdvisedStep | str, ...]:
    if not leaving and not unit.gang.cluster.events_known:
        return ()
    if not leaving:
        return (f"Start {_CONTROLLER} if it does not run, and check its log.",)
    first = label(leaving[0].meta.ref)
    return (
        f"Check why {first} does not end: its finalizers, and the kubelet of node {leaving[0].node}.",
    )


def _deletion_time(pod: Pod) -> str:
    return pod.meta.deleting_since.isoformat() if pod.meta.deleting_since is not None else ""


RESTARTING = UnitRule(
    "restarting", Stage.FORMATION, "Restarting", 30, _find_restart, health=Health.DEGRADED
)
