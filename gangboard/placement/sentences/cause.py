"""The code and the sentence why members have no node."""

from __future__ import annotations

from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import (
    Assessment,
    Constraint,
    FitAnswer,
    PlacementCause,
    PlacementResult,
    When,
)
from gangboard.domain.verdict import Evidence
from gangboard.facts.scheduler_text import (
    group_refusal,
    has_rejected_pods,
    is_refused_since,
    node_reasons,
    retry_due,
    scheduler_messages,
)
from gangboard.facts.unit import Unit
from gangboard.placement.assess import relaxed
from gangboard.placement.devices import without_devices
from gangboard.placement.fits import fits
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.joint_topology_spread import several_of
from gangboard.placement.sentences.constrained import code_of_constraint, constrained
from gangboard.placement.sentences.excluded import code_of_excluded, excluded
from gangboard.placement.sentences.room import code_of_room, lack_of_room
from gangboard.placement.sentences.scheduler_message import (
    CLAIM,
    VOLUME,
    message_about_nodes,
    message_about_pods,
)
from gangboard.placement.sentences.unusable_claims import unusable_claims
from gangboard.placement.sentences.wording import PlacementReason, pod_count_of

_SHOWN = 3
_NOT_SEEN = (Evidence("tried since there is room", "not seen"),)
# Which causes can have a code, to be quick: it is asked for each rule of each unit that waits.
_ROOM = frozenset(
    {
        PlacementCause.TOO_LARGE,
        PlacementCause.SHORT,
        PlacementCause.OCCUPIED,
        PlacementCause.FRAGMENTED,
    }
)
_OPEN = frozenset({PlacementCause.FITS, PlacementCause.CANNOT_TELL})
_MAY_PASS = (
    frozenset(
        {
            PlacementCause.SHORT,
            PlacementCause.OCCUPIED,
            PlacementCause.FRAGMENTED,
            PlacementCause.CONSTRAINED,
        }
    )
    | _OPEN
)
_ANY = frozenset(PlacementCause)
"""The causes of a code that is not listed."""
_NONE: frozenset[PlacementCause] = frozenset({PlacementCause.NO_ELIGIBLE_NODE})
_CAUSES: dict[str, frozenset[PlacementCause]] = {
    "no-nodes": _NONE,
    "no-matching-node": _NONE,
    "untolerated-taint": _NONE,
    "nodes-unschedulable": _NONE,
    "exceeds-capacity": frozenset({PlacementCause.TOO_LARGE}),
    "insufficient-resources": frozenset(
        {PlacementCause.SHORT, PlacementCause.OCCUPIED, PlacementCause.FITS}
    ),
    "fragmented": frozenset({PlacementCause.FRAGMENTED, PlacementCause.FITS}),
    "node-pod-limit": _ROOM,
    "topology-does-not-fit": frozenset({PlacementCause.CONSTRAINED}),
    "port-conflict": _NONE | {PlacementCause.CONSTRAINED},
    "pod-anti-affinity": _NONE | {PlacementCause.CONSTRAINED} | _OPEN,
    "spread-constraints": frozenset({PlacementCause.CONSTRAINED}) | _OPEN,
    VOLUME: _MAY_PASS,
    CLAIM: _MAY_PASS,
}
_WORKED_OUT = (
    "Insufficient ",
    "Too many pods",
    "node(s) were unschedulable",
    "node(s) had untolerated taint",
    "node(s) had taints that the pod didn't tolerate",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "node(s) didn't have free ports for the requested pod ports",
    "rejected due to timeout after waiting",
)
"""Prefixes of scheduler messages that the arithmetic explains as well, and of a gang that timed out. Plugins:
noderesources, nodeunschedulable, tainttoleration, nodeaffinity, nodeports (1.35 to 1.37)."""
_BLIND = frozenset({VOLUME, CLAIM})
"""Codes that the scheduler reports before it looks at nodes. They need no knowledge of nodes."""


def placement_reason(unit: Unit, code: str = "") -> PlacementReason | None:
    """Return why members that the scheduler refuses have no node. None: unknown.

    With `code` it returns the reason only if it has that code. Blocked reasons come before passing ones, and
    reasons that no room would help come before lack of room. For members that the scheduler holds back,
    or reports an error for, the reason is about their claims, if any.
    """
    placing = unit.placing
    if placing is None:
        return None
    held = unusable_claims(unit)
    if held is not None and not _is_refused(unit):
        return held if code in ("", held.code) else None
    assessment = placing.assessment
    if code and not (
        code in _BLIND if assessment is None else assessment.cause in _CAUSES.get(code, _ANY)
    ):
        return None
    if not _is_refused(unit):
        return None
    reason = _find(unit, placing, assessment, code)
    return reason if reason is not None and code in ("", reason.code) else None


def explains_error(unit: Unit) -> bool:
    """Whether it is known why an attempt ended in an error, and there is a rule that says it."""
    if placement_reason(unit, "no-nodes") is not None:
        return True
    return unusable_claims(unit) is not None and placement_reason(unit) is not None


