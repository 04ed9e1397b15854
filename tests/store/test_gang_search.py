"""Labels and submitters in the search index. Also run on PostgreSQL."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gangboard.store.access import Scope, Viewer
from gangboard.store.gang_search import (
    count_labels,
    count_submitters,
    has_submitter,
    index_deleted_gangs,
)
from gangboard.store.models import Gang, GangSearch
from tests.factories import NOW, make_cluster, make_gang

ADMIN = Viewer(1, "ada", (Scope(None, "", "admin"),))
STRANGER = Viewer(3, "stan", ())


@pytest.fixture
def reader(db: None) -> Viewer:
    """Four gangs of two namespaces, the last one deleted, and a viewer of the namespace `research`."""
    cluster = make_cluster("east")
    rows = (
        ("one", "research", {"team": "Nlp", "100%": "a_b"}, "Ada"),
        ("two", "research", {"team": "Nlp"}, "grace"),
        ("three", "vision", {"team": "Vision"}, "Ada"),
        ("four", "research", {"team": "Nlp"}, "Ada"),
    )
    for name, namespace, labels, submitter in rows:
        make_gang(cluster, name, namespace=namespace, labels=labels, submitter=submitter)
    four = Gang.objects.get(name="four")
    Gang.objects.filter(pk=four.pk).update(gone_at=NOW - timedelta(minutes=1))
    index_deleted_gangs([four.uid], cluster_id=cluster.pk)
    return Viewer(2, "rene", (Scope(cluster.pk, "research", "viewer"),))


def test_labels_of_existing_gangs_are_counted(reader: Viewer) -> None:
    found = count_labels(["team="], viewer=ADMIN, most=5)
    assert found.rows == ((("team", "Nlp"), 2), (("team", "Vision"), 1))
    assert not found.is_partial
    assert count_labels(["team="], viewer=ADMIN, most=1).rows == found.rows[:1]
    assert count_labels(["te", "vis"], viewer=ADMIN, most=5).rows == ((("team", "Vision"), 1),)
    assert count_labels(["team"], viewer=reader, most=5).rows == ((("team", "Nlp"), 2),)
    assert count_labels(["team"], viewer=STRANGER, most=5).rows == ()


@pytest.mark.parametrize("word", ["%", "100%", "_", "a_b", "00%=a"])
def test_characters_with_a_meaning_in_patterns_are_plain(reader: Viewer, word: str) -> None:
    assert count_labels([word], viewer=ADMIN, most=5).rows == ((("100%", "a_b"), 1),)


def test_submitters_of_existing_gangs_are_counted(reader: Viewer) -> None:
    assert count_submitters(["a"], viewer=ADMIN, most=5) == (("Ada", 2), ("grace", 1))
    assert count_submitters(["a"], viewer=ADMIN, most=1) == (("Ada", 2),)
    assert count_submitters(["ada"], viewer=reader, most=5) == (("Ada", 1),)
    assert count_submitters(["a"], viewer=STRANGER, most=5) == ()


@pytest.mark.parametrize(
    ("names", "gone", "expected"),
    [
        (["ADA"], False, {"one", "three"}),
        (["ADA"], True, {"one", "three", "four"}),  # the time of deletion decides
        (["ada", "grace"], False, {"one", "two", "three"}),
        (["ad"], False, set()),
        ([""], False, set()),
        (["\x00"], False, set()),
        ([], False, set()),
    ],
)
def test_gangs_of_a_submitter_ignore_case(
    reader: Viewer, names: list[str], gone: bool, expected: set[str]
) -> None:
    gangs = Gang.objects.filter(has_submitter(names, gone=gone))
    assert set(gangs.values_list("name", flat=True)) == expected


def test_a_deleted_gang_keeps_labels_and_submitter_in_the_index(reader: Viewer) -> None:
    row = GangSearch.objects.get(gang__name="four")
    assert (row.labels, row.submitter, row.gone) == ("\nteam=nlp\n", "ada", True)
