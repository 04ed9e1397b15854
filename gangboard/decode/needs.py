"""What a pod asks of a node besides amounts: where it may go, and what it must not meet there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import msgspec

from gangboard.decode.podspec import NULL, WireContainer, WirePodSpec
from gangboard.decode.selectors import WirePodTerm, WireRequirement, apart_name, read_requirements
from gangboard.decode.wire import Int32, Wire
from gangboard.domain.capacity import HostPort, Needs, Term, Toleration

# Extended resources of this name are served by dynamic allocation (1.36 and later).
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SPREAD = "spread constraints"
VOLUMES = "volumes"
CLAIMS = "resource claims"
AFFINITY = "pod affinity"
ANTI_AFFINITY = "pod anti-affinity"


class WirePlacedSpec(WirePodSpec):
    """`spec` of a pod, with what only pods are asked for. Most of it stays bytes: it is the same
    in thousands of pods and read once."""

    node_selector: msgspec.Raw = NULL
    affinity: msgspec.Raw = NULL
    tolerations: msgspec.Raw = NULL
    topology_spread_constraints: msgspec.Raw = NULL
    volumes: msgspec.Raw = NULL
    resource_claims: msgspec.Raw = NULL
    preemption_policy: str | None = None
    active_deadline_seconds: Int32 | None = None


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


class _WireSpread(Wire):
    when_unsatisfiable: str = ""


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


_SELECTOR = msgspec.json.Decoder(dict[str, str] | None)
_AFFINITY = msgspec.json.Decoder(_WireAffinity | None)
_TOLERATIONS = msgspec.json.Decoder(list[_WireToleration] | None)
_SPREAD = msgspec.json.Decoder(list[_WireSpread] | None)
_VOLUMES = msgspec.json.Decoder(list[_WireVolume] | None)
_CLAIMS = msgspec.json.Decoder(list[_WireSource] | None)
_PORTS = msgspec.json.Decoder(list[_WirePort] | None)
_LABELS = msgspec.json.Decoder(dict[str, str | None] | None)
