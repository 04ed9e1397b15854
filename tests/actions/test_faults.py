"""Failures of the API server during an action: one final state, no second request, no Hold left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.store.models import Action, Grant
from simulator.resources import JOBS
from tests.actions.site import (
    JOBSET,
    JOBSETS,
    NAMESPACE,
    PATCH,
    POLICY_NOT_READY,
    WORKER,
    Killed,
    Site,
    at,
    played,
)


def nothing_left(site: Site, action: Action) -> None:
    assert action.finished_at is not None, action.message
    assert action.due_at is None, action.message
    assert site.holds() == []
    assert len(site.wire.writes("create", "holds")) <= 1
    assert len(site.wire.writes("patch", "jobs")) <= 1


@pytest.mark.parametrize(
    ("code", "state", "sentence"),
    [
        (403, "failed", "lacks the right"),
        (404, "gone", "gone"),
        (409, "conflict", "same moment"),
        (422, "failed", "did not accept"),
        (429, "failed", "slow down"),
    ],
)
def test_a_refused_patch_ends_the_action_with_its_reason(
    site: Site, code: int, state: str, sentence: str
) -> None:
    faults = site.simulator.faults

    def fail() -> None:
        fault: dict[str, Any] = {"resource": "jobs", "verb": "patch", "count": 1}
        if code == 403:
            faults.forbidden(**fault)
        elif code == 429:
            faults.throttled(1, **fault)
        elif code == 404:
            site.simulator.objects.delete("batch/v1", "Job", WORKER, NAMESPACE)
        else:
            sentence = "" if code == 409 else "spec.suspend: Invalid value"
            faults.status(code, message=sentence, **fault)

    action = played(site, PATCH, fail)
    assert action.state == state, action.message
    assert sentence in action.message, action.message
    assert "removed again" in action.message
    nothing_left(site, action)


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_response_to_the_hold_is_resolved(site: Site, applied: bool) -> None:
    def fail() -> None:
        site.simulator.faults.reset(resource="holds", verb="create", count=1, applied=applied)

    action = played(site, "create-hold:about-to-send", fail)
    assert len(site.wire.writes("create", "holds")) == 1
    if applied:
        assert action.state == "verified", action.message
    else:
        assert action.state == "failed", action.message
        assert "does not exist" in action.message
        nothing_left(site, action)
        assert site.wire.writes("patch", "jobs") == []


@pytest.mark.parametrize("code", [403, 409, 429, 500])
def test_a_refused_hold_ends_the_action_with_its_reason(site: Site, code: int) -> None:
    fault: dict[str, Any] = {"resource": "holds", "verb": "create", "count": 1}
    faults = site.simulator.faults
    if code == 403:
        faults.forbidden(**fault)
    elif code == 429:
        faults.throttled(1, **fault)
    else:
        faults.status(code, **fault)
    action = site.act()
    assert action.state == ("conflict" if code == 409 else "failed"), action.message
    nothing_left(site, action)
    assert site.wire.writes("patch", "jobs") == []


@pytest.mark.parametrize("when", ["check:written", "prove-hold:about-to-send", PATCH])
def test_an_api_server_that_has_just_started_is_waited_for(site: Site, when: str) -> None:
    def fail() -> None:
        site.simulator.faults.status(
            403, resource="jobs", verb="patch", count=6, message=POLICY_NOT_READY
        )

    action = played(site, when, fail)
    assert action.state == "verified", action.message
    assert [step.sends for step in action.steps.filter(kind="patch")] == [1]
    assert len(site.holds()) == 1


@pytest.mark.parametrize("when", ["check:written", "prove-hold:about-to-send"])
def test_an_api_server_that_stays_so_is_named(site: Site, when: str) -> None:
    def fail() -> None:
        site.simulator.faults.status(
            403, resource="jobs", verb="patch", count=10_000, message=POLICY_NOT_READY
        )

    action = played(site, when, fail)
    assert action.state == "expired", action.message
    assert "cannot apply its admission policies yet" in action.message
    assert POLICY_NOT_READY in action.message
    nothing_left(site, action)


def test_an_unsent_patch_is_sent_later(site: Site) -> None:
    """The request was not sent without a connection, so this is no second send."""
    opened: list[int] = []
    engine = site.engine()
    open_client = engine.open_client

    class Shaky:
        def __init__(self, client: Any) -> None:
            self.client = client

        def __getattr__(self, name: str) -> Any:
            return getattr(self.client, name)

        def json_patch(self, path: str, body: bytes, *, dry_run: bool = False) -> Any:
            from gangboard.kube.errors import KubeError, WriteOutcome

            opened.append(1)
            if not dry_run and len(opened) == 2:
                error = KubeError("unreachable", "nobody there")
                error.write_outcome = WriteOutcome.NOT_SENT
                raise error
            return self.client.json_patch(path, body, dry_run=dry_run)

    engine.open_client = lambda cluster, action: Shaky(open_client(cluster, action))
    action = engine.finish(site.request())
    assert action.state == "verified", action.message
    assert [step.sends for step in action.steps.filter(kind="patch")] == [1]


def test_an_unreadable_outcome_stays_unknown(site: Site) -> None:
    def fail() -> None:
        site.simulator.faults.reset(resource="jobs", verb="patch", count=1, applied=False)
        site.simulator.faults.reset(resource="jobs", verb="get")

    action = played(site, PATCH, fail)
    assert action.state == "failed", action.message
    assert "not known" in action.message
    assert (action.finished_at - action.requested_at).total_seconds() > 1800  # type: ignore[operator]
    nothing_left(site, action)


def test_a_jobset_changed_between_check_and_patch_is_a_conflict(site: Site) -> None:
    """The patch's own tests stop it."""

    def touch() -> None:
        site.simulator.objects.update(
            JOBSETS,
            "JobSet",
            JOBSET,
            lambda jobset: jobset["spec"].update(ttlSecondsAfterFinished=99),
            NAMESPACE,
        )

    before = site.jobset()["metadata"]["generation"]
    action = played(site, PATCH, touch, name=JOBSET)
    assert action.state == "conflict", action.message
    assert f"generation {before + 1}" in action.message
    assert not site.jobset()["spec"].get("suspend")


