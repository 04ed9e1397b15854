"""The least number of pods or groups that an object asks for: 0 is Go's way to say that it asks for none."""

from __future__ import annotations


def set_minimum(number: int | None) -> int | None:
    """Return a `minCount`, `minMember` or `minAvailable` as served; None where it is not set.

    Go clients write 0 for a number that the user did not give, and no controller starts a gang of none. A field that is a
    pointer in Go is left out instead, so a part may have a real minimum of 0.
    """
    return number if number is not None and number > 0 else None
