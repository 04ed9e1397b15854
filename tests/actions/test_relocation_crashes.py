"""A worker that relocates a Job is killed at every boundary, and another one takes over."""

from __future__ import annotations

import pytest

from gangboard.actions.sweeper import Sweeper
from gangboard.domain.action import Avoid
from gangboard.store.models import Action
from tests.actions.site import WORKER, Killed, Site, crash_points
from tests.actions.test_relocation import nodes_of, terms

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
    "wait-stopped:recorded",
    "exclude:rehearsal",
    "exclude:before-writing",
    "exclude:about-to-send",
    "exclude:answered",
    "exclude:recorded",
    "delete-hold:before-writing",
    "delete-hold:about-to-send",
    "delete-hold:answered",
    "delete-hold:recorded",
    "prove-release:about-to-send",
    "prove-release:answered",
    "prove-release:recorded",
    "restart:before-writing",
    "restart:about-to-send",
    "restart:answered",
    "restart:recorded",
    "applied:before-writing",
    "applied:written",
    "verified:before-writing",
    "end:before",
    "end:after",
]
"""Every one that a relocation goes through, in order."""
LOST = {"create-hold:about-to-send", "patch:about-to-send", "exclude:about-to-send"}
"""Boundaries after which a request is never sent, so the action undoes what it did."""
RESUMED = "restart:about-to-send"
"""The same for the last request: the Job is excluded already, and is resumed by another request."""


def ask(site: Site) -> str:
    return site.request("relocate", avoid=Avoid(tuple(nodes_of(site))))


def test_the_list_of_crash_points_is_complete(site: Site) -> None:
    passed: list[str] = []
    site.engine(checkpoint=passed.append).finish(ask(site))
    assert list(dict.fromkeys(passed)) == BOUNDARIES


@pytest.mark.parametrize("boundary", crash_points(BOUNDARIES))
def test_another_worker_takes_over(site: Site, boundary: str) -> None:
    def die(name: str) -> None:
        if name == boundary:
            raise Killed

    (before,) = nodes_of(site)
    siblings = site.uids("train-workers-1") | site.uids("train-driver-0")
    action_id = ask(site)
    with pytest.raises(Killed):
        site.engine(checkpoint=die).finish(action_id)
    sent = len(site.wire.seen)
    assert site.engine().advance(action_id) is None
    assert len(site.wire.seen) == sent
    site.clock.advance(35)
    if Action.objects.get(pk=action_id).finished_at is None:
        assert action_id in Sweeper(site.clock).sweep().due
    action = site.engine().finish(action_id)
    assert (action.finished_at is not None, action.due_at) == (True, None)
    for step in action.steps.filter(dry_run=False).exclude(kind="delete-hold"):
        assert step.sends <= 1, step.name
    assert len(site.wire.writes("create", "holds")) <= 1
    assert site.holds() == []
    assert not site.suspended()
    assert site.uids("train-workers-1") | site.uids("train-driver-0") == siblings
    states = {"failed"} if boundary in LOST else {"verified"}
    # The controller may have resumed the Job meanwhile, and then nothing was lost.
    states |= {"failed"} if boundary == RESUMED else set()
    assert action.state in states, action.message
    assert bool(terms(site.job())) == (boundary not in LOST)
    if boundary not in LOST:
        assert before not in nodes_of(site, WORKER)
