"""Decoder of a pod's constraints on its node: selectors, affinity, tolerations, ports, spread and volumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec

from gangboard.decode.podspec import NULL, WireContainer, WirePodSpec
from gangboard.decode.selectors import (
    WirePodTerm,
    WireRequirement,
    read_pod_affinity,
    read_requirements,
    read_term,
)
from gangboard.decode.spread_constraints import WireSpread, read_spreads
from gangboard.decode.wire import Int32, Int64, Wire
from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.pod_constraints import (
    AFFINITY,
    ANTI_AFFINITY,
    SPREAD,
    HostPort,
    PodConstraints,
    PodTerm,
    Term,
    Toleration,
)

# Dynamic allocation serves extended resources with this prefix (1.36 and later).
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
VOLUMES = "volumes"
CLAIMS = "resource claims"
NODE_FEATURES = "features that nodes declare"


class WirePlacedSpec(WirePodSpec):
    """`spec` of a pod, with fields that gangboard reads from pods only.

    Most fields stay bytes. They are equal in thousands of pods and decoded once.
    """

    node_selector: msgspec.Raw = NULL
    affinity: msgspec.Raw = NULL
    tolerations: msgspec.Raw = NULL
    topology_spread_constraints: msgspec.Raw = NULL
    volumes: msgspec.Raw = NULL
    resource_claims: msgspec.Raw = NULL
    host_network: bool | None = None
    host_users: bool | None = None
    preemption_policy: str | None = None
    active_deadline_seconds: Int32 | None = None
    termination_grace_period_seconds: Int64 | None = None


class _WirePort(Wire):
    host_port: Int32 | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class _WireNodeTerm(Wire):
    match_expressions: list[WireRequirement] | None = None
    match_fields: list[WireRequirement] | None = None


class _WireNodeSelector(Wire):
    node_selector_terms: list[_WireNodeTerm] | None = None


class _WireNodeAffinity(Wire):
    required: _WireNodeSelector | None = msgspec.field(default=None, name=_REQUIRED)


class _WirePodAffinity(Wire):
    required: list[WirePodTerm] | None = msgspec.field(default=None, name=_REQUIRED)


class _WireAffinity(Wire):
    node_affinity: _WireNodeAffinity | None = None
    pod_affinity: _WirePodAffinity | None = None
    pod_anti_affinity: _WirePodAffinity | None = None


class _WireToleration(Wire):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _WireSource(Wire):
    """Volume source, of which only the presence is read."""


class _WireVolume(Wire):
    """Volume with the sources that restrict nodes.

    Source: the plugins volumebinding, volumezone, volumerestrictions and nodevolumelimits (1.37).
    """

    persistent_volume_claim: _WireSource | None = None
    ephemeral: _WireSource | None = None
    aws_elastic_block_store: _WireSource | None = None
    azure_disk: _WireSource | None = None
    azure_file: _WireSource | None = None
    cinder: _WireSource | None = None
    gce_persistent_disk: _WireSource | None = None
    iscsi: _WireSource | None = None
    portworx_volume: _WireSource | None = None
    rbd: _WireSource | None = None
    vsphere_volume: _WireSource | None = None


_UNRESTRICTED = _WireVolume()
_SELECTOR = msgspec.json.Decoder(dict[str, str] | None)
_AFFINITY = msgspec.json.Decoder(_WireAffinity | None)
_TOLERATIONS = msgspec.json.Decoder(list[_WireToleration] | None)
_SPREAD = msgspec.json.Decoder(list[WireSpread] | None)
_VOLUMES = msgspec.json.Decoder(list[_WireVolume] | None)
_CLAIMS = msgspec.json.Decoder(list[_WireSource] | None)
_PORTS = msgspec.json.Decoder(list[_WirePort] | None)
# Longer specs are decoded each time, because thousands of pods do not share them.
_LONGEST_SHARED = 16384


def read_pod_constraints(
    spec: WirePlacedSpec, namespace: str, resources: Iterable[str]
) -> PodConstraints:
    """Return the constraints of a pod that the filters of kube-scheduler read. Equal constraints share an object.

    `namespace` is the pod's namespace, to which its spread constraints and most anti-affinity terms apply. `resources`
    are the names of the requested resources. Raises ValueError or RecursionError for malformed parts.
    """
    fields = (
        bytes(spec.node_selector),
        bytes(spec.affinity),
        bytes(spec.tolerations),
        bytes(spec.topology_spread_constraints),
    )
    short = sum(map(len, fields)) <= _LONGEST_SHARED
    common = _common(*fields) if short else _read_common(*fields)
    constraints, affinity, terms, hard = (
        common.constraints,
        common.pod_affinity,
        common.anti_affinity,
        common.spread,
    )
    ports = frozenset(_host_ports(spec))
    unsupported = tuple(_unsupported(spec))
    classes = tuple(_device_classes(resources))
    if not (affinity or terms or hard or ports or unsupported or classes):
        return constraints
    spreads = read_spreads(hard, namespace)
    if hard and not spreads:
        unsupported = (SPREAD, *unsupported)
    pod_affinity = read_pod_affinity(affinity, namespace) if affinity else None
    if affinity and pod_affinity is None:
        unsupported = (AFFINITY, *unsupported)
    anti_affinity = _anti_affinity(terms, namespace)
    if not all(term.is_exact for term in anti_affinity):
        unsupported = (ANTI_AFFINITY, *unsupported)
    complete = replace(
        constraints,
        host_ports=ports,
        anti_affinity=anti_affinity,
        pod_affinity=pod_affinity,
        spreads=spreads,
        spread_keys=tuple(sorted({spread.topology_key for spread in hard})),
        unsupported=(*constraints.unsupported, *unsupported),
        undecidable=classes,
    )
    return _shared(complete) if short else complete


@dataclass(frozen=True, slots=True)
class _Common:
    """Constraints of pods with equal specs, and terms that each pod decodes with its own namespace."""

    constraints: PodConstraints
    pod_affinity: tuple[WirePodTerm, ...]
    """Required affinity to pods."""
    anti_affinity: tuple[WirePodTerm, ...]
    """Required anti-affinity."""
    spread: tuple[WireSpread, ...]
    """Hard topology spread constraints."""


@bounded_cache(4096, 32 * MEBIBYTE)
def _common(selector: bytes, affinity: bytes, tolerations: bytes, spread: bytes) -> _Common:
    common = _read_common(selector, affinity, tolerations, spread)
    return replace(common, constraints=_shared(common.constraints))


def _read_common(selector: bytes, affinity: bytes, tolerations: bytes, spread: bytes) -> _Common:
    decoded = _AFFINITY.decode(affinity) or _WireAffinity()
    hard = tuple(constraint for constraint in _SPREAD.decode(spread) or () if constraint.is_hard)
    pod_affinity, anti_affinity = decoded.pod_affinity, decoded.pod_anti_affinity
    constraints = PodConstraints(
        node_selector=tuple(sorted((_SELECTOR.decode(selector) or {}).items())),
        affinity=_terms(decoded.node_affinity),
        tolerations=tuple(map(_toleration, _TOLERATIONS.decode(tolerations) or ())),
    )
    return _Common(
        constraints,
        tuple((pod_affinity.required if pod_affinity is not None else None) or ()),
        tuple((anti_affinity.required if anti_affinity is not None else None) or ()),
        hard,
    )


@bounded_cache(16384, 64 * MEBIBYTE)
def _shared(constraints: PodConstraints) -> PodConstraints:
    return constraints


def _terms(affinity: _WireNodeAffinity | None) -> tuple[Term, ...] | None:
    if affinity is None or affinity.required is None:
        return None
    return tuple(
        Term(read_requirements(term.match_expressions), read_requirements(term.match_fields))
        for term in affinity.required.node_selector_terms or ()
    )


def _toleration(wire: _WireToleration) -> Toleration:
    return Toleration(wire.key or "", wire.operator or "Equal", wire.value or "", wire.effect or "")


def _anti_affinity(terms: Iterable[WirePodTerm], namespace: str) -> tuple[PodTerm, ...]:
    # A term without a selector matches nothing (LabelSelectorAsSelector).
    pod_terms = {
        read_term(term, term.label_selector, namespace)
        for term in terms
        if term.label_selector is not None
    }
    return tuple(sorted(pod_terms, key=lambda term: term.name))


def _host_ports(spec: WirePodSpec) -> Iterator[HostPort]:
    """Yield the ports of containers and sidecars (GetHostPorts in pkg/scheduler/util, 1.35 to 1.37).

    With `hostNetwork` the API server sets `hostPort` of every port (SetDefaults_PodSpec).
    """
    for container in spec.init_containers or ():
        if container.is_sidecar:
            yield from _ports_of(container)
    for container in spec.containers or ():
        yield from _ports_of(container)


def _ports_of(container: WireContainer) -> Iterator[HostPort]:
    data = bytes(container.ports)
    if b"hostPort" not in data:
        return
    for port in _PORTS.decode(data) or ():
        if port.host_port is not None and port.host_port > 0:
            yield HostPort(port.host_port, port.protocol or "TCP", port.host_ip or "")


def _unsupported(spec: WirePlacedSpec) -> Iterator[str]:
    """Yield the names of further constraints, which can only exclude nodes."""
    if any(volume != _UNRESTRICTED for volume in _VOLUMES.decode(spec.volumes) or ()):
        yield VOLUMES
    if _CLAIMS.decode(spec.resource_claims):
        yield CLAIMS
    if _needs_features(spec):
        yield NODE_FEATURES


def _needs_features(spec: WirePlacedSpec) -> bool:
    """Return whether the node must declare a feature (plugins/nodedeclaredfeatures, enabled since 1.36).

    Source: InferForScheduling in k8s.io/component-helpers/nodedeclaredfeatures/features: restartallcontainers,
    usernamespaceshostnetwork. If the feature gate is off, the result only becomes less certain.
    """
    containers = (*(spec.init_containers or ()), *(spec.containers or ()))
    return (spec.host_network is True and spec.host_users is False) or any(
        b'"RestartAllContainers"' in bytes(container.restart_policy_rules)
        for container in containers
    )


def _device_classes(resources: Iterable[str]) -> Iterator[str]:
    """Yield requested resources that a driver serves from devices, which nodes do not list as allocatable."""
    for resource in resources:
        if resource.startswith(_DEVICE_CLASS):
            yield f"devices of the class {resource.removeprefix(_DEVICE_CLASS)}"
