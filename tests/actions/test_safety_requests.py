"""Action safety, S2 to S4, S9 and S10: only requested changes are sent, and only for current
objects.

The table of action safety lists the fault and the expected result of each case. The figures are
measured at the simulator. The other cases are in test_safety_at_once.py (S1, S14),
test_safety_sending.py (S5 to S7), test_safety_predicted.py (S8), test_safety_looking.py (S11 to
S13) and test_safety_many.py (S15, S16). S17 is in tests/permissions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from gangboard.actions import service
from gangboard.actions.requests import RequestError, RequestErrorCode
from gangboard.domain.action import ActionRequest
from gangboard.domain.owner import Owner
from gangboard.store import gang_objects
from gangboard.store.models import Action
from simulator.resources import Resource
from tests.actions.site import (
    BATCH,
    JOBSET,
    JOBSETS,
    NAMESPACE,
    PATCH,
    WORKER,
    Json,
    Site,
    played,
    untouched,
)
from tests.live.figures import tell

KUEUE = Resource("kueue.x-k8s.io", ("v1beta2",), "workloads", "Workload", custom=True)


def refused(site: Site, action_request: ActionRequest) -> RequestError:
    with pytest.raises(RequestError) as caught:
        service.request(site.viewer, action_request, now=site.clock.now(), clock=site.clock)
    return caught.value


def test_s02_a_key_cannot_serve_two_requests(site: Site) -> None:
    action_request = site.action_request(idempotency_key="k")
    first = service.request(site.viewer, action_request, now=site.clock.now(), clock=site.clock)
    repeated = [
        replace(action_request, reason="another reason"),
        replace(action_request, verb=site.action_request("resume").verb),
        site.action_request(name="train-workers-1", idempotency_key="k"),
    ]
    for repeat in repeated:
        error = refused(site, repeat)
        assert (error.code, error.action_id) == (RequestErrorCode.KEY_REUSED, first.action_id)
        assert first.action_id in str(error)
    assert Action.objects.count() == 1


def test_s03_an_object_recreated_before_the_click_is_refused(site: Site) -> None:
    request = site.action_request()
    site.make_anew()
    site.poll()
    error = refused(site, request)
    assert error.code is RequestErrorCode.MOVED_ON
    assert "Another object has the name" in str(error)
    assert request.target.uid in str(error)
    assert site.job()["metadata"]["uid"] in str(error)
    assert Action.objects.count() == 0
    assert site.wire.changes == []


def test_s03_an_object_recreated_after_the_click_is_refused(site: Site) -> None:
    action = site.request()
    site.make_anew()
    finished = site.engine().finish(action)
    untouched(site, finished, "gone", "Another object now has this name")


def test_s03_an_object_recreated_between_check_and_patch_is_refused(site: Site) -> None:
    """The server itself refuses: the patch tests the uid."""
    action = played(site, PATCH, lambda: site.make_anew("alone"), name="alone")
    assert action.state == "gone", action.message
    assert "Another object now has this name" in action.message
    assert not site.suspended("alone")
    _not_patched(site, "alone")


def test_s03_a_restart_between_check_and_patch_is_refused(site: Site) -> None:
    """The patch is refused too, because the Hold names the JobSet's Job of that name."""
    action = played(site, PATCH, site.make_anew)
    assert action.state == "verified", action.message
    assert "was re-created meanwhile; it is still held" in action.message
    assert len(site.holds()) == 1
    _not_patched(site, WORKER)


def _not_patched(site: Site, name: str) -> None:
    """The one patch that was sent has not changed the object that has the name now."""
    assert len(site.wire.writes("patch", "jobs")) == 1
    assert "gangboard.dev/action" not in site.job(name)["metadata"].get("annotations", {})


def test_s04_a_spec_conflict_reports_both_values(site: Site) -> None:
    generation = site.job()["metadata"]["generation"]
    site.touch(WORKER, lambda job: job["spec"].update(backoffLimit=99))
    site.poll()
    error = refused(site, site.action_request(generation=generation))
    assert error.code is RequestErrorCode.MOVED_ON
    assert f"generation {generation + 1}" in str(error)
    assert f"saw {generation}" in str(error)
    assert site.wire.changes == []


def test_s04_a_spec_change_after_the_click_is_refused(site: Site) -> None:
    action = site.request()
    generation = site.job()["metadata"]["generation"]
    site.touch(WORKER, lambda job: job["spec"].update(backoffLimit=99))
    finished = site.engine().finish(action)
    untouched(site, finished, "conflict", f"generation {generation + 1}, you saw {generation}")


