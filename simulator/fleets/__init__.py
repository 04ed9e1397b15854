"""The fleets of the simulator as data, and the expected verdicts of their gangs.

The demo has `east` (Kubernetes 1.37 with the Hold) and `west` (1.36).
"""

from __future__ import annotations

from simulator.fleet_spec import Fleet
from simulator.fleets import east, pools, west

EAST = Fleet(
    "east",
    pools.EAST,
    east.GANGS,
    story_pool="a100",
    story_namespaces=("team-nlp", "team-vision", "team-rl"),
    has_captures=True,
)
WEST = Fleet(
    "west",
    pools.WEST,
    west.GANGS,
    queues=west.QUEUES,
    story_pool="a100",
    story_namespaces=("team-ads", "team-maps"),
    story_gpus=(2, 4),
    story_gangs=5,
)
EMPTY = Fleet("empty", (), ())

FLEETS = {"east": EAST, "demo": EAST, "west": WEST, "empty": EMPTY}

MINORS = {"east": "1.37", "demo": "1.37", "west": "1.36", "empty": "1.37"}
"""The Kubernetes minor of each fleet."""

EXPECTED: dict[tuple[str, str, str], str] = {**EAST.expected("1.37"), **WEST.expected("1.36")}
"""Expected verdict code of every static gang of the demo by (namespace, kind, name), from design.md."""


def find_fleet(name: str) -> Fleet:
    """Return a fleet. Raises `ValueError`, which lists the fleets."""
    try:
        return FLEETS[name]
    except KeyError:
        raise ValueError(f"no fleet {name!r}; there are {', '.join(FLEETS)}") from None
