"""Gangs ordered by the value of their priority, not by its class name."""

import pytest

from gangboard.readmodels.gangs import GangFilters, list_gangs
from gangboard.store.access import Viewer
from tests.factories import NOW, make_cluster, make_gang

pytestmark = pytest.mark.django_db

WORTH = {"batch-low": -10, "default": 0, "critical": 100_000, "high": 1000}
UNKNOWN = "a-class-without-pods"


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize(
    ("ordering", "expected"),
    [
        ("-priority", ["critical", "high", "default", "batch-low", UNKNOWN]),
        ("priority", ["batch-low", "default", "high", "critical", UNKNOWN]),
    ],
)
def test_gangs_are_ordered_by_priority_with_unknown_last(
    owner: Viewer, ordering: str, expected: list[str], limit: int
) -> None:
    cluster = make_cluster()
    for name in (UNKNOWN, *WORTH):
        make_gang(cluster, name, priority=name, priority_value=WORTH.get(name))
    read: list[str] = []
    cursor = None
    while len(read) < 6:
        page = list_gangs(
            viewer=owner,
            filters=GangFilters(ordering=ordering),
            limit=limit,
            cursor=cursor,
            now=NOW,
        )
        read += [row.name for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert read == expected