def test_s04_status_updates_are_no_conflict(site: Site) -> None:
    jobs = site.simulator.objects.resource(BATCH, "Job")
    ended, updates = threading.Event(), 0

    def churn(job: Json) -> Json:
        job["status"]["observed"] = job["status"].get("observed", 0) + 1
        return job

    def update_status() -> None:
        nonlocal updates
        while not ended.wait(0.01):
            site.simulator.writer.change(jobs, (NAMESPACE, WORKER), churn, subresource="status")
            updates += 1

    thread = threading.Thread(target=update_status)
    started_at = site.clock.monotonic()
    thread.start()
    try:
        finished = [site.act(verb) for verb in ("suspend", "resume") * 3]
    finally:
        ended.set()
        thread.join()
    rate = updates / (site.clock.monotonic() - started_at)
    assert [row.state for row in finished] == ["verified"] * 6, [row.message for row in finished]
    assert rate >= 10
    tell(f"S4: {rate:.0f} status updates/s during {len(finished)} actions: false conflicts 0")


# S9


@pytest.mark.parametrize("held", [True, False])
def test_s09_a_resume_in_a_suspended_jobset_is_refused(site: Site, held: bool) -> None:
    if held:
        assert site.act().state == "verified"
    assert site.act(name=JOBSET).state == "verified"
    _resume_changes_no_job(site, held, "JobSet train is suspended")


@pytest.mark.parametrize("held", [True, False])
def test_s09_a_resume_before_queue_admission_is_refused(
    start: Callable[..., Site], held: bool
) -> None:
    site = start(minor="plain", extra=(KUEUE,))
    if held:
        assert site.act().state == "verified"
    assert site.act(name=JOBSET).state == "verified"
    queue = {"kueue.x-k8s.io/queue-name": "research"}
    site.simulator.objects.update(
        JOBSETS, "JobSet", JOBSET, lambda row: row["metadata"].update(labels=queue), NAMESPACE
    )
    site.simulator.objects.put(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {
                "name": "jobset-train",
                "namespace": NAMESPACE,
                "generation": 1,
                "ownerReferences": [
                    {
                        "apiVersion": JOBSETS,
                        "kind": "JobSet",
                        "name": JOBSET,
                        "uid": site.jobset()["metadata"]["uid"],
                        "controller": True,
                    }
                ],
            },
            "spec": {"queueName": "research", "active": True},
            "status": {},
        }
    )
    _resume_changes_no_job(site, held, "Kueue has not admitted JobSet train")


def _resume_changes_no_job(site: Site, held: bool, why: str) -> None:
    """A Job without a Hold is refused with the reason. For a held Job, the Hold alone is
    removed."""
    site.poll()
    site.wire.seen.clear()
    plan = service.preview(site.viewer, site.action_request("resume"), now=site.clock.now())
    action = site.act("resume")
    assert site.wire.writes("patch", "jobs") == []
    assert site.suspended()
    assert site.holds() == []
    if held:
        assert action.state == "verified", action.message
        assert why in " ".join(plan.reactions), plan.reactions
        assert len(site.wire.changes) == 1
    else:
        assert (action.state, plan.allowed) == ("refused", False), action.message
        assert why in action.message
        assert why in plan.why_not
        assert site.wire.changes == []


# S10


def delete_object(site: Site) -> None:
    site.simulator.objects.delete(JOBSETS, "JobSet", JOBSET, NAMESPACE)
    site.simulator.objects.delete(BATCH, "Job", WORKER, NAMESPACE)


def start_deletion(site: Site) -> None:
    keep = {"finalizers": ["example.com/keep"]}
    site.touch(WORKER, lambda job: job["metadata"].update(keep))
    jobs = site.simulator.objects.resource(BATCH, "Job")
    site.simulator.writer.mark_deleted(jobs, (NAMESPACE, WORKER))


def _held_by_another(site: Site) -> None:
    assert site.act().state == "verified"
    site.wire.seen.clear()


@pytest.mark.parametrize(
    ("inject", "state", "sentence"),
    [
        (delete_object, "gone", f"Job {WORKER} is gone"),
        (start_deletion, "refused", f"Job {WORKER} is being deleted"),
        (_held_by_another, "refused", "is held already"),
    ],
    ids=["deleted", "finalizer", "already"],
)
def test_s10_each_reason_has_its_own_sentence(
    site: Site, inject: Callable[[Site], None], state: str, sentence: str
) -> None:
    inject(site)
    action = _ask_about_what_is_gone(site) if inject is delete_object else site.act(generation=None)
    assert (action.state, action.sent_at) == (state, None), action.message
    assert sentence in action.message
    assert ("nothing to do" in action.message) == (inject is _held_by_another)
    assert site.wire.changes == []


def _ask_about_what_is_gone(site: Site) -> Action:
    """The poll has not noticed yet."""
    stored = gang_objects.find_object(site.cluster, "jobs.batch", NAMESPACE, WORKER)
    assert isinstance(stored, Owner)
    meta = stored.meta
    action_request = site.action_request(name="alone")
    target = replace(
        action_request.target, name=WORKER, uid=meta.ref.uid, generation=meta.generation
    )
    accepted = service.request(
        site.viewer, replace(action_request, target=target), now=site.clock.now(), clock=site.clock
    )
    return site.engine().finish(accepted.action_id)
