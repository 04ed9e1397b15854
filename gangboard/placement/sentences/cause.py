"""The placement reason of a unit: code and sentence why its members have no node."""

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
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.joint_topology_spread import multiply_constrained_pods
from gangboard.placement.sentences.capacity import capacity_code, capacity_reason
from gangboard.placement.sentences.constraints import constraint_code, constraint_reason
from gangboard.placement.sentences.excluded_nodes import exclusion_code, exclusion_reason
from gangboard.placement.sentences.scheduler_message import (
    CLAIM,
    VOLUME,
    message_about_nodes,
    message_about_pods,
)
from gangboard.placement.sentences.unusable_claims import unusable_claims_reason
from gangboard.placement.sentences.wording import PlacementReason, pod_count_of

_SHOWN = 3
_RETRY_NOT_SEEN = (Evidence("tried since there is room", "not seen"),)
# Causes of each code. They allow a quick check, because every rule asks for every waiting unit.
_CAPACITY_CAUSES = frozenset(
    {
        PlacementCause.TOO_LARGE,
        PlacementCause.SHORT,
        PlacementCause.OCCUPIED,
        PlacementCause.FRAGMENTED,
    }
)
_FITTING_CAUSES = frozenset({PlacementCause.FITS, PlacementCause.CANNOT_TELL})
_PASSING_CAUSES = (
    frozenset(
        {
            PlacementCause.SHORT,
            PlacementCause.OCCUPIED,
            PlacementCause.FRAGMENTED,
            PlacementCause.CONSTRAINED,
        }
    )
    | _FITTING_CAUSES
)
_ANY_CAUSE = frozenset(PlacementCause)
"""Causes of a code that `_CAUSES` does not list."""
_NO_NODE_CAUSE: frozenset[PlacementCause] = frozenset({PlacementCause.NO_ELIGIBLE_NODE})
_CAUSES: dict[str, frozenset[PlacementCause]] = {
    "no-nodes": _NO_NODE_CAUSE,
    "no-matching-node": _NO_NODE_CAUSE,
    "untolerated-taint": _NO_NODE_CAUSE,
    "nodes-unschedulable": _NO_NODE_CAUSE,
    "exceeds-capacity": frozenset({PlacementCause.TOO_LARGE}),
    "insufficient-resources": frozenset(
        {PlacementCause.SHORT, PlacementCause.OCCUPIED, PlacementCause.FITS}
    ),
    "fragmented": frozenset({PlacementCause.FRAGMENTED, PlacementCause.FITS}),
    "node-pod-limit": _CAPACITY_CAUSES,
    "topology-does-not-fit": frozenset({PlacementCause.CONSTRAINED}),
    "port-conflict": _NO_NODE_CAUSE | {PlacementCause.CONSTRAINED},
    "pod-anti-affinity": _NO_NODE_CAUSE | {PlacementCause.CONSTRAINED} | _FITTING_CAUSES,
    "spread-constraints": frozenset({PlacementCause.CONSTRAINED}) | _FITTING_CAUSES,
    VOLUME: _PASSING_CAUSES,
    CLAIM: _PASSING_CAUSES,
}
_EXPLAINED_MESSAGES = (
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
"""Prefixes of scheduler messages that the arithmetic also explains, and the message of a gang that timed out. Plugins:
noderesources, nodeunschedulable, tainttoleration, nodeaffinity, nodeports (1.35 to 1.37)."""
_CODES_WITHOUT_NODES = frozenset({VOLUME, CLAIM})
"""Codes of reasons that apply before the scheduler considers nodes, so they are known without nodes."""


def placement_reason(unit: Unit, code: str = "") -> PlacementReason | None:
    """Return why members that the scheduler refuses have no node. None: unknown.

    `code` limits the result to a reason with this code. Blocked reasons come before passing ones, and reasons that more
    capacity would not solve come before lack of capacity. For members that the scheduler holds back, or reports an
    error for, the reason is about their claims, if any.
    """
    placing = unit.placing
    if placing is None:
        return None
    held = unusable_claims_reason(unit)
    if held is not None and not _is_refused(unit):
        return held if code in ("", held.code) else None
    assessment = placing.assessment
    if code and not (
        code in _CODES_WITHOUT_NODES
        if assessment is None
        else assessment.cause in _CAUSES.get(code, _ANY_CAUSE)
    ):
        return None
    if not _is_refused(unit):
        return None
    reason = _find_reason(unit, placing, assessment, code)
    return reason if reason is not None and code in ("", reason.code) else None


def explains_error(unit: Unit) -> bool:
    """Return whether the cause of a scheduling error is known, and a rule reports it."""
    if placement_reason(unit, "no-nodes") is not None:
        return True
    return unusable_claims_reason(unit) is not None and placement_reason(unit) is not None


def _is_refused(unit: Unit) -> bool:
    """Return whether the scheduler reports members as unschedulable."""
    return bool(unit.refused) or group_refusal(unit) is not None or _fails_without_nodes(unit)


def _fails_without_nodes(unit: Unit) -> bool:
    """Return whether the attempt ended in an error because the cluster has no node.

    For a gang, the scheduler of 1.37.0 reports `error in "DynamicResources" PodGroupPostFilter plugins: not found`. For a
    single pod it reports the real cause (observed).
    """
    placing = unit.placing
    return placing is not None and placing.has_no_nodes and has_rejected_pods(unit)


def _find_reason(
    unit: Unit, placing: PlacementResult, assessment: Assessment | None, code: str
) -> PlacementReason | None:
    """Return the reason. It may be None if the reason has another code than the requested one."""
    if assessment is None:
        return _reason_before_nodes(unit)
    cause, shapes = assessment.cause, placing.shapes
    if cause is PlacementCause.TOO_FEW_PODS:
        return None
    if cause is PlacementCause.NO_ELIGIBLE_NODE:
        found_code = exclusion_code(unit, shapes)
        return (
            exclusion_reason(unit, assessment, shapes, found_code)
            if found_code and code in ("", found_code)
            else None
        )
    if cause in _FITTING_CAUSES:
        return _reason_before_nodes(unit) or _reason_despite_fit(unit, placing, assessment)
    reported = None if cause is PlacementCause.TOO_LARGE else _reason_before_nodes(unit)
    if reported is not None and not _is_blocked(assessment):
        return reported
    if cause is PlacementCause.CONSTRAINED:
        found_code = constraint_code(assessment)
        return (
            constraint_reason(unit, assessment, shapes, found_code)
            if code in ("", found_code)
            else None
        )
    found_code = capacity_code(assessment)
    return (
        capacity_reason(unit, assessment, shapes, found_code) if code in ("", found_code) else None
    )


def _reason_before_nodes(unit: Unit) -> PlacementReason | None:
    """Return the reason that applies before any node is considered. Observed claims come before messages."""
    observed, reported = unusable_claims_reason(unit), message_about_pods(unit)
    if observed is None or (reported is not None and reported.blocked and not observed.blocked):
        return reported
    return observed


def _is_blocked(assessment: Assessment) -> bool:
    """Return whether the members would not fit on nodes without the pods that can leave."""
    return assessment.empty.answer is FitAnswer.NO


def _reason_despite_fit(
    unit: Unit, placing: PlacementResult, assessment: Assessment
) -> PlacementReason | None:
    """Return the reason of members that fit by the arithmetic. None: unknown."""
    reported = message_about_nodes(unit)
    if retry_due(unit) is not None:
        # Until the next attempt, the code of the last message stays.
        return _retry_reason(
            assessment, reported.code if reported is not None else "insufficient-resources"
        )
    if assessment.cause is PlacementCause.CANNOT_TELL:
        return (
            reported
            if reported is not None and fits_without_unsupported(unit, assessment)
            else None
        )
    if reported is not None:
        return reported
    if len(placing.shapes) < 2 or unit.quorum is None or not _is_explained_by_arithmetic(unit):
        return None
    # A placement exists, and the scheduler's order can miss it. This cannot happen to equal pods. Pods outside a gang
    # would have been placed.
    pod_count = pod_count_of(assessment)
    text = f"{pod_count} would fit together now, but the scheduler tries them one by one"
    if is_refused_since(unit):
        return PlacementReason("fragmented", f"{text} and missed this placement", False)
    return PlacementReason(
        "fragmented", f"{text} and can miss this placement", False, _RETRY_NOT_SEEN
    )


def _is_explained_by_arithmetic(unit: Unit) -> bool:
    """Return whether the scheduler names only reasons that the arithmetic covers as well.

    Otherwise the cause is another filter (a plugin, an extender, or one that only the scheduler knows), and not the
    order of the pods.
    """
    return all(
        reason.startswith(_EXPLAINED_MESSAGES)
        for message in scheduler_messages(unit, "Unschedulable")
        for reason, _ in node_reasons(message.text)
    )


def _retry_reason(assessment: Assessment, code: str) -> PlacementReason:
    """Return the reason to show until the scheduler had time to try again."""
    pod_count = pod_count_of(assessment)
    text = f"{pod_count} would fit now, but no new attempt by the scheduler has been seen"
    nodes = sorted(assessment.now.placement)[:_SHOWN]
    return PlacementReason(
        code, text, False, tuple(Evidence("would fit on", name, node_ref(name)) for name in nodes)
    )


def fits_without_unsupported(unit: Unit, assessment: Assessment) -> bool:
    """Return whether the members would fit now without their unsupported requirements (volumes, claims, …)."""
    shapes = [pod_set.shape for pod_set in assessment.request.pod_sets]
    if not any(shape.unsupported or shape.undecidable for shape in shapes):
        return False
    several = multiply_constrained_pods(assessment.request) is not None
    left_out = (Constraint.SPREAD,) if several else ()
    request = relaxed(without_devices(assessment.request), left_out)
    return check_fit(request, nodes_for(unit), When.CURRENT, request.needed).answer is FitAnswer.YES
