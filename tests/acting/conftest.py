"""One gangboard and all stories of this folder, begun when the first of its tests begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from tests.acting.playing import PLANES, Playing
from tests.acting.scene import Scene

_OVER: set[str] = set()
"""Stories that need not be played again when the session comes back to this folder."""


@pytest.fixture(scope="package")
def playing(request: pytest.FixtureRequest) -> Iterator[Playing]:
    """Start every selected story. Each test waits for the end of its own."""
    items = request.session.items
    is_visited = any("visit" in getattr(item, "fixturenames", ()) for item in items)
    selected = _selected(items) - _OVER
    played = Playing(selected, is_visited=is_visited)
    try:
        for cluster in played.acts:
            played.begin(cluster, request.getfixturevalue(PLANES[cluster]))
        yield played
        _OVER.update(selected)
    finally:
        played.end()


@pytest.fixture(scope="module")
def visit(playing: Playing) -> Iterator[Scene]:
    """A place for a test of its own, when most stories are over."""
    scene = playing.visit("visited")
    yield scene
    scene.clear()
    playing.end_visit()


def _selected(items: Iterable[pytest.Item]) -> set[str]:
    """Return the names of the stories that the selected tests are about."""
    return {
        str(item.callspec.params["story"])
        for item in items
        if isinstance(item, pytest.Function)
        and "playing" in item.fixturenames
        and hasattr(item, "callspec")
    }
