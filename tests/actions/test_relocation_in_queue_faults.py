"""Failures while a Job in a queue moves: the Job is back in its queue, and the sentence says what happened."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gangboard.actions import relocation
from gangboard.actions.verify import relocated
from gangboard.store.models import Cluster, Grant, LeverRecord
from simulator.kueue import KueueController
from tests.actions.queued_jobs import (
    JOB,
    WORKLOADS,
    fleet,
    is_admitted,
    play,
    runs_as_before,
    set_active,
    workload,
)
from tests.actions.site import NAMESPACE, Site
from tests.actions.test_relocation import terms, wait_running


@pytest.fixture
def site(start: Callable[..., Site]) -> Site:
    """A cluster with the admitted Job, and quota for it at any time."""
    return start(fleet=fleet())


def test_an_entry_that_its_queue_gives_up_ends_it(
    start: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = start(fleet=fleet(rivals=1))

    def give_up() -> None:
        # A reconciliation that is due already must not write its conditions over these.
        monkeypatch.setattr(KueueController, "_all", lambda _self, _resource: [])
        reason = "DeactivatedDueToRequeuingLimitExceeded"
        conditions = [
            {"type": "Evicted", "status": "True", "reason": reason, "message": "too often"},
            {"type": "Requeued", "status": "False", "reason": reason, "message": "too often"},
        ]
        site.simulator.objects.update(
            WORKLOADS,
            "Workload",
            workload(site)["metadata"]["name"],
            lambda obj: obj["status"].update(conditions=conditions),
            NAMESPACE,
        )

    action = play(site, "applied:written", give_up)
    assert action.state == "failed", action.message
    assert "Its queue does not admit Workload" in action.message
    assert "so that Kueue creates a new one" in action.message


def test_a_deleted_entry_is_said(
    start: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relocated, "LONG_PAUSE", 30.0)
    site = start(fleet=fleet(rivals=1))
    name = workload(site)["metadata"]["name"]

    def delete() -> None:
        site.simulator.objects.delete(WORKLOADS, "Workload", name, NAMESPACE)

    action = play(site, "applied:written", delete)
    assert action.state == "failed", action.message
    assert f"it waits for a new queue entry, because Workload {name} was deleted" in action.message


def test_an_entry_that_is_deleted_before_the_exclusion_ends_it(site: Site) -> None:
    name = workload(site)["metadata"]["name"]
    action = play(
        site,
        "patch:recorded",
        lambda: site.simulator.objects.delete(WORKLOADS, "Workload", name, NAMESPACE),
    )
    assert action.state == "gone", action.message
    assert f"Workload {name} was deleted meanwhile" in action.message
    assert terms(site.job(JOB)) == []


@pytest.mark.parametrize(("status", "message"), [(403, "no"), (422, "field is immutable")])
def test_a_refused_template_puts_the_job_back(site: Site, status: int, message: str) -> None:
    def fail() -> None:
        site.simulator.faults.status(
            status, resource="jobs", verb="patch", count=1, message=message
        )

    action = play(site, "exclude:rehearsal", fail)
    assert action.state == "failed", action.message
    assert f"So the template of Job {JOB} was not changed." in action.message
    assert f"Job {JOB} is back in its queue." in action.message
    assert LeverRecord.objects.get(lever="exclusion").refuted_at is not None
    runs_as_before(site)


@pytest.mark.parametrize("boundary", ["patch:recorded", "exclude:recorded"])
def test_a_withdrawn_right_stops_it_and_the_job_is_queued_again(site: Site, boundary: str) -> None:
    action = play(site, boundary, lambda: Grant.objects.all().delete())
    assert "no longer an operator" in action.message
    assert f"Job {JOB} is back in its queue." in action.message
    wait_running(site, JOB)
    assert is_admitted(site)


def test_an_api_server_that_is_away_is_waited_for_on_the_way_back(site: Site) -> None:
    """The patch of the way back is sent once, so a dry run has to succeed first."""

    def fail() -> None:
        Cluster.objects.update(read_only=True)
        site.simulator.faults.reset(resource="workloads", verb="patch", count=2, applied=False)

    action = play(site, "patch:recorded", fail)
    assert action.state == "failed", action.message
    assert f"Job {JOB} is back in its queue." in action.message
    runs_as_before(site)


def test_a_refused_way_back_is_said(site: Site) -> None:
    def fail() -> None:
        Cluster.objects.update(read_only=True)
        site.simulator.faults.status(403, resource="workloads", verb="patch", count=9, message="no")

    action = play(site, "patch:recorded", fail)
    assert action.state == "failed", action.message
    assert "could not be activated again: " in action.message
    assert workload(site)["spec"]["active"] is False


def test_a_refused_deactivation_changes_nothing(site: Site) -> None:
    def fail() -> None:
        site.simulator.faults.status(403, resource="workloads", verb="patch", count=1, message="no")

    pods = site.uids(JOB)
    action = play(site, "patch:about-to-send", fail)
    assert action.state == "failed", action.message
    assert site.uids(JOB) == pods
    runs_as_before(site)


def test_an_entry_that_another_client_deactivated_stays_so(site: Site) -> None:
    action = play(site, "patch:about-to-send", lambda: set_active(site, False))
    assert action.state == "conflict", action.message
    assert "Another client made Workload" in action.message
    assert workload(site)["spec"]["active"] is False
    assert terms(site.job(JOB)) == []


def test_an_entry_that_another_client_activates_ends_it(site: Site) -> None:
    action = play(site, "patch:recorded", lambda: set_active(site, True))
    assert action.state == "conflict", action.message
    assert "set spec.active true of Workload" in action.message
    runs_as_before(site)


def test_an_entry_that_is_deactivated_while_it_is_watched_is_reverted(site: Site) -> None:
    action = play(site, "applied:written", lambda: set_active(site, False))
    assert action.state == "reverted", action.message
    assert "set spec.active false of Workload" in action.message
    assert "the exclusion is in its template" in action.message


def test_a_queue_that_does_not_suspend_the_job_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its controller is away: nothing happens to the Job, and its entry is active again at the end."""
    monkeypatch.setattr(relocation, "BEYOND_GRACE", 3.0)
    monkeypatch.setattr(KueueController, "_reconcile_all", lambda _self: None)
    pods = site.uids(JOB)
    action = play(site, "claimed", lambda: None)
    assert action.state == "failed", action.message
    assert "its queue has not suspended it yet" in action.message
    assert f"Job {JOB} is back in its queue." in action.message
    assert workload(site)["spec"]["active"] is True
    assert site.uids(JOB) == pods
