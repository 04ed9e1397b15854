"""The cache of Holds: a sweep decodes only changed Holds, and finds the expired and orphaned ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import msgspec
import pytest

from gangboard.actions.sweeper import Sweeper
from gangboard.domain.hold import Hold
from gangboard.store import objects
from gangboard.store.models import Action, Cluster, WatchedObject
from gangboard.store.objects import pack
from tests.actions.site import QuickClock
from tests.actions.stored_holds import (
    make_failed,
    make_hold,
    make_try,
    store,
    store_held_job,
)
from tests.factories import make_cluster

pytestmark = pytest.mark.django_db
MANY = 30


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster("east", actor_credentials=b"sealed")


@pytest.fixture
def sweeper() -> Sweeper:
    return Sweeper(QuickClock())


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the Holds that are unpacked, by whomever."""
    names: list[str] = []
    real = objects._decoders.setdefault(Hold, msgspec.msgpack.Decoder(Hold))

    def decode(data: bytes) -> Any:
        hold = real.decode(data)
        names.append(hold.meta.ref.name)
        return hold

    with mock.patch.dict(objects._decoders, {Hold: mock.Mock(decode=decode)}):
        yield names


def change(row: WatchedObject, hold: Hold, version: str) -> None:
    meta = replace(hold.meta, resource_version=version)
    row.resource_version = version
    row.data = pack(replace(hold, meta=meta))
    row.save()


def test_an_unchanged_hold_is_not_read_again(
    cluster: Cluster, sweeper: Sweeper, unpacked: list[str]
) -> None:
    rows = {f"h{number}": make_hold(f"h{number}") for number in range(MANY)}
    stored = {name: store(cluster, hold) for name, hold in rows.items()}
    sweeper.sweep()
    assert set(unpacked) == set(rows)
    unpacked.clear()
    sweeper.sweep()
    assert unpacked == []
    change(stored["h3"], rows["h3"], "2")
    stored["h4"].delete()
    store(cluster, make_hold("new"))
    sweeper.sweep()
    assert sorted(unpacked) == ["h3", "new"]
    unpacked.clear()
    sweeper.sweep()
    assert unpacked == []


def test_a_late_hold_is_discovered(cluster: Cluster, sweeper: Sweeper, unpacked: list[str]) -> None:
    for number in range(MANY):
        store(cluster, make_hold(f"h{number}", action=f"verified-{number}"))
    action = make_failed(cluster)
    assert sweeper.sweep().due == ()
    unpacked.clear()
    store(cluster, make_hold("late", action=action.pk))
    assert sweeper.sweep().due == (action.pk,)
    assert set(unpacked) == {"late"}
    action.refresh_from_db()
    assert action.due_at is not None
    assert action.context["hold"]["uid"] == "hold-late"
    assert action.context["hold"]["path"].endswith("/namespaces/research/holds/late")


def test_an_existing_hold_is_discovered_when_its_action_fails(
    cluster: Cluster, sweeper: Sweeper
) -> None:
    """The action makes it an orphan, not the Hold, and the Hold was read before."""
    store(cluster, make_hold("late", action="a1"))
    action = make_failed(cluster, state="requested", finished_at=None)
    assert sweeper.sweep().due == ()
    finished_at = sweeper.clock.now() - timedelta(minutes=1)
    Action.objects.filter(pk=action.pk).update(state="failed", finished_at=finished_at)
    assert sweeper.sweep().due == (action.pk,)


def test_a_removed_hold_is_not_removed_again(cluster: Cluster, sweeper: Sweeper) -> None:
    store(cluster, make_hold("late", action="a1"))
    make_failed(cluster, context={"removed_hold": "hold-late"})
    assert sweeper.sweep().due == ()


def test_a_hold_of_another_cluster_does_not_belong_to_the_action(
    cluster: Cluster, sweeper: Sweeper
) -> None:
    """Any writer there can put an id into the annotation. It hides no Hold here."""
    make_failed(cluster)
    west = make_cluster("west", actor_credentials=b"sealed")
    store(west, make_hold("planted", action="a1"))
    assert sweeper.sweep().due == ()
    store(cluster, make_hold("late", action="a1"))
    store(west, make_hold("second", action="a1"))
    assert sweeper.sweep().due == ("a1",)
    assert Action.objects.get().context["hold"]["name"] == "late"


