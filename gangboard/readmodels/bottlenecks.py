"""What the nodes lack that could host waiting pods, over many gangs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import QuerySet

from gangboard.domain.verdict import FitReason, FitRow
from gangboard.readmodels.fit import full_text
from gangboard.readmodels.printable import printable

MOST_GANGS = 1000
"""Gangs whose node-fit tables are looked at, those with the most accelerators first."""
MOST_BOTTLENECKS = 3


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What most nodes lack for some gangs."""

    text: str
    gangs: int


@dataclass(frozen=True, slots=True)
class _StoredDetail:
    """What is needed of a stored Detail; the decoder skips everything else."""

    fit: tuple[FitRow, ...] = ()


_decoder = msgspec.msgpack.Decoder(_StoredDetail)


def bottlenecks_by_code(gangs: QuerySet[Any]) -> dict[str, tuple[Bottleneck, ...]]:
    """Return what decides, by reason code, most frequent first (1 query)."""
    details = gangs.order_by("-accelerators", "id").values_list("code", "detail")[:MOST_GANGS]
    counters: dict[str, Counter[str]] = {}
    for code, detail in details:
        text = _decisive(_decoder.decode(bytes(detail)).fit) if detail else ""
        if text:
            counters.setdefault(code, Counter())[text] += 1
    return {
        code: tuple(Bottleneck(text, number) for text, number in _frequent(counter))
        for code, counter in counters.items()
    }


def _frequent(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_BOTTLENECKS]


def _decisive(rows: Iterable[FitRow]) -> str:
    """Return what fills most of the nodes that could host its pods; none could: what excludes most.

    Nothing where each shape by itself finds room for all of its pods: what the gang waits for is
    not on the nodes then, or only all of it together is too much.
    """
    short = [row for row in rows if not row.why and row.fits_now < row.waiting]
    full = _most(reason for row in short for reason in row.saturated)
    if full:
        return printable(full_text(full))
    if any(row.open_nodes for row in short):
        return ""
    excluded = _most(reason for row in short for reason in row.excluded)
    return printable(f"no node could: {excluded}") if excluded else ""


def _most(reasons: Iterable[FitReason]) -> str:
    nodes: Counter[str] = Counter()
    for reason in reasons:
        nodes[reason.label] += reason.nodes
    return min(nodes, key=lambda label: (-nodes[label], label)) if nodes else ""
