"""Decoder of the claims that a pod names: volume claims in its spec, device claims also in its status."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gangboard.decode.pod_constraints import CLAIMS, VOLUMES, WirePlacedSpec
from gangboard.decode.wire import Wire, read_text
from gangboard.domain.pod_claims import OF_DEVICES, OF_VOLUMES, PodClaim
from gangboard.domain.pod_constraints import PodConstraints


class _WireSource(Wire):
    claim_name: str | None = None


class _WireEphemeral(Wire):
    """Ephemeral volume source, of which only the presence is read."""


class _WireVolume(Wire):
    name: str = ""
    persistent_volume_claim: _WireSource | None = None
    ephemeral: _WireEphemeral | None = None


class _WireClaim(Wire):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class _WireClaimStatus(Wire):
    """Entry of `resourceClaimStatuses`. It has no name if no claim was needed."""

    name: str = ""
    resource_claim_name: str | None = None


_VOLUMES = msgspec.json.Decoder(list[_WireVolume] | None)
_CLAIMS = msgspec.json.Decoder(list[_WireClaim] | None)
_CLAIM_STATUSES = msgspec.json.Decoder(list[_WireClaimStatus] | None)


def read_claims(
    spec: WirePlacedSpec, statuses: msgspec.Raw, pod: str, constraints: PodConstraints
) -> tuple[PodClaim, ...]:
    """Return the distinct claims of a pod in the order of its spec.

    `statuses` is `status.resourceClaimStatuses`, and `pod` the name of the pod. The constraints of most pods show that
    they have no such volume, so nothing is decoded. Raises ValueError or RecursionError for malformed parts.
    """
    claims: list[PodClaim] = []
    if VOLUMES in constraints.unsupported:
        claims += _volume_claims(spec, pod)
    if CLAIMS in constraints.unsupported:
        claims += _device_claims(spec, statuses)
    return tuple(dict.fromkeys(claims))


def _volume_claims(spec: WirePlacedSpec, pod: str) -> Iterator[PodClaim]:
    """Yield volume claims. An ephemeral volume has the claim `<pod>-<volume>` (ephemeral.VolumeClaimName)."""
    for volume in _VOLUMES.decode(spec.volumes) or ():
        source = volume.persistent_volume_claim
        if source is not None and source.claim_name:
            yield PodClaim(OF_VOLUMES, read_text(source.claim_name))
        elif volume.ephemeral is not None:
            yield PodClaim(OF_VOLUMES, f"{pod}-{read_text(volume.name)}", generated=True)


def _device_claims(spec: WirePlacedSpec, statuses: msgspec.Raw) -> Iterator[PodClaim]:
    """Yield device claims as the scheduler finds them (resourceclaim.Name, 1.35 to 1.37)."""
    names = {
        status.name: status.resource_claim_name for status in _CLAIM_STATUSES.decode(statuses) or ()
    }
    for claim in _CLAIMS.decode(spec.resource_claims) or ():
        if claim.resource_claim_name:
            yield PodClaim(OF_DEVICES, read_text(claim.resource_claim_name))
        elif not claim.resource_claim_template_name:
            continue
        elif claim.name not in names:
            yield PodClaim(OF_DEVICES, read_text(claim.name), generated=True, unmade=True)
        elif (name := names[claim.name]) is not None:
            yield PodClaim(OF_DEVICES, read_text(name), generated=True)
