"""Findings about members that the scheduler refuses: sentence, advice and evidence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from gangboard.domain.advice import Advice, AdvisedStep
from gangboard.domain.event import Event, last_seen_seconds
from gangboard.domain.health import Health
from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import Assessment, ResourceTotal, ShapeFit
from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import newest_creation
from gangboard.facts.preemption import never_preempts
from gangboard.facts.provisioning import consumed_requests, nominations
from gangboard.facts.scheduler_text import (
    SchedulerMessage,
    best_scheduler_message,
    scheduler_errors,
    scheduler_messages,
)
from gangboard.facts.state_since import refused_since
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.placement.advice.ranking import advise
from gangboard.placement.amounts import format_quantity
from gangboard.placement.sentences.cause import placement_reason
from gangboard.placement.sentences.unavailable_nodes import maintenance_evidence
from gangboard.placement.sentences.wording import PlacementReason, source_of
from gangboard.plugins.rule import UnitRule

_REFUSED = "Unschedulable"
_SHOWN = 3
_SHOWN_CLAIMS = 8


def placement_finding(rule: UnitRule, unit: Unit) -> Finding | None:
    """Return the finding of a rule if its code is the reason why needed members have no node."""
    reason = placement_reason(unit, rule.code)
    if reason is None or not lacks_nodes(unit):
        return None
    messages = scheduler_messages(unit, _REFUSED) or scheduler_errors(unit)
    advice, named, until = advice_of(unit)
    return unit_finding(
        rule,
        unit,
        reason.sentence,
        health=Health.BLOCKED if reason.blocked else Health.WAITING,
        advice=advice,
        evidence=(*evidence_of(unit, reason), *message_evidence_of(unit, messages), *named),
        recheck_at=until,
        since=refused_since(unit, messages) or newest_creation(unit.unplaced),
    )


def reason_of(unit: Unit) -> tuple[str, tuple[Evidence, ...]]:
    """Return the sentence why waiting members have no node, and references to the objects that it names.

    It covers all ungrouped workers that wait together. Empty: unknown.
    """
    reason = placement_reason(unit.together or unit)
    return (reason.sentence, reason.evidence) if reason is not None else ("", ())


def advice_of(
    unit: Unit,
) -> tuple[tuple[AdvisedStep, ...], tuple[Evidence, ...], datetime | None]:
    """Return advice, references to the objects that it names, and the time to compute it again.

    Names are only for users who may see them. Advice that counts on a deadline expires with it. The advice
    covers all ungrouped workers that wait together.
    """
    advised = advise(unit.together or unit)
    named = {
        (ref.kind, ref.namespace, ref.name): ref
        for advice in advised
        for ref in (*advice.named, *advice.gangs)
    }
    return (
        tuple(map(_step, advised)),
        tuple(Evidence(NAMED_IN_ADVICE, ref.name, ref) for ref in named.values()),
        min((advice.until for advice in advised if advice.until is not None), default=None),
    )


def _step(advice: Advice) -> AdvisedStep:
    """Return the advice as a step. It only acts on nodes if the sentence names all of them."""
    nodes = advice.nodes if set(advice.nodes) <= set(advice.named) else ()
    return AdvisedStep(advice.text, advice.change, advice.command, objects=advice.gangs or nodes)


def evidence_of(unit: Unit, reason: PlacementReason | None = None) -> tuple[Evidence, ...]:
    """Return the evidence of the arithmetic (amounts, and nodes by shape) and of the reason."""
    placing = unit.placing
    lines = [Evidence("pods placed", f"{len(unit.placed)} of {unit.wanted}", unit.owner.meta.ref)]
    if unit.quorum is not None and unit.group is not None:
        lines.append(Evidence("quorum", str(unit.quorum), unit.group.meta.ref))
    if placing is not None and placing.assessment is not None:
        lines += _amounts_evidence(unit, placing.assessment)
        lines += [_nodes_evidence(unit, shape) for shape in placing.shapes]
    polite = never_preempts(unit)
    if polite is not None:
        lines.append(Evidence("spec.preemptionPolicy", "Never", polite))
    lines += maintenance_evidence(unit)
    return (*lines, *(reason.evidence if reason is not None else ()))


def _amounts_evidence(unit: Unit, assessment: Assessment) -> Iterator[Evidence]:
    """Yield the short resources and the deciding one."""
    for line in assessment.totals:
        if line.free < line.needed or line.resource == assessment.deciding:
            yield Evidence(line.resource, _amounts_text(line), source_of(unit))


def _amounts_text(line: ResourceTotal) -> str:
    needed, free, capacity = (
        format_quantity(line.resource, amount) for amount in (line.needed, line.free, line.capacity)
    )
    return f"{needed} needed, {free} free now, {capacity} when empty"


def _nodes_evidence(unit: Unit, shape_fit: ShapeFit) -> Evidence:
    """Return how many nodes could host pods of a shape, and which filters exclude the others."""
    eligible = len(shape_fit.eligibility.eligible)
    excluded_by_filter = shape_fit.eligibility.excluded
    total = eligible + sum(excluded.count for excluded in excluded_by_filter.values())
    text = f"{eligible} of {total} could host one, {shape_fit.open_nodes} can now"
    if excluded_by_filter:
        text = f"{text}; excluded: " + ", ".join(
            f"{excluded.count} {node_filter.value}"
            for node_filter, excluded in excluded_by_filter.items()
        )
    return Evidence(f"nodes for {shape_fit.shape.name}", text, source_of(unit))


def message_evidence_of(unit: Unit, messages: tuple[SchedulerMessage, ...]) -> tuple[Evidence, ...]:
    """Return the scheduler's most specific message, its message about the group, and those of autoscalers."""
    best = best_scheduler_message(messages)
    lines = [] if best is None else [Evidence("scheduler says", best.raw, best.source)]
    of_group = [
        message
        for message in messages
        if unit.group is not None and message.source == unit.group.meta.ref
    ]
    lines += [
        Evidence("scheduler says of the group", message.raw, message.source)
        for message in of_group
        if best is None or message.source != best.source
    ]
    return (
        *lines,
        *_gate_evidence(unit),
        *_autoscaler_evidence(unit),
        *_node_claim_evidence(unit),
        *_provisioning_evidence(unit),
    )


