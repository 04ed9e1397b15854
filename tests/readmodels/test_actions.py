"""Actions and the audit for four users: texts, permissions, order and exports."""

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from gangboard.domain.action import ActionState
from gangboard.pages.actions.queries import ActionFilters, all_actions, read_actions
from gangboard.pages.actions.views import csv_lines, json_lines
from gangboard.pages.audit.queries import AuditFilters, audit_lines
from gangboard.pages.confirm.batches import read_batch
from gangboard.readmodels.action_labels import shared_label, state_label
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.actions import action_row, actions_of_gang
from gangboard.readmodels.cursors import CursorError
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster
from tests.factories import NOW, make_cluster
from tests.recorded_actions import PATCH, make_action, make_audit

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def action_ids(viewer: Viewer, **filters: Any) -> list[str]:
    return [row.name for row in read_actions(viewer=viewer, filters=ActionFilters(**filters)).rows]


def read(viewer: Viewer, cluster: Cluster, **columns: Any) -> ActionRow:
    row = action_row(viewer=viewer, action_id=make_action(cluster, **columns).pk)
    assert row is not None
    return row


# --- words


@pytest.mark.parametrize(
    ("verb", "lever", "state", "label", "tone"),
    [
        ("suspend", "", "requested", "Requested", "starting"),
        ("suspend", "hold", "armed", "Hold created, not proved yet", "starting"),
        ("suspend", "hold", "applied", "Suspended, watching", "starting"),
        ("suspend", "suspend", "applied", "Suspended, watching", "starting"),
        ("suspend", "parallelism", "applied", "Paused, watching", "starting"),
        ("suspend", "kueue-active", "applied", "Deactivated, watching", "starting"),
        ("suspend", "hold", "verified", "Held", "suspended"),
        ("suspend", "native", "verified", "Suspended", "suspended"),
        ("suspend", "suspend", "verified", "Suspended", "suspended"),
        ("suspend", "kueue-active", "verified", "Deactivated", "suspended"),
        ("suspend", "parallelism", "verified", "Paused", "suspended"),
        ("resume", "suspend", "applied", "Resumed, watching", "starting"),
        ("resume", "suspend", "verified", "Resumed", "running"),
        ("resume", "parallelism", "verified", "Resumed", "running"),
        ("relocate", "hold-exclusion", "applied", "Restarted, watching", "starting"),
        ("relocate", "kueue-exclusion", "applied", "Requeued, watching", "starting"),
        ("relocate", "kueue-exclusion", "verified", "Relocated", "running"),
        ("suspend", "", "refused", "Refused", "blocked"),
        ("suspend", "hold", "conflict", "Not done: the object changed", "blocked"),
        ("suspend", "hold", "gone", "Not done: the object is gone", "unknown"),
        ("suspend", "hold", "expired", "Not sent in time", "blocked"),
        ("suspend", "hold", "unknown", "Outcome unknown", "unknown"),
        ("suspend", "hold", "failed", "Failed", "failed"),
        ("suspend", "hold", "from-tomorrow", "From-tomorrow", "unknown"),
    ],
)
def test_states_have_labels(
    owner: Viewer, cluster: Cluster, verb: str, lever: str, state: str, label: str, tone: str
) -> None:
    row = read(owner, cluster, verb=verb, lever=lever, state=state)
    assert (row.label, row.tone) == (label, tone)
    assert row.face.icon


def test_a_revert_names_its_author(owner: Viewer, cluster: Cluster) -> None:
    row = read(owner, cluster, state="reverted", reverted_by="jobset", held_seconds=0.1)
    assert (row.label, row.tone, row.held_seconds) == ("Reverted by jobset", "failed", 0.1)
    assert read(owner, cluster, state="reverted").label == "Reverted"


def test_a_release_under_a_suspended_jobset_is_not_shown_as_resumed(
    owner: Viewer, cluster: Cluster
) -> None:
    removal = ("delete-hold", "Remove the Hold", "done", "The Hold is gone.")
    resume = ("patch", "Resume the Job", "done", "200")
    only = read(owner, cluster, verb="resume", steps=(removal,))
    assert (only.label, only.tone) == ("Released", "suspended")
    both = read(owner, cluster, verb="resume", steps=(removal, resume))
    assert (both.label, both.tone) == ("Resumed", "running")


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        (["Hold"], "Hold"),
        (["Hold", "Hold"], "Hold"),
        (["Hold", "Suspend"], "Suspend"),
        ([], "Suspend"),
    ],
)
def test_a_button_for_several_objects_has_the_shared_label_or_the_verb(
    labels: list[str], label: str
) -> None:
    assert shared_label("suspend", labels) == label


