"""The clock is set back: stored times lie in the future, and actions do not wait for them."""

from __future__ import annotations

from datetime import timedelta
from unittest import mock

import pytest

from gangboard.actions import hold_proofs
from gangboard.actions.execution import ActionExecution, repair_future_times, reset_future_times
from gangboard.actions.sweeper import Sweeper
from gangboard.store import actions, cluster_leases, heartbeats, rate_limits, row_leases
from gangboard.store.models import (
    Action,
    ActionStep,
    Attempts,
    Chore,
    Cluster,
    Heartbeat,
    HoldCheck,
    Lease,
)
from tests.actions.site import QuickClock
from tests.actions.stored_holds import make_failed, make_hold, store
from tests.factories import make_cluster
from tests.recorded_actions import make_action

pytestmark = pytest.mark.django_db
HOURS = timedelta(hours=2)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster("east", actor_credentials=b"sealed")


@pytest.fixture
def clock() -> QuickClock:
    return QuickClock()


def make_open(cluster: Cluster, clock: QuickClock, **columns: object) -> Action:
    """Make an action that waits for a worker and was requested two hours ahead of now."""
    now = clock.now()
    values = {
        "state": "requested",
        "finished_at": None,
        "sent_at": None,
        "requested_at": now + HOURS,
        "expires_at": now + HOURS + timedelta(minutes=5),
        "due_at": now + HOURS,
    }
    return make_action(cluster, **{**values, **columns})


def test_a_requested_action_is_due(cluster: Cluster, clock: QuickClock) -> None:
    action = make_open(cluster, clock)
    assert Sweeper(clock, lost_after=0.0).sweep().due == (action.pk,)
    action.refresh_from_db()
    # It lives as long as an action requested now.
    remaining = (action.expires_at - clock.now()).total_seconds()
    assert actions.LIFE_SECONDS - 60 < remaining <= actions.LIFE_SECONDS


def test_a_backoff_is_kept(cluster: Cluster, clock: QuickClock) -> None:
    """A wait no longer than the longest backoff stays as it is."""
    later = clock.now() + timedelta(seconds=actions.LONGEST_DELAY - 1)
    make_open(cluster, clock, due_at=later)
    assert Sweeper(clock, lost_after=0.0).sweep().due == ()
    assert Action.objects.get().due_at == later


def test_a_dead_workers_lease_on_an_action_expires(cluster: Cluster, clock: QuickClock) -> None:
    """A living holder has a whole lease time to renew it, so none of its requests is under way
    then."""
    held = clock.now() + HOURS
    action = make_open(cluster, clock, holder="dead", number=3, held_until=held)
    sweeper = Sweeper(clock, lost_after=0.0)
    assert sweeper.sweep().due == ()
    clock.advance(actions.ACTION_LEASE_SECONDS + 1)
    assert sweeper.sweep().due == (action.pk,)


def test_a_lease_on_a_cluster_ends_within_its_usual_time(
    cluster: Cluster, clock: QuickClock
) -> None:
    lease = Lease.objects.create(cluster=cluster, holder="dead", expires_at=clock.now() + HOURS)
    assert cluster_leases.free_clusters() == []
    lease.refresh_from_db()
    assert lease.expires_at is not None
    remaining = (lease.expires_at - clock.now()).total_seconds()
    assert remaining <= cluster_leases.CLUSTER_LEASE_SECONDS


def test_a_chore_of_a_dead_worker_is_taken_over(cluster: Cluster, clock: QuickClock) -> None:
    Chore.objects.create(
        cluster=cluster, name="prove", holder="dead", held_until=clock.now() + HOURS
    )
    with row_leases.lock_chore(cluster.pk, "prove", clock) as lock:
        assert lock is None
    clock.advance(row_leases.LONGEST_REST + 1)
    with row_leases.lock_chore(cluster.pk, "prove", clock) as lock:
        assert lock is not None


def test_a_proof_from_the_future_is_not_fresh(cluster: Cluster, clock: QuickClock) -> None:
    store(cluster, make_hold("a"))
    check = HoldCheck.objects.create(
        cluster=cluster, hold_uid="hold-a", in_force=True, checked_at=clock.now() + HOURS
    )
    assert hold_proofs.due_clusters(clock.now()) == [cluster.pk]
    due = hold_proofs._due(cluster, {check.hold_uid: check}, clock.now())
    assert [hold.meta.ref.name for hold in due] == ["a"]


def test_an_orphan_of_an_action_with_a_future_end_is_removed(
    cluster: Cluster, clock: QuickClock
) -> None:
    make_failed(cluster, "a1", finished_at=clock.now() + HOURS)
    store(cluster, make_hold("late", action="a1"))
    assert Sweeper(clock).sweep().due == ("a1",)


def test_a_dead_poll_worker_is_not_alive(clock: QuickClock) -> None:
    Heartbeat.objects.create(
        name="dead", kind="poll", slots=1, beat_at=clock.now() + HOURS, began_at=clock.now()
    )
    assert heartbeats.alive_poll_workers() == frozenset()


def test_a_rate_limit_does_not_last_for_hours(clock: QuickClock) -> None:
    minute = timedelta(minutes=1)
    rate_limits.take("tries", most=1, window=minute)
    Attempts.objects.update(ends_at=clock.now() + HOURS)
    assert rate_limits.take("tries", most=1, window=minute).wait == 0


def test_the_waiting_time_of_an_action_restarts(clock: QuickClock) -> None:
    """An answer that was lost, the end of an action, a watch: each counts seconds since a moment."""
    now = clock.now()
    ahead, before = (now + HOURS).isoformat(), (now - HOURS).isoformat()
    context = {
        "hold": {"sent_at": ahead, "uid": "h"},
        "exit": {"since": ahead, "tries": 1},
        "trouble": {"since": before},
        "quiet_since": ahead,
        "jobs": {"u": "train"},
    }
    assert reset_future_times(context, now) == {
        "hold": {"sent_at": now.isoformat(), "uid": "h"},
        "exit": {"since": now.isoformat(), "tries": 1},
        "trouble": {"since": before},
        "quiet_since": now.isoformat(),
        "jobs": {"u": "train"},
    }


def test_a_worker_corrects_the_action_that_it_takes(cluster: Cluster, clock: QuickClock) -> None:
    # The clock of SQLite is cut to milliseconds, so an action that is due now may be due later there.
    ahead, due_at = clock.now() + HOURS, clock.now() - timedelta(seconds=1)
    action = make_open(
        cluster, clock, state="applied", sent_at=ahead, applied_at=ahead, due_at=due_at
    )
    step = ActionStep.objects.create(
        action=action, position=0, kind="patch", name="x", method="PATCH", path="/x", at=ahead
    )
    lease = actions.acquire_lease(action.pk, "worker", clock)
    assert lease is not None
    action.refresh_from_db()
    execution = ActionExecution(lease, clock, lambda _name: None, mock.Mock(), action)
    execution.reload_steps()
    repair_future_times(execution)
    action.refresh_from_db()
    step.refresh_from_db()
    moments = (action.sent_at, action.applied_at, step.at)
    assert all(moment is not None and moment <= clock.now() for moment in moments)
