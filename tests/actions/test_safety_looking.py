"""Action safety, S11 to S13: live checks and dry runs come first, and late actions are not sent.

The other cases are listed in test_safety_requests.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.store.models import Action
from tests.actions.site import JOBSET, JOBSETS, NAMESPACE, WORKER, Site, untouched


def _blind(site: Site) -> int:
    """Count the patches of objects that had not been read since the action began."""
    read: set[str] = set()
    blind = 0
    for request in site.wire.seen:
        if request.verb == "get":
            read.add(request.path)
        elif request.verb == "patch":
            blind += request.path not in read
    return blind


def test_s11_actions_read_live_objects_while_the_poller_is_stopped(site: Site) -> None:
    """The stored state is ten minutes old, so the action reads the object first."""
    site.clock.advance(600)
    action = site.act()
    assert action.state == "verified", action.message
    assert _blind(site) == 0
    annotation = "kubernetes.io/another"
    site.simulator.objects.update(
        JOBSETS, "JobSet", JOBSET, lambda one: one["spec"].update(managedBy=annotation), NAMESPACE
    )
    site.wire.seen.clear()
    action = site.act(name="train-workers-1")
    assert action.state == "refused", action.message
    assert annotation in action.message
    assert site.wire.changes == []


def test_s11_a_cluster_unreadable_for_a_moment_is_retried(site: Site) -> None:
    fault = site.simulator.faults.throttled(1, resource="jobs", verb="get", count=3)
    action = site.act()
    assert action.state == "verified", action.message
    assert fault.hits == 3
    assert _blind(site) == 0


@pytest.mark.parametrize("resource", ["jobs", "jobsets", "holds", "pods"])
def test_s11_an_unreadable_cluster_prevents_actions(site: Site, resource: str) -> None:
    for verb in ("get", "list"):
        site.simulator.faults.reset(resource=resource, verb=verb)
    untouched(site, site.act(), "expired", "five minutes")


def test_s12_an_action_expires_after_ten_minutes_in_the_queue(site: Site) -> None:
    action = site.request()
    site.clock.advance(600)
    action_row = site.engine().finish(action)
    untouched(site, action_row, "expired", "not sent within five minutes of the click")
    site.clock.advance(600)
    assert site.engine().advance(action) is None
    assert site.wire.changes == []


DENIALS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "role": (
        lambda faults: faults.forbidden(resource="jobs", verb="patch"),
        'cannot patch resource "jobs"',
    ),
    "webhook": (
        lambda faults: faults.status(
            403,
            message='admission webhook "freeze.example.com" denied the request: change freeze',
            resource="jobs",
            verb="patch",
        ),
        'admission webhook "freeze.example.com" denied the request: change freeze',
    ),
    "webhook-down": (
        lambda faults: faults.webhook_down(resource="jobs", verb="patch"),
        "failed calling webhook",
    ),
    "quota": (
        lambda faults: faults.status(
            403,
            message=f'jobs.batch "{WORKER}" is forbidden: exceeded quota: team',
            resource="jobs",
            verb="patch",
        ),
        "exceeded quota: team",
    ),
}


@pytest.mark.parametrize("denial", DENIALS)
def test_s13_dry_run_results_are_shown_before_any_request(site: Site, denial: str) -> None:
    inject, sentence = DENIALS[denial]
    inject(site.simulator.faults)
    untouched(site, site.act(), "failed", sentence)
    action = Action.objects.get()
    assert "This was a dry run: nothing was sent." in action.message
    assert len(site.wire.writes("patch", "jobs", dry_run=True)) == 1


def test_s13_a_field_dropped_by_the_api_server_is_not_requested(site: Site) -> None:
    """Its CustomResourceDefinition is older than the field, so the server answers a write of the
    field with 200."""

    def drop(_resource: Any, _old: Any, new: Any) -> Any:
        new.get("spec", {}).pop("suspend", None)
        return new

    site.simulator.writer.admission = drop
    untouched(site, site.act(name=JOBSET), "refused", "has no spec.suspend")
    assert "dropped it in a dry run. Nothing was sent." in Action.objects.get().message
