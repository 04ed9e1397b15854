"""`unschedulable`: the scheduler cannot place members, and the arithmetic does not know why, or contradicts it.

The sentence has the reason (forbidden or unread nodes, too many combinations, an unsupported constraint) and
quotes the scheduler. Often only one pod of a gang has the text with the cause (`0/4 nodes are available: …`)
while the others repeat the group's text. The sentence quotes that pod. The rule is silent for a gang that has
its quorum.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import Assessment, FitAnswer, PlacementCause
from gangboard.domain.text import count, names, sentence
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
from gangboard.placement.sentences.finding import advice_of, evidence_of, message_evidence_of
from gangboard.plugins.rule import UnitRule

_MAX_SHOWN = 3


def find(unit: Unit) -> Finding | None:
    """Return a finding while the scheduler refuses members that the unit needs."""
    messages = scheduler_messages(unit, "Unschedulable")
    if not messages or not lacks_nodes(unit):
        return None
    best = best_scheduler_message(messages)
    advice, name_evidence, until = advice_of(unit)
    return unit_finding(
        RULE,
        unit,
        _message(unit, best),
        advice=advice,
        evidence=(
            *evidence_of(unit),
            *_unknown_evidence(unit),
            *message_evidence_of(unit, messages),
            *_placement_evidence(unit),
            *name_evidence,
        ),
        recheck_at=until,
        since=refused_since(unit, messages),
    )


def _message(unit: Unit, best: SchedulerMessage | None) -> str:
    tried = [pod for pod in unit.unplaced if not pod.gates]
    refused = [pod for pod in tried if not pod.is_waiting_for_group]
    number = len(refused or tried)
    pods = f"{number} of {unit.wanted} pods" if unit.placed else count(number, "pod")
    pods = pods if refused or not tried else f"the group of {pods}"
    verb = "could not" if fits_now(unit) and not is_refused_since(unit) else "cannot"
    scheduler = f"Scheduler {unit.other_scheduler}" if unit.other_scheduler else "The scheduler"
    message = f"{scheduler} {verb} place {pods}"
    # With a topology constraint the node count is that of one placement, not of the cluster (observed on
    # 1.37.0).
    keys = unit.group.topology_keys if unit.group is not None else ()
    within = f" within one {names(keys)}" if keys else ""
    remark = _arithmetic_remark(unit)
    if best is None:
        return sentence(f"{message}{within}{remark}")
    if not remark:
        return sentence(f"{message}{within}: {best.quoted}")
    return sentence(f"{message}{within}: {best.quoted_reasons}{remark}")


def _arithmetic_remark(unit: Unit) -> str:
    """Return what the arithmetic adds to the scheduler's text, or why it has no result."""
    if unit.placing is None or unit.other_scheduler:
        return ""
    assessment = unit.placing.assessment
    if assessment is None:
        return f"; gangboard cannot tell why ({unit.placing.why})"
    fits = "it fits" if assessment.request.needed == 1 else "they fit"
    if assessment.cause is PlacementCause.FITS:
        return f"; by gangboard's count {fits} now"
    if assessment.cause is PlacementCause.TOO_FEW_PODS:
        return f"; {count(assessment.request.needed, 'pod')} would have to exist"
    if assessment.cause is PlacementCause.CANNOT_TELL and assessment.now.answer is FitAnswer.NO:
        return f"; gangboard cannot tell whether {fits} on empty nodes"
    if assessment.cause is PlacementCause.CANNOT_TELL:
        return "; gangboard cannot tell why"
    return ""


def _unknown_evidence(unit: Unit) -> tuple[Evidence, ...]:
    reason = (
        _unknown_reason(unit.placing.assessment, unit.placing.why)
        if unit.placing is not None
        else ""
    )
    return (Evidence("not worked out", reason),) if reason else ()


def _unknown_reason(assessment: Assessment | None, why_unobserved: str) -> str:
    return why_unobserved if assessment is None else assessment.why


def _placement_evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return nodes on which the unit would fit, if the arithmetic contradicts the scheduler."""
    assessment = unit.placing.assessment if unit.placing is not None else None
    if assessment is None or assessment.cause is not PlacementCause.FITS:
        return ()
    nodes = sorted(assessment.now.placement)[:_MAX_SHOWN]
    placement = tuple(Evidence("would fit on", name, node_ref(name)) for name in nodes)
    is_tried = is_refused_since(unit)
    return (
        placement if is_tried else (*placement, Evidence("tried since there is room", "not seen"))
    )


RULE = UnitRule(
    "unschedulable",
    Stage.PLACEMENT,
    "Cannot be placed",
    90,
    find,
    health=Health.WAITING,
    for_waiting_units=True,
    for_merged_units=True,
)
