"""The groups of one gang as a tree: which of them was made of which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from gangboard.diagnosis.object_links import COMPOSITE
from gangboard.readmodels.groups import GroupOfGangRow

_DEEPEST = 4
"""Steps that are drawn; core groups stand four deep at most, and another API's above them."""


def as_tree(rows: Sequence[GroupOfGangRow]) -> tuple[GroupOfGangRow, ...]:
    """Return the rows so that each follows what it is in or was made of, with its depth.

    Rows of one gang, which are in one namespace. Those side by side stay in their order. Where groups own
    each other in a ring, the first of them stands on top.
    """
    labels = {f"{row.kind} {row.name}": row.uid for row in rows}
    below: dict[str, list[GroupOfGangRow]] = defaultdict(list)
    for row in rows:
        below[_above(row, labels)].append(row)
    found: dict[str, GroupOfGangRow] = {}
    for top in (*below[""], *rows):
        waiting = [(top, 0)]
        while waiting:
            row, depth = waiting.pop()
            if row.uid not in found:
                found[row.uid] = replace(row, depth=min(depth, _DEEPEST))
                waiting += [(one, depth + 1) for one in reversed(below[row.uid])]
    return tuple(found.values())


def _above(row: GroupOfGangRow, labels: dict[str, str]) -> str:
    """Return the uid of the group that a group names as its parent, else of its controller; empty for none."""
    parent = labels.get(f"{COMPOSITE} {row.parent}") if row.parent else None
    uid = parent or labels.get(row.controller, "")
    return "" if uid == row.uid else uid