def _write_to_it(site: Site) -> None:
    """Let another client change it through the API. From then on its controllers act."""
    site.simulator.world.release_from_script(JOBS, (NAMESPACE, WORKER))
    site.touch(WORKER, lambda job: job["spec"].update(backoffLimit=99))


def test_another_clients_write_becomes_the_suspension(site: Site) -> None:
    """While the Hold is armed any write suspends the Job, as requested."""
    action = played(site, PATCH, lambda: _write_to_it(site))
    assert action.state == "verified", action.message
    assert site.suspended()
    assert len(site.holds()) == 1


def test_a_failed_action_resumes_the_job_its_armed_hold_suspended(site: Site) -> None:
    """Its controllers do not see the write. Otherwise they could resume the Job first."""

    def fail() -> None:
        site.touch(WORKER, lambda job: job["spec"].update(backoffLimit=99))
        site.simulator.faults.forbidden(resource="jobs", verb="patch", count=1)

    action = played(site, PATCH, fail)
    assert action.state == "failed", action.message
    assert "it was resumed" in action.message
    assert site.holds() == []
    assert not site.suspended()


def test_a_job_that_its_controller_resumed_stays_resumed(site: Site) -> None:
    """The Hold is gone, and its JobSet is quicker than we are: our patch meets a Job that runs.

    The test plays the JobSet's controller, which otherwise could be quicker still.
    """

    def fail() -> None:
        site.touch(WORKER, lambda job: job["spec"].update(backoffLimit=99))
        site.simulator.faults.forbidden(resource="jobs", verb="patch", count=1)

    def resume() -> None:
        site.touch(WORKER, lambda job: job["spec"].update(suspend=False))

    points = {PATCH: fail, "undo:about-to-send": resume}
    engine = site.engine(checkpoint=lambda point: points.pop(point, lambda: None)())
    action = engine.finish(site.request(), seconds=4000)
    assert points == {}
    assert action.state == "failed", action.message
    assert action.message.endswith("; it was resumed."), action.message
    assert not site.suspended()


def test_an_ineffective_policy_is_reported(site: Site) -> None:
    site.simulator.writer.admission = lambda _resource, _old, new: new
    action = site.act()
    assert action.state == "refused", action.message
    assert "did not come into force" in action.message
    nothing_left(site, action)
    assert site.wire.writes("patch", "jobs") == []


