"""Expiry of Holds: gangboard removes only Holds whose recorded end has passed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import cast

import pytest

from gangboard.actions import hold_proofs
from gangboard.actions.actor_client import ActorClient
from gangboard.actions.sweeper import Sweeper
from gangboard.kube.write_client import Answer
from gangboard.store.models import Action, Cluster, HoldCheck, LeverRecord
from tests.actions.site import HOLDS, NAMESPACE, WORKER, Json, QuickClock, Site
from tests.actions.stored_holds import (
    make_failed,
    make_hold,
    make_try,
    record,
    store,
    store_held_job,
    store_job,
)
from tests.actions.test_after_verification import sweep
from tests.factories import make_cluster

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
JOB = "job-a"


@pytest.fixture
def cluster() -> Cluster:
    """A cluster in which the Job `job-a` of a JobSet is held."""
    cluster = make_cluster("east", actor_credentials=b"sealed")
    store_job(cluster, JOB)
    return cluster


@pytest.fixture
def sweeper() -> Sweeper:
    return Sweeper(QuickClock())


def ended(sweeper: Sweeper) -> list[tuple[str, str]]:
    """Sweep; return the Job and the Hold of each release that gangboard asks for."""
    rows = Action.objects.filter(pk__in=sweeper.sweep().due, via="gangboard")
    return [(action.name, action.context["ended_hold"]) for action in rows]


@pytest.mark.parametrize("copied", [False, True])
def test_an_expired_foreign_hold_is_not_removed(
    cluster: Cluster, sweeper: Sweeper, copied: bool
) -> None:
    """A user who may only create Holds makes a second Hold. A copied annotation does not help."""
    hold = make_hold("ours", JOB, action="a1")
    record(cluster, hold, None, id="a1", guarded=True)
    store(cluster, hold)
    past = sweeper.clock.now() - MINUTE
    store(cluster, make_hold("mallory", JOB, until=past, action="a1" if copied else ""))
    assert ended(sweeper) == []


def test_our_hold_and_a_foreign_hold_ending_together_cause_one_release(
    cluster: Cluster, sweeper: Sweeper
) -> None:
    """Our end came, and so did that of a stranger's Hold with the annotation of ours."""
    past = sweeper.clock.now() - MINUTE
    for name in ("ours", "mallory"):
        store(cluster, make_hold(name, JOB, until=past, action="a1"))
    record(cluster, make_hold("ours", JOB), past, id="a1", guarded=True)
    assert ended(sweeper) == [(JOB, "hold-ours")]


@pytest.mark.parametrize(
    ("recorded", "written", "is_due"),
    [
        (-MINUTE, -MINUTE, True),
        (MINUTE, -MINUTE, False),  # moved earlier by a stranger
        (None, -MINUTE, False),  # written into a Hold without an end
        (-MINUTE, MINUTE, False),  # moved later: who may edit Holds may hold the Job anyway
        (-MINUTE, None, False),  # taken away
    ],
)
def test_the_later_end_counts(
    cluster: Cluster,
    sweeper: Sweeper,
    recorded: timedelta | None,
    written: timedelta | None,
    is_due: bool,
) -> None:
    now = sweeper.clock.now()
    end = None if recorded is None else now + recorded
    hold = make_hold("ours", JOB, action="a1", until=None if written is None else now + written)
    record(cluster, hold, end, id="a1", guarded=True)
    store(cluster, hold)
    assert ended(sweeper) == ([(JOB, "hold-ours")] if is_due else [])


def test_a_confirmed_end_of_a_foreign_hold_removes_it(cluster: Cluster, sweeper: Sweeper) -> None:
    """The operator confirmed that gangboard removes it then: the request is the record."""
    past = sweeper.clock.now() - MINUTE
    hold = make_hold("by-hand", JOB, until=past)
    record(cluster, hold, past, guarded=True, key="found_hold")
    store(cluster, hold)
    assert ended(sweeper) == [(JOB, "hold-by-hand")]


def test_a_record_of_another_cluster_is_ignored(cluster: Cluster, sweeper: Sweeper) -> None:
    west = make_cluster("west", actor_credentials=b"sealed")
    past = sweeper.clock.now() - MINUTE
    hold = make_hold("planted", JOB, until=past, action="a1")
    record(west, hold, past, id="a1")
    store(cluster, hold)
    assert ended(sweeper) == []


