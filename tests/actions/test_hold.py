"""Suspending one Job of a JobSet by a Hold, and releasing it, on a simulated cluster."""

from __future__ import annotations

from gangboard.store.models import AuditEntry, LeverRecord
from tests.actions.site import JOBSET, WORKER, Site


def test_a_child_job_is_held(site: Site) -> None:
    siblings = site.uids("train-workers-1") | site.uids("train-driver-0")
    action = site.act()
    assert (action.state, action.lever) == ("verified", "hold"), action.message
    assert action.finished_at is not None
    assert action.due_at is None
    assert action.guarded
    assert site.suspended()
    assert site.pods() == []
    assert site.uids("train-workers-1") | site.uids("train-driver-0") == siblings
    (hold,) = site.holds()
    assert hold["spec"]["jobName"] == WORKER
    assert hold["spec"]["by"] == "olga"
    assert hold["spec"]["reason"] == "the loss explodes"
    assert hold["metadata"]["annotations"]["gangboard.dev/action"] == action.pk
    assert [step.state for step in action.steps.all()] == ["done", "done", "done"]
    assert len(site.wire.changes) == 2
    # At the earliest 3 s after it was sent.
    assert action.sent_at is not None
    assert (action.finished_at - action.sent_at).total_seconds() >= 3
    states = list(
        AuditEntry.objects.filter(action=action).order_by("pk").values_list("event", "details")
    )
    assert [details["state"] for event, details in states if event == "state"] == [
        "checked",
        "armed",
        "proved",
        "sent",
        "applied",
        "verified",
    ]
    assert LeverRecord.objects.get(lever="hold").proved_at is not None


def test_a_hold_is_released(site: Site) -> None:
    site.act()
    site.poll()
    action = site.act("resume")
    assert (action.state, action.lever) == ("verified", "hold"), action.message
    assert not site.suspended()
    assert site.holds() == []
    assert not action.guarded


def test_the_whole_jobset_is_suspended(site: Site) -> None:
    action = site.act(name=JOBSET)
    assert (action.state, action.lever) == ("verified", "suspend"), action.message
    assert site.jobset()["spec"]["suspend"] is True
    assert site.pods() == []
    site.poll()
    action = site.act("resume", JOBSET)
    assert action.state == "verified", action.message
    assert not site.jobset()["spec"].get("suspend")