def _gate_evidence(unit: Unit) -> Iterator[Evidence]:
    """Yield the nodes that members at the gate reserve while they wait for the others (1.35)."""
    gated = [pod for pod in unit.unplaced if pod.is_waiting_on_permit]
    if not gated:
        return
    text = (
        f"{len(gated)} of {len(unit.unplaced)}, each keeps a node until the rest fits, or 5 minutes"
    )
    yield Evidence("pods at the gate", text, gated[0].meta.ref)
    for name in sorted({pod.nominated_node for pod in gated})[:_SHOWN]:
        yield Evidence("kept node", name, node_ref(name))


def _autoscaler_evidence(unit: Unit) -> Iterator[Evidence]:
    """Yield the newest event of each autoscaler that it adds no node for waiting pods."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    newest: dict[str, Event] = {}
    for event in unit.events:
        autoscaler = _refusing_autoscaler(event)
        if not autoscaler or event.regarding.uid not in waiting:
            continue
        if autoscaler not in newest or last_seen_seconds(event) > last_seen_seconds(
            newest[autoscaler]
        ):
            newest[autoscaler] = event
    for autoscaler, event in sorted(newest.items()):
        yield Evidence(f"{autoscaler} says", event.note, event.regarding)


def _node_claim_evidence(unit: Unit) -> Iterator[Evidence]:
    """Yield the state of the NodeClaims for waiting pods."""
    claims = nominations(unit)
    for advice in claims[:_SHOWN_CLAIMS]:
        yield from advice.evidence
    why = unit.gang.cluster.autoscaling.why
    if claims and why:
        yield Evidence("NodeClaims", f"{why}: only Karpenter's events tell whether a node comes")


def _provisioning_evidence(unit: Unit) -> Iterator[Evidence]:
    """Yield the messages of the ProvisioningRequests that waiting pods consume."""
    for provision in consumed_requests(unit):
        yield Evidence(f"ProvisioningRequest {provision.request}", provision.text, provision.ref)
    why = unit.gang.cluster.autoscaling.why_no_requests
    if why and any(pod.provisioning_request for pod in unit.unplaced):
        yield Evidence("ProvisioningRequests", why)


def _refusing_autoscaler(event: Event) -> str:
    """Return the autoscaler that reports in an event that it adds no node. Empty: any other event."""
    if event.reason == "NotTriggerScaleUp":
        return "cluster-autoscaler"
    if event.reason == "FailedScheduling" and event.reporter == "karpenter":
        return "Karpenter"
    return ""