def test_attempts_before_the_clock_was_set_back_do_not_count(
    cluster: Cluster, sweeper: Sweeper
) -> None:
    """They lie in the future and do not keep the next try waiting until then."""
    now = sweeper.clock.now()
    store_held_job(cluster, "b", now - MINUTE)
    make_try(cluster, "b", now + timedelta(hours=2))
    assert ended(sweeper) == [("job-b", "hold-b")]


def test_a_copied_annotation_makes_no_orphan(cluster: Cluster, sweeper: Sweeper) -> None:
    """The Hold sent by the failed action is removed. Other Holds stay and do not hide it."""
    make_failed(cluster, "a1")
    store(cluster, make_hold("by-hand", "job-late", action="a1"))
    assert sweeper.sweep().due == ()
    store(cluster, make_hold("late", action="a1"))
    store(cluster, make_hold("z-by-hand", "job-late", action="a1"))
    assert sweeper.sweep().due == ("a1",)
    assert Action.objects.get().context["hold"]["name"] == "late"


def test_the_proof_of_a_foreign_hold_does_not_prove_the_lever(
    cluster: Cluster, sweeper: Sweeper
) -> None:
    """A tenant makes a Hold on a Job that the policy never acts on."""

    class Cold:
        """A cluster in which every resume goes through."""

        def merge_patch(self, _path: str, _body: bytes) -> Answer:
            owner = {"controller": True, "uid": "js"}
            job = {"metadata": {"ownerReferences": [owner]}, "spec": {"suspend": False}}
            return Answer(json.dumps(job).encode(), 200, "")

        def close(self) -> None:
            pass

    def prove() -> int:
        hold_proofs.prove_all(cluster.pk, sweeper.clock, lambda _c, _a: cast("ActorClient", Cold()))
        assert set(HoldCheck.objects.values_list("in_force", flat=True)) == {False}
        return LeverRecord.objects.filter(refuted_at__isnull=False).count()

    record(cluster, make_hold("ours", JOB), None, id="a1")
    store(cluster, make_hold("mallory", JOB, action="a1"))
    assert prove() == 0
    store(cluster, make_hold("ours", JOB, action="a1"))
    assert prove() == 1


def edit_end(site: Site, name: str, end: datetime) -> None:
    """Edit the end of a Hold with kubectl."""

    def edit(hold: Json) -> None:
        hold["spec"]["until"] = end.strftime("%Y-%m-%dT%H:%M:%SZ")

    site.simulator.objects.update(HOLDS, "Hold", name, edit, NAMESPACE)


def test_an_expiry_of_our_hold_leaves_the_foreign_hold(site: Site) -> None:
    """The foreign Hold ends first without a removal. Then ours ends."""
    site.act(until=site.clock.now() + 10 * MINUTE)
    spec = site.holds()[0]["spec"]
    meta = {"name": "mallory", "namespace": NAMESPACE}
    hold = {"apiVersion": HOLDS, "kind": "Hold", "metadata": meta}
    site.simulator.objects.put({**hold, "spec": {**spec, "by": "mallory"}}, scripted=False)
    edit_end(site, "mallory", site.clock.now() - MINUTE)
    sweep(site)
    assert (len(site.holds()), site.suspended()) == (2, True)
    site.clock.advance(601)
    sweep(site)
    assert [hold["metadata"]["name"] for hold in site.holds()] == ["mallory"]
    assert site.suspended()
    release = Action.objects.get(via="gangboard")
    assert release.state == "verified", release.message
    assert [step.kind for step in release.steps.all()] == ["delete-hold"]
    assert release.reactions == [
        f"Only its Hold is removed: Hold mallory of mallory stays, so Job {WORKER} stays suspended."
    ]


def test_an_end_postponed_before_the_poll_is_respected(site: Site) -> None:
    """The act worker reads the Hold again."""
    site.act(until=site.clock.now() + 10 * MINUTE)
    site.clock.advance(601)
    site.poll()
    (action_id,) = Sweeper(site.clock).sweep().due
    name = site.holds()[0]["metadata"]["name"]
    edit_end(site, name, site.clock.now() + 60 * MINUTE)
    action = site.engine().finish(action_id)
    assert (action.state, action.message) == (
        "refused",
        "The end of the Hold was moved meanwhile.",
    )
    assert (len(site.holds()), site.suspended()) == (1, True)
