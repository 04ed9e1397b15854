"""Number of random examples: few for each commit, all of them in `make exhaustive`.

Both sets are fixed, so a change fails only for its own faults. `make exhaustive`, `make interleavings` and
`make agreement` use a new seed to find new examples.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

COMMIT, EXHAUSTIVE = "commit", "exhaustive"
SIZE = os.environ.get("TESTS") or COMMIT
"""Which of the two this run is, as the environment says it."""

SEED = "1"
"""Default seed of Hypothesis, unless `--hypothesis-seed` sets another."""


def sized(commit: T, exhaustive: T) -> T:
    """Return the one that belongs to the size of this run."""
    return exhaustive if SIZE == EXHAUSTIVE else commit
