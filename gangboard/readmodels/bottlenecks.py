"""What the nodes lack that could host waiting pods, over many gangs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gangboard.facts.bottleneck import FULL
from gangboard.readmodels.fit import full_text
from gangboard.readmodels.printable import printable

MOST_BOTTLENECKS = 3


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """What most nodes lack for some gangs."""

    text: str
    gangs: int


def most_frequent(gangs: Mapping[str, int]) -> tuple[Bottleneck, ...]:
    """Return what decides for the most gangs; `gangs`: what `bottleneck_of` said → gangs of which."""
    counts: Counter[str] = Counter()
    for stored, number in gangs.items():
        if stored:
            counts[_text(stored)] += number
    frequent = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_BOTTLENECKS]
    return tuple(Bottleneck(text, number) for text, number in frequent)


def _text(stored: str) -> str:
    sort, _, label = stored.partition("/")
    return printable(full_text(label) if sort == FULL else f"no node could: {label}")
