"""The requests of a plan, sent unchanged to a simulated and a real server."""

from __future__ import annotations

import json
import secrets
import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from gangboard.decode.holds import HOLD
from gangboard.decode.list_watch_decoder import build_model
from gangboard.domain.action import (
    ActionRequest,
    ActionTarget,
    ClusterLevers,
    Plan,
    PolicyState,
    Step,
    StepKind,
    Verb,
)
from gangboard.domain.api_resource import Resource
from gangboard.facts.gang import Gang
from gangboard.plugins.registry import owner_kinds
from gangboard.policy.plan import plan
from tests.contract.site import Site
from tests.controlplane.client import Json, wait
from tests.controlplane.objects import JOBSET, job, jobset
from tests.gangs import a_gang

BATCH = "batch/v1"
LEVERS = ClusterLevers(has_actor=True, hold=PolicyState.INSTALLED)
PAUSE = ClusterLevers(has_actor=True, hold=PolicyState.MISSING, parallelism=True)
_TYPES = {
    "POST": "application/json",
    "DELETE": "application/json",
    "PATCH": "application/json-patch+json",
    "MERGE": "application/merge-patch+json",
}


def _resource(kind: str) -> Resource:
    return next(item.resource for item in owner_kinds() if item.resource.kind == kind)


def _read(resource: Resource, result: Json) -> Any:
    wire = msgspec.json.decode(json.dumps(result).encode(), type=resource.wire)
    model, problem = build_model(resource, wire, result["apiVersion"].rpartition("/")[2])
    assert problem is None, problem
    return model


def _context(site: Site, kind: str, name: str) -> Gang:
    """Read the gang as it is at this moment, with the product's own decoders."""
    ns = site.namespace
    version = JOBSET if kind == "JobSet" else BATCH
    owner = _read(_resource(kind), site.client.get(version, kind, name, ns))
    jobs = [_read(_resource("Job"), one) for one in _listed(site, BATCH, "Job")]
    result = _listed(site, "gangboard.dev/v1alpha1", "Hold") if kind == "JobSet" else ()
    holds = [_read(HOLD, item) for item in result]
    return a_gang(owner=owner, jobs=tuple(jobs), holds=tuple(holds))


def _listed(site: Site, version: str, kind: str) -> list[Json]:
    result = site.client.list(version, kind, site.namespace)
    return [{"apiVersion": version, "kind": kind, **item} for item in result]


def _plan(
    site: Site, verb: Verb, kind: str, name: str, child: str = "", levers: ClusterLevers = LEVERS
) -> Plan:
    context = _context(site, kind, name)
    subject = next((item for item in context.jobs if item.meta.ref.name == child), context.owner)
    ref = subject.meta.ref
    target = ActionTarget("", ref.group, ref.kind, ref.namespace, ref.name, ref.uid)
    created = plan(
        context,
        levers,
        ActionRequest(verb, target, "contract"),
        by="ann",
        action=f"a-{secrets.token_hex(4)}",
        now=datetime.now(UTC),
    )
    assert created.allowed, created.why_not
    return created


def _send(site: Site, step: Step, *, met: bool = False) -> Json:
    """Send a step. `met`: another writer may have done it, and then its tests fail."""
    query = "?dryRun=All" if step.dry_run else ""
    method = "PATCH" if step.method == "MERGE" else step.method
    status, body, _ = site.raw(
        method, step.path + query, json.loads(step.patch), Content_Type=_TYPES[step.method]
    )
    if met and status == 422 and not (job := _job(site, step.subject.name))["spec"]["suspend"]:
        return job
    assert status in (200, 201), (step.name, body)
    return body


def _carry_out(site: Site, created: Plan) -> Json:
    """Send every step once, a proof until it holds; return the answer to the last."""
    answer: Json = {}
    for step in created.steps:
        if step.dry_run:
            expected = step.kind is StepKind.PROVE_HOLD
            wait(
                lambda step=step, expected=expected: (
                    _send(site, step)["spec"]["suspend"] is expected
                ),  # type: ignore[misc]
                what=step.name,
            )
        else:
            answer = _send(site, step, met=_resumed(created, step))
    return answer


def _resumed(created: Plan, step: Step) -> bool:
    """Whether the JobSet may resume its Job before we do.

    Once its Hold is gone, the controller does so as soon as anything about the JobSet changes.
    """
    return (created.verb, created.lever, step.kind) == (Verb.RESUME, "hold", StepKind.PATCH)


