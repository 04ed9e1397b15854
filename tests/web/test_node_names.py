"""Nodes and their gangs by name on the Capacity page."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from gangboard.store.models import NodeCapacity
from tests.factories import make_gang
from tests.personas import Person
from tests.readmodels.room import make_capacity, make_node
from tests.web.conftest import World
from tests.web.test_pages import text_of


@pytest.fixture
def nodes(world: World) -> World:
    """a100-5 with pods of two gangs, of a gang that is gone and of none; one cordoned, one not ready."""
    now = timezone.now()
    make_capacity(world.cluster, now=now)
    pods = {"pod-1": "", "pod-9": "left"}
    make_gang(world.cluster, "left", uid="left", gone_at=now)
    for number, name in enumerate(("sql-agent", "mixtral-align")):
        make_gang(world.cluster, name, uid=f"u{number}", namespace="vision")
        pods[f"p{number}"] = f"u{number}"
    make_node(world.cluster, "a100-5", pods=pods, held={}, used={"nvidia.com/gpu": "7"})
    make_node(world.cluster, "a100-6", cordoned=True)
    make_node(world.cluster, "a100-7", ready=False)
    return world


def squares(page: str) -> dict[str, str]:
    """Return the title of each square, by the name of the node that is printed in it."""
    matches = re.findall(r'<a href="/nodes/[^"]*" title="([^"]*)"[^>]*>(.*?)</a>', page)
    return {
        re.sub(r"<b>.*", "", inside).replace("<bdi>", "").split(">")[1].split("<")[0]: title
        for title, inside in matches
    }


def test_a_square_shows_its_node_name_and_gangs_on_hover(owner: Person, nodes: World) -> None:
    assert squares(text_of(owner.client, "/capacity/")) == {
        "a100-5": "a100-5: 1 of 8 free; mixtral-align, sql-agent",
        "a100-6": "a100-6: 2 of 8 free, cordoned",
        "a100-7": "a100-7: 2 of 8 free, not ready",
    }


def test_nodes_that_take_no_pods_are_named(owner: Person, nodes: World) -> None:
    page = text_of(owner.client, "/capacity/")
    assert "1 cordoned</span> (a100-6)" in page
    assert "1 not ready</span> (a100-7)" in page
    for number in range(4):
        make_node(nodes.cluster, f"b{number}", cordoned=True)
    page = text_of(owner.client, "/capacity/")
    assert "5 cordoned</span> (a100-6, b0, b1 and 2 more)" in page


def test_a_square_names_five_gangs_and_counts_the_others(owner: Person, nodes: World) -> None:
    pods = {}
    for number in range(7):
        make_gang(nodes.cluster, f"g{number}", uid=f"many-{number}")
        pods[f"p{number}"] = f"many-{number}"
    NodeCapacity.objects.filter(name="a100-5").update(pods=pods)
    title = squares(text_of(owner.client, "/capacity/"))["a100-5"]
    assert title.endswith("; g0, g1, g2, g3, g4 and 2 more")


def test_viewers_of_one_namespace_see_no_node_names(reader: Person, nodes: World) -> None:
    page = text_of(reader.client, "/capacity/")
    assert "1 cordoned" in page
    assert "a100-" not in page
    assert "mixtral-align" not in page
