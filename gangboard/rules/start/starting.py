"""`starting`: members have a node, and not all of them are ready yet.

This is the normal case of a start, and the last rule of all stages before `run`. It is silent if the unit has
its quorum, is complete, or restarts, because other rules report those.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.text import (
    all_of,
    count,
    is_or_are,
    names,
    out_of,
    plural,
    sentence_case,
)
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import restart_under_way
from gangboard.facts.findings import unit_finding
from gangboard.facts.state_since import starts_since
from gangboard.facts.unit import (
    Unit,
    failing_jobs,
    has_ready_quorum,
    is_paused,
    lacks_nodes,
    unready_nodes,
)
from gangboard.plugins.rule import UnitRule

_CREATING = frozenset({"ContainerCreating", "PodInitializing"})


def find(unit: Unit) -> Finding | None:
    """Return a finding while the unit starts for the first time in its attempt."""
    if unit.is_full or has_ready_quorum(unit) or is_paused(unit) or failing_jobs(unit):
        return None
    if restart_under_way(unit) is not None:
        return None
    placed = len(unit.placed)
    message = f"{_placed_text(unit)}{_progress_text(unit)}."
    not_ready = unready_nodes(unit)
    if not_ready:
        listed = names(node.meta.ref.name for node in not_ready)
        noun = "Node" if len(not_ready) == 1 else "Nodes"
        message = f"{message} {noun} {listed} {is_or_are(len(not_ready))} NotReady."
    return unit_finding(
        RULE,
        unit,
        message,
        evidence=(
            Evidence("pods placed", f"{placed} of {unit.wanted}", unit.owner.meta.ref),
            Evidence("pods ready", f"{len(unit.ready)} of {unit.wanted}", unit.owner.meta.ref),
        ),
        since=starts_since(unit),
    )


def _placed_text(unit: Unit) -> str:
    """Return `Both pods are placed` or `1 of 3 pods is placed`."""
    placed, total = len(unit.placed), unit.wanted
    if placed != total:
        return f"{out_of(placed, total, 'pod')} {is_or_are(placed)} placed"
    return f"{sentence_case(all_of(placed, 'pod'))} {is_or_are(placed)} placed"


def _progress_text(unit: Unit) -> str:
    """Return what keeps members from being ready: `; containers are being created`."""
    unready = [pod for pod in unit.placed if not pod.is_ready]
    creating = sum(_is_creating(pod) for pod in unready)
    others = len(unready) - creating
    texts = []
    succeeded = unit.succeeded
    if succeeded:
        texts.append(f"{succeeded} {'has' if succeeded == 1 else 'have'} succeeded")
    if unit.unplaced and not lacks_nodes(unit):
        texts.append(f"{len(unit.unplaced)} {plural(len(unit.unplaced), 'wait')} for a node")
    if creating:
        number = "" if creating == len(unit.placed) else f" of {creating}"
        texts.append(f"containers{number} are being created")
    if others:
        texts.append(f"{others} {is_or_are(others)} not ready yet")
    terminating = len(unit.terminating)
    if terminating:
        texts.append(f"{count(terminating, 'old pod')} still {plural(terminating, 'terminate')}")
    return f"; {', '.join(texts)}" if texts else ""


def _is_creating(pod: Pod) -> bool:
    if pod.phase == "Running":
        return False
    return not pod.containers or any(
        container.reason in _CREATING or not container.state for container in pod.containers
    )


RULE = UnitRule("starting", Stage.START, "Starting", 90, find, health=Health.STARTING)
