"""A cluster in which one Job of a JobSet can be held, for tests of the action pages."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from gangboard.decode.admission_policies import BINDING, POLICY, policy_digest
from gangboard.domain.action import ActionTarget
from gangboard.domain.hold import AdmissionPolicy
from gangboard.domain.hold_manifest import BINDING_SPEC, POLICY_NAME, POLICY_SPEC
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.pages.core.forms import write_target
from gangboard.store.gangs import pack_detail, unpack_detail
from gangboard.store.models import Action, ActionStep, Cluster, Gang, HoldCheck, WatchedObject
from gangboard.store.objects import pack, unpack
from tests.factories import NOW, make_cluster, make_resource, store_object
from tests.recorded_actions import make_action
from tests.stored_jobsets import (
    GENERATION,
    HOLDS,
    JOBS,
    JOBSETS,
    make_hold,
    make_jobset,
)

REASON = "gpu-07 throws ECC errors"
STEPS = (
    ("create-hold", "Create the Hold", "POST", "done", "Created."),
    (
        "prove-hold",
        "Prove that a resume is turned back",
        "MERGE",
        "done",
        "It came back suspended.",
    ),
    ("patch", "Suspend the Job", "PATCH", "done", "The API server answered 200."),
)


def make_acting_cluster(name: str = "eu-train", *, now: datetime, hold: bool = True) -> Cluster:
    """Make a cluster with an actor; with `hold` the Hold is installed and its policy is ours."""
    cluster = make_cluster(name, now=now, actor_credentials=b"sealed")
    make_resource(cluster, JOBSETS, version="v1alpha2")
    make_resource(cluster, JOBS, version="v1")
    install_hold(cluster) if hold else refuse_hold(cluster)
    return cluster


def refuse_hold(cluster: Cluster) -> None:
    """Say that the cluster has no Hold."""
    make_resource(cluster, HOLDS, state="not-served", version="", needed=False)
    for resource in (POLICY.key, BINDING.key):
        make_resource(cluster, resource, state="ok", needed=False)


def install_hold(cluster: Cluster) -> None:
    """Store the policy and its binding as gangboard installs them."""
    make_resource(cluster, HOLDS, version="v1alpha1", needed=False)
    for resource, spec in ((POLICY, POLICY_SPEC), (BINDING, BINDING_SPEC)):
        make_resource(cluster, resource.key, needed=False)
        ref = ObjectRef(
            "admissionregistration.k8s.io",
            resource.kind,
            "",
            POLICY_NAME,
            f"{cluster.name}-{resource.kind}",
        )
        store_object(
            cluster,
            resource.key,
            AdmissionPolicy(Meta("v1", ref, "1", 1, NOW), policy_digest(spec)),
        )


def make_run(cluster: Cluster, name: str = "llama", *, now: datetime, **columns: Any) -> Gang:
    """Make a running JobSet of three Jobs on two nodes."""
    nodes = {
        f"{name}-workers-0": ("gpu-01",),
        f"{name}-workers-1": ("gpu-01", "gpu-02"),
        f"{name}-workers-2": ("gpu-02", "gpu-03", "gpu-04", "gpu-05", "gpu-06", "gpu-07"),
    }
    return make_jobset(cluster, name, now=now, nodes=nodes, **columns)


def hold_job(cluster: Cluster, gang: Gang, index: int, *, now: datetime) -> None:
    """Store a Hold on one Job as gangboard does, with its check and its action."""
    name = f"{gang.name}-workers-{index}"
    hold = make_hold(cluster, gang, name, until=now + timedelta(hours=4))
    HoldCheck.objects.create(
        cluster=cluster,
        hold_uid=hold.meta.ref.uid,
        in_force=True,
        checked_at=now - timedelta(seconds=8),
    )
    show_held(gang, name, hold.meta.ref.name, now=now)


def show_held(gang: Gang, job: str, hold: str, *, now: datetime) -> None:
    """Let the gang's page say that the Job is held."""
    detail = unpack_detail(bytes(gang.detail))
    jobs = tuple(
        replace(
            state,
            suspended=True,
            held=True,
            created=0,
            ready=0,
            nodes=(),
            hold=hold,
            held_by="olga",
            held_since=now - timedelta(minutes=20),
            held_reason=REASON,
            held_until=now + timedelta(hours=4),
        )
        if state.ref.name == job
        else state
        for state in detail.jobs
    )
    Gang.objects.filter(pk=gang.pk).update(detail=pack_detail(replace(detail, jobs=jobs)), held=2)
    suspend_stored(gang, job)


