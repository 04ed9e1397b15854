"""Which claims a pod names: of volumes by its spec, of devices also by its status."""

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
    """That it is there is all that is read."""


class _WireVolume(Wire):
    name: str = ""
    persistent_volume_claim: _WireSource | None = None
    ephemeral: _WireEphemeral | None = None


class _WireClaim(Wire):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class _WireMade(Wire):
    """An entry of `resourceClaimStatuses`: without a name, no claim was needed."""

    name: str = ""
    resource_claim_name: str | None = None


_VOLUMES = msgspec.json.Decoder(list[_WireVolume] | None)
_CLAIMS = msgspec.json.Decoder(list[_WireClaim] | None)
_MADE = msgspec.json.Decoder(list[_WireMade] | None)


def read_claims(
    spec: WirePlacedSpec, made: msgspec.Raw, pod: str, needs: PodConstraints
) -> tuple[PodClaim, ...]:
    """Return the claims of the pod of that name, each once, in the order of its spec.

    `made` is `status.resourceClaimStatuses`. `needs` are the pod's: most pods have no such volume,
    and cost nothing here. Raises ValueError or RecursionError where a part is not as the API has it.
    """
    found: list[PodClaim] = []
    if VOLUMES in needs.unsupported:
        found += _of_volumes(spec, pod)
    if CLAIMS in needs.unsupported:
        found += _of_devices(spec, made)
    return tuple(dict.fromkeys(found))


def _of_volumes(spec: WirePlacedSpec, pod: str) -> Iterator[PodClaim]:
    """Yield claims by name; that of an ephemeral volume is `<pod>-<volume>` (ephemeral.VolumeClaimName)."""
    for volume in _VOLUMES.decode(spec.volumes) or ():
        source = volume.persistent_volume_claim
        if source is not None and source.claim_name:
            yield PodClaim(OF_VOLUMES, read_text(source.claim_name))
        elif volume.ephemeral is not None:
            yield PodClaim(OF_VOLUMES, f"{pod}-{read_text(volume.name)}", generated=True)


def _of_devices(spec: WirePlacedSpec, made: msgspec.Raw) -> Iterator[PodClaim]:
    """Yield claims as the scheduler finds them (resourceclaim.Name, 1.35 to 1.37)."""
    names = {one.name: one.resource_claim_name for one in _MADE.decode(made) or ()}
    for claim in _CLAIMS.decode(spec.resource_claims) or ():
        if claim.resource_claim_name:
            yield PodClaim(OF_DEVICES, read_text(claim.resource_claim_name))
        elif not claim.resource_claim_template_name:
            continue
        elif claim.name not in names:
            yield PodClaim(OF_DEVICES, read_text(claim.name), generated=True, unmade=True)
        elif (name := names[claim.name]) is not None:
            yield PodClaim(OF_DEVICES, read_text(name), generated=True)
