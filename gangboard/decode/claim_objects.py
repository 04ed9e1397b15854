"""Decoders of PersistentVolumeClaims, StorageClasses and ResourceClaims.

They are optional, because the scheduler reports unusable claims as well. gangboard reads whether a pod can use a claim,
and not the requests of the claim. Fields: k8s.io/api core/v1, storage/v1 and resource/v1 (1.37). Older versions of
ResourceClaims have the same fields.
"""

from __future__ import annotations

import msgspec

from gangboard.decode.wire import Wire, WireMeta, read_meta, read_text
from gangboard.domain.api_resource import Resource
from gangboard.domain.pod_claims import (
    OF_DEVICES,
    OF_VOLUMES,
    ResourceClaim,
    StorageClass,
    VolumeClaim,
)

_STORAGE, _DEVICES = "storage.k8s.io", "resource.k8s.io"


class _WireClass(Wire):
    """Former annotation for the class, which overrides the field (GetPersistentVolumeClaimClass)."""

    name: str | None = msgspec.field(default=None, name="volume.beta.kubernetes.io/storage-class")


class WireVolumeClaimMeta(WireMeta):
    """`metadata` of a PersistentVolumeClaim."""

    # The attribute must not be named `annotations`, because `Meta.annotated` checks for that name.
    storage: _WireClass | None = msgspec.field(default=None, name="annotations")


class _WireSpec(Wire):
    volume_name: str | None = None
    storage_class_name: str | None = None


class _WireStatus(Wire):
    phase: str | None = None


class WireVolumeClaim(Wire):
    """A PersistentVolumeClaim."""

    metadata: WireVolumeClaimMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


class WireStorageClass(Wire):
    """A StorageClass."""

    metadata: WireMeta
    volume_binding_mode: str | None = None


class WireResourceClaim(Wire):
    """A ResourceClaim."""

    metadata: WireMeta


def _build_volume_claim(wire: WireVolumeClaim, version: str) -> VolumeClaim:
    spec, annotated = wire.spec or _WireSpec(), wire.metadata.storage or _WireClass()
    name = spec.storage_class_name if annotated.name is None else annotated.name
    return VolumeClaim(
        meta=read_meta(wire.metadata, "", OF_VOLUMES, version),
        phase=read_text((wire.status or _WireStatus()).phase),
        volume=read_text(spec.volume_name),
        storage_class=read_text(name),
    )


def _build_storage_class(wire: WireStorageClass, version: str) -> StorageClass:
    return StorageClass(
        meta=read_meta(wire.metadata, _STORAGE, "StorageClass", version),
        waits_for_pod=wire.volume_binding_mode == "WaitForFirstConsumer",
    )


def _build_resource_claim(wire: WireResourceClaim, version: str) -> ResourceClaim:
    return ResourceClaim(meta=read_meta(wire.metadata, _DEVICES, OF_DEVICES, version))


VOLUME_CLAIM = Resource(
    group="",
    plural="persistentvolumeclaims",
    kind=OF_VOLUMES,
    versions=("v1",),
    wire=WireVolumeClaim,
    model=VolumeClaim,
    build=_build_volume_claim,
)
STORAGE_CLASS = Resource(
    group=_STORAGE,
    plural="storageclasses",
    kind="StorageClass",
    versions=("v1",),
    wire=WireStorageClass,
    model=StorageClass,
    build=_build_storage_class,
)
RESOURCE_CLAIM = Resource(
    group=_DEVICES,
    plural="resourceclaims",
    kind=OF_DEVICES,
    versions=("v1", "v1beta2", "v1beta1"),
    wire=WireResourceClaim,
    model=ResourceClaim,
    build=_build_resource_claim,
)
