"""Refused, stopped, expired or moved on: each ends before anything is sent, with its own sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from gangboard.actions import service
from gangboard.store.models import Action, Cluster, Grant, Switch
from tests.actions.site import JOBSET, NAMESPACE, WORKER, Site


def ended(site: Site, action_id: str) -> Action:
    return site.engine().finish(action_id)


def untouched(site: Site, action: Action, state: str, words: str) -> None:
    """Nothing was changed, and the sentence says why."""
    assert action.state == state, action.message
    assert words in action.message, action.message
    assert action.finished_at is not None
    assert action.due_at is None
    assert action.sent_at is None
    assert site.wire.changes == []
    assert not site.suspended()


def test_without_the_policy_it_is_refused(start: Callable[..., Site]) -> None:
    site = start(hold=False)
    untouched(site, site.act(), "refused", "print_rbac")


def test_without_an_actor_it_is_refused(start: Callable[..., Site]) -> None:
    site = start(actor=False)
    untouched(site, site.act(), "refused", "no actor")


def test_a_role_that_was_withdrawn_meanwhile(site: Site) -> None:
    action = site.request()
    Grant.objects.update(role="viewer")
    untouched(site, ended(site, action), "refused", "Permission withdrawn")


def test_a_person_who_was_disabled_meanwhile(site: Site) -> None:
    action = site.request()
    site.user.is_active = False
    site.user.save()
    untouched(site, ended(site, action), "refused", "disabled")


def test_a_person_who_was_removed_meanwhile(site: Site) -> None:
    action = site.request()
    site.user.delete()
    untouched(site, ended(site, action), "refused", "no account")


def test_the_switch_of_everything(site: Site) -> None:
    action = site.request()
    Switch.objects.create(name="read-only", is_on=True, changed_at=timezone.now())
    untouched(site, ended(site, action), "refused", "read-only")


def test_the_switch_of_a_cluster(site: Site) -> None:
    action = site.request()
    Cluster.objects.update(read_only=True)
    untouched(site, ended(site, action), "refused", "read-only")


def test_what_waited_too_long_is_not_sent(site: Site) -> None:
    action = site.request()
    site.clock.advance(301)
    untouched(site, ended(site, action), "expired", "five minutes")


def test_another_object_under_the_same_name(site: Site) -> None:
    action = site.request()
    old = site.job()["metadata"]["uid"]
    site.simulator.objects.delete("batch/v1", "Job", WORKER, NAMESPACE)
    made_anew = site.jobset()["metadata"]["uid"]
    assert made_anew
    wait_for_new(site, old)
    untouched(site, ended(site, action), "gone", "Another object now has this name")


def wait_for_new(site: Site, old: str) -> None:
    import time

    for _ in range(100):
        found = site.simulator.objects.get("batch/v1", "Job", WORKER, NAMESPACE)
        if found is not None and found["metadata"]["uid"] != old:
            return
        site.simulator.objects.update(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            JOBSET,
            lambda jobset: jobset["metadata"].setdefault("labels", {}).update(touched="yes"),
            NAMESPACE,
        )
        if found is None:
            site.simulator.objects.put(new_job(site), scripted=False)
        time.sleep(0.05)
    raise AssertionError("no new Job")


def new_job(site: Site) -> dict[str, Any]:
    other = site.simulator.objects.get("batch/v1", "Job", "train-workers-1", NAMESPACE)
    assert other is not None
    meta = {**other["metadata"], "name": WORKER, "uid": "made-anew"}
    return {**other, "apiVersion": "batch/v1", "kind": "Job", "metadata": meta}


def test_an_object_that_is_gone(site: Site) -> None:
    action = site.request()
    site.simulator.objects.delete("jobset.x-k8s.io/v1alpha2", "JobSet", JOBSET, NAMESPACE)
    site.simulator.objects.delete("batch/v1", "Job", WORKER, NAMESPACE)
    found = ended(site, action)
    assert (found.state, found.due_at) == ("gone", None)
    assert site.wire.changes == []


def test_a_generation_that_moved_on(site: Site) -> None:
    action = site.request()
    before = site.job()["metadata"]["generation"]
    site.touch(WORKER, lambda job: job["spec"].update(backoffLimit=99))
    found = ended(site, action)
    untouched(site, found, "conflict", f"generation {before + 1}, you saw {before}")


def test_status_updates_are_no_conflict(site: Site) -> None:
    def churn(job: dict[str, Any]) -> dict[str, Any]:
        job["status"]["observed"] = job["status"].get("observed", 0) + 1
        return job

    def update_status(_name: str) -> None:
        jobs = site.simulator.objects.resource("batch/v1", "Job")
        site.simulator.writer.change(jobs, (NAMESPACE, WORKER), churn, subresource="status")

    action_id = site.request()
    engine = site.engine(checkpoint=update_status)
    assert engine.finish(action_id).state == "verified"


def test_already_suspended(site: Site) -> None:
    site.act()
    site.poll()
    action = site.act()
    assert action.state == "refused"
    assert "already" in action.message


@pytest.mark.parametrize("fault", ["forbidden", "webhook_down"])
def test_what_the_dry_run_shows_is_said_and_nothing_is_sent(site: Site, fault: str) -> None:
    getattr(site.simulator.faults, fault)(resource="jobs", verb="patch")
    action = site.act()
    words = "cannot patch resource" if fault == "forbidden" else "failed calling webhook"
    untouched(site, action, "failed", words)
    assert "dry run" in action.message


def test_a_cluster_that_cannot_be_read_is_tried_until_the_end(site: Site) -> None:
    fault = site.simulator.faults.throttled(1, resource="jobs", verb="get", count=3)
    action = site.act()
    assert action.state == "verified", action.message
    assert fault.hits == 3


def test_a_cluster_that_stays_away_ends_as_expired(site: Site) -> None:
    site.simulator.faults.reset(resource="jobs", verb="get")
    action = site.act()
    untouched(site, action, "expired", "five minutes")


def test_a_batch_is_stopped(site: Site) -> None:
    names = (WORKER, "train-workers-1", "train-driver-0")
    batch, outcomes = service.request_many(
        site.viewer, [site.ask(name=name) for name in names], now=site.clock.now(), clock=site.clock
    )
    first, *rest = (outcome.action_id for outcome in outcomes)
    assert site.engine().finish(first).state == "verified"
    sent = len(site.wire.changes)
    assert service.stop_batch(site.viewer, batch, now=site.clock.now(), clock=site.clock) == 2
    for action_id in rest:
        action = ended(site, action_id)
        assert (action.state, action.sent_at) == ("refused", None)
        assert "olga stopped it" in action.message
    assert len(site.wire.changes) == sent
    assert service.stop_batch(site.viewer, batch, now=site.clock.now(), clock=site.clock) == 0


def test_the_switch_in_the_middle_of_a_batch(site: Site) -> None:
    names = (WORKER, "train-workers-1")
    _, outcomes = service.request_many(
        site.viewer, [site.ask(name=name) for name in names], now=site.clock.now(), clock=site.clock
    )
    first, second = (outcome.action_id for outcome in outcomes)
    assert site.engine().finish(first).state == "verified"
    sent = len(site.wire.changes)
    Cluster.objects.update(read_only=True)
    assert ended(site, second).state == "refused"
    assert len(site.wire.changes) == sent


def test_the_switch_between_hold_and_patch(site: Site) -> None:
    def flip(name: str) -> None:
        if name == "prove-hold:recorded":
            Cluster.objects.update(read_only=True)

    action = site.engine(checkpoint=flip).finish(site.request())
    assert (action.state, action.sent_at) == ("refused", None)
    assert "read-only" in action.message
    assert site.holds() == []
    assert site.wire.writes("patch", "jobs") == []
