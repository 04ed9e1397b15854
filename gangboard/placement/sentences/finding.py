"""The finding of a rule about members that the scheduler refuses: sentence, advice and evidence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from gangboard.domain.advice import Advice, AdvisedStep
from gangboard.domain.event import Event, last_seen_seconds
from gangboard.domain.health import Health
from gangboard.domain.placing import Assessment, ShapeFit, Total
from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import newest_creation
from gangboard.facts.node_claim_nominations import nominations
from gangboard.facts.preemption import never_preempts
from gangboard.facts.provisioning import provisions
from gangboard.facts.scheduler_text import (
    SchedulerMessage,
    best_scheduler_message,
    scheduler_errors,
    scheduler_messages,
)
from gangboard.facts.state_since import waits_since
from gangboard.facts.unit import Unit
from gangboard.facts.unit_counts import lacks_room
from gangboard.placement.advice import advise
from gangboard.placement.amount_words import bare
from gangboard.placement.sentences.cause import placement_reason
from gangboard.placement.sentences.maintenance import maintenance_evidence
from gangboard.placement.sentences.placement_reason import PlacementReason, node_ref, source_of
from gangboard.plugins.rule import UnitRule

_REFUSED = "Unschedulable"
_SHOWN = 3
_SHOWN_CLAIMS = 8


def placement_finding(rule: UnitRule, unit: Unit) -> Finding | None:
    """Return the finding of a rule, when its code is why members that are needed have no node."""
    found = placement_reason(unit, rule.code)
    if found is None or not lacks_room(unit):
        return None
    said = scheduler_messages(unit, _REFUSED) or scheduler_errors(unit)
    advice, named, until = advice_of(unit)
    return unit_finding(
        rule,
        unit,
        found.sentence,
        health=Health.BLOCKED if found.blocked else Health.WAITING,
        advice=advice,
        evidence=(*evidence_of(unit, found), *said_evidence(unit, said), *named),
        recheck_at=until,
        since=waits_since(unit, said) or newest_creation(unit.unplaced),
    )


def reason_of(unit: Unit) -> tuple[str, tuple[Evidence, ...]]:
    """Return why members that wait have no node: a sentence, and the references to what it names.

    Empty when arithmetic cannot tell. Where other workers wait beside it, it is told of all of them.
    """
    found = placement_reason(unit.together or unit)
    return (found.sentence, found.evidence) if found is not None else ("", ())


def advice_of(
    unit: Unit,
) -> tuple[tuple[AdvisedStep, ...], tuple[Evidence, ...], datetime | None]:
    """Return advice, references to what it names, and when it is to be worked out again.

    Names are only for who may see them. Time alone takes away what counts on an end by itself. Where
    other workers wait beside it, the advice is about all of them.
    """
    found = advise(unit.together or unit)
    named = {
        (ref.kind, ref.namespace, ref.name): ref
        for one in found
        for ref in (*one.named, *one.gangs)
    }
    return (
        tuple(map(_step, found)),
        tuple(Evidence(NAMED_IN_ADVICE, ref.name, ref) for ref in named.values()),
        min((one.until for one in found if one.until is not None), default=None),
    )


def _step(one: Advice) -> AdvisedStep:
    """Return the change as a step. It acts on nodes only where the sentence names all of them."""
    nodes = one.nodes if set(one.nodes) <= set(one.named) else ()
    return AdvisedStep(one.text, one.change, one.command, objects=one.gangs or nodes)


def evidence_of(unit: Unit, found: PlacementReason | None = None) -> tuple[Evidence, ...]:
    """Return the numbers of the arithmetic: amounts, nodes by shape, what the reason adds."""
    placing = unit.placing
    lines = [Evidence("pods placed", f"{len(unit.placed)} of {unit.wanted}", unit.owner.meta.ref)]
    if unit.quorum is not None and unit.group is not None:
        lines.append(Evidence("quorum", str(unit.quorum), unit.group.meta.ref))
    if placing is not None and placing.assessment is not None:
        lines += _amounts(unit, placing.assessment)
        lines += [_nodes(unit, shape) for shape in placing.shapes]
    polite = never_preempts(unit)
    if polite is not None:
        lines.append(Evidence("spec.preemptionPolicy", "Never", polite))
    lines += maintenance_evidence(unit)
    return (*lines, *(found.evidence if found is not None else ()))


def _amounts(unit: Unit, assessment: Assessment) -> Iterator[Evidence]:
    """Yield the resources of which too little is free, and the one that decides."""
    for line in assessment.totals:
        if line.free < line.needed or line.resource == assessment.deciding:
            yield Evidence(line.resource, _in_numbers(line), source_of(unit))


def _in_numbers(line: Total) -> str:
    needed, free, capacity = (
        bare(line.resource, amount) for amount in (line.needed, line.free, line.capacity)
    )
    return f"{needed} needed, {free} free now, {capacity} when empty"


def _nodes(unit: Unit, one: ShapeFit) -> Evidence:
    """Return how many nodes could host pods of a shape, and what excludes the others."""
    eligible = len(one.eligibility.eligible)
    out = one.eligibility.excluded
    total = eligible + sum(found.count for found in out.values())
    text = f"{eligible} of {total} could host one, {one.open_nodes} can now"
    if out:
        text = f"{text}; excluded: " + ", ".join(
            f"{found.count} {why.value}" for why, found in out.items()
        )
    return Evidence(f"nodes for {one.shape.name}", text, source_of(unit))


def said_evidence(unit: Unit, said: tuple[SchedulerMessage, ...]) -> tuple[Evidence, ...]:
    """Return the scheduler's most specific text, that of the group, and what autoscalers say."""
    best = best_scheduler_message(said)
    lines = [] if best is None else [Evidence("scheduler says", best.raw, best.source)]
    of_group = [one for one in said if unit.group is not None and one.source == unit.group.meta.ref]
    lines += [
        Evidence("scheduler says of the group", one.raw, one.source)
        for one in of_group
        if best is None or one.source != best.source
    ]
    return (*lines, *_gate(unit), *_autoscalers(unit), *_claims(unit), *_requests(unit))