def test_a_policy_removed_between_proof_and_patch_is_reported(site: Site) -> None:
    def remove() -> None:
        site.simulator.writer.admission = lambda _resource, _old, new: new

    action = played(site, PATCH, remove)
    assert (action.state, action.reverted_by) == ("reverted", "jobset"), action.message
    assert action.held_seconds is not None
    assert 0 < action.held_seconds < 3
    nothing_left(site, action)
    assert not site.suspended()


def test_a_forced_suspend_without_policy_is_reverted_by_jobset(start: Callable[..., Site]) -> None:
    site = start(hold=False)
    Grant.objects.update(role="admin")
    action = site.act(forced=True)
    assert (action.state, action.reverted_by) == ("reverted", "jobset"), action.message
    assert action.held_seconds is not None
    assert action.held_seconds < 3
    assert "jobset" in action.message
    assert len(site.wire.writes("patch", "jobs")) == 1


def test_a_hold_that_cannot_be_removed_is_reported_and_retried(site: Site) -> None:
    def fail() -> None:
        site.simulator.faults.status(409, resource="jobs", verb="patch", count=1)
        site.simulator.faults.forbidden(resource="holds", verb="delete")

    engine = site.engine(checkpoint=at(PATCH, fail))
    action_id = site.request()
    engine.advance(action_id)
    action = Action.objects.get(pk=action_id)
    assert action.state == "conflict", action.message
    assert action.finished_at is not None
    assert "could not be removed" in action.message
    assert f"kubectl delete hold {site.holds()[0]['metadata']['name']}" in action.message
    assert f"(in cluster {action.cluster_name})" in action.message
    assert action.due_at is not None
    assert len(site.holds()) == 1
    site.simulator.faults.clear()
    site.clock.advance(600)
    action = engine.finish(action_id)
    assert action.due_at is None
    assert action.state == "conflict"
    assert "removed again" in action.message
    assert site.holds() == []


def test_a_release_with_a_refused_patch_reports_its_effects(site: Site) -> None:
    site.act()
    site.poll()
    site.wire.seen.clear()

    def fail() -> None:
        site.simulator.faults.forbidden(resource="jobs", verb="patch", count=1)

    action = played(site, PATCH, fail, verb="resume")
    assert action.state == "failed", action.message
    assert site.holds() == []
    assert site.suspended()


def _kill() -> None:
    raise Killed


def test_a_release_is_finished_by_another_worker(site: Site) -> None:
    site.act()
    site.poll()
    action_id = site.request("resume")
    with pytest.raises(Killed):
        site.engine(checkpoint=at("delete-hold:answered", _kill)).finish(action_id)
    site.clock.advance(60)
    action = site.engine().finish(action_id)
    assert action.state == "verified", action.message
    assert not site.suspended()
    assert site.holds() == []


def test_an_internal_error_ends_the_action_and_leaves_no_hold(site: Site) -> None:
    def stumble(name: str) -> None:
        if name == PATCH.replace("about-to-send", "before-writing"):
            raise ZeroDivisionError

    action = site.engine(checkpoint=stumble).finish(site.request())
    assert action.state == "failed", action.message
    assert "internal error" in action.message
    nothing_left(site, action)


def test_a_partial_release_reports_the_completed_steps(site: Site) -> None:
    site.act()
    site.poll()

    def fail() -> None:
        site.simulator.faults.throttled(1, resource="jobs", verb="patch", count=1)

    action = played(site, PATCH, fail, verb="resume")
    assert action.state == "failed"
    assert "Done before that: Remove Hold" in action.message


@pytest.mark.parametrize("lost", [False, True])
def test_the_jobset_resumes_the_job_first_after_the_hold_is_deleted(site: Site, lost: bool) -> None:
    """Any event of its Jobs makes the JobSet controller resume it, as requested."""
    site.act()
    site.poll()
    site.wire.seen.clear()
    jobs = site.simulator.objects.resource("batch/v1", "Job")

    def resume(job: dict[str, Any]) -> dict[str, Any]:
        job["spec"]["suspend"] = False
        return job

    def come_first() -> None:
        site.simulator.writer.change(jobs, (NAMESPACE, WORKER), resume, manager="jobset")
        if lost:
            site.simulator.faults.reset(resource="jobs", verb="patch", count=1)

    action = played(site, PATCH, come_first, verb="resume")
    assert action.state == "verified", action.message
    result = action.steps.get(kind="patch").result
    assert result == "jobset resumed it first, as soon as its Hold was gone."
    assert len(site.wire.writes("patch", "jobs")) == 1
    assert not site.suspended()
