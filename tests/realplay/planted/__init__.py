"""Bugs that are planted in the processes of a gangboard on request: the player must find each of them.

The processes get other settings, whose additional app replaces one function at their start.
"""

from __future__ import annotations

VARIABLE = "PLANTED_BUG"


def environment(bug: str) -> dict[str, str]:
    """Return the environment of a gangboard with a bug of `bugs.BUGS`; of an unmodified one without a name."""
    if not bug:
        return {}
    return {VARIABLE: bug, "DJANGO_SETTINGS_MODULE": "tests.realplay.planted.settings"}
