"""A worker is killed at every boundary between database and network, and another one takes over."""

from __future__ import annotations

import pytest

from gangboard.actions.sweeper import Sweeper
from gangboard.store.models import Action
from tests.actions.site import WORKER, Killed, Site, crash_points

BOUNDARIES = [
    "claimed",
    "check:before-writing",
    "check:written",
    "rehearsal:answered",
    "create-hold:before-writing",
    "create-hold:about-to-send",
    "create-hold:answered",
    "create-hold:recorded",
    "prove-hold:about-to-send",
    "prove-hold:answered",
    "prove-hold:recorded",
    "patch:before-writing",
    "patch:about-to-send",
    "patch:answered",
    "patch:recorded",
    "applied:before-writing",
    "applied:written",
    "verified:before-writing",
    "end:before",
    "end:after",
]
"""Every one that holding a Job goes through, in order."""


def test_the_list_of_crash_points_is_complete(site: Site) -> None:
    passed: list[str] = []
    site.engine(checkpoint=passed.append).finish(site.request())
    assert list(dict.fromkeys(passed)) == BOUNDARIES


@pytest.mark.parametrize("boundary", crash_points(BOUNDARIES))
def test_another_worker_takes_over(site: Site, boundary: str) -> None:
    def die(name: str) -> None:
        if name == boundary:
            raise Killed

    action_id = site.request()
    with pytest.raises(Killed):
        site.engine(checkpoint=die).finish(action_id)
    # While the lease lasts no other worker touches it.
    sent = len(site.wire.seen)
    assert site.engine().advance(action_id) is None
    assert len(site.wire.seen) == sent
    site.clock.advance(35)
    if Action.objects.get(pk=action_id).finished_at is None:
        assert action_id in Sweeper(site.clock).sweep().due
    action = site.engine().finish(action_id)
    assert action.finished_at is not None
    assert action.due_at is None
    for step in action.steps.filter(dry_run=False).exclude(kind="delete-hold"):
        assert step.sends <= 1, step.name
    assert len(site.wire.writes("create", "holds")) <= 1
    assert len(site.wire.writes("patch", "jobs")) <= 1
    lost = boundary in ("create-hold:about-to-send", "patch:about-to-send")
    assert action.state == ("failed" if lost else "verified"), action.message
    assert bool(site.holds()) == (not lost)
    assert site.suspended(WORKER) == (not lost)


@pytest.mark.parametrize(
    "boundary", ["exit:begin", "removal:about-to-send", "removal:answered", "end:before"]
)
def test_the_removal_of_the_hold_survives_a_crash(site: Site, boundary: str) -> None:
    def fail(name: str) -> None:
        if name == "patch:about-to-send":
            site.simulator.faults.status(409, resource="jobs", verb="patch", count=1)
        if name == boundary:
            raise Killed

    action_id = site.request()
    with pytest.raises(Killed):
        site.engine(checkpoint=fail).finish(action_id)
    site.clock.advance(35)
    action = site.engine().finish(action_id)
    # Killed before the response was stored. A later read shows an unchanged object.
    state = "failed" if boundary == "exit:begin" else "conflict"
    assert (action.state, action.due_at) == (state, None), action.message
    assert site.holds() == []


def test_a_superseded_worker_sends_nothing(site: Site) -> None:
    """It stops right before it sends, another one ends the action, and then it wakes up."""
    action_id = site.request()

    def sleep(name: str) -> None:
        if name == "patch:about-to-send" and not slept:
            slept.append(name)
            site.clock.advance(35)
            finished = site.engine().finish(action_id)
            assert finished.state == "failed", finished.message

    slept: list[str] = []
    assert site.engine(checkpoint=sleep).advance(action_id) is None
    assert site.wire.writes("patch", "jobs") == []
    assert site.holds() == []
    assert not site.suspended()
