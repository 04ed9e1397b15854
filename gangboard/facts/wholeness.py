"""Whether a gang that holds room is whole, by the stage and code of its verdict."""

from __future__ import annotations

from gangboard.domain.health import Stage

_BROKEN_CODES = frozenset({"partly-placed", "quorum-lost"})
_BROKEN_STAGES = frozenset({Stage.FORMATION.value, Stage.PLACEMENT.value})


def is_whole(stage: str, code: str) -> bool:
    """Whether the room that a gang holds, if any, is put to use by a gang that got together.

    A gang in formation or placement is not whole: its members that have a node wait for the others
    there. One that starts, runs, or lost members after it ran is not counted as broken.
    """
    return stage not in _BROKEN_STAGES and code not in _BROKEN_CODES
