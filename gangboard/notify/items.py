"""What a delivery is about: small references that are stored, and turned into words when it is sent.

The words are made then because the rights of the rule's owner may have changed, and so may the gang.
"""

from __future__ import annotations

from typing import Any, TypedDict, cast


class Item(TypedDict, total=False):
    """One reference. `type` says what the others mean."""

    type: str
    """`event`: `id` is the number in the feed. `span`: `id` is the open span of a gang that waits or
    runs. `hold` and `silent`: see below. `test`: nothing else."""
    id: int
    cluster: int
    """Id of the cluster of a Hold, or of the one that is silent."""
    namespace: str
    name: str
    """Of the Hold."""
    job: str
    """That the Hold keeps suspended."""
    gang: str
    """Id of its gang, empty if unknown."""
    until: str
    """End of the Hold."""


def event_item(number: int) -> Item:
    """Return the item of an event of the feed."""
    return {"type": "event", "id": number}


def span_item(span_id: int) -> Item:
    """Return the item of a gang that waits, or that runs."""
    return {"type": "span", "id": span_id}


def read_items(stored: Any) -> list[Item]:
    """Return stored items; what another release wrote and this one does not know is dropped."""
    known = ("event", "span", "hold", "silent", "test")
    known_ones = [item for item in stored if isinstance(item, dict) and item.get("type") in known]
    return cast("list[Item]", known_ones)
