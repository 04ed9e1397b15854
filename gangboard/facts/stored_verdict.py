"""Readings of a stored verdict: the resource that a waiting gang lacks, and whether a gang is whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gangboard.domain.health import Stage
from gangboard.domain.verdict import FitReason, FitRow

FULL, NONE = "full", "none"
"""`full`: eligible nodes are full. `none`: no node is eligible, and the label excludes most nodes."""
LONGEST = 200


def bottleneck_of(rows: Iterable[FitRow]) -> str:
    """Return `full/LABEL` or `none/LABEL` with the label of a `FitReason`, or an empty text.

    Empty if the pods of each shape fit by themselves. The gang then waits for something else than nodes, or only all
    shapes together do not fit.
    """
    short = [row for row in rows if not row.why and row.fits_now < row.waiting]
    full = _most(reason for row in short for reason in row.saturated)
    if full:
        return f"{FULL}/{full}"[:LONGEST]
    if any(row.open_nodes for row in short):
        return ""
    excluded = _most(reason for row in short for reason in row.excluded)
    return f"{NONE}/{excluded}"[:LONGEST] if excluded else ""


def _most(reasons: Iterable[FitReason]) -> str:
    nodes: Counter[str] = Counter()
    for reason in reasons:
        nodes[reason.label] += reason.nodes
    return min(nodes, key=lambda label: (-nodes[label], label)) if nodes else ""


_BROKEN_CODES = frozenset({"partly-placed", "quorum-lost"})
_BROKEN_STAGES = frozenset({Stage.FORMATION.value, Stage.PLACEMENT.value})


def is_whole(stage: str, code: str) -> bool:
    """Return whether a gang uses the nodes that it holds, by the stage and code of its verdict.

    A gang in formation or placement does not: its members on nodes wait for the missing ones. A gang that starts,
    runs, or lost members after it ran counts as whole.
    """
    return stage not in _BROKEN_STAGES and code not in _BROKEN_CODES
