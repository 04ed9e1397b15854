"""`unschedulable`: the scheduler finds no room, and arithmetic cannot tell why, or contradicts it.

The sentence says what stands in the way (nodes forbidden, not read yet, too many ways to try, what is
not worked out) and quotes the scheduler. Often only one pod of a gang carries the text that tells why
(`0/4 nodes are available: …`) while the others repeat the group's; that one is quoted. At its quorum a
gang is past placement and this is silent.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import Assessment, FitAnswer, PlacementCause
from gangboard.domain.text import count, names, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.scheduler_text import (
    SchedulerMessage,
    best_scheduler_message,
    fits_now,
    is_refused_since,
    scheduler_messages,
)
from gangboard.facts.state_since import refused_since
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.placement.sentences.finding import advice_of, evidence_of, said_evidence
from gangboard.plugins.rule import UnitRule

_SHOWN = 3


def find(unit: Unit) -> Finding | None:
    """Return a finding while members that the unit needs are refused by the scheduler."""
    said = scheduler_messages(unit, "Unschedulable")
    if not said or not lacks_nodes(unit):
        return None
    best = best_scheduler_message(said)
    advice, named, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        _message(unit, best),
        advice=advice,
        evidence=(
            *evidence_of(unit),
            *_unknown(unit),
            *said_evidence(unit, said),
            *_placement(unit),
            *named,
        ),
        recheck_at=until,
        since=refused_since(unit, said),
    )


def _message(unit: Unit, best: SchedulerMessage | None) -> str:
    tried = [pod for pod in unit.unplaced if not pod.gates]
    guilty = [pod for pod in tried if not pod.is_waiting_for_group]
    number = len(guilty or tried)
    pods = f"{number} of {unit.wanted} pods" if unit.placed else count(number, "pod")
    pods = pods if guilty or not tried else f"the group of {pods}"
    verb = "found" if fits_now(unit) and not is_refused_since(unit) else "finds"
    who = f"Scheduler {unit.other_scheduler}" if unit.other_scheduler else "The scheduler"
    message = f"{who} {verb} no room for {pods}"
    # With topology a node count is that of one placement, not of the cluster (observed, 1.37.0).
    keys = unit.group.topology_keys if unit.group is not None else ()
    within = f" within one {names(keys)}" if keys else ""
    doubt = _doubt(unit)
    if best is None:
        return sentence(f"{message}{within}{doubt}")
    if not doubt:
        return sentence(f"{message}{within}: {quote(best.text)}")
    return sentence(f"{message}{within}: {quote(best.reasons)}{doubt}")


def _doubt(unit: Unit) -> str:
    """Return what arithmetic says beside the scheduler, or why it says nothing."""
    if unit.placing is None or unit.other_scheduler:
        return ""
    found = unit.placing.assessment
    if found is None:
        return f"; gangboard cannot tell why ({unit.placing.why})"
    they = "it fits" if found.request.needed == 1 else "they fit"
    if found.cause is PlacementCause.FITS:
        return f"; by gangboard's count {they} now"
    if found.cause is PlacementCause.TOO_FEW_PODS:
        return f"; {found.request.needed} would have to be there"
    if found.cause is PlacementCause.CANNOT_TELL and found.now.answer is FitAnswer.NO:
        return f"; gangboard cannot tell whether {they} on empty nodes"
    if found.cause is PlacementCause.CANNOT_TELL:
        return "; gangboard cannot tell why"
    return ""


def _unknown(unit: Unit) -> tuple[Evidence, ...]:
    why = _why(unit.placing.assessment, unit.placing.why) if unit.placing is not None else ""
    return (Evidence("not worked out", why),) if why else ()


def _why(found: Assessment | None, blind: str) -> str:
    return blind if found is None else found.why


def _placement(unit: Unit) -> tuple[Evidence, ...]:
    """Return where it would fit, when arithmetic contradicts the scheduler."""
    found = unit.placing.assessment if unit.placing is not None else None
    if found is None or found.cause is not PlacementCause.FITS:
        return ()
    nodes = sorted(found.now.placement)[:_SHOWN]
    where = tuple(Evidence("would fit on", name, node_ref(name)) for name in nodes)
    is_tried = is_refused_since(unit)
    return where if is_tried else (*where, Evidence("tried since there is room", "not seen"))


RULE = UnitRule(
    "unschedulable",
    Stage.PLACEMENT,
    "No room found",
    90,
    find,
    health=Health.WAITING,
    of_waiting=True,
    of_room=True,
)