def test_steps_are_shown_with_the_exact_patch(owner: Viewer, cluster: Cluster) -> None:
    row = read(owner, cluster, steps=(("patch", "Suspend the Job", "done", "200 OK"),))
    (step,) = row.steps
    assert (step.name, step.patch, step.state, step.result) == (
        "Suspend the Job",
        PATCH,
        "done",
        "200 OK",
    )


def test_foreign_texts_are_sanitized(owner: Viewer, cluster: Cluster) -> None:
    row = read(owner, cluster, reason="a\u202egnp.exe\nb", message="x\x1b[31m")
    assert row.reason == "a‹U+202E›gnp.exe b"
    assert row.message == "x␛[31m"


# --- who may see


def test_missing_and_forbidden_are_the_same(
    owner: Viewer, stranger: Viewer, cluster: Cluster
) -> None:
    action = make_action(cluster)
    reader = Viewer(3, "rene", (Scope(cluster.pk, "other", "operator"),))
    for viewer in (stranger, reader):
        assert action_row(viewer=viewer, action_id=action.pk) is None
        assert action_ids(viewer) == []
        assert actions_of_gang(viewer=viewer, gang_id="gang-1") == ()
    assert action_row(viewer=owner, action_id="no-such") is None
    assert action_row(viewer=owner, action_id="a\x00b") is None


def test_a_reader_sees_its_namespace_only(cluster: Cluster) -> None:
    other_cluster = make_cluster("us-train")
    make_action(cluster, name="mine")
    make_action(cluster, name="canary-a", namespace="other")
    make_action(other_cluster, name="canary-b")
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    assert action_ids(reader) == ["mine"]
    assert action_ids(reader, cluster="us-train") == []
    assert [row.name for row in all_actions(reader, ActionFilters())] == ["mine"]
    assert "canary" not in "".join(csv_lines(all_actions(reader, ActionFilters(q="canary"))))


def test_actions_outlive_their_cluster(owner: Viewer, cluster: Cluster) -> None:
    action = make_action(cluster)
    cluster.delete()
    row = action_row(viewer=owner, action_id=action.pk)
    assert row is not None
    assert row.cluster == "eu-train"


# --- lists


def test_actions_are_filtered(owner: Viewer, cluster: Cluster) -> None:
    make_action(cluster, name="held")
    make_action(cluster, name="resumed", verb="resume", lever="suspend", actor_name="rene")
    make_action(cluster, name="open", state="sent", finished_at=None, reason="cable swap")
    assert action_ids(owner) == ["open", "resumed", "held"]
    assert action_ids(owner, verb="resume") == ["resumed"]
    assert action_ids(owner, state="sent") == ["open"]
    assert action_ids(owner, actor="rene") == ["resumed"]
    assert action_ids(owner, lever="hold") == ["open", "held"]
    assert action_ids(owner, q="cable OPEN") == ["open"]
    assert action_ids(owner, q="cable resumed") == []
    assert action_ids(owner, open=True) == ["open"]
    assert action_ids(owner, cluster="eu-train", namespace="research") == [
        "open",
        "resumed",
        "held",
    ]
    assert action_ids(owner, namespace="other") == []
    assert [row.is_final for row in actions_of_gang(viewer=owner, gang_id="gang-1")] == [
        False,
        True,
        True,
    ]


