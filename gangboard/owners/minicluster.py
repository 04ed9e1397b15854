"""MiniClusters of the Flux operator (flux-framework.org/v1alpha2), each with one Indexed Job of the same name.

Each pod is a node of Flux. `JobMiniClusterReady` only says that all objects exist, not that anything runs. `minSize` is
no quorum, because fewer pods run the same work. A MiniCluster ends with its Job. Source: minicluster.go and scale.go of
2026-06-25. No test runs the operator, because it is not published as a Go module.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Int32, Wire, WireCondition, read_conditions
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.owner import Blueprint, Owner, Role
from gangboard.domain.traits import KindTraits
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.plugins.child_manifests import (
    child,
    items,
    name_of,
    namespace_of,
    section,
    size,
    string_map,
    text,
)
from gangboard.plugins.owner_kind import KindNotes, OwnerKind, copy_fields

_MIN_SIZE, _MAX_SIZE = "minSize", "maxSize"  # in `detail`
_FIELDS_FROM_JOB = ("pod_requests", "finish", "group_name", "priority_class", "grace_seconds")


class _WireMiniClusterSpec(Wire):
    size: KeyField[Int32 | None] = None
    min_size: Int32 | None = None
    max_size: Int32 | None = None


class _WireMiniClusterStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireMiniCluster(Wire):
    """The fields of a MiniCluster that gangboard reads."""

    metadata: WireOwnerMeta
    spec: _WireMiniClusterSpec | None = None
    status: _WireMiniClusterStatus | None = None


class MiniCluster(OwnerKind):
    """A MiniCluster of the Flux operator."""

    group = "flux-framework.org"
    kind = "MiniCluster"
    versions = ("v1alpha2",)
    wire = WireMiniCluster
    notes = KindNotes(
        gang="the MiniCluster with its Job and that Job's pods",
        units="its PodGroup; without one, its Job",
        limits=(
            "It has no suspend field. `minSize` is the number of pods with which Flux "
            "begins. It is no quorum, because the Job requests all pods. The operator "
            "refuses a size below 1 or above `maxSize`"
        ),
        tested="its public types on 1.37; tests play its operator",
    )
    traits = KindTraits(controller="the Flux operator")
    makes = (("batch", "Job"),)
    no_lever = (
        "MiniClusters have no suspend field, and whether their operator leaves a suspended Job alone is "
        "not known."
    )

    def build(self, wire: WireMiniCluster, version: str) -> Owner:
        """Return the MiniCluster with one role for its Job."""
        spec, status = wire.spec or _WireMiniClusterSpec(), wire.status or _WireMiniClusterStatus()
        # The API server defaults to 1. For 0 the operator creates no Job and sets no condition
        # (minicluster_controller.go).
        size = 1 if spec.size is None else max(0, spec.size)
        sizes = {_MIN_SIZE: spec.min_size or 0, _MAX_SIZE: spec.max_size or 0}
        meta = self.read_meta(wire, version)
        return Owner(
            meta=meta,
            desired=size,
            roles=(Role("flux", 1, size, child_names=(meta.ref.name,)),) if size else (),
            conditions=read_conditions(status.conditions),
            detail={name: str(number) for name, number in sizes.items() if number > 0},
        )

    def complete(
        self, owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return the MiniCluster with the requests and the end of its Job."""
        job = next((child for child in children if child.meta.ref.is_job), None)
        return copy_fields(owner, job, _FIELDS_FROM_JOB) if job is not None else owner

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
        """Yield its Job (NewMiniClusterJob in job.go)."""
        spec, name = section(manifest, "spec"), name_of(manifest)
        if (pods := size(spec, "size")) < 1:
            return
        yield child("batch/v1", "Job", name, _job_spec(manifest, spec, name, pods))

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterator[ManifestFault]:
        """Yield sizes for which the operator creates no Job (minicluster_types.go)."""
        spec = section(manifest, "spec")
        pods, most = size(spec, "size"), size(spec, "maxSize", default=0)
        if pods < 1:
            yield ManifestFault("spec.size", f"size is {pods}, and it must be 1 or more.")
        if most and pods > most:
            yield ManifestFault("spec.size", f"size is {pods}, and maxSize is {most}.")

    def facts(self, owner: Owner) -> dict[str, str]:
        """Return the minimum and maximum size."""
        return {name: owner.detail[name] for name in (_MIN_SIZE, _MAX_SIZE) if name in owner.detail}

    def evidence(self, unit: Unit) -> tuple[Evidence, ...]:
        """Return the minimum size while not all pods are ready, because Flux starts with that many."""
        lowest = unit.owner.detail.get(_MIN_SIZE)
        if lowest is None or len(unit.ready) >= unit.wanted:
            return ()
        return (Evidence(f"spec.{_MIN_SIZE}", lowest, unit.owner.meta.ref),)


def _job_spec(manifest: Manifest, spec: Manifest, name: str, pods: int) -> dict[str, Any]:
    """Return the spec of the Job."""
    pod = section(spec, "pod")
    labels = {
        "namespace": namespace_of(manifest),
        "app": "flux-operator",
        "app.kubernetes.io/name": name,
        "hpa-selector": name,
    }
    scheduler = text(pod, "schedulerName")
    template = {
        "metadata": {
            "labels": {**string_map(pod, "labels"), **labels},
            "annotations": string_map(pod, "annotations"),
        },
        "spec": {
            "restartPolicy": "OnFailure",
            "nodeSelector": string_map(pod, "nodeSelector"),
            "containers": [
                {"name": f"{name}-{index}", "resources": section(container, "resources")}
                for index, container in enumerate(items(spec, "containers"))
            ],
            **({"schedulerName": scheduler} if scheduler else {}),
        },
    }
    return {
        "completionMode": "Indexed",
        "completions": pods,
        "parallelism": pods,
        "template": template,
    }
