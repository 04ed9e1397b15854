"""The members of a gang that wait for nodes, as the plan of the cluster needs them."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.diagnosis.findings import UnitFinding
from gangboard.domain.placement_result import PlacementCause
from gangboard.domain.verdict import NodeRequests
from gangboard.plugins import reasons

_UNDECIDED = frozenset({PlacementCause.TOO_FEW_PODS, PlacementCause.CANNOT_TELL})


def node_requests_of(unit_findings: Sequence[UnitFinding]) -> NodeRequests | None:
    """Return the waiting members of all units. None: no member waits.

    A unit that fits now waits for the scheduler. That alone is no reason for a step.
    """
    codes = {rule.code for rule in reasons.unit_rules() if rule.is_solved_by_capacity}
    requests, causes = [], []
    is_about_capacity = True
    for unit_finding in unit_findings:
        placing = unit_finding.unit.placing if unit_finding.unit is not None else None
        if placing is None:
            continue
        requests.append(placing.request)
        assessment = placing.assessment
        causes.append(PlacementCause.CANNOT_TELL if assessment is None else assessment.cause)
        findings = (unit_finding.finding, *unit_finding.behind)
        is_about_capacity &= any(finding.code in codes for finding in findings)
    if not requests:
        return None
    is_decided = _UNDECIDED.isdisjoint(causes) and set(causes) != {PlacementCause.FITS}
    return NodeRequests(tuple(requests), is_about_capacity and is_decided)