def suspend_stored(gang: Gang, job: str) -> None:
    """Store the Job as suspended."""
    row = WatchedObject.objects.get(cluster=gang.cluster, resource=JOBS, name=job)
    owner = unpack(bytes(row.data), Owner)
    row.data = pack(replace(owner, suspended=True))
    row.save()


def job_target(gang: Gang, index: int, generation: int | None = GENERATION) -> str:
    """Return one Job of it as a form names it."""
    return write_target(
        ActionTarget(
            cluster=gang.cluster.name,
            api_group="batch",
            kind="Job",
            namespace=gang.namespace,
            name=f"{gang.name}-workers-{index}",
            uid=f"{gang.uid}-job-{index}",
            generation=generation,
        )
    )


def job_targets(gang: Gang, *indexes: int) -> list[str]:
    """Return several Jobs of it as a form names them."""
    return [job_target(gang, index) for index in indexes]


def confirm_query(*targets: str, verb: str = "suspend") -> dict[str, Any]:
    """Return the query of the confirmation of what these targets name."""
    return {"verb": verb, "target": list(targets)}


def text_of(response: Any) -> str:
    """Return the visible text of a page. Any, because the type of Django's test responses is private."""
    return html.unescape(response.content.decode())


def add_steps(action: Action, *, done: int = 3, failed: str = "") -> None:
    """Add the steps of a Hold; those after `done` are still to come, or one failed."""
    now = timezone.now()
    path = f"/apis/batch/v1/namespaces/{action.namespace}/jobs/{action.name}"
    for position, (kind, name, method, state, result) in enumerate(STEPS):
        past = position < done
        broke = bool(failed) and position == done
        ActionStep.objects.create(
            action=action,
            position=position,
            kind=kind,
            name=name,
            method=method,
            path=path,
            patch='[{"op":"test","path":"/metadata/uid","value":"4f0c"},'
            '{"op":"replace","path":"/spec/suspend","value":true}]',
            dry_run=kind == "prove-hold",
            state=state if past else "failed" if broke else "pending",
            result=result if past else failed if broke else "",
            at=now if past or broke else None,
        )


def make_record(cluster: Cluster, gang: Gang, *, now: datetime) -> dict[str, Action]:
    """Write one action in each of the states that a page must be able to show, by its name."""
    job = f"{gang.name}-workers"
    created = {
        "held": _action(
            cluster, gang, f"{job}-0", now, message="Held since 12:31:07; its 2 pods are gone."
        ),
        "watching": _action(
            cluster,
            gang,
            f"{job}-1",
            now,
            state="applied",
            finished_at=None,
            message="2 pods are still ending; the last one has 24 s left.",
        ),
        "reverted": _action(
            cluster,
            gang,
            f"{job}-2",
            now,
            state="reverted",
            lever="native",
            forced=True,
            message="jobset resumed it 0.1 s after it was suspended.",
            reverted_by="jobset",
            held_seconds=0.1,
        ),
        "refused": _action(
            cluster,
            gang,
            f"{job}-2",
            now,
            uid="gone-uid",
            state="refused",
            lever="",
            sent_at=None,
            message="The Hold is not in force: a resume would not be turned back.",
        ),
    }
    add_steps(created["held"])
    add_steps(created["watching"])
    add_steps(created["reverted"])
    add_steps(created["refused"], done=1, failed="The API server left it resumed.")
    return created


def _action(cluster: Cluster, gang: Gang, name: str, now: datetime, **columns: Any) -> Action:
    index = name.rpartition("-")[2]
    values = {
        "gang_id": gang.pk,
        "name": name,
        "uid": f"{gang.uid}-job-{index}",
        "generation": GENERATION,
        "reason": REASON,
        "before": {"spec.suspend": "false"},
        "after": {"spec.suspend": "true"},
        "warnings": ["The coordinator runs in it: the other Jobs lose their rendezvous."],
        "reactions": ["JobSet llama cannot complete while it is held (success policy All)."],
        "requested_at": now - timedelta(minutes=20 - int(index)),
        "sent_at": now - timedelta(minutes=19),
        "finished_at": now - timedelta(minutes=18),
        "expires_at": now + timedelta(minutes=5),
    }
    return make_action(cluster, **{**values, **columns})


def without_token(page: str) -> str:
    """Return a page without its form token and the second at which it was made."""
    page = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", page)
    return re.sub(r"<time [^>]*data-made>[^<]*</time>", "", page)
