"""ResourceFlavors: the node labels, taints and tolerations of a type of nodes."""

from __future__ import annotations

from gangboard.decode.wire import Wire, WireMeta, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.pod_constraints import Taint, Toleration
from gangboard.domain.quota import Flavor
from gangboard.queues.kueue.queues import GROUP, VERSIONS


class _WireTaint(Wire):
    key: str = ""
    effect: str = ""
    value: str | None = None


class _WireToleration(Wire):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class _WireResourceFlavorSpec(Wire):
    node_labels: dict[str, str | None] | None = None
    node_taints: list[_WireTaint] | None = None
    tolerations: list[_WireToleration] | None = None
    topology_name: str | None = None


class WireResourceFlavor(Wire):
    """The fields of a ResourceFlavor that gangboard reads."""

    metadata: WireMeta
    spec: _WireResourceFlavorSpec | None = None


def _build_flavor(wire: WireResourceFlavor, version: str) -> Flavor:
    spec = wire.spec or _WireResourceFlavorSpec()
    return Flavor(
        meta=read_meta(wire.metadata, GROUP, "ResourceFlavor", version),
        node_labels={key: value or "" for key, value in (spec.node_labels or {}).items()},
        node_taints=tuple(
            Taint(taint.key, taint.effect, taint.value or "") for taint in spec.node_taints or ()
        ),
        topology=spec.topology_name or "",
        tolerations=tuple(
            Toleration(
                toleration.key or "",
                toleration.operator or "Equal",
                toleration.value or "",
                toleration.effect or "",
            )
            for toleration in spec.tolerations or ()
        ),
    )


FLAVORS = Resource(
    GROUP, "resourceflavors", "ResourceFlavor", VERSIONS, WireResourceFlavor, Flavor, _build_flavor
)
