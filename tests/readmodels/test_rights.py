"""Roles as sentences."""

from __future__ import annotations

import pytest

from gangboard.readmodels.rights import MOST, right_texts, rights_of
from gangboard.store.access import Scope, Viewer
from tests.factories import make_cluster

pytestmark = pytest.mark.django_db


def test_each_right_is_a_sentence_the_strongest_first() -> None:
    sim = make_cluster("sim-east").pk
    make_cluster("sim-west")
    scopes = (
        Scope(sim, "research", "viewer"),
        Scope(None, "team-*", "operator"),
        Scope(sim, "vision", "admin"),
        Scope(sim, "research", "viewer"),
    )
    assert rights_of(Viewer(1, "ada", scopes)) == (
        "May see vision on sim-east, may act with any lever.",
        "May see namespaces team-* on every cluster, may act.",
        "May see research on sim-east, may not act.",
    )
    everything = (*scopes, Scope(None, "", "admin"))
    rights = rights_of(Viewer(1, "ada", everything))
    assert rights[-1] == "May see everything, may act and administer."


Role = tuple[str, str | None, str | None]


@pytest.mark.parametrize(
    ("roles", "texts"),
    [
        # Less on the same place, or on a part of it, is not worth a line.
        ([("viewer", "e", "a"), ("operator", "e", "a")], ["may see a on e, may act"]),
        ([("viewer", "e", "a"), ("operator", "e", None)], ["may see everything on e, may act"]),
        ([("viewer", "e", "a"), ("operator", None, None)], ["may see everything, may act"]),
        (
            [("viewer", "e", "team-a"), ("operator", None, "team-*")],
            ["may see namespaces team-* on every cluster, may act"],
        ),
        # Reading logs is a right of its own, which includes seeing.
        ([("viewer", "e", "a"), ("logs", "e", "a")], ["may see a on e, may read logs"]),
        (
            [("logs", "e", "a"), ("admin", None, None)],
            ["may see everything, may act and administer", "may see a on e, may read logs"],
        ),
        (
            [("viewer", "e", None), ("logs", "e", "a")],
            ["may see a on e, may read logs", "may see everything on e, may not act"],
        ),
        # More on a part of the place: "may not act" alone would be wrong.
        (
            [("viewer", "e", None), ("operator", "e", "a")],
            ["may see a on e, may act", "may see everything on e, may not act elsewhere"],
        ),
        (
            [("viewer", "e", "team-*"), ("operator", None, "team-a")],
            [
                "may see team-a on every cluster, may act",
                "may see namespaces team-* on e, may not act elsewhere",
            ],
        ),
        (
            [("viewer", None, "*-a"), ("operator", "e", "team-*")],
            [
                "may see namespaces team-* on e, may act",
                "may see namespaces *-a on every cluster, may not act elsewhere",
            ],
        ),
        # Elsewhere.
        (
            [("viewer", "e", None), ("operator", "w", "a")],
            ["may see a on w, may act", "may see everything on e, may not act"],
        ),
        (
            [("viewer", "e", "b"), ("operator", "e", "a")],
            ["may see a on e, may act", "may see b on e, may not act"],
        ),
        ([("viewer", "e", "a"), ("viewer", "e", "a")], ["may see a on e, may not act"]),
    ],
)
def test_equal_roles_are_listed_together(roles: list[Role], texts: list[str]) -> None:
    assert list(right_texts(roles)) == texts
    assert list(right_texts(reversed(roles))) == texts


def test_a_token_that_only_reads_may_not_act() -> None:
    scopes = (Scope(None, "", "admin"), Scope(None, "team-a", "operator"))
    (line,) = rights_of(Viewer(1, "ada", scopes, may_act=False))
    assert line == "May see everything, may not act."


def test_no_role_and_many_roles_have_sentences() -> None:
    assert rights_of(Viewer(1, "ada", ())) == ("No role yet: ask an admin for one.",)
    many = tuple(Scope(None, f"team-{number}", "viewer") for number in range(MOST + 3))
    lines = rights_of(Viewer(1, "ada", many))
    assert (len(lines), lines[-1]) == (MOST, "and 4 more roles")
