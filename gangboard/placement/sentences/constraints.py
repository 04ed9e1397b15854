"""Sentences about members that would fit without topology, host ports, anti-affinity or topology spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gangboard.domain.capacity import PodSet
from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import Assessment, Constraint, FitAnswer, ShapeFit, When
from gangboard.domain.pod_constraints import HOSTNAME, Spread
from gangboard.domain.text import listed, names, out_of
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.joint_topology_spread import max_pods_by_all, multiply_constrained_pods
from gangboard.placement.matching import has_host_anti_affinity
from gangboard.placement.sentences.anti_affinity import anti_affinity_by_label, shared_scope_text
from gangboard.placement.sentences.wording import (
    PlacementReason,
    PodCount,
    fit_clause,
    pod_count_of,
    source_of,
    usable_nodes_text,
)
from gangboard.placement.topology_spread import (
    Domain,
    counted_domains,
    domain_limits,
    is_open,
    max_pods_in_domain,
    spread_of,
)

CODES = {
    Constraint.TOPOLOGY: "topology-does-not-fit",
    Constraint.HOST_PORTS: "port-conflict",
    Constraint.ANTI_AFFINITY: "pod-anti-affinity",
    Constraint.SPREAD: "spread-constraints",
}


def constraint_code(assessment: Assessment) -> str:
    """Return the code of the first constraint that is the cause."""
    return next(
        (CODES[constraint] for constraint in Constraint if constraint in assessment.constraints), ""
    )


def constraint_reason(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], code: str
) -> PlacementReason:
    """Return the reason about a constraint. It is blocked if the members do not fit on drained nodes either."""
    is_blocked = assessment.empty.answer is FitAnswer.NO
    evidence: tuple[Evidence, ...] = ()
    if code == "topology-does-not-fit":
        text, evidence = _topology_text(unit, assessment, shapes, is_blocked)
    elif code == "spread-constraints":
        text, evidence = spread_text(unit, assessment, is_blocked)
    else:
        if code == "port-conflict":
            text = _ports_text(assessment, shapes, is_blocked)
        else:
            text = _anti_affinity_text(unit, assessment, shapes, is_blocked)
        when = When.DRAINED if is_blocked else When.CURRENT
        text = f"{text}{fit_clause(unit, assessment, shapes, when)}"
    return PlacementReason(
        code,
        text,
        is_blocked,
        (*evidence, _without_constraint_evidence(unit, assessment, is_blocked)),
    )


def _without_constraint_evidence(unit: Unit, assessment: Assessment, is_blocked: bool) -> Evidence:
    """Return the evidence that the members fit without the constraint. The code and the advice rely on it."""
    moment = "on empty nodes" if is_blocked else "now"
    return Evidence(
        f"without the {names(assessment.constraints)}",
        f"{pod_count_of(assessment)} would fit {moment}",
        source_of(unit),
    )


# Topology


def _topology_text(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], is_blocked: bool
) -> tuple[str, tuple[Evidence, ...]]:
    request, pod_count = assessment.request, pod_count_of(assessment)
    keys = names(request.topology_keys)
    if request.domain is not None:
        chosen = _pairs_text(request.topology_keys, request.domain)
        text = f"{pod_count.verb('need')} capacity in {chosen}, where other members are placed"
        return text, _domain_evidence(request.topology_keys, request.domain, "chosen")
    text, when = f"{pod_count} must share one {keys}", "when empty" if is_blocked else "now"
    best = _best_domain(
        unit, shapes, When.DRAINED if is_blocked else When.CURRENT, request.topology_keys
    )
    if best is None:
        return f"{text}, and none has room for all of {pod_count.object_pronoun} {when}", ()
    values, pods_text = best
    sentence = f"{text}, and the best ({names(values)}) has room for {pods_text} of {pod_count.total} {when}"
    return sentence, _domain_evidence(request.topology_keys, values, "best")


def _best_domain(
    unit: Unit, shapes: Sequence[ShapeFit], when: When, keys: Sequence[str]
) -> tuple[tuple[str, ...], int] | None:
    """Return the domain in which most pods fit, and their number. None: several shapes, or no domain."""
    if len(shapes) != 1:
        return None
    pods_by_values: dict[tuple[str, ...], int] = {}
    snapshot = nodes_for(unit)
    feasible = feasible_nodes_of(snapshot, shapes[0].shape)
    max_pods = feasible.max_pods(when)
    for row in np.flatnonzero(feasible.eligible(tuple(keys))).tolist():
        values = tuple(snapshot[row].labels.get(key, "") for key in keys)
        pods_by_values[values] = pods_by_values.get(values, 0) + int(max_pods[row])
    if not pods_by_values:
        return None
    best = max(sorted(pods_by_values), key=lambda values: pods_by_values[values])
    return best, pods_by_values[best]


def _pairs_text(keys: Sequence[str], values: Sequence[str]) -> str:
    return names(f"{key}={value}" for key, value in zip(keys, values, strict=True))


def _domain_evidence(
    keys: Sequence[str], values: Sequence[str], adjective: str
) -> tuple[Evidence, ...]:
    """Return the values of a domain as evidence. A hostname has a reference to its node."""
    return tuple(
        Evidence(f"{adjective} {key}", value, node_ref(value) if key == HOSTNAME else None)
        for key, value in zip(keys, values, strict=True)
    )


# Host ports and anti-affinity


def _ports_text(assessment: Assessment, shapes: Sequence[ShapeFit], is_blocked: bool) -> str:
    affected = [shape_fit for shape_fit in shapes if shape_fit.shape.host_ports]
    ports = sorted({port.port for shape_fit in affected for port in shape_fit.shape.host_ports})
    noun = "host port" if len(ports) == 1 else "host ports"
    pod_count = _affected_pods(assessment, shapes, affected)
    text = f"{pod_count.verb('need')} {noun} {names(map(str, ports))}{pod_count.each}"
    return f"{text}, {_one_per_node_text(affected, is_blocked)}"


def _anti_affinity_text(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], is_blocked: bool
) -> str:
    affected = [
        shape_fit
        for shape_fit in shapes
        if shape_fit.shape.anti_affinity or shape_fit.shape.matched_terms
    ]
    pod_count = _affected_pods(assessment, shapes, affected)
    by_label = anti_affinity_by_label(unit, affected, pod_count, is_blocked=is_blocked)
    if by_label is not None:
        return by_label
    places = shared_scope_text(nodes_for(unit), [shape_fit.shape for shape_fit in affected])
    if places != "a node" or not all(
        has_host_anti_affinity(shape_fit.shape, shape_fit.shape) for shape_fit in affected
    ):
        return _anti_affinity_to_others_text(places, affected, pod_count, is_blocked)
    if pod_count.number == 1:
        text = f"{pod_count} must not share a node with pods like it"
    else:
        text = f"{pod_count} must be on different nodes"
    return f"{text}, {_one_per_node_text(affected, is_blocked)}"


def _anti_affinity_to_others_text(
    places: str, affected: Sequence[ShapeFit], pod_count: PodCount, is_blocked: bool
) -> str:
    """Return the sentence about pods that must not share nodes with certain other pods, but may with each other."""
    text = f"{pod_count} must not share {places} with certain other pods"
    total = len({name for shape_fit in affected for name in shape_fit.eligibility.eligible})
    occupied = max(
        number for shape_fit in affected for number in (0, *_nodes_with_conflicting_pods(shape_fit))
    )
    if is_blocked or not occupied:
        return f"{text}, {_one_per_node_text(affected, is_blocked)}"
    if total == 1:
        has = "has" if places == "a node" else "is near"
        return f"{text}, and the only usable node {has} such a pod"
    if places == "a node":
        verb = "has" if occupied == 1 else "have"
    else:
        verb = "is near" if occupied == 1 else "are near"
    return f"{text}, and {occupied} of {usable_nodes_text(total)} {verb} such a pod"


def _nodes_with_conflicting_pods(shape_fit: ShapeFit) -> Iterator[int]:
    """Yield the number of nodes with a conflicting pod."""
    return (number for limit, number, _ in shape_fit.saturated if limit == Constraint.ANTI_AFFINITY)


def _affected_pods(
    assessment: Assessment, shapes: Sequence[ShapeFit], affected: Sequence[ShapeFit]
) -> PodCount:
    """Return the pods with the constraint."""
    if len(affected) == len(shapes):
        return pod_count_of(assessment)
    number = sum(shape_fit.count for shape_fit in affected)
    return PodCount(number, number, names(shape_fit.shape.name for shape_fit in affected))


def _one_per_node_text(affected: Sequence[ShapeFit], is_blocked: bool) -> str:
    """Return the clause about the nodes that take one of these pods."""
    if len(affected) == 1:
        total, now = len(affected[0].eligibility.eligible), affected[0].open_nodes
    else:
        total = len({name for shape_fit in affected for name in shape_fit.eligibility.eligible})
        now = max((shape_fit.open_nodes for shape_fit in affected), default=0)
    if is_blocked and not total:
        return "and no node could host one"
    if is_blocked:
        only = "node" if total == 1 else "nodes"
        return f"and only {total} {only} could host one"
    verb = "takes" if now == 1 else "take"
    return f"and {now} of {usable_nodes_text(total)} {verb} one now"


# Topology spread


def spread_text(
    unit: Unit, assessment: Assessment, is_blocked: bool
) -> tuple[str, tuple[Evidence, ...]]:
    """Return the sentence about a topology spread constraint, and evidence with the deciding domain."""
    when = When.DRAINED if is_blocked else When.CURRENT
    several = multiply_constrained_pods(assessment.request)
    if several is not None:
        return _joint_spread_text(unit, assessment, several, when), ()
    members = spread_of(assessment.request)
    assert members is not None  # noqa: S101 - it is the constraint that is the cause
    shape, spread = members.shape, members.spread
    domains = counted_domains(nodes_for(unit), shape, spread, when)
    total = sum(domain_limits(spread, domains))
    pod_count = pod_count_of(assessment)
    fit_text = (
        f"only {total} of {pod_count.total} {'fits' if total == 1 else 'fit'}"
        if total
        else "none fits"
    )
    text = f"{pod_count} must be spread over {_constraint_text(spread)}, and {fit_text} {_moment_text(when)}: "
    if not any(domain.capacity for domain in domains):
        return f"{text}no node with room for one has that label", ()
    if not spread.counts_itself:
        return f"{text}{_uncounted_text(spread, domains)}", ()
    most = Evidence(f"most per {spread.topology_key}", str(max_pods_in_domain(spread, domains)))
    if len(domains) < spread.min_domains:
        domains_text = f"{len(domains)} of at least {spread.min_domains} values (minDomains) exist"
        return f"{text}{domains_text}", (most,)
    least = min(domains, key=lambda domain: (domain.counted + domain.capacity, domain.value))
    ref = node_ref(least.value) if spread.topology_key == HOSTNAME else None
    room = f"room for {least.capacity} more" if least.capacity else "no room"
    capacity_text = f"has {least.counted or 'none'} and {room}"
    evidence = Evidence(f"fewest by {spread.topology_key}", least.value, ref)
    return f"{text}{least.value} {capacity_text}", (evidence, most)


def _joint_spread_text(unit: Unit, assessment: Assessment, members: PodSet, when: When) -> str:
    """Return the sentence about several constraints, with the upper bound of pods."""
    most, pod_count = max_pods_by_all(nodes_for(unit), members, when), pod_count_of(assessment)
    rules = listed([_constraint_text(spread) for spread in members.shape.spreads])
    fit_text = (
        f"at most {most} of {pod_count.total} {'fits' if most == 1 else 'fit'}"
        if most
        else "none fits"
    )
    return f"{pod_count} must be spread over {rules}, and {fit_text} {_moment_text(when)}"


def _constraint_text(spread: Spread) -> str:
    return f"{spread.topology_key} (maxSkew {spread.max_skew})"


def _moment_text(when: When) -> str:
    return "now" if when is When.CURRENT else "on empty nodes"


def _uncounted_text(spread: Spread, domains: Sequence[Domain]) -> str:
    """Return the clause for a constraint that does not count the pods themselves."""
    closed = sum(not is_open(spread, domains, domain) for domain in domains)
    have = "has" if closed == 1 else "have"
    return f"{out_of(closed, len(domains), 'value')} {have} too many of the pods that it counts"
