"""The audit as a page shows it: one entry an action, its lines below it."""

from __future__ import annotations

import pytest

from gangboard.pages.audit.queries import AuditFilters, all_audit_lines, audit_groups
from gangboard.pages.audit.rows import ACTION_EVENTS, ADMIN_EVENTS, event_label
from gangboard.store.access import Scope, Viewer
from tests.factories import make_cluster
from tests.recorded_actions import make_action, make_audit

pytestmark = pytest.mark.django_db
OWNER = Viewer(1, "olga", (Scope(None, "", "admin"),))


@pytest.fixture
def recorded() -> None:
    """Two actions of 3 and 2 lines, interleaved, and a line about none between them."""
    cluster = make_cluster()
    first, second = make_action(cluster), make_action(cluster)
    for action, texts in ((first, "a1"), (second, "b1"), (first, "a2")):
        make_audit(cluster, "research", texts, action=action, event="state")
    make_audit(cluster, "research", "switched", event="switch")
    for action, texts in ((second, "b2"), (first, "a3")):
        make_audit(cluster, "research", texts, action=action, event="state")


def _listed(filters: AuditFilters, limit: int = 50, cursor: str = "") -> list[list[str]]:
    page = audit_groups(viewer=OWNER, filters=filters, limit=limit, cursor=cursor)
    return [
        [group.newest.sentence, *(line.sentence for line in group.lines)] for group in page.groups
    ]


def test_each_action_is_listed_once_at_its_newest_line(recorded: None) -> None:
    assert _listed(AuditFilters()) == [
        ["a3", "a1", "a2", "a3"],
        ["b2", "b1", "b2"],
        ["switched"],
    ]


def test_pages_hold_whole_actions(recorded: None) -> None:
    first = audit_groups(viewer=OWNER, filters=AuditFilters(), limit=1)
    assert len(first.groups[0].lines) == 3
    assert first.next_cursor
    assert _listed(AuditFilters(), 1, first.next_cursor) == [["b2", "b1", "b2"]]


def test_a_search_finds_an_action_by_an_older_line(recorded: None) -> None:
    assert _listed(AuditFilters(q="a2")) == [["a2", "a2"]]


def test_files_keep_every_line(recorded: None) -> None:
    assert len(list(all_audit_lines(OWNER, AuditFilters()))) == 6


def test_each_event_has_a_label() -> None:
    labels = [event_label(event) for event in (*ACTION_EVENTS, *ADMIN_EVENTS)]
    assert all(label[:1].isupper() and "-" not in label.removeprefix("Sign-in") for label in labels)
    assert len(set(labels)) == len(labels)
