"""Tiles of the Board: the accelerators that suspended gangs still use."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string

from gangboard.pages.board.queries import count_by_health
from gangboard.pages.board.rows import Tile
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import GangFilters
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang, UsageMeter
from tests.factories import NOW, make_cluster, make_gang

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def metered(cluster: Cluster, name: str, health: str, used: float, **columns: Any) -> Gang:
    """A gang that requests 8 accelerators and has some of them."""
    gang = make_gang(cluster, name, health=health, stage="run", code="job-suspended", **columns)
    UsageMeter.objects.create(
        gang_id=gang.pk,
        cluster=cluster,
        uid=gang.uid,
        namespace=gang.namespace,
        stage=gang.stage,
        code=gang.code,
        used=used,
        ineligible=8 - used,
        since=NOW,
    )
    return gang


def tile_of(health: str, viewer: Viewer, **filters: Any) -> Tile:
    clusters = read_freshness(viewer=viewer, now=NOW)
    tiles = count_by_health(viewer=viewer, filters=GangFilters(**filters), clusters=clusters)
    return next(tile for tile in tiles if tile.face.word == health)


def test_a_gang_with_one_held_job_still_uses_accelerators(owner: Viewer, cluster: Cluster) -> None:
    metered(cluster, "one-held", "suspended", used=4)
    metered(cluster, "stopped", "suspended", used=0)
    make_gang(cluster, "not-metered-yet", health="suspended", code="suspended")
    metered(cluster, "runs", "running", used=8)
    tile = tile_of("suspended", owner)
    assert (tile.gangs, tile.accelerators, tile.in_use) == (3, 24, 4)
    assert tile_of("running", owner).in_use == 0, "all of them are in use, so it is not told"


def test_only_gangs_of_the_tile_count(owner: Viewer, cluster: Cluster) -> None:
    metered(cluster, "one-held", "suspended", used=4)
    metered(cluster, "hidden", "suspended", used=5, namespace="secret")
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    assert tile_of("suspended", reader).in_use == 4
    assert tile_of("suspended", owner, namespace="secret").in_use == 5
    assert tile_of("suspended", owner, name="no-such").in_use == 0


def test_the_tile_says_how_many_are_in_use(owner: Viewer, cluster: Cluster) -> None:
    metered(cluster, "one-held", "suspended", used=4)

    def shown() -> str:
        button = {"tile": tile_of("suspended", owner), "value": "suspended", "pressed": False}
        return render_to_string("board/tile.html", {"button": button, "fragment_id": "tile"})

    assert 'title="4 of 8 accelerators are in use">4 of 8<' in shown()
    UsageMeter.objects.update(used=0, ineligible=8)
    assert "in use" not in shown()
    assert ">8 accel<" in shown()
