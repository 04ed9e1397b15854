"""`starting`: members have their place, and not all of them are ready yet.

It is the plain case of a start and the last resort of all stages before `run`: it is silent when
the unit has its quorum, is whole, or comes back from a restart, for each of which there is a word.
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
    """Return a finding while the unit comes up for the first time in its attempt."""
    if unit.is_full or has_ready_quorum(unit) or is_paused(unit) or failing_jobs(unit):
        return None
    if restart_under_way(unit) is not None:
        return None
    placed = len(unit.placed)
    message = f"{_placed(unit)}{_pending(unit)}."
    sick = unready_nodes(unit)
    if sick:
        listed = names(node.meta.ref.name for node in sick)
        noun = "Node" if len(sick) == 1 else "Nodes"
        message = f"{message} {noun} {listed} {is_or_are(len(sick))} NotReady."
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


def _placed(unit: Unit) -> str:
    """Return `Both pods are placed`, `1 of 3 pods is placed`."""
    placed, wanted = len(unit.placed), unit.wanted
    if placed != wanted:
        return f"{out_of(placed, wanted, 'pod')} {is_or_are(placed)} placed"
    return f"{sentence_case(all_of(placed, 'pod'))} {is_or_are(placed)} placed"


def _pending(unit: Unit) -> str:
    """Return `; containers are being created`: what keeps its members from being ready."""
    unready = [pod for pod in unit.placed if not pod.is_ready]
    creating = sum(_is_creating(pod) for pod in unready)
    rest = len(unready) - creating
    texts = []
    done = unit.succeeded
    if done:
        texts.append(f"{done} {'has' if done == 1 else 'have'} succeeded")
    if unit.unplaced and not lacks_nodes(unit):
        texts.append(f"{len(unit.unplaced)} {plural(len(unit.unplaced), 'wait')} for a node")
    if creating:
        whose = "" if creating == len(unit.placed) else f" of {creating}"
        texts.append(f"containers{whose} are being created")
    if rest:
        texts.append(f"{rest} {is_or_are(rest)} not ready yet")
    leaving = sum(pod.is_live and pod.is_terminating for pod in unit.pods)
    if leaving:
        texts.append(f"{count(leaving, 'old pod')} still {plural(leaving, 'terminate')}")
    return f"; {', '.join(texts)}" if texts else ""


def _is_creating(pod: Pod) -> bool:
    if pod.phase == "Running":
        return False
    return not pod.containers or any(
        container.reason in _CREATING or not container.state for container in pod.containers
    )


RULE = UnitRule("starting", Stage.START, "Starting", 90, find, health=Health.STARTING)
