"""CronJobs as a real controller manager (1.37.0) left them, their gangs, and the effect of a suspend.

We saw there how the controller treats a suspended run and its own suspension: with `Forbid` it wrote
`JobAlreadyActive` and made none, with `Replace` it deleted the suspended run and made another, with `Allow`
it made another next to it; its own `suspend` left the run alone; resumed, it made the last of the runs that
it had missed at once, unless a `startingDeadlineSeconds` of 10 had gone by.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.action import Verb
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.owners.cronjob import CronJob
from gangboard.policy.plan import all_offers
from tests.decode.reading import Json, model
from tests.domain_objects import NOW, Made, a_job, ago, pods_of
from tests.gangs import a_gang, assemble
from tests.kinds import registered
from tests.policy.builders import READY, bodies
from tests.policy.builders import make_plan as ask

OWNER = registered(CronJob)

CRONJOB: Json = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {
        "name": "nightly",
        "namespace": "team-a",
        "uid": "uid-nightly",
        "generation": 3,
        "resourceVersion": "9",
        "creationTimestamp": "2026-11-20T09:00:00Z",
        "managedFields": [
            {
                "manager": "kubectl-patch",
                "operation": "Update",
                "apiVersion": "batch/v1",
                "time": "2026-11-20T10:00:00Z",
                "fieldsV1": {"f:spec": {"f:suspend": {}}},
            }
        ],
    },
    "spec": {
        "schedule": "0 2 * * *",
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": {"parallelism": 2}},
    },
    "status": {"lastScheduleTime": "2026-11-20T02:00:00Z"},
}


def cronjob(**spec: Any) -> Owner:
    owner: Owner = model(OWNER.resource, {**CRONJOB, "spec": {**CRONJOB["spec"], **spec}})
    return owner


def a_run(of: Owner, name: str = "nightly-29925097", **fields: Any) -> Owner:
    run = a_job(name, of=of, **fields)
    return replace(run, meta=replace(run.meta, annotated=True))


def offered(maker: Owner, run: Owner) -> Gang:
    return a_gang(owner=run, jobs=(run,), maker=maker)


def test_fields_of_a_cronjob_are_decoded() -> None:
    result = cronjob(timeZone="Europe/Berlin", startingDeadlineSeconds=60, suspend=True)
    assert (result.suspended, result.suspend_set_by) == (True, "kubectl-patch")
    assert result.detail == {
        "schedule": "0 2 * * *",
        "timeZone": "Europe/Berlin",
        "concurrencyPolicy": "Allow",
        "deadline": "60",
    }
    bare: Owner = model(OWNER.resource, {**CRONJOB, "spec": {}})
    assert (bare.suspended, bare.detail) == (False, {})


def test_each_run_is_a_gang_and_the_cronjob_is_none() -> None:
    maker = cronjob()
    runs = (a_run(maker), a_run(maker, "nightly-29925098"))
    pods = [pod for run in runs for pod in pods_of(run, 2)]
    created: list[Made] = [maker, *runs, *pods]
    for order in (created, created[::-1]):
        graph = OwnershipGraph()
        touched = [graph.put(item) for item in order]
        assert graph.roots() == {run.meta.ref.uid for run in runs}
        assert graph.root_of(maker.meta.ref.uid) is None
        assert "uid-nightly" not in set().union(*touched)
        for run in runs:
            members = graph.members(run.meta.ref.uid)
            assert len(members) == 3
            assert "uid-nightly" not in members


def test_a_run_is_judged_as_the_job_that_it_is() -> None:
    run = a_run(cronjob(suspend=True), started_at=ago(300))
    running = assess(assemble(run, pods_of(run, 2, on="n0"), now=NOW))
    assert (running.finding.code, running.finding.health) == ("running", Health.RUNNING)
    stopped = replace(run, suspended=True, active_pods=0)
    verdict = assess(assemble(stopped, (), now=NOW))
    assert (verdict.finding.code, verdict.finding.health) == ("suspended", Health.SUSPENDED)


REACTIONS = [
    ({"concurrencyPolicy": "Allow"},
     "CronJob nightly starts its next run all the same; suspend that as well to stop it."),
    ({}, "CronJob nightly starts its next run all the same; suspend that as well to stop it."),
    ({"concurrencyPolicy": "Forbid"},
     "CronJob nightly starts no other run while this one is there (concurrencyPolicy Forbid)."),
    ({"concurrencyPolicy": "Replace"},
     "At its next time CronJob nightly deletes this run and starts another (concurrencyPolicy "
     "Replace); suspend that as well to keep this one."),
    ({"concurrencyPolicy": "Replace", "suspend": True},
     "CronJob nightly is suspended, too: it starts no further run."),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "sentence"), REACTIONS)
def test_a_suspend_of_a_run_mentions_the_next_run(spec: dict[str, Any], sentence: str) -> None:
    maker = cronjob(**spec)
    run = a_run(maker)
    result = ask(offered(maker, run), run.meta.ref.name, "suspend")
    assert result.lever == "suspend"
    assert result.reactions[-1] == sentence
    # A suspended run stays active for the controller, so a resume makes no run due.
    stopped = replace(run, suspended=True)
    assert sentence not in ask(offered(maker, stopped), run.meta.ref.name, "resume").reactions


def test_a_run_can_be_suspended_where_cronjobs_are_not_read() -> None:
    run = a_run(cronjob())
    result = ask(a_gang(owner=run, jobs=(run,)), run.meta.ref.name, "suspend")
    assert (result.allowed, result.lever) == (True, "suspend")


def test_the_cronjob_itself_is_suspended_by_its_field_and_its_runs_go_on() -> None:
    maker = cronjob()
    result = ask(offered(maker, a_run(maker)), "nightly", "suspend")
    assert (result.subject.kind, result.generation, result.lever) == ("CronJob", 3, "suspend")
    assert result.reactions == ("It starts no further run; runs that are there go on.",)
    assert result.watch_seconds == 15
    (step,) = result.steps
    assert step.path == "/apis/batch/v1/namespaces/team-a/cronjobs/nightly"
    (patch,) = bodies(result)
    tests = {item["path"]: item["value"] for item in patch if item["op"] == "test"}
    assert (tests["/metadata/uid"], tests["/metadata/generation"]) == ("uid-nightly", 3)
    assert {"op": "add", "path": "/spec/suspend", "value": True} in patch


MISSED = "It starts runs by its schedule again; "


@pytest.mark.parametrize(
    ("spec", "rest"),
    [
        ({}, "if it has missed any, the last of them at once."),
        ({"startingDeadlineSeconds": 10},
         "of those that it missed, the last one at once where that is less than 10 s ago."),
    ],
)  # fmt: skip
def test_a_resume_mentions_that_a_missed_run_starts_immediately(
    spec: dict[str, Any], rest: str
) -> None:
    maker = cronjob(suspend=True, **spec)
    result = ask(offered(maker, a_run(maker)), "nightly", "resume")
    assert result.reactions == (MISSED + rest,)


def test_a_cronjob_has_buttons_next_to_those_of_its_run() -> None:
    maker = cronjob()
    run = a_run(maker)
    result = all_offers(offered(maker, run), READY, NOW)
    assert set(result) == {run.meta.ref.uid, "uid-nightly"}
    suspend, resume = result["uid-nightly"]
    assert (suspend.verb, suspend.allowed) == (Verb.SUSPEND, True)
    assert resume.why_not == "CronJob nightly is not suspended: nothing to do."


def test_a_cronjob_with_an_owner_is_left_to_its_owner() -> None:
    maker = cronjob()
    above = replace(maker.meta, controller=a_run(maker).meta.controller)
    foreign = replace(above.controller, group="acme.io", kind="Plan", name="week")  # type: ignore[type-var]
    maker = replace(maker, meta=replace(above, controller=foreign))
    result = ask(offered(maker, a_run(maker)), "nightly", "suspend")
    assert result.why_not == "CronJob nightly is owned by Plan/week; it would undo this."


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({}, "CronJob nightly starts a run by its schedule, 0 2 * * *."),
        ({"timeZone": "Europe/Berlin"},
         "CronJob nightly starts a run by its schedule, 0 2 * * *, Europe/Berlin."),
        ({"suspend": True}, "CronJob nightly (0 2 * * *) is suspended: it starts no further run."),
    ],
)  # fmt: skip
def test_the_page_of_a_run_shows_its_cronjob(spec: dict[str, Any], sentence: str) -> None:
    assert OWNER.sentence(cronjob(**spec)) == sentence
