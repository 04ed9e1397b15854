"""Labels of gangs: filters, and rows of a release that did not know them. Also run on PostgreSQL."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from gangboard.readmodels.gangs import GangFilters, list_gangs
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Gang
from tests.factories import make_cluster, make_gang

ADMIN = Viewer(1, "ada", (Scope(None, "", "admin"),))


@pytest.fixture
def labelled(db: None) -> None:
    cluster = make_cluster("east")
    labels = {
        "one": {"team": "nlp", "a.example/tier": "Gold", "empty": ""},
        "two": {"team": "vision", "100%": "a_b"},
        "three": {"team": "nlp", "quoted": "it's"},
        "four": {"2026": "plan", "0": "zero"},
    }
    for name, own in labels.items():
        make_gang(cluster, name, labels=own)


def names(*labels: tuple[str, str | None]) -> list[str]:
    filters = GangFilters(labels=labels)
    page = list_gangs(viewer=ADMIN, filters=filters, limit=10, now=timezone.now())
    return sorted(row.name for row in page.rows)


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([("team", "nlp")], ["one", "three"]),
        ([("team", None)], ["one", "three", "two"]),
        ([("team", "nl")], []),
        ([("team", "NLP")], []),
        ([("tea", None)], []),
        ([("team", "nlp"), ("a.example/tier", "Gold")], ["one"]),
        ([("empty", "")], ["one"]),
        ([("empty", None)], ["one"]),
        # Characters with a meaning in JSON paths, LIKE and SQL.
        ([("100%", "a_b")], ["two"]),
        ([("100%", "axb")], []),
        ([("quoted", "it's")], ["three"]),
        # Keys of digits are keys, not places in a list.
        ([("0", None)], ["four"]),
        ([("0", "zero")], ["four"]),
        ([("2026", "plan")], ["four"]),
        ([("1", None)], []),
        ([("9" * 40, "x")], []),
        ([("team", "null")], []),
    ],
)
def test_gangs_have_the_configured_labels(
    labels: list[tuple[str, str | None]], expected: list[str]
) -> None:
    assert names(*labels) == expected


@pytest.mark.usefixtures("labelled")
def test_a_row_of_the_previous_release_has_no_labels_or_submitter() -> None:
    """A worker of that release inserts gangs during an upgrade, and names no column that it does not know."""
    own = {"id": "'old'", "uid": "'old'", "name": "'old'"}
    columns = [
        str(field.column)
        for field in Gang._meta.concrete_fields
        if field.column not in ("labels", "submitter")
    ]
    values = ", ".join(own.get(column, column) for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO store_gang ({', '.join(columns)}) SELECT {values} FROM store_gang WHERE name = 'one'"
        )
    old = Gang.objects.get(pk="old")
    assert (old.labels, old.submitter) == ({}, "")
    assert names(("team", "nlp")) == ["one", "three"]
    Gang.objects.filter(pk="old").update(labels={"team": "nlp"})
    assert names(("team", "nlp")) == ["old", "one", "three"]
