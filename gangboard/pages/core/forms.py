"""Objects in addresses, forms and element ids, and errors as sentences.

One object is one word: `eu-train/batch/Job/research/workers-0/UID/3`.
"""

from __future__ import annotations

import hashlib

from gangboard.domain.action import ActionTarget
from gangboard.domain.text import sentence_case
from gangboard.readmodels.action_rows import OfferRow, TargetRow

LONGEST_TARGET = 1200
"""Characters; seven names of Kubernetes fit."""
_TARGET_PIECES = 7

Named = OfferRow | TargetRow | ActionTarget
"""Classes with the names of one object."""


def write_target(named: Named) -> str:
    """Return an object as one word.

    Names in Kubernetes have no slash. `read_target` refuses the word of a name with one.
    """
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


def read_target(text: str) -> ActionTarget | None:
    """Return the object that a word names, with its generation when the page was read. None for any other text."""
    names = text.split("/")
    if len(text) > LONGEST_TARGET or "\x00" in text or len(names) != _TARGET_PIECES:
        return None
    cluster, api_group, kind, namespace, name, uid, generation = names
    if not (cluster and kind and name and uid):
        return None
    if generation and not (generation.isascii() and generation.isdigit() and len(generation) < 19):
        return None
    return ActionTarget(
        cluster=cluster,
        api_group=api_group,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=uid,
        generation=int(generation) if generation else None,
    )


def element_key(uid: str) -> str:
    """Return a digest of a uid for element ids. A uid may contain blanks, the digest does not."""
    return hashlib.blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def sentence_of(error: Exception) -> str:
    """Return the text of an error with a capital at the beginning and a full stop at the end."""
    return f"{sentence_case(str(error)).removesuffix('.')}."
