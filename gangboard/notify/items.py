"""The content of a delivery: small references, which become text when the delivery is sent.

Until then the rights of the rule's owner may change, and so may the gang.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, cast

_TYPES = ("event", "span", "hold", "silent", "test", "more")


class Item(TypedDict, total=False):
    """One reference. Its other keys depend on the `type`.

    | `type` | Content |
    |---|---|
    | `event` | `id` is the number in the feed |
    | `span` | `id` is the open span of a gang that waits or runs |
    | `hold` | a Hold that ends soon |
    | `silent` | a cluster that cannot be read |
    | `test` | a test message, without any other key |
    | `more` | `count` further items that the delivery does not list |
    """

    type: str
    id: int
    cluster: int
    """Id of the cluster of a Hold, or of the silent cluster."""
    namespace: str
    name: str
    """Name of the Hold."""
    job: str
    """The Job that the Hold keeps suspended."""
    gang: str
    """Id of its gang, empty if unknown."""
    until: str
    """End of the Hold."""
    count: int
    """The number of items that `more` stands for."""


def event_item(number: int) -> Item:
    """Return the item of an event of the feed."""
    return {"type": "event", "id": number}


def span_item(span_id: int) -> Item:
    """Return the item of a gang that waits, or that runs."""
    return {"type": "span", "id": span_id}


def add_more(items: Sequence[Item], count: int) -> list[Item]:
    """Return the items with a higher count of further ones. The count is the last item."""
    if not count:
        return list(items)
    listed = [item for item in items if item["type"] != "more"]
    return [*listed, {"type": "more", "count": count + count_more(items)}]


def count_more(items: Sequence[Item]) -> int:
    """Return the number of further items that a delivery does not list."""
    return sum(item["count"] for item in items if item["type"] == "more")


def count_items(items: Sequence[Item]) -> int:
    """Return the number of changes in a delivery."""
    return sum(item["count"] if item["type"] == "more" else 1 for item in items)


def read_items(stored: Any) -> list[Item]:
    """Return the stored items that this release knows."""
    known_items = [item for item in stored if isinstance(item, dict) and item.get("type") in _TYPES]
    return cast("list[Item]", known_items)
