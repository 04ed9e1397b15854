"""A worker that relocates a Job in a queue is killed at every boundary, or gets no answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gangboard.actions.sweeper import Sweeper
from gangboard.domain.action import Avoid
from gangboard.store.models import Action, Cluster
from tests.actions.queued_jobs import (
    JOB,
    fleet,
    play,
    runs_as_before,
    workload,
)
from tests.actions.site import Killed, Site, crash_points
from tests.actions.test_relocation import nodes_of, terms, wait_running


@pytest.fixture
def site(start: Callable[..., Site]) -> Site:
    """A cluster with the admitted Job, and quota for it at any time."""
    return start(fleet=fleet())


BOUNDARIES = [
    "claimed",
    "check:before-writing",
    "check:written",
    "rehearsal:answered",
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
"""Every one that such a relocation goes through, in order."""
LOST = {"patch:about-to-send", "exclude:about-to-send", "restart:about-to-send"}
"""Boundaries after which a request is never sent, so the action puts the Job back into its queue."""


def test_the_list_of_crash_points_is_complete(site: Site) -> None:
    passed: list[str] = []
    action_id = site.request("relocate", JOB, avoid=Avoid(tuple(nodes_of(site, JOB))))
    site.engine(checkpoint=passed.append).finish(action_id)
    assert list(dict.fromkeys(passed)) == BOUNDARIES


@pytest.mark.parametrize("boundary", crash_points(BOUNDARIES))
def test_another_worker_takes_over(site: Site, boundary: str) -> None:
    def die(name: str) -> None:
        if name == boundary:
            raise Killed

    (before,) = nodes_of(site, JOB)
    action_id = site.request("relocate", JOB, avoid=Avoid((before,)))
    with pytest.raises(Killed):
        site.engine(checkpoint=die).finish(action_id)
    site.clock.advance(35)
    if Action.objects.get(pk=action_id).finished_at is None:
        assert action_id in Sweeper(site.clock).sweep().due
    action = site.engine().finish(action_id)
    assert (action.finished_at is not None, action.due_at) == (True, None)
    for step in action.steps.filter(dry_run=False):
        assert step.sends <= 1, step.name
    assert len(site.wire.writes("patch", "workloads")) <= 2
    assert action.state == ("failed" if boundary in LOST else "verified"), action.message
    assert workload(site)["spec"]["active"] is True
    wait_running(site, JOB)
    excluded = boundary not in LOST or boundary == "restart:about-to-send"
    assert bool(terms(site.job(JOB))) is excluded
    if excluded:
        assert before not in nodes_of(site, JOB)


@pytest.mark.parametrize("boundary", ["undo:before-writing", "undo:about-to-send", "undo:answered"])
def test_another_worker_ends_the_way_back(site: Site, boundary: str) -> None:
    """The patch of the way back is sent at most once. If it is lost, the action says so."""

    def die(name: str) -> None:
        if name == "patch:recorded":
            Cluster.objects.update(read_only=True)
        if name == boundary:
            raise Killed

    action_id = site.request("relocate", JOB, avoid=Avoid(tuple(nodes_of(site, JOB))))
    with pytest.raises(Killed):
        site.engine(checkpoint=die).finish(action_id)
    site.clock.advance(35)
    action = site.engine().finish(action_id)
    assert action.state == "failed", action.message
    assert len(site.wire.writes("patch", "workloads")) <= 2
    if boundary == "undo:about-to-send":
        assert "is still inactive" in action.message
        assert workload(site)["spec"]["active"] is False
    else:
        assert "is back in its queue" in action.message
        runs_as_before(site)


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("step", ["patch", "exclude", "restart"])
def test_a_lost_answer_is_resolved_by_a_read(site: Site, step: str, applied: bool) -> None:
    resource = "jobs" if step == "exclude" else "workloads"

    def fail() -> None:
        site.simulator.faults.reset(resource=resource, verb="patch", count=1, applied=applied)

    action = play(site, f"{step}:about-to-send", fail)
    assert action.state == ("verified" if applied else "failed"), action.message
    for sent in action.steps.filter(dry_run=False):
        assert sent.sends <= 1
    assert workload(site)["spec"]["active"] is True
    wait_running(site, JOB)
    assert bool(terms(site.job(JOB))) is (applied or step == "restart")