def test_pages_are_stable_while_actions_are_added(owner: Viewer, cluster: Cluster) -> None:
    for number in range(7):
        make_action(cluster, name=f"a{number}")
    walked: list[str] = []
    cursor: str | None = None
    while True:
        page = read_actions(viewer=owner, filters=ActionFilters(), cursor=cursor, limit=3)
        walked += [row.name for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break
        make_action(cluster, name="late")
    assert walked == ["a6", "a5", "a4", "a3", "a2", "a1", "a0"]


@pytest.mark.parametrize("cursor", ["x", "e30", "WyItcmVxdWVzdGVkX2F0LC1pZCIsWzEsMl1d"])
def test_a_foreign_cursor_is_refused(owner: Viewer, cursor: str) -> None:
    with pytest.raises(CursorError):
        read_actions(viewer=owner, filters=ActionFilters(), cursor=cursor)
    with pytest.raises(CursorError):
        audit_lines(viewer=owner, filters=AuditFilters(), cursor=cursor)


def test_a_page_needs_three_queries(
    owner: Viewer, cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(20):
        make_action(cluster, steps=(("patch", "Suspend", "done", ""),))
    with django_assert_num_queries(3):
        read_actions(viewer=owner, filters=ActionFilters(), limit=10)
    with django_assert_num_queries(2):
        actions_of_gang(viewer=owner, gang_id="gang-1")


def test_a_resumed_suspension_shows_its_author_and_duration(
    owner: Viewer, cluster: Cluster
) -> None:
    def act(minutes: int, verb: str, actor: str, **columns: Any) -> str:
        index = NOW + timedelta(minutes=minutes)
        return make_action(
            cluster,
            uid="one",
            verb=verb,
            actor_name=actor,
            requested_at=index,
            applied_at=index,
            **columns,
        ).pk

    held = act(0, "suspend", "olga")
    act(1, "resume", "rene", state="refused")
    resume = act(3, "resume", "admin")
    repeated = act(10, "suspend", "olga")
    make_action(cluster, uid="two", verb="resume", requested_at=NOW + timedelta(hours=1))
    rows = {row.id: row for row in read_actions(viewer=owner, filters=ActionFilters()).rows}
    end = rows[held].ended
    assert end is not None
    assert (end.sentence, end.at, end.action_id) == (
        "Lasted 3 min; resumed by admin",
        NOW + timedelta(minutes=3),
        resume,
    )
    assert (rows[held].label, rows[held].state) == ("Was held", "verified")
    assert (rows[repeated].label, rows[repeated].ended) == ("Held", None)
    assert action_row(viewer=owner, action_id=held) == rows[held]


def test_a_resume_in_another_cluster_has_no_effect(owner: Viewer, cluster: Cluster) -> None:
    held = make_action(cluster, uid="one")
    other_cluster = make_cluster("west")
    make_action(other_cluster, uid="one", verb="resume", requested_at=NOW + timedelta(hours=1))
    row = action_row(viewer=owner, action_id=held.pk)
    assert row is not None
    assert row.ended is None


@pytest.mark.parametrize(
    ("within", "expected"),
    [("1h", ["now"]), ("12h", ["now", "night"]), ("7d", ["now", "night"]), ("x", None)],
)
def test_actions_are_filtered_by_recent_hours(
    owner: Viewer, cluster: Cluster, within: str, expected: list[str] | None
) -> None:
    now = timezone.now()
    for name, hours in (("now", 0), ("night", 9), ("old", 24 * 8)):
        make_action(cluster, name=name, requested_at=now - timedelta(hours=hours))
    assert action_ids(owner, within=within) == (expected or ["now", "night", "old"])


@pytest.mark.parametrize(
    ("within", "expected"),
    [("1h", ["now"]), ("12h", ["now", "night"]), ("x", ["now", "night", "old"])],
)
def test_audit_lines_are_filtered_by_recent_hours(
    owner: Viewer, cluster: Cluster, within: str, expected: list[str]
) -> None:
    now = timezone.now()
    for name, hours in (("now", 0), ("night", 9), ("old", 24 * 8)):
        make_audit(cluster, "research", name, at=now - timedelta(hours=hours))
    page = audit_lines(viewer=owner, filters=AuditFilters(within=within))
    assert [row.sentence for row in page.rows] == expected


def test_every_state_has_a_label() -> None:
    names = [state_label(state) for state in ActionState]
    assert len(set(names)) == len(ActionState)


def test_a_batch_keeps_the_requested_order(
    owner: Viewer, stranger: Viewer, cluster: Cluster
) -> None:
    make_action(cluster, name="first", batch="b1")
    make_action(cluster, name="second", batch="b1", state="sent", finished_at=None)
    make_action(cluster, name="canary", batch="b1", namespace="other")
    batch = read_batch(viewer=owner, batch="b1")
    assert batch is not None
    assert [row.name for row in batch.rows] == ["first", "second", "canary"]
    assert (batch.unsent, batch.stoppable) == (0, 0)
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    observed = read_batch(viewer=reader, batch="b1")
    assert observed is not None
    assert [row.name for row in observed.rows] == ["first", "second"]
    assert read_batch(viewer=stranger, batch="b1") is None
    assert read_batch(viewer=owner, batch="") is None


# --- the record as a file


@pytest.mark.parametrize(
    "reason",
    ['=HYPERLINK("http://x")', "+1", "-1+1", "@SUM(A1)", "|calc", " =1+1", "＝1+1", "\t=1"],
)
def test_no_cell_of_the_csv_is_a_formula(owner: Viewer, cluster: Cluster, reason: str) -> None:
    make_action(cluster, reason=reason, actor_name=reason, message=reason)
    text = "".join(csv_lines(all_actions(owner, ActionFilters())))
    heading, line = list(csv.reader(io.StringIO(text)))
    cells = dict(zip(heading, line, strict=True))
    for column in ("reason", "actor", "message"):
        assert cells[column].startswith("'")
    assert cells["held_seconds"] == ""
    assert cells["requested_at"].endswith("Z")


def test_cells_with_quotes_and_breaks_stay_one_cell(owner: Viewer, cluster: Cluster) -> None:
    make_action(cluster, reason='a "b", c')
    lines = list(csv_lines(all_actions(owner, ActionFilters())))
    assert len(lines) == 2
    assert '"a ""b"", c"' in lines[1]


def test_json_lines_are_complete_and_in_order(owner: Viewer, cluster: Cluster) -> None:
    for number in range(3):
        make_action(cluster, name=f"=a{number}", steps=(("patch", "Suspend", "done", ""),))
    results = [json.loads(line) for line in json_lines(all_actions(owner, ActionFilters()))]
    assert [line["target"]["name"] for line in results] == ["=a2", "=a1", "=a0"]
    row = action_row(viewer=owner, action_id=results[0]["id"])
    assert row is not None
    assert list(json_lines([row])) == list(json_lines(all_actions(owner, ActionFilters())))[:1]


def test_an_export_is_read_page_by_page(
    owner: Viewer, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangboard.pages.actions.queries.LARGEST_PAGE", 2)
    for number in range(5):
        make_action(cluster, name=f"a{number}")
    names = [row.name for row in all_actions(owner, ActionFilters())]
    assert names == ["a4", "a3", "a2", "a1", "a0"]


# --- the audit


def lines(viewer: Viewer, **filters: Any) -> list[str]:
    page = audit_lines(viewer=viewer, filters=AuditFilters(**filters))
    return [row.sentence for row in page.rows]


def test_audit_lines_follow_permissions(owner: Viewer, stranger: Viewer, cluster: Cluster) -> None:
    other_cluster = make_cluster("us-train")
    make_audit(cluster, "research", "denied here")
    make_audit(cluster, "other", "denied there")
    make_audit(cluster, "", "cluster switched")
    make_audit(other_cluster, "", "other cluster switched")
    make_audit(None, "", "all switched", event="switch")
    every = ["all switched", "other cluster switched", "cluster switched", "denied there"]
    assert lines(owner) == [*every, "denied here"]
    assert lines(stranger) == []
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "admin"),))
    assert lines(reader) == ["denied here"]
    viewer_of_all = Viewer(4, "vera", (Scope(None, "", "viewer"),))
    assert lines(viewer_of_all) == ["denied there", "denied here"]
    operator = Viewer(5, "otto", (Scope(cluster.pk, "", "operator"),))
    assert lines(operator) == ["denied there", "denied here"]
    local_admin = Viewer(6, "anna", (Scope(cluster.pk, "", "admin"),))
    assert lines(local_admin) == ["cluster switched", "denied there", "denied here"]


def test_the_audit_is_filtered_and_paged(owner: Viewer, cluster: Cluster) -> None:
    action = make_action(cluster)
    # Words: a search looks at ids too, and a random one may have any digit.
    for number, text in enumerate(("zero", "one", "two", "three", "four")):
        make_audit(cluster, "research", f"line {text}", action=action, actor_name=f"p{number}")
    make_audit(cluster, "research", "a switch", event="switch")
    assert lines(owner, event="switch") == ["a switch"]
    assert lines(owner, actor="p3") == ["line three"]
    assert lines(owner, q="line four") == ["line four"]
    first = audit_lines(viewer=owner, filters=AuditFilters(event="denied"), limit=3)
    assert first.rows[0].action_id == action.pk
    rest = audit_lines(
        viewer=owner, filters=AuditFilters(event="denied"), limit=3, cursor=first.next_cursor
    )
    assert [row.sentence for row in (*first.rows, *rest.rows)] == [
        "line four",
        "line three",
        "line two",
        "line one",
        "line zero",
    ]
    assert rest.next_cursor is None
