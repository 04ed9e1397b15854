"""Members that would fit without their topology, host ports, anti-affinity or topology spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gangboard.domain.capacity import HOSTNAME
from gangboard.domain.placing import Assessment, Constraint, FitAnswer, ShapeFit, When
from gangboard.domain.text import names
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import has_host_anti_affinity
from gangboard.placement.members import nodes_for
from gangboard.placement.sentences.anti_affinity import anti_affinity_by_label, shared
from gangboard.placement.sentences.how_many import some_fit
from gangboard.placement.sentences.numbers import Crowd, crowd_of, usable_nodes
from gangboard.placement.sentences.placement_reason import PlacementReason, node_ref, source_of
from gangboard.placement.sentences.spread import spread_out

CODES = {
    Constraint.TOPOLOGY: "topology-does-not-fit",
    Constraint.HOST_PORTS: "port-conflict",
    Constraint.ANTI_AFFINITY: "pod-anti-affinity",
    Constraint.SPREAD: "spread-constraints",
}


def code_of_constraint(assessment: Assessment) -> str:
    """Return the code of the first constraint that is the cause."""
    return next((CODES[one] for one in Constraint if one in assessment.constraints), "")


def constrained(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], code: str
) -> PlacementReason:
    """Return the reason of a constraint; it is blocked where it stands on empty nodes too."""
    is_blocked = assessment.empty.answer is FitAnswer.NO
    evidence: tuple[Evidence, ...] = ()
    if code == "topology-does-not-fit":
        text, evidence = _topology(unit, assessment, shapes, is_blocked)
    elif code == "spread-constraints":
        text, evidence = spread_out(unit, assessment, is_blocked)
    else:
        if code == "port-conflict":
            text = _ports(assessment, shapes, is_blocked)
        else:
            text = _apart(unit, assessment, shapes, is_blocked)
        when = When.EMPTY if is_blocked else When.NOW
        text = f"{text}{some_fit(unit, assessment, shapes, when)}"
    return PlacementReason(
        code, text, is_blocked, (*evidence, _otherwise(unit, assessment, is_blocked))
    )


def _otherwise(unit: Unit, assessment: Assessment, is_blocked: bool) -> Evidence:
    """Say that nothing else is in the way: the code means it, and the advice builds on it."""
    where = "on empty nodes" if is_blocked else "now"
    return Evidence(
        f"without the {names(assessment.constraints)}",
        f"{crowd_of(assessment)} would fit {where}",
        source_of(unit),
    )


# Topology


def _topology(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], is_blocked: bool
) -> tuple[str, tuple[Evidence, ...]]:
    request, crowd = assessment.request, crowd_of(assessment)
    keys = names(request.topology_keys)
    if request.domain is not None:
        chosen = _pairs(request.topology_keys, request.domain)
        text = f"{crowd.verb('need')} room in {chosen}, where members have a node already"
        return text, _domain_evidence(request.topology_keys, request.domain, "chosen")
    text, when = f"{crowd} must share one {keys}", "when empty" if is_blocked else "now"
    best = _best(unit, shapes, When.EMPTY if is_blocked else When.NOW, request.topology_keys)
    if best is None:
        return f"{text}, and none has room for all of {crowd.them} {when}", ()
    values, room = best
    found = f"{text}, and the best ({names(values)}) has room for {room} of {crowd.of} {when}"
    return found, _domain_evidence(request.topology_keys, values, "best")


def _best(
    unit: Unit, shapes: Sequence[ShapeFit], when: When, keys: Sequence[str]
) -> tuple[tuple[str, ...], int] | None:
    """Return the domain in which most pods fit and how many; None for pods of several shapes."""
    if len(shapes) != 1:
        return None
    room: dict[tuple[str, ...], int] = {}
    snapshot = nodes_for(unit)
    found = feasible_nodes_of(snapshot, shapes[0].shape)
    caps = found.caps(when)
    for at in np.flatnonzero(found.eligible(tuple(keys))).tolist():
        values = tuple(snapshot[at].labels.get(key, "") for key in keys)
        room[values] = room.get(values, 0) + int(caps[at])
    if not room:
        return None
    best = max(sorted(room), key=lambda values: room[values])
    return best, room[best]


def _pairs(keys: Sequence[str], values: Sequence[str]) -> str:
    return names(f"{key}={value}" for key, value in zip(keys, values, strict=True))


def _domain_evidence(keys: Sequence[str], values: Sequence[str], word: str) -> tuple[Evidence, ...]:
    """A hostname as a value is the name of a node: it goes with a reference."""
    return tuple(
        Evidence(f"{word} {key}", value, node_ref(value) if key == HOSTNAME else None)
        for key, value in zip(keys, values, strict=True)
    )


# One pod of a kind on a node


def _ports(assessment: Assessment, shapes: Sequence[ShapeFit], is_blocked: bool) -> str:
    with_ports = [one for one in shapes if one.shape.host_ports]
    ports = sorted({port.port for one in with_ports for port in one.shape.host_ports})
    noun = "host port" if len(ports) == 1 else "host ports"
    crowd = _part(assessment, shapes, with_ports)
    text = f"{crowd.verb('need')} {noun} {names(map(str, ports))}{crowd.each}"
    return f"{text}, {_one_a_node(with_ports, is_blocked)}"


def _apart(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], is_blocked: bool) -> str:
    of_set = [one for one in shapes if one.shape.anti_affinity or one.shape.matched_terms]
    crowd = _part(assessment, shapes, of_set)
    by_label = anti_affinity_by_label(unit, of_set, crowd, is_blocked=is_blocked)
    if by_label is not None:
        return by_label
    places = shared(nodes_for(unit), [one.shape for one in of_set])
    if places != "a node" or not all(
        has_host_anti_affinity(one.shape, one.shape) for one in of_set
    ):
        return _apart_from_others(places, of_set, crowd, is_blocked)
    if crowd.number == 1:
        text = f"{crowd} must not share a node with pods like it"
    else:
        text = f"{crowd} must be on different nodes"
    return f"{text}, {_one_a_node(of_set, is_blocked)}"


def _apart_from_others(
    places: str, meant: Sequence[ShapeFit], crowd: Crowd, is_blocked: bool
) -> str:
    """Return what is said of pods that share nodes with their like, and not with certain others."""
    text = f"{crowd} must not share {places} with certain other pods"
    total = len({name for one in meant for name in one.eligibility.eligible})
    there = max(number for one in meant for number in (0, *_with_such_pods(one)))
    if is_blocked or not there:
        return f"{text}, {_one_a_node(meant, is_blocked)}"
    if total == 1:
        has = "has" if places == "a node" else "is near"
        return f"{text}, and the only usable node {has} such a pod"
    if places == "a node":
        verb = "has" if there == 1 else "have"
    else:
        verb = "is near" if there == 1 else "are near"
    return f"{text}, and {there} of {usable_nodes(total)} {verb} such a pod"


def _with_such_pods(one: ShapeFit) -> Iterator[int]:
    """Yield the number of nodes with a pod that is kept apart from these."""
    return (number for limit, number, _ in one.saturated if limit == Constraint.ANTI_AFFINITY)


def _part(assessment: Assessment, shapes: Sequence[ShapeFit], meant: Sequence[ShapeFit]) -> Crowd:
    """Return the crowd, or those of it that the constraint is about."""
    if len(meant) == len(shapes):
        return crowd_of(assessment)
    number = sum(one.count for one in meant)
    return Crowd(number, number, names(one.shape.name for one in meant))


def _one_a_node(meant: Sequence[ShapeFit], is_blocked: bool) -> str:
    """Return on how many of the nodes one of them can go."""
    if len(meant) == 1:
        total, now = len(meant[0].eligibility.eligible), meant[0].open_nodes
    else:
        total = len({name for one in meant for name in one.eligibility.eligible})
        now = max((one.open_nodes for one in meant), default=0)
    if is_blocked and not total:
        return "and no node could host one"
    if is_blocked:
        only = "node" if total == 1 else "nodes"
        return f"and only {total} {only} could host one"
    verb = "takes" if now == 1 else "take"
    return f"and {now} of {usable_nodes(total)} {verb} one now"
