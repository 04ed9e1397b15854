"""Relocating a Job that a queue admits, by its queue entry, on a simulated cluster."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gangboard.actions import service
from gangboard.actions.verify import relocated
from gangboard.domain.action import Avoid
from gangboard.store.models import Action, LeverRecord
from tests.actions.queued_jobs import (
    JOB,
    RIVAL,
    WORKLOADS,
    fleet,
    is_admitted,
    wait_for,
    workload,
)
from tests.actions.site import NAMESPACE, Site
from tests.actions.test_relocation import nodes_of, relocate, terms, wait_running

HOST = "kubernetes.io/hostname"


@pytest.fixture
def site(start: Callable[..., Site]) -> Site:
    """A cluster with the admitted Job, and quota for it at any time."""
    return start(fleet=fleet())


def test_a_job_in_a_queue_moves_through_its_entry(site: Site) -> None:
    (before,) = nodes_of(site, JOB)
    pods, uid = site.uids(JOB), site.job(JOB)["metadata"]["uid"]
    action = relocate(site, name=JOB)
    assert (action.state, action.lever) == ("verified", "kueue-exclusion"), action.message
    (after,) = nodes_of(site, JOB)
    assert after != before
    assert action.message == f"Job {JOB} was on {before}, runs on {after} now."
    assert site.job(JOB)["metadata"]["uid"] == uid
    assert not site.uids(JOB) & pods
    assert terms(site.job(JOB)) == [
        {"matchExpressions": [{"key": HOST, "operator": "NotIn", "values": [before]}]}
    ]
    note = site.job(JOB)["metadata"]["annotations"]["gangboard.dev/exclusion"]
    assert json.loads(note) == {"key": HOST, "values": [before]}
    kinds = [step.kind for step in action.steps.all()]
    assert kinds == ["patch", "wait-stopped", "exclude", "restart"]
    assert {step.state for step in action.steps.all()} == {"done"}
    assert LeverRecord.objects.get(lever="exclusion").proved_at is not None


def test_gangboard_never_writes_the_suspend_field_of_a_job_in_a_queue(site: Site) -> None:
    relocate(site, name=JOB)
    (write,) = site.wire.writes("patch", "jobs")
    assert "suspend" not in {
        operation["path"].rpartition("/")[2]
        for operation in json.loads(write.body)
        if operation["op"] != "test"
    }
    written = [json.loads(write.body) for write in site.wire.writes("patch", "workloads")]
    values = [
        operation["value"]
        for body in written
        for operation in body
        if operation["path"] == "/spec/active"
    ]
    assert values == [False, True]


def test_an_exclusion_is_removed_by_a_further_relocation(site: Site) -> None:
    assert relocate(site, name=JOB).state == "verified"
    wait_running(site, JOB)
    action = site.act("relocate", JOB, avoid=Avoid())
    assert (action.state, action.lever) == ("verified", "kueue-exclusion"), action.message
    assert terms(site.job(JOB)) == []
    assert "gangboard.dev/exclusion" not in site.job(JOB)["metadata"]["annotations"]


def test_a_resume_of_the_entry_removes_the_exclusion(site: Site) -> None:
    assert relocate(site, name=JOB).state == "verified"
    site.poll()
    assert site.act(name=JOB).state == "verified"
    site.poll()
    action = site.act("resume", JOB)
    assert (action.state, action.lever) == ("verified", "kueue-active"), action.message
    assert any("may run on node" in text for text in action.reactions)
    assert terms(site.job(JOB)) == []


def test_waiting_entries_are_counted_before_the_click(start: Callable[..., Site]) -> None:
    site = start(fleet=fleet(rivals=2))
    asked = site.action_request("relocate", JOB, avoid=Avoid(tuple(nodes_of(site, JOB))))
    shown = service.preview(site.viewer, asked, now=site.clock.now())
    assert shown.lever == "kueue-exclusion", shown.why_not
    warning = (
        "Its quota in queue team is released while it is away: 2 waiting Workloads could be admitted "
        "before it."
    )
    assert warning in shown.warnings
    action_id = site.request("relocate", JOB, avoid=asked.avoid)
    site.engine().advance(action_id)
    assert warning in Action.objects.get(pk=action_id).warnings


def test_a_job_that_others_overtake_is_never_called_done(
    start: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rival needs the whole quota, so the Job waits until the rival ends."""
    monkeypatch.setattr(relocated, "LONG_PAUSE", 30.0)
    site = start(fleet=fleet(rivals=1))
    (before,) = nodes_of(site, JOB)
    seen: list[str] = []
    action_id = site.request("relocate", JOB, avoid=Avoid((before,)))
    action = site.engine(checkpoint=seen.append).finish(action_id, seconds=4000)
    assert action.state == "failed", action.message
    assert "has not run again within 10 min" in action.message
    assert "it waits in queue team, not admitted yet" in action.message
    assert f"it starts outside node {before} when its queue admits it" in action.message
    assert "verified:before-writing" not in seen
    assert workload(site)["spec"]["active"] is True
    assert is_admitted(site, f"{RIVAL}-0")
    assert not is_admitted(site)
    name = workload(site, f"{RIVAL}-0")["metadata"]["name"]
    site.simulator.objects.update(
        WORKLOADS, "Workload", name, lambda obj: obj["spec"].update(active=False), NAMESPACE
    )
    wait_for(lambda: is_admitted(site), "the Job to be admitted")
    wait_running(site, JOB)
    assert before not in nodes_of(site, JOB)
