"""How much of what is made up at random is tried: little for each commit, all of it in `make exhaustive`.

Both are the same every time, so that a change is red only for what it did itself. What nobody has seen
is asked for with another seed: `make exhaustive`, `make interleavings` and `make agreement` take a new one.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

COMMIT, EXHAUSTIVE = "commit", "exhaustive"
SIZE = os.environ.get("TESTS") or COMMIT
"""Which of the two this run is, as the environment says it."""

SEED = "1"
"""Of Hypothesis, where `--hypothesis-seed` names no other."""


def sized(commit: T, exhaustive: T) -> T:
    """Return the one that belongs to the size of this run."""
    return exhaustive if SIZE == EXHAUSTIVE else commit
