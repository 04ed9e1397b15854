"""Matching of labels to requirements, tolerations to taints, and pods to other pods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gangboard.domain.capacity import NodeInfo, Requested, Shape
from gangboard.domain.pod_constraints import (
    CORDON,
    Effect,
    HostPort,
    PodTerm,
    Requirement,
    Taint,
    Terms,
    Toleration,
)

NOT_READY = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
NAME_FIELD = "metadata.name"
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_EXPRESSION_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
_FIELD_OPERATORS = frozenset({"In", "NotIn"})


def matches_label(requirement: Requirement, value: str | None) -> bool:
    """Return whether a label value, or None for a missing label, meets a requirement.

    Source: labels.Requirement. `NotIn` also matches a missing label.
    """
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement, value)
    return False


def _compares(requirement: Requirement, text: str | None) -> bool:
    """Compare as 64-bit integers. Other values match no requirement."""
    value = _integer(text)
    bound = _integer(requirement.values[0]) if len(requirement.values) == 1 else None
    if value is None or bound is None:
        return False
    return value > bound if requirement.operator == "Gt" else value < bound


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def matches_pod(term: PodTerm, namespace: str, labels: Mapping[str, str]) -> bool:
    """Return whether a term matches a pod with this namespace and these labels."""
    return (term.namespaces is None or namespace in term.namespaces) and all(
        matches_label(entry, labels.get(entry.key)) for entry in term.selector
    )


def undecidable(shape: Shape) -> list[str]:
    """Return the requirements of a shape that are not understood and make every answer unsafe.

    The toleration operators `Lt` and `Gt` depend on a feature gate of the scheduler
    (TaintTolerationComparisonOperators, from 1.35), which is not visible from outside.
    """
    names = [
        *shape.undecidable,
        *(
            f"the toleration operator {toleration.operator}"
            for toleration in shape.tolerations
            if toleration.operator not in ("", "Equal", "Exists")
        ),
    ]
    for term in shape.affinity or ():
        names += [
            f"the node affinity operator {entry.operator}"
            for entry in term.expressions
            if entry.operator not in _EXPRESSION_OPERATORS
        ]
        names += [
            f"node affinity to the field {entry.key} by {entry.operator}"
            for entry in term.fields
            if entry.key != NAME_FIELD or entry.operator not in _FIELD_OPERATORS
        ]
    return names


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether one toleration covers one taint (Toleration.ToleratesTaint in k8s.io/api/core/v1)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def untolerated(node: NodeInfo, shape: Shape) -> list[Taint]:
    """Return the taints that the shape does not tolerate, including the cordon once.

    `PreferNoSchedule` is ignored. A cordoned node counts as tainted even before the node controller adds the taint
    (plugins/nodeunschedulable).
    """
    taints = [
        taint for taint in node.taints if taint.effect in (Effect.NO_SCHEDULE, Effect.NO_EXECUTE)
    ]
    cordon = Taint(CORDON, Effect.NO_SCHEDULE)
    if node.unschedulable and cordon not in taints:
        taints.append(cordon)
    return [
        taint
        for taint in taints
        if not any(tolerates(toleration, taint) for toleration in shape.tolerations)
    ]


def is_tainted(node: NodeInfo, shape: Shape) -> bool:
    """Return whether the node has an untolerated taint. `spec.unschedulable` without its taint does not count."""
    return bool(untolerated(replace(node, unschedulable=False), shape))


def ports_clash(ports: Iterable[HostPort], taken_ports: Iterable[HostPort]) -> bool:
    """Return whether two pods need the same host port of a node (HostPortInfo.CheckConflict)."""
    taken = list(taken_ports)
    return any(
        port.port == taken_port.port
        and (port.protocol or "TCP") == (taken_port.protocol or "TCP")
        and (_is_every(port) or _is_every(taken_port) or port.address == taken_port.address)
        for port in ports
        for taken_port in taken
    )


def _is_every(port: HostPort) -> bool:
    return port.address in ("", "0.0.0.0")  # noqa: S104 - an API value, no socket is bound


def has_host_anti_affinity(shape: Shape, neighbour: Shape | Requested) -> bool:
    """Return whether pods of a shape must not share a host with other pods.

    If it excludes itself, a node takes one pod. A term of anti-affinity works in both directions, independent of the
    other pod's terms (plugins/interpodaffinity, 1.35 to 1.37). See `anti_affinity` for terms by other node labels.
    """
    return any(term.is_by_host for term in clashing(shape, neighbour))


def is_about_hosts(shape: Shape) -> bool:
    """Return whether a term by hostname applies to pods of a shape, one of its own or of another pod."""
    return any(
        term.is_by_host
        for term in (*shape.anti_affinity, *shape.matched_terms, *_pod_affinity_terms(shape))
    )


def is_about_values(shape: Shape) -> bool:
    """Return whether a term by another label than the hostname applies to pods of a shape.

    A pod on one node then closes other nodes, so all nodes must be considered together.
    """
    return any(not term.is_by_host for term in (*shape.anti_affinity, *shape.matched_terms))


def _pod_affinity_terms(shape: Shape) -> tuple[PodTerm, ...]:
    return () if shape.pod_affinity is None else (shape.pod_affinity,)


def one_per_domain_keys(shape: Shape) -> tuple[str, ...]:
    """Return the node labels, without the hostname, of which each value takes only one pod of the shape."""
    own_terms = (term for term in shape.anti_affinity if term in shape.matched_terms)
    return tuple(sorted({term.topology_key for term in own_terms if not term.is_by_host}))


def clashing(shape: Shape, neighbour: Shape | Requested | Terms) -> Iterator[PodTerm]:
    """Yield the terms of each side that match the other side."""
    if shape.anti_affinity:
        yield from (term for term in neighbour.matched_terms if term in shape.anti_affinity)
    if shape.matched_terms:
        yield from (term for term in neighbour.anti_affinity if term in shape.matched_terms)
