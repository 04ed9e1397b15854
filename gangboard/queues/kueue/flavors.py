"""ResourceFlavor and AdmissionCheck of Kueue: the nodes behind a quota, and who else has to agree."""

from __future__ import annotations

from gangboard.decode.wire import (
    Wire,
    WireCondition,
    WireMeta,
    pick_condition,
    read_meta,
    read_text,
)
from gangboard.domain.api_resource import Resource
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.quota import Flavor, QueueCheck
from gangboard.domain.text import shorten
from gangboard.queues.kueue.queues import GROUP, VERSIONS


class _WireTaint(Wire):
    key: str = ""
    effect: str = ""
    value: str | None = None


class _WireFlavorSpec(Wire):
    node_labels: dict[str, str | None] | None = None
    node_taints: list[_WireTaint] | None = None
    topology_name: str | None = None


class WireFlavor(Wire):
    """A ResourceFlavor as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireFlavorSpec | None = None


class _WireCheckSpec(Wire):
    controller_name: str | None = None


class _WireCheckStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireCheck(Wire):
    """An AdmissionCheck as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireCheckSpec | None = None
    status: _WireCheckStatus | None = None


def _build_flavor(wire: WireFlavor, version: str) -> Flavor:
    spec = wire.spec or _WireFlavorSpec()
    return Flavor(
        meta=read_meta(wire.metadata, GROUP, "ResourceFlavor", version),
        node_labels={key: value or "" for key, value in (spec.node_labels or {}).items()},
        node_taints=tuple(
            Taint(one.key, one.effect, one.value or "") for one in spec.node_taints or ()
        ),
        topology=spec.topology_name or "",
    )


def _build_check(wire: WireCheck, version: str) -> QueueCheck:
    active = pick_condition((wire.status or _WireCheckStatus()).conditions, "Active")
    return QueueCheck(
        meta=read_meta(wire.metadata, GROUP, "AdmissionCheck", version),
        controller=read_text((wire.spec or _WireCheckSpec()).controller_name),
        is_active=active.is_true if active is not None else None,
        cause=shorten(active.message) if active is not None and not active.is_true else "",
    )


FLAVORS = Resource(
    GROUP, "resourceflavors", "ResourceFlavor", VERSIONS, WireFlavor, Flavor, _build_flavor
)
CHECKS = Resource(
    GROUP, "admissionchecks", "AdmissionCheck", VERSIONS, WireCheck, QueueCheck, _build_check
)
