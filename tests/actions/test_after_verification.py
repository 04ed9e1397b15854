"""After `verified`: drift detection, expiry and proofs of Holds, and orphaned Holds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from gangboard.actions import drift_detection, hold_proofs
from gangboard.actions.sweeper import Sweeper
from gangboard.store.models import Action, HoldCheck, LeverRecord
from tests.actions.site import BATCH, HOLDS, JOBSET, NAMESPACE, WORKER, Site


def sweep(site: Site) -> None:
    """Run the sweeper once, and the work it enqueues."""
    site.poll()
    Sweeper(site.clock).dispatch(
        lambda action: site.engine().finish(action),
        lambda cluster: drift_detection.inspect_all(cluster, site.clock),
        lambda cluster: hold_proofs.prove_all(cluster, site.clock),
    )


def held(site: Site, **options: Any) -> Action:
    action = site.act(**options)
    assert action.state == "verified", action.message
    sweep(site)
    action.refresh_from_db()
    assert (action.state, action.guarded) == ("verified", True)
    return action


def test_a_hold_deleted_by_hand_is_noticed(site: Site) -> None:
    action = held(site)
    site.simulator.objects.delete(HOLDS, "Hold", site.holds()[0]["metadata"]["name"], NAMESPACE)
    site.clock.advance(100)
    sweep(site)
    action.refresh_from_db()
    assert (action.state, action.guarded) == ("reverted", False)
    assert action.message.startswith("Hold lost: ")
    assert "deleted" in action.message
    assert "still suspended" in action.message


def test_an_edited_hold_is_noticed(site: Site) -> None:
    action = held(site)
    name = site.holds()[0]["metadata"]["name"]

    def edit(hold: dict[str, Any]) -> None:
        hold["spec"]["jobName"] = "another"

    site.simulator.objects.update(HOLDS, "Hold", name, edit, NAMESPACE)
    sweep(site)
    action.refresh_from_db()
    assert action.state == "reverted"
    assert "changed" in action.message


def test_a_manual_resume_after_the_hold_was_deleted_is_noticed(site: Site) -> None:
    action = held(site)
    site.simulator.objects.delete(HOLDS, "Hold", site.holds()[0]["metadata"]["name"], NAMESPACE)
    site.touch(WORKER, lambda job: job["spec"].update(suspend=False))
    site.clock.advance(50)
    sweep(site)
    action.refresh_from_db()
    assert (action.state, action.reverted_by) == ("reverted", "simulator")
    assert action.held_seconds is not None


def test_gangboards_own_release_is_no_revert(site: Site) -> None:
    action = held(site)
    assert site.act("resume").state == "verified"
    sweep(site)
    action.refresh_from_db()
    assert (action.state, action.guarded) == ("verified", False)


def test_a_deleted_jobset_is_no_revert(site: Site) -> None:
    action = held(site)
    for kind, version, name in (
        ("JobSet", "jobset.x-k8s.io/v1alpha2", JOBSET),
        ("Job", BATCH, WORKER),
    ):
        site.simulator.objects.delete(version, kind, name, NAMESPACE)
    sweep(site)
    action.refresh_from_db()
    assert (action.state, action.guarded) == ("verified", False)


def test_a_hold_expires(site: Site) -> None:
    action = held(site, until=site.clock.now() + timedelta(minutes=10))
    assert site.holds()[0]["spec"]["until"]
    site.clock.advance(500)
    sweep(site)
    assert site.suspended()
    site.clock.advance(100)
    sweep(site)
    release = Action.objects.get(via="gangboard")
    assert (release.state, release.actor_name, release.user) == ("verified", "gangboard", None)
    assert "was to end at" in release.reason
    assert not site.suspended()
    assert site.holds() == []
    action.refresh_from_db()
    assert action.state == "verified"
    sweep(site)
    assert Action.objects.filter(via="gangboard").count() == 1


def test_holds_are_proved_again(site: Site) -> None:
    held(site)
    check = HoldCheck.objects.get()
    assert (check.in_force, check.sentence) == (True, "")
    site.simulator.writer.admission = lambda _resource, _old, new: new
    site.clock.advance(61)
    sweep(site)
    check.refresh_from_db()
    assert check.in_force is False
    assert "would work" in check.sentence
    record = LeverRecord.objects.get(lever="hold")
    assert record.refuted_at is not None
    assert record.proved_at is not None
    assert record.refuted_at > record.proved_at


def test_a_late_hold_is_removed(site: Site) -> None:
    """Its creation was given up as lost, and the server carried it out later."""
    site.simulator.faults.reset(resource="holds", verb="create", count=1, applied=False)
    action = site.act()
    assert action.state == "failed"
    (request,) = site.wire.writes("create", "holds")
    site.simulator.objects.put({**request.json(), "apiVersion": HOLDS, "kind": "Hold"})
    assert len(site.holds()) == 1
    site.clock.advance(40)
    sweep(site)
    assert site.holds() == []
    action.refresh_from_db()
    assert (action.state, action.due_at) == ("failed", None)


def test_a_restart_keeps_the_hold(site: Site) -> None:
    action = held(site)
    old = site.job()["metadata"]["uid"]

    def fail(job: dict[str, Any]) -> None:
        job["status"].setdefault("conditions", []).append(
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "x"}
        )

    site.touch("train-workers-1", fail)
    for _ in range(100):
        import time

        held_job = site.simulator.objects.get(BATCH, "Job", WORKER, NAMESPACE)
        if held_job is not None and held_job["metadata"]["uid"] != old:
            break
        time.sleep(0.05)
    assert site.suspended()
    assert site.job()["metadata"]["uid"] != old
    sweep(site)
    action.refresh_from_db()
    assert (action.state, action.guarded) == ("verified", True)
    assert action.context["subjects"][0]["uid"] == site.job()["metadata"]["uid"]
