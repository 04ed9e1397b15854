"""The timeline of a gang: actions, and the nodes of a Job's pods before and after."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from gangboard.pages.gang.timeline import make_timeline
from gangboard.readmodels.action_labels import action_face
from gangboard.readmodels.action_rows import ActionRow, TargetRow

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def an_action(number: int, verb: str, nodes: tuple[str, ...], state: str = "verified") -> ActionRow:
    index = NOON + timedelta(minutes=number)
    return ActionRow(
        id=f"a{number}",
        verb=verb,
        target=TargetRow("east", "batch", "Job", "team-a", "train-w-1", f"uid-{number}", 1),
        gang_id="g",
        state=state,
        is_final=True,
        face=action_face(state, verb, "hold"),
        lever="hold",
        lever_label="Hold",
        reason="node-1 is broken",
        actor="alice",
        via="page",
        forced=False,
        message="It is so.",
        warnings=(),
        reactions=(),
        before={},
        after={},
        steps=(),
        button="Suspend",
        reverted_by="",
        held_seconds=None,
        until=None,
        batch="",
        requested_at=index,
        sent_at=index,
        applied_at=index,
        finished_at=index,
        nodes=nodes,
    )


def messages(*oldest_first: ActionRow, now: tuple[str, ...] = ()) -> list[str]:
    rows = tuple(reversed(oldest_first))
    return [row.message for row in make_timeline(rows, {("Job", "train-w-1"): now})]


def test_a_relocation_names_both_nodes() -> None:
    held, resumed = an_action(1, "suspend", ("n1",)), an_action(2, "resume", ())
    newest, oldest = messages(held, resumed, now=("n2",))
    assert newest == "It is so. It was on n1; it came up on n2."
    assert oldest == "It is so. It was on n1."


def test_a_return_to_the_same_node_is_reported() -> None:
    held, resumed = an_action(1, "suspend", ("n1",)), an_action(2, "resume", ())
    assert messages(held, resumed, now=("n1",))[0] == (
        "It is so. It was on n1; it came up again on n1."
    )


def test_an_unplaced_relocation_claims_no_node() -> None:
    held, resumed = an_action(1, "suspend", ("n1",)), an_action(2, "resume", ())
    assert messages(held, resumed, now=())[0] == "It is so."


def test_later_actions_do_not_change_earlier_entries() -> None:
    first = an_action(1, "suspend", ("n1",))
    back = an_action(2, "resume", ())
    second_action = an_action(3, "suspend", ("n2",))
    message = messages(first, back, second_action, now=("n9",))
    assert message == [
        "It is so. It was on n2.",
        "It is so. It was on n1; it came up on n2.",
        "It is so. It was on n1.",
    ]


def test_a_failed_action_names_no_nodes() -> None:
    assert messages(an_action(1, "suspend", ("n1",), state="reverted"), now=("n1",)) == [
        "It is so."
    ]


def test_many_nodes_are_counted() -> None:
    nodes = tuple(f"n{number}" for number in range(10))
    (message,) = messages(an_action(1, "suspend", nodes))
    assert message == "It is so. It was on n0, n1, n2, n3, n4, n5, n6, n7 and 2 more."


def test_an_entry_has_its_end_time() -> None:
    row = replace(an_action(1, "suspend", ()), finished_at=NOON)
    (entry,) = make_timeline((row,), {})
    assert (entry.at, entry.kind, entry.actor, entry.action_id) == (NOON, "action", "alice", "a1")
