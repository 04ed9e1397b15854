"""Why members have no node: which code it is, and what is said."""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.placing import Answer, Assessment, Cause, Placing, When
from gangboard.domain.reading.scheduler_text import group_refusal, refused_pods, rejected_pods
from gangboard.placement.assess import relaxed
from gangboard.placement.fits import fits
from gangboard.placement.members import nodes_for
from gangboard.placement.sentences.constrained import code_of_constraint, constrained
from gangboard.placement.sentences.excluded import code_of_excluded, excluded
from gangboard.placement.sentences.numbers import crowd_of
from gangboard.placement.sentences.obstacle import Obstacle
from gangboard.placement.sentences.room import code_of_room, lack_of_room
from gangboard.placement.sentences.said import CLAIM, VOLUME, said_of_nodes, said_of_pods

# Which causes can have a code. Asked for each rule of each unit that waits, so it comes first.
_ROOM = frozenset({Cause.TOO_LARGE, Cause.SHORT, Cause.OCCUPIED, Cause.FRAGMENTED})
_OPEN = frozenset({Cause.FITS, Cause.CANNOT_TELL})
_MAY_PASS = frozenset({Cause.SHORT, Cause.OCCUPIED, Cause.FRAGMENTED, Cause.CONSTRAINED}) | _OPEN
_NONE: frozenset[Cause] = frozenset({Cause.NO_ELIGIBLE_NODE})
_CAUSES: dict[str, frozenset[Cause]] = {
    "no-nodes": _NONE,
    "no-matching-node": _NONE,
    "untolerated-taint": _NONE,
    "nodes-unschedulable": _NONE,
    "exceeds-capacity": frozenset({Cause.TOO_LARGE}),
    "insufficient-resources": frozenset({Cause.SHORT, Cause.OCCUPIED}),
    "fragmented": frozenset({Cause.FRAGMENTED, Cause.FITS}),
    "node-pod-limit": _ROOM,
    "topology-does-not-fit": frozenset({Cause.CONSTRAINED}),
    "port-conflict": _NONE | {Cause.CONSTRAINED},
    "pod-anti-affinity": _NONE | {Cause.CONSTRAINED} | _OPEN,
    "spread-constraints": frozenset({Cause.CONSTRAINED}) | _OPEN,
    VOLUME: _MAY_PASS,
    CLAIM: _MAY_PASS,
}
_BLIND = frozenset({VOLUME, CLAIM})
"""What the scheduler finds before it looks at nodes is true whatever is known of these."""


def obstacle(unit: Unit, code: str = "") -> Obstacle | None:
    """Return why members that the scheduler refuses have no node; None when nobody can tell.

    With `code` only that one is asked for. What is blocked for good goes before what may pass by
    itself, what no room would help before lack of room.
    """
    placing = unit.placing
    if placing is None:
        return None
    assessment = placing.assessment
    if code and not (code in _BLIND if assessment is None else assessment.cause in _CAUSES[code]):
        return None
    if not (refused_pods(unit) or group_refusal(unit) is not None or _fails_without_nodes(unit)):
        return None
    found = _find(unit, placing, assessment, code)
    return found if found is not None and code in ("", found.code) else None


def _fails_without_nodes(unit: Unit) -> bool:
    """Whether the attempt ended in an error because there is no node.

    The scheduler of 1.37.0 says `error in "DynamicResources" PodGroupPostFilter plugins: not found` of
    a gang where a single pod is told the truth (observed).
    """
    placing = unit.placing
    return placing is not None and placing.has_no_nodes and bool(rejected_pods(unit))


def _find(
    unit: Unit, placing: Placing, assessment: Assessment | None, code: str
) -> Obstacle | None:
    """Return the obstacle; where another code than the one asked for is found, it may be None."""
    if assessment is None:
        return said_of_pods(unit)
    cause, shapes = assessment.cause, placing.shapes
    if cause is Cause.TOO_FEW_PODS:
        return None
    if cause is Cause.NO_ELIGIBLE_NODE:
        found = code_of_excluded(unit, shapes)
        return excluded(unit, assessment, shapes, found) if found and code in ("", found) else None
    if cause in _OPEN:
        return said_of_pods(unit) or _open(unit, placing, assessment)
    told = None if cause is Cause.TOO_LARGE else said_of_pods(unit)
    if told is not None and not _is_blocked(assessment):
        return told
    if cause is Cause.CONSTRAINED:
        found = code_of_constraint(assessment)
        return constrained(unit, assessment, shapes, found) if code in ("", found) else None
    found = code_of_room(assessment)
    return lack_of_room(unit, assessment, shapes, found) if code in ("", found) else None


def _is_blocked(assessment: Assessment) -> bool:
    """Whether the members would not fit on nodes without the pods that can leave."""
    return assessment.empty.answer is Answer.NO


def _open(unit: Unit, placing: Placing, assessment: Assessment) -> Obstacle | None:
    """Return what is in the way although the amounts fit, as far as that can be told."""
    told = said_of_nodes(unit)
    if assessment.cause is Cause.CANNOT_TELL:
        return told if told is not None and fits_but_for_the_rest(unit, assessment) else None
    if told is not None:
        return told
    if len(placing.shapes) < 2 or unit.quorum is None:
        return None
    # Design §3, `fragmented`: "Where one exists and the scheduler's order misses it, say that."
    # Equal pods cannot miss it, and pods outside of a gang would have been placed.
    crowd = crowd_of(assessment)
    text = f"{crowd} would fit together now, but the scheduler takes them one after the other"
    return Obstacle("fragmented", f"{text} and did not find the way to place all of them", False)


def fits_but_for_the_rest(unit: Unit, assessment: Assessment) -> bool:
    """Whether the members would fit now without what arithmetic leaves out (volumes, claims, …)."""
    if not any(party.shape.unsupported for party in assessment.request.parties):
        return False
    request = relaxed(assessment.request, ())
    return fits(request, nodes_for(unit), When.NOW, request.needed).answer is Answer.YES
