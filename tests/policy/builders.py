"""Action contexts for decisions: a JobSet of three Jobs on a cluster where the Hold is installed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from gangboard.domain.action import (
    ActionRequest,
    ActionTarget,
    ClusterLevers,
    Plan,
    PolicyState,
    Verb,
)
from gangboard.domain.hold import Hold
from gangboard.domain.objects import Condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.facts.gang import Gang
from gangboard.owners.jobset.policies import Policies
from gangboard.policy.plan import plan
from tests.domain_objects import NOW, a_job, a_jobset, a_meta, a_role, child_jobs
from tests.gangs import a_gang

INSTALL = "manage.py print_rbac --cluster east | kubectl apply -f -"
READY = ClusterLevers(cluster="east", has_actor=True, hold=PolicyState.INSTALLED)
WITHOUT = replace(READY, hold=PolicyState.MISSING)
NATIVE = replace(READY, native_honoured=True, build="jobset v0.14.0")
CLAIM = "jobset.sigs.k8s.io/reconciliation-mode: Independent"


def a_trio(**fields: Any) -> Owner:
    """JobSet `trio`: Jobs trio-w-0 to -2 of two pods each, may restart three times."""
    defaults = {"max_restarts": 3, "policies": Policies(), **fields}
    return a_jobset("trio", a_role("w", jobs=3, pods=2), **defaults)


def a_context(owner: Owner | None = None, *changed: Owner, **fields: Any) -> Gang:
    """The gang of a JobSet, its child Jobs running; `changed` take the place of those named alike."""
    owner = owner or a_trio()
    defaults = {job.meta.ref.name: job for job in child_jobs(owner)}
    defaults.update((job.meta.ref.name, job) for job in changed)
    jobs = tuple(
        replace(job, meta=replace(job.meta, annotated=True, generation=4))
        for job in defaults.values()
    )
    return a_gang(owner=owner, jobs=fields.pop("jobs", jobs), **fields)


def a_child(owner: Owner, name: str, **fields: Any) -> Owner:
    """One child Job with other fields than the running ones; suspended ones have no pods."""
    job = next(job for job in child_jobs(owner) if job.meta.ref.name == name)
    meta = {key: fields.pop(key) for key in ("deleting_since", "generation") if key in fields}
    if fields.get("suspended"):
        fields = {"active_pods": 0, **fields}
    return replace(job, meta=replace(job.meta, **meta), **fields)


def a_standalone(**fields: Any) -> Gang:
    """Return the gang of a Job of four pods without an owner. The Job is its own only child."""
    job = a_job("train", pods=4, **fields)
    return a_gang(owner=job, jobs=(job,))


def a_hold(job: str = "trio-w-1", owner: str = "trio", **fields: Any) -> Hold:
    meta = a_meta("gangboard.dev", "Hold", fields.pop("name", f"{job}-h"), version="v1alpha1")
    return Hold(meta=meta, job_name=job, owner_uid=f"uid-{owner}", **fields)


def an_entry(owner: str = "trio", **fields: Any) -> QueueEntry:
    """The Workload of Kueue of an owner: admitted, with Kueue's word that its pods are ready."""
    name = fields.pop("name", f"jobset-{owner}-1a2b3")
    meta = a_meta("kueue.x-k8s.io", "Workload", name, version="v1beta2", generation=7)
    defaults = {
        "queue": "lq",
        "admitted": True,
        "owner_uid": f"uid-{owner}",
        "conditions": (Condition("PodsReady", "True", "Started"),),
        **fields,
    }
    return QueueEntry(meta=meta, **defaults)


def make_plan(
    context: Gang,
    name: str,
    verb: Verb | str,
    levers: ClusterLevers = READY,
    **fields: Any,
) -> Plan:
    """Plan for the object of that name, as a page would ask."""
    target = ActionTarget("east", "", "", "ns", name, f"uid-{name}")
    reason = fields.pop("reason", "rack 7 is serviced")
    asked = ActionRequest(Verb(verb), target, reason, until=fields.pop("until", None))
    return plan(context, levers, asked, **{"by": "ann", "action": "a-1", "now": NOW, **fields})


def bodies(found: Plan) -> list[Any]:
    """The bodies of its steps, decoded."""
    return [json.loads(step.patch) for step in found.steps]


def text(found: Plan) -> str:
    """Return all texts about consequences of the plan."""
    return "\n".join((*found.reactions, *found.warnings))
