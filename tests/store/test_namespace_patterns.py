"""Patterns of namespaces: SQL and Python agree, and no character of a name widens one."""

from __future__ import annotations

import pytest

from gangboard.store import people
from gangboard.store.access import Scope, Viewer, viewer_of
from gangboard.store.clusters import ClusterError
from gangboard.store.group_roles import grant_group
from gangboard.store.identities import Person, sign_in_person
from gangboard.store.models import FeedEvent, WatchedObject
from gangboard.store.namespace_patterns import is_valid_pattern, matches
from gangboard.store.people import PeopleError
from tests.factories import make_cluster

pytestmark = pytest.mark.django_db

COVERED = {
    "team-*": ("team-", "team-a", "team-a-b", "team-a-prod", "team-%", "team-*", "team-\n"),
    "*-prod": ("a-prod", "team-a-prod"),
    "ml*eval*": ("ml-eval", "mleval", "ml-x-eval-7"),
    # No role can have these. If a row had one, each character but `*` would stand for itself.
    "te_m-*": ("te_m-a",),
    "te%*": ("te%m-a",),
    "te?m-*": ("te?m-a",),
    "[t]eam-*": ("[t]eam-a",),
    "a\\*": ("a\\b",),
}
"""Pattern → the names of NAMES that it covers."""
NAMES = (
    *("", "team", "team-", "team-a", "team-a-b", "steam-a", "Team-a", "TEAM-A", "team.a", "teamxa"),
    *("team-%", "team-*", "team-\n", "te_m-a", "te%m-a", "te?m-a", "[t]eam-a", "a\\b", "ab"),
    *("a-prod", "team-a-prod", "a-prod-2", "prod", "ml-eval", "mleval", "ml-x-eval-7", "eval-ml"),
)


@pytest.fixture
def cluster_id(db: None) -> int:
    """A cluster with an object in each namespace."""
    cluster = make_cluster("east")
    WatchedObject.objects.bulk_create(
        WatchedObject(
            cluster=cluster,
            resource="pods",
            uid=f"uid-{number}",
            namespace=name,
            name="x",
            resource_version="1",
            data=b"",
        )
        for number, name in enumerate(NAMES)
    )
    return cluster.pk


def viewer(cluster_id: int | None, *namespaces: str, role: str = "viewer") -> Viewer:
    return Viewer(1, "rene", tuple(Scope(cluster_id, pattern, role) for pattern in namespaces))


def seen_in_sql(pattern_viewer: Viewer) -> set[str]:
    return set(
        WatchedObject.objects.filter(pattern_viewer.gang_filter()).values_list(
            "namespace", flat=True
        )
    )


@pytest.mark.parametrize("pattern", COVERED)
def test_sql_and_python_cover_the_same_namespaces(cluster_id: int, pattern: str) -> None:
    pattern_viewer = viewer(cluster_id, pattern)
    assert seen_in_sql(pattern_viewer) == set(COVERED[pattern])
    assert {name for name in NAMES if pattern_viewer.sees(cluster_id, name)} == set(
        COVERED[pattern]
    )
    assert {name for name in NAMES if matches(pattern, name)} == set(COVERED[pattern])


def test_a_pattern_and_a_name_apply_to_their_cluster_only(cluster_id: int) -> None:
    pattern_viewer = viewer(cluster_id, "*-prod", "team")
    assert seen_in_sql(pattern_viewer) == {"a-prod", "team-a-prod", "team"}
    assert seen_in_sql(viewer(cluster_id + 1, "*-prod")) == set()
    assert not pattern_viewer.sees(cluster_id + 1, "a-prod")
    everywhere = viewer(None, "*-prod")
    assert seen_in_sql(everywhere) == {"a-prod", "team-a-prod"}
    assert everywhere.sees(cluster_id + 1, "a-prod")


def test_a_pattern_grants_no_cluster_scope(cluster_id: int) -> None:
    pattern_viewer = viewer(None, "*-prod", role="admin")
    assert (
        pattern_viewer.is_admin,
        pattern_viewer.sees_everything,
        pattern_viewer.sees_cluster(cluster_id),
    ) == (False,) * 3
    assert not pattern_viewer.names_nodes(cluster_id)
    assert pattern_viewer.counts_nodes(cluster_id)
    assert pattern_viewer.may_operate(cluster_id, "a-prod")
    assert pattern_viewer.administers(cluster_id, "a-prod")
    assert not pattern_viewer.may_operate(cluster_id, "prod")


def test_a_condition_follows_a_relation(cluster_id: int) -> None:
    events = FeedEvent.objects.filter(viewer(cluster_id, "te_m-*").gang_filter("span__"))
    assert list(events) == []
    sql = str(events.query)
    assert "GLOB" in sql or r"te\_m-%" in sql


@pytest.mark.parametrize(
    "text",
    [
        *("*", "**", "-*", "team-*-", "Team-*", "te_m-*", "te%*", "te?m*", "[a]*", "a*b*c*d*"),
        *("a b*", "é*", "a.b*", "a\n*", f"{'a' * 63}*"),
    ],
)
def test_an_invalid_pattern_is_refused(text: str) -> None:
    assert not is_valid_pattern(text)
    user, _ = people.create_user(name="ada", role="viewer", namespace="team-a")
    with pytest.raises((PeopleError, ClusterError)):
        people.grant_role(user=user, role="viewer", namespace=text)
    with pytest.raises((PeopleError, ClusterError)):
        grant_group(group="ml", role="viewer", namespace=text)
    assert len(viewer_of(user).scopes) == 1


@pytest.mark.parametrize("text", ["team-*", "*-prod", "a*", "*a", "ml-*-eval-*", f"{'a' * 62}*"])
def test_patterns_can_be_roles_of_users_and_groups(text: str) -> None:
    assert is_valid_pattern(text)
    east = make_cluster("east")
    user, _ = people.create_user(name="ada", role="viewer", cluster_name="east", namespace=text)
    grant_group(group="ml", role="operator", cluster_name="east", namespace=text)
    eve = sign_in_person(Person("https://id", "1", "eve", ("ml",)))
    assert viewer_of(user).scopes == (Scope(east.pk, text, "viewer"),)
    assert viewer_of(eve).scopes == (Scope(east.pk, text, "operator"),)
    remaining = people.remove_role(name="ada", role="viewer", cluster_name="east", namespace=text)
    assert remaining == []


def test_the_error_of_a_pattern_is_one_sentence() -> None:
    user, _ = people.create_user(name="ada", role="viewer")
    with pytest.raises(PeopleError, match=r"^leave out the namespace to select all namespaces"):
        people.grant_role(user=user, role="viewer", namespace="*")
    with pytest.raises(PeopleError, match=r"^'Team-\*' is not a pattern of namespaces: up to 63 "):
        people.grant_role(user=user, role="viewer", namespace="Team-*")