def _gate(unit: Unit) -> Iterator[Evidence]:
    """Yield what members that fit keep from others while they wait for the rest (1.35)."""
    kept = [pod for pod in unit.unplaced if pod.is_at_gate]
    if not kept:
        return
    text = (
        f"{len(kept)} of {len(unit.unplaced)}, each keeps a node until the rest fits, or 5 minutes"
    )
    yield Evidence("pods at the gate", text, kept[0].meta.ref)
    for name in sorted({pod.nominated_node for pod in kept})[:_SHOWN]:
        yield Evidence("kept node", name, node_ref(name))


def _autoscalers(unit: Unit) -> Iterator[Evidence]:
    """Yield why an autoscaler brings no node: the newest word of each about pods that wait."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    newest: dict[str, Event] = {}
    for event in unit.events:
        who = _refuses(event)
        if not who or event.regarding.uid not in waiting:
            continue
        if who not in newest or last_seen_seconds(event) > last_seen_seconds(newest[who]):
            newest[who] = event
    for who, event in sorted(newest.items()):
        yield Evidence(f"{who} says", event.note, event.regarding)


def _claims(unit: Unit) -> Iterator[Evidence]:
    """Yield what has become of the NodeClaims that were made for pods that wait."""
    found = nominations(unit)
    for one in found[:_SHOWN_CLAIMS]:
        yield from one.evidence
    why = unit.gang.cluster.autoscaling.why
    if found and why:
        yield Evidence("NodeClaims", f"{why}: only Karpenter's events tell whether a node comes")


def _requests(unit: Unit) -> Iterator[Evidence]:
    """Yield what the ProvisioningRequests say that waiting pods consume."""
    for one in provisions(unit):
        yield Evidence(f"ProvisioningRequest {one.request}", one.text, one.ref)
    why = unit.gang.cluster.autoscaling.why_no_requests
    if why and any(pod.provisioning_request for pod in unit.unplaced):
        yield Evidence("ProvisioningRequests", why)


def _refuses(event: Event) -> str:
    """Return which autoscaler says that it brings no node; empty for all other events."""
    if event.reason == "NotTriggerScaleUp":
        return "cluster-autoscaler"
    if event.reason == "FailedScheduling" and event.reporter == "karpenter":
        return "Karpenter"
    return ""