def _is_refused(unit: Unit) -> bool:
    """Whether the scheduler says of members that there is no place for them."""
    return bool(unit.refused) or group_refusal(unit) is not None or _fails_without_nodes(unit)


def _fails_without_nodes(unit: Unit) -> bool:
    """Whether the attempt ended in an error because there is no node.

    The scheduler of 1.37.0 says `error in "DynamicResources" PodGroupPostFilter plugins: not found` of
    a gang. It reports the real cause for a single pod (observed).
    """
    placing = unit.placing
    return placing is not None and placing.has_no_nodes and has_rejected_pods(unit)


def _find(
    unit: Unit, placing: PlacementResult, assessment: Assessment | None, code: str
) -> PlacementReason | None:
    """Return the reason; where another code than the one asked for is found, it may be None."""
    if assessment is None:
        return _of_pods(unit)
    cause, shapes = assessment.cause, placing.shapes
    if cause is PlacementCause.TOO_FEW_PODS:
        return None
    if cause is PlacementCause.NO_ELIGIBLE_NODE:
        found_code = code_of_excluded(unit, shapes)
        return (
            excluded(unit, assessment, shapes, found_code)
            if found_code and code in ("", found_code)
            else None
        )
    if cause in _OPEN:
        return _of_pods(unit) or _open(unit, placing, assessment)
    reported = None if cause is PlacementCause.TOO_LARGE else _of_pods(unit)
    if reported is not None and not _is_blocked(assessment):
        return reported
    if cause is PlacementCause.CONSTRAINED:
        found_code = code_of_constraint(assessment)
        return (
            constrained(unit, assessment, shapes, found_code) if code in ("", found_code) else None
        )
    found_code = code_of_room(assessment)
    return lack_of_room(unit, assessment, shapes, found_code) if code in ("", found_code) else None


def _of_pods(unit: Unit) -> PlacementReason | None:
    """Return the reason that applies before any node is considered: observed claims before messages."""
    observed, reported = unusable_claims(unit), message_about_pods(unit)
    if observed is None or (reported is not None and reported.blocked and not observed.blocked):
        return reported
    return observed


def _is_blocked(assessment: Assessment) -> bool:
    """Whether the members would not fit on nodes without the pods that can leave."""
    return assessment.empty.answer is FitAnswer.NO


def _open(unit: Unit, placing: PlacementResult, assessment: Assessment) -> PlacementReason | None:
    """Return the reason although the amounts fit. None: unknown."""
    reported = message_about_nodes(unit)
    if retry_due(unit) is not None:
        # The last word stays where it was one that room can change.
        return _just_now(
            assessment, reported.code if reported is not None else "insufficient-resources"
        )
    if assessment.cause is PlacementCause.CANNOT_TELL:
        return (
            reported if reported is not None and fits_but_for_the_rest(unit, assessment) else None
        )
    if reported is not None:
        return reported
    if len(placing.shapes) < 2 or unit.quorum is None or not _is_worked_out(unit):
        return None
    # Design §3, `fragmented`: "Where one exists and the scheduler's order misses it, say that."
    # Equal pods cannot miss it, and pods outside of a gang would have been placed.
    pod_count = pod_count_of(assessment)
    text = f"{pod_count} would fit together now, but the scheduler tries them one by one"
    if is_refused_since(unit):
        return PlacementReason("fragmented", f"{text} and missed the way", False)
    return PlacementReason("fragmented", f"{text} and can miss the way", False, _NOT_SEEN)


def _is_worked_out(unit: Unit) -> bool:
    """Whether the scheduler names only reasons that the arithmetic covers as well.

    Otherwise another filter is the cause (one that only the scheduler knows, a plugin, an extender), and not
    the order in which it takes the pods.
    """
    return all(
        reason.startswith(_WORKED_OUT)
        for message in scheduler_messages(unit, "Unschedulable")
        for reason, _ in node_reasons(message.text)
    )


def _just_now(assessment: Assessment, code: str) -> PlacementReason:
    """Return the reason to show until the scheduler can have tried again."""
    pod_count = pod_count_of(assessment)
    text = f"there is room for {pod_count} now, and the scheduler has not been seen to try again"
    nodes = sorted(assessment.now.placement)[:_SHOWN]
    return PlacementReason(
        code, text, False, tuple(Evidence("would fit on", name, node_ref(name)) for name in nodes)
    )


def fits_but_for_the_rest(unit: Unit, assessment: Assessment) -> bool:
    """Whether the members would fit now without what arithmetic leaves out (volumes, claims, …)."""
    shapes = [pod_set.shape for pod_set in assessment.request.pod_sets]
    if not any(shape.unsupported or shape.undecidable for shape in shapes):
        return False
    several = several_of(assessment.request) is not None
    left_out = (Constraint.SPREAD,) if several else ()
    request = relaxed(without_devices(assessment.request), left_out)
    return fits(request, nodes_for(unit), When.CURRENT, request.needed).answer is FitAnswer.YES