def test_an_invalid_action_id_is_not_cached(cluster: Cluster, sweeper: Sweeper) -> None:
    store(cluster, make_hold("a", action="x" * 100_000))
    (mark,) = sweeper.holds.refresh()
    assert mark.action == ""


def test_an_end_time_passes_without_any_change(
    cluster: Cluster, sweeper: Sweeper, unpacked: list[str]
) -> None:
    until = sweeper.clock.now() + timedelta(minutes=1)
    store_held_job(cluster, "a", until)
    store_held_job(cluster, "b", until + timedelta(hours=1))
    assert sweeper.sweep().due == ()
    assert isinstance(sweeper.clock, QuickClock)
    sweeper.clock.advance(61)
    unpacked.clear()
    (action_id,) = sweeper.sweep().due
    assert unpacked == []
    action = Action.objects.get(pk=action_id)
    assert (action.verb, action.uid, action.via) == ("resume", "job-a", "gangboard")
    assert action.context == {"ended_hold": "hold-a"}


def test_a_sweep_sends_the_same_requests_for_any_number_of_overdue_holds(
    cluster: Cluster, sweeper: Sweeper, django_assert_max_num_queries: Any
) -> None:
    now = sweeper.clock.now()
    until = now - timedelta(seconds=30)
    for number in range(MANY):
        store_held_job(cluster, f"h{number}", until)
        make_try(cluster, f"h{number}", now - timedelta(seconds=20))
    sweeper.sweep()
    # Holds, switch, clusters, records of two kinds, Jobs, tries; and the rest of a sweep.
    with django_assert_max_num_queries(14):
        assert sweeper.sweep().due == ()


def test_retries_back_off(cluster: Cluster, sweeper: Sweeper) -> None:
    """A minute after the first, two after the second, four after the third. Tries for an earlier
    end do not count."""
    now = sweeper.clock.now()
    until = now - timedelta(minutes=20)
    for name, tries, last in (
        ("one", 1, 59),
        ("one-over", 1, 61),
        ("three", 3, 239),
        ("three-over", 3, 241),
        ("earlier", 0, 0),
    ):
        store_held_job(cluster, name, until)
        for number in range(tries):
            tried_at = now - timedelta(seconds=last, minutes=number)
            make_try(cluster, name, tried_at, number)
    make_try(cluster, "earlier", until - timedelta(seconds=1))
    releases = Action.objects.filter(pk__in=sweeper.sweep().due)
    assert {action.uid for action in releases} == {"job-one-over", "job-three-over", "job-earlier"}


def test_a_hold_of_another_owner_does_not_hide_the_hold_on_the_job(
    cluster: Cluster, sweeper: Sweeper
) -> None:
    """Two Holds name one Job, and one of them is about the JobSet of that name before."""
    until = sweeper.clock.now() - timedelta(seconds=1)
    store_held_job(cluster, "h", until)
    before = replace(make_hold("before", until=until), job_name="job-h", owner_uid="js-before")
    store(cluster, before)
    (action_id,) = sweeper.sweep().due
    assert Action.objects.get(pk=action_id).uid == "job-h"


def test_an_end_in_another_namespace_or_cluster_belongs_to_another_job(
    cluster: Cluster, sweeper: Sweeper
) -> None:
    until = sweeper.clock.now() - timedelta(seconds=1)
    west = make_cluster("west", actor_credentials=b"sealed")
    store_held_job(cluster, "a", until)
    store_held_job(west, "b", until)
    # These two hold no Job here, because the Jobs are in the other cluster.
    store(west, make_hold("a2", until=until))
    WatchedObject.objects.filter(uid="hold-a2").update(
        data=pack(replace(make_hold("a2", until=until), job_name="job-a"))
    )
    releases = Action.objects.filter(pk__in=sweeper.sweep().due)
    assert {(action.cluster_name, action.uid) for action in releases} == {
        ("east", "job-a"),
        ("west", "job-b"),
    }
