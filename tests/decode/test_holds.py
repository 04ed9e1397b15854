"""Holds that gangboard or users created."""

from datetime import UTC, datetime

import pytest

from gangboard.decode.holds import HOLD
from tests.decode.reading import Json, model, read, with_identity

SPEC: Json = {
    "jobName": "trio-w-1",
    "ownerUID": "5b0e4d5c-7c0e-4a51-9f5e-0d6a3c1f2a10",
    "by": "alice",
    "reason": "disk of n3",
    "until": "2026-11-21T18:00:00Z",
}


def a_hold(annotations: Json | None = None, **spec: object) -> Json:
    return with_identity(
        {"metadata": {"annotations": annotations}, "spec": {**SPEC, **spec}}, "trio-w-1"
    )


def test_hold_created_by_an_action() -> None:
    hold = model(HOLD, a_hold({"gangboard.dev/action": "0a1b2c", "other": "x"}))
    assert (hold.meta.ref.group, hold.meta.ref.kind) == ("gangboard.dev", "Hold")
    assert (hold.meta.api_version, hold.meta.ref.name) == ("v1alpha1", "trio-w-1")
    assert (hold.job_name, hold.owner_uid) == (SPEC["jobName"], SPEC["ownerUID"])
    assert (hold.by, hold.reason) == ("alice", "disk of n3")
    assert hold.until == datetime(2026, 11, 21, 18, tzinfo=UTC)
    assert hold.action == "0a1b2c"


def test_hold_created_by_hand_with_required_fields_only() -> None:
    spec = {"jobName": "trio-w-1", "ownerUID": "u"}
    hold = model(HOLD, with_identity({"spec": spec}))
    assert (hold.by, hold.reason, hold.until, hold.action) == ("", "", None, "")


def test_last_time_of_the_calendar_is_a_valid_end() -> None:
    hold = model(HOLD, a_hold(until="9999-12-31T23:59:59Z"))
    assert hold.until == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_malformed_end_is_reported() -> None:
    hold, problem = read(HOLD, a_hold(until="six o'clock"))
    assert hold.until is None
    assert problem is not None
    assert not problem.lost
    assert "its end" in problem.sentence
    assert "six o'clock" in problem.sentence


@pytest.mark.parametrize("obj", [{}, {"spec": None}])
def test_hold_without_a_spec_is_rejected(obj: Json) -> None:
    hold, problem = read(HOLD, with_identity(obj))
    assert hold is None
    assert problem is not None
    assert problem.sentence == "Hold team-a/x cannot be read: it has no spec, so it names no Job."


def test_longer_texts_than_the_crd_allows_are_cut() -> None:
    hold = model(HOLD, a_hold({"gangboard.dev/action": "a" * 500}, by="b" * 999, reason="r" * 9999))
    assert (len(hold.by), len(hold.reason), hold.action) == (256, 1024, "")


def test_holds_are_optional() -> None:
    assert not HOLD.needed
