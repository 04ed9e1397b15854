"""A story of random relocations that play side by side while processes are killed. See `tests.realplay`."""

from __future__ import annotations

from tests.acting.scene import Scene
from tests.realplay.batch import play
from tests.realplay.cases import make_batches

SEED, CASES = 3542, 3
"""`python -m tests.realplay` plays new ones. This seed kills JobSet and the controller manager."""


def random_relocations(scene: Scene) -> None:
    """Every invariant of `tests.realplay.judging` holds.

    All clusters share gangboard, so its processes live on.
    """
    (batch,) = make_batches(SEED, CASES, at_once=CASES, kills_gangboard=False)
    outcomes = play(scene.installation, scene.plane, scene.cluster, batch)
    assert not [outcome for outcome in outcomes if outcome.broken], "\n".join(map(str, outcomes))
