"""What a pod asks of a node besides amounts: where it may go, and what it must not meet there."""

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
from gangboard.decode.topology_spread import WireSpread, read_spreads
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

# Extended resources of this name are served by dynamic allocation (1.36 and later).
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
VOLUMES = "volumes"
CLAIMS = "resource claims"
NODE_FEATURES = "features that nodes declare"


class WirePlacedSpec(WirePodSpec):
    """`spec` of a pod, with what only pods are asked for. Most of it stays bytes: it is the same
    in thousands of pods and read once."""

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
    """A source of a volume: that it is there is all that is read."""


class _WireVolume(Wire):
    """A volume, by the sources of which a scheduler asks where they can be attached.

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


_HARMLESS = _WireVolume()
_SELECTOR = msgspec.json.Decoder(dict[str, str] | None)
_AFFINITY = msgspec.json.Decoder(_WireAffinity | None)
_TOLERATIONS = msgspec.json.Decoder(list[_WireToleration] | None)
_SPREAD = msgspec.json.Decoder(list[WireSpread] | None)
_VOLUMES = msgspec.json.Decoder(list[_WireVolume] | None)
_CLAIMS = msgspec.json.Decoder(list[_WireSource] | None)
_PORTS = msgspec.json.Decoder(list[_WirePort] | None)
# Parts that are longer are read each time: they are not what thousands of pods have in common.
_LONGEST_SHARED = 16384


def read_pod_constraints(
    spec: WirePlacedSpec, namespace: str, resources: Iterable[str]
) -> PodConstraints:
    """Return what the filters of kube-scheduler read of a pod; of most equal ones the same object.

    `namespace` is the pod's: its terms of anti-affinity are about it where they name no other, and
    its spread constraints always are.
    `resources` are the names of what the pod requests. Raises ValueError or RecursionError
    where a part is not as the API has it.
    """
    parts = (
        bytes(spec.node_selector),
        bytes(spec.affinity),
        bytes(spec.tolerations),
        bytes(spec.topology_spread_constraints),
    )
    short = sum(map(len, parts)) <= _LONGEST_SHARED
    common = _common(*parts) if short else _read_common(*parts)
    needs, affinity, terms, hard = (
        common.needs,
        common.pod_affinity,
        common.anti_affinity,
        common.spread,
    )
    ports = frozenset(_host_ports(spec))
    words = tuple(_more(spec))
    classes = tuple(_device_classes(resources))
    if not (affinity or terms or hard or ports or words or classes):
        return needs
    spreads = read_spreads(hard, namespace)
    if hard and not spreads:
        words = (SPREAD, *words)
    pod_affinity = read_pod_affinity(affinity, namespace) if affinity else None
    if affinity and pod_affinity is None:
        words = (AFFINITY, *words)
    anti_affinity = _anti_affinity(terms, namespace)
    if not all(term.is_exact for term in anti_affinity):
        words = (ANTI_AFFINITY, *words)
    found = replace(
        needs,
        host_ports=ports,
        anti_affinity=anti_affinity,
        pod_affinity=pod_affinity,
        spreads=spreads,
        spread_keys=tuple(sorted({one.topology_key for one in hard})),
        unsupported=(*needs.unsupported, *words),
        undecidable=classes,
    )
    return _shared(found) if short else found


@dataclass(frozen=True, slots=True)
class _Common:
    """What pods with the same parts have in common, and terms of which each reads its own."""

    needs: PodConstraints
    pod_affinity: tuple[WirePodTerm, ...]
    """Required affinity to pods."""
    anti_affinity: tuple[WirePodTerm, ...]
    """Required anti-affinity."""
    spread: tuple[WireSpread, ...]
    """Hard topology spread constraints."""


@bounded_cache(4096, 32 * MEBIBYTE)
def _common(selector: bytes, affinity: bytes, tolerations: bytes, spread: bytes) -> _Common:
    found = _read_common(selector, affinity, tolerations, spread)
    return replace(found, needs=_shared(found.needs))


def _read_common(selector: bytes, affinity: bytes, tolerations: bytes, spread: bytes) -> _Common:
    wanted = _AFFINITY.decode(affinity) or _WireAffinity()
    hard = tuple(one for one in _SPREAD.decode(spread) or () if one.is_hard)
    pod_affinity, anti_affinity = wanted.pod_affinity, wanted.pod_anti_affinity
    needs = PodConstraints(
        node_selector=tuple(sorted((_SELECTOR.decode(selector) or {}).items())),
        affinity=_terms(wanted.node_affinity),
        tolerations=tuple(map(_toleration, _TOLERATIONS.decode(tolerations) or ())),
    )
    return _Common(
        needs,
        tuple((pod_affinity.required if pod_affinity is not None else None) or ()),
        tuple((anti_affinity.required if anti_affinity is not None else None) or ()),
        hard,
    )


@bounded_cache(16384, 64 * MEBIBYTE)
def _shared(needs: PodConstraints) -> PodConstraints:
    return needs


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
    found = {
        read_term(term, term.label_selector, namespace)
        for term in terms
        if term.label_selector is not None
    }
    return tuple(sorted(found, key=lambda term: term.name))


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


def _more(spec: WirePlacedSpec) -> Iterator[str]:
    """Yield what the pod asks for besides and what can only take nodes away."""
    if any(volume != _HARMLESS for volume in _VOLUMES.decode(spec.volumes) or ()):
        yield VOLUMES
    if _CLAIMS.decode(spec.resource_claims):
        yield CLAIMS
    if _needs_features(spec):
        yield NODE_FEATURES


def _needs_features(spec: WirePlacedSpec) -> bool:
    """Whether only nodes do that declare a feature (plugins/nodedeclaredfeatures, on since 1.36).

    Source: InferForScheduling in k8s.io/component-helpers/nodedeclaredfeatures/features:
    restartallcontainers, usernamespaceshostnetwork. Where the gate is off, nothing is lost but
    certainty.
    """
    containers = (*(spec.init_containers or ()), *(spec.containers or ()))
    return (spec.host_network is True and spec.host_users is False) or any(
        b'"RestartAllContainers"' in bytes(one.restart_policy_rules) for one in containers
    )


def _device_classes(resources: Iterable[str]) -> Iterator[str]:
    """Yield what a driver serves from devices that no node lists as allocatable."""
    for resource in resources:
        if resource.startswith(_DEVICE_CLASS):
            yield f"devices of the class {resource.removeprefix(_DEVICE_CLASS)}"
