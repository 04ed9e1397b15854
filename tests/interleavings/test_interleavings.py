"""Random interleavings of everything that can happen to actions; every invariant must hold.

`make test` plays the same runs each time, so a change fails only for its own faults. These runs also find every
planted bug. `make exhaustive` plays 200, and `make interleavings` plays 200 with a new seed. `GANGBOARD_SEED=n`
repeats one run, and a failure prints that seed. `GANGBOARD_RUNS=n` plays that many from there.
"""

from __future__ import annotations

import os
import time
from collections import Counter

import pytest

from tests.interleavings.play import play
from tests.random_sets import sized

FIRST, RUNS = 1, sized(12, 200)
RELOCATIONS = sized(12, 200)
"""Runs in which most requests relocate a Job."""

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_every_invariant_holds_in_whatever_order_things_happen() -> None:
    chosen = os.environ.get("GANGBOARD_SEED", "")
    fresh = time.time_ns() % 1_000_000_000
    first = fresh if chosen == "fresh" else int(chosen or FIRST)
    runs = int(os.environ.get("GANGBOARD_RUNS") or (1 if chosen.isdecimal() else RUNS))
    print(f"seeds {first} to {first + runs - 1}")
    ends: Counter[str] = Counter()
    for seed in range(first, first + runs):
        result = play(seed)
        assert not result.broken, result.text()
        ends += result.states
    print(", ".join(f"{count} {state}" for state, count in ends.most_common()))
    if runs >= RUNS:
        # A run in which nothing happens proves nothing.
        for end in ("verified", "reverted", "failed", "refused", "gone", "conflict"):
            assert ends[end] >= max(1, runs // 40), ends


@pytest.mark.slow
def test_every_invariant_holds_for_relocations() -> None:
    chosen = os.environ.get("GANGBOARD_SEED", "")
    first = int(chosen) if chosen.isdecimal() else FIRST
    runs = int(os.environ.get("GANGBOARD_RUNS") or (1 if chosen.isdecimal() else RELOCATIONS))
    ends: Counter[str] = Counter()
    for seed in range(first, first + runs):
        result = play(seed, relocates=True)
        assert not result.broken, result.text()
        ends += result.relocations
    print(", ".join(f"{count} {state}" for state, count in ends.most_common()))
    if runs >= RELOCATIONS:
        for end in ("verified", "refused", "failed"):
            assert ends[end] >= max(1, runs // 20), ends


def test_a_seed_repeats_a_run() -> None:
    once, again = play(11), play(11)
    assert once.trace == again.trace
    assert once.trace != play(12).trace
