"""What roles allow, in words."""

from __future__ import annotations

import pytest

from gangboard.readmodels.rights import MOST, rights_of
from gangboard.store.access import Scope, Viewer
from tests.factories import make_cluster

pytestmark = pytest.mark.django_db


def test_each_role_is_a_sentence_the_strongest_first() -> None:
    sim = make_cluster("sim-east").pk
    scopes = (
        Scope(sim, "research", "viewer"),
        Scope(None, "team-*", "operator"),
        Scope(sim, "", "viewer"),
        Scope(sim, "vision", "admin"),
        Scope(None, "", "admin"),
        Scope(None, "research", "viewer"),
        Scope(sim, "research", "viewer"),
    )
    assert rights_of(Viewer(1, "ada", scopes)) == (
        "May see vision on sim-east, may act with any lever.",
        "May see everything, may act and administer.",
        "May see namespaces team-* on every cluster, may act.",
        "May see research on sim-east, may not act.",
        "May see everything on sim-east, may not act.",
        "May see research on every cluster, may not act.",
    )


def test_a_token_that_only_reads_may_not_act() -> None:
    scopes = (Scope(None, "", "admin"), Scope(None, "team-a", "operator"))
    assert rights_of(Viewer(1, "ada", scopes, may_act=False)) == (
        "May see everything, may not act.",
        "May see team-a on every cluster, may not act.",
    )


def test_no_role_and_many_roles() -> None:
    assert rights_of(Viewer(1, "ada", ())) == ("No role yet: ask an admin for one.",)
    many = tuple(Scope(None, f"team-{number}", "viewer") for number in range(MOST + 3))
    lines = rights_of(Viewer(1, "ada", many))
    assert (len(lines), lines[-1]) == (MOST, "and 4 more roles")