def _three(site: Site) -> None:
    site.client.create(
        jobset("trio", site.namespace, jobs={"w": {"replicas": 3, "pods": 2, "grace": 1}})
    )
    _settled(site, 3)


def _settled(site: Site, ready: int, suspended: int = 0) -> None:
    def is_so(result: Json) -> bool:
        rows = result.get("status", {}).get("replicatedJobsStatus", [])
        return (
            sum(row["ready"] for row in rows),
            sum(row["suspended"] for row in rows),
        ) == (ready, suspended)

    site.client.wait_for(JOBSET, "JobSet", "trio", site.namespace, until=is_so)


def _job(site: Site, name: str = "trio-w-1") -> Json:
    return site.client.get(BATCH, "Job", name, site.namespace)


def test_a_job_is_held_and_released(site: Site) -> None:
    _three(site)
    created = _plan(site, Verb.SUSPEND, "JobSet", "trio", "trio-w-1")
    assert created.lever == "hold"
    answer = _carry_out(site, created)
    assert answer["spec"]["suspend"] is True
    assert answer["metadata"]["generation"] == created.generation + 1
    _settled(site, 2, 1)
    time.sleep(1)
    assert _job(site)["metadata"]["generation"] == created.generation + 1
    status, refused, _ = site.raw(
        "PATCH",
        created.steps[-1].path,
        json.loads(created.steps[-1].patch),
        Content_Type=_TYPES["PATCH"],
    )
    assert (status, refused["reason"]) == (422, "Invalid")
    released = _plan(site, Verb.RESUME, "JobSet", "trio", "trio-w-1")
    assert [step.kind for step in released.steps] == [
        StepKind.DELETE_HOLD,
        StepKind.PROVE_RELEASE,
        StepKind.PATCH,
    ]
    assert _carry_out(site, released)["spec"]["suspend"] is False
    _settled(site, 3)
    assert site.client.list("gangboard.dev/v1alpha1", "Hold", site.namespace) == []


def test_a_whole_jobset_is_suspended_and_resumed_around_a_held_job(site: Site) -> None:
    _three(site)
    _carry_out(site, _plan(site, Verb.SUSPEND, "JobSet", "trio", "trio-w-1"))
    _settled(site, 2, 1)
    _carry_out(site, _plan(site, Verb.SUSPEND, "JobSet", "trio"))
    _settled(site, 0, 3)
    only = _plan(site, Verb.RESUME, "JobSet", "trio", "trio-w-1")
    assert [step.kind for step in only.steps] == [StepKind.DELETE_HOLD]
    _carry_out(site, _plan(site, Verb.RESUME, "JobSet", "trio"))
    _settled(site, 2, 1)
    _carry_out(site, _plan(site, Verb.RESUME, "JobSet", "trio", "trio-w-1"))
    _settled(site, 3)


def test_a_hold_created_in_a_suspended_jobset_survives_its_resume(
    site: Site,
) -> None:
    _three(site)
    _carry_out(site, _plan(site, Verb.SUSPEND, "JobSet", "trio"))
    _settled(site, 0, 3)
    _carry_out(site, _plan(site, Verb.SUSPEND, "JobSet", "trio", "trio-w-1"))
    _carry_out(site, _plan(site, Verb.RESUME, "JobSet", "trio"))
    _settled(site, 2, 1)
    assert _job(site)["spec"]["suspend"] is True


def test_a_job_is_paused_and_gets_its_parallelism_back(site: Site) -> None:
    _three(site)
    created = _plan(site, Verb.SUSPEND, "JobSet", "trio", "trio-w-1", PAUSE)
    assert created.lever == "parallelism"
    _carry_out(site, created)
    wait(lambda: not _job(site)["status"].get("active"), what="pods to go")
    _carry_out(site, _plan(site, Verb.RESUME, "JobSet", "trio", "trio-w-1", PAUSE))
    back = _job(site)
    assert back["spec"]["parallelism"] == 2
    assert "gangboard.dev/paused-parallelism" not in back["metadata"]["annotations"]
    _settled(site, 3)


def test_a_standalone_job_gets_its_first_annotation(site: Site) -> None:
    site.client.create(job("train", site.namespace, parallelism=2, grace=1))
    assert "annotations" not in _job(site, "train")["metadata"]
    created = _plan(site, Verb.SUSPEND, "Job", "train")
    answer = _carry_out(site, created)
    assert answer["spec"]["suspend"] is True
    assert list(answer["metadata"]["annotations"]) == ["gangboard.dev/action"]
    answer = _carry_out(site, _plan(site, Verb.RESUME, "Job", "train"))
    assert answer["spec"]["suspend"] is False
