"""One object as one word of an address or a form: `eu-train/batch/Job/research/workers-0/UID/3`."""

from __future__ import annotations

import hashlib

from gangboard.domain.action import Target
from gangboard.readmodels.action_rows import ActionRow, OfferRow

LONGEST = 1200
"""Characters; seven names of Kubernetes fit."""
_PIECES = 7


Named = OfferRow | ActionRow | Target
"""What has the names of one object."""


def write_target(named: Named) -> str:
    """Return the word. No name in Kubernetes has a slash; one that has one is not read back."""
    generation = "" if named.generation is None else str(named.generation)
    return "/".join(
        (
            named.cluster,
            named.api_group,
            named.kind,
            named.namespace,
            named.name,
            named.uid,
            generation,
        )
    )


def read_target(text: str) -> Target | None:
    """Return the object that a word names, with the generation that was seen; None: it is none."""
    pieces = text.split("/")
    if len(text) > LONGEST or "\x00" in text or len(pieces) != _PIECES:
        return None
    cluster, api_group, kind, namespace, name, uid, generation = pieces
    if not (cluster and kind and name and uid):
        return None
    if generation and not (generation.isascii() and generation.isdigit() and len(generation) < 19):
        return None
    return Target(
        cluster=cluster,
        api_group=api_group,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=uid,
        generation=int(generation) if generation else None,
    )


def element_key(uid: str) -> str:
    """Return what stands for an object in ids of elements: whatever its uid is, it has no blanks."""
    return hashlib.blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
