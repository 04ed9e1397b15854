"""Builders of domain objects for tests: short to call, plausible by default, all overridable.

Everything happens at NOW in namespace `team-a`. A uid is `uid-<name>` unless given. `of=` is the
controlling owner. Any field of the domain class can be given by its name as the last word:
`a_pod("train-0", of=job, priority=7)`.
"""

from __future__ import annotations

from dataclasses import fields as fields_of
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from gangboard.domain.event import Event
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.hold import Hold
from gangboard.domain.node import Node
from gangboard.domain.objects import Condition, Controller, Meta, ObjectRef
from gangboard.domain.owner import Finish, Outcome, Owner, PodRequests, Role
from gangboard.domain.pod import Container, Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueState
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from gangboard.owners.jobset.policies import POLICIES, encode_policies
from gangboard.plugins import registry
from gangboard.queues.kueue.activation import given_up

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NAMESPACE = "team-a"
SCHEDULING = "scheduling.k8s.io"
CLUSTER_WORDS = frozenset(field.name for field in fields_of(ClusterView))

Made = Owner | Pod | Group | Node | Event | Hold | QueueEntry


def ago(seconds: float) -> datetime:
    """Return the time this many seconds before NOW."""
    return NOW - timedelta(seconds=seconds)


def requests(**amounts: str) -> dict[str, Decimal]:
    """`requests(cpu="2", gpu="8")`; gpu stands for nvidia.com/gpu."""
    return {
        "nvidia.com/gpu" if name == "gpu" else name: Decimal(amount)
        for name, amount in amounts.items()
    }


def a_condition(type_: str, status: str = "True", **fields: Any) -> Condition:
    return Condition(type=type_, status=status, **{"since": ago(60), **fields})


def controller_of(of: Made | Controller | None) -> Controller | None:
    if of is None or isinstance(of, Controller):
        return of
    ref = of.meta.ref
    return Controller(group=ref.group, kind=ref.kind, name=ref.name, uid=ref.uid)


def a_meta(
    group: str,
    kind: str,
    name: str,
    *,
    uid: str = "",
    namespace: str = NAMESPACE,
    version: str = "v1",
    of: Made | Controller | None = None,
    **fields: Any,
) -> Meta:
    controller = controller_of(of)
    ref = ObjectRef(group, kind, namespace, name, uid or f"uid-{name}")
    values = {
        "resource_version": "1",
        "generation": 1,
        "created_at": ago(600),
        "controller": controller,
        "owner_uids": (controller.uid,) if controller else (),
        **fields,
    }
    return Meta(api_version=version, ref=ref, **values)


def _split(fields: dict[str, Any]) -> dict[str, Any]:
    """Take the words that belong to the metadata out of `fields`."""
    texts = (
        "uid namespace version of generation created_at deleting_since owner_uids resource_version"
    )
    return {text: fields.pop(text) for text in texts.split() if text in fields}


def a_job(name: str = "train", *, pods: int = 2, ask: str = "1", **fields: Any) -> Owner:
    """A Job of `pods` pods with `ask` cpu each; indexed, completions = parallelism = pods."""
    meta = a_meta("batch", "Job", name, **_split(fields))
    shape = PodRequests(pods, fields.pop("requests", requests(cpu=ask)))
    values = {
        "desired": pods,
        "pod_requests": (shape,),
        "completions": pods,
        "parallelism": pods,
        "indexed": True,
        "max_retries": 6,
        "active_pods": None if fields.get("suspended") else pods,
        **fields,
    }
    return Owner(meta=meta, **values)


def a_role(
    name: str = "workers", *, jobs: int = 1, pods: int = 2, ask: str = "1", **fields: Any
) -> Role:
    """A ReplicatedJob; child names are filled in by `a_jobset`."""
    values = {"requests": requests(cpu=ask), **fields}
    return Role(name=name, replicas=jobs, pods=pods, **values)


def a_jobset(name: str = "run", *roles: Role, **fields: Any) -> Owner:
    """A JobSet of these parts (by default one, `workers`: one Job of two pods)."""
    meta = a_meta("jobset.x-k8s.io", "JobSet", name, version="v1alpha2", **_split(fields))
    named = tuple(
        role
        if role.child_names
        else replace(
            role,
            child_names=tuple(f"{name}-{role.name}-{index}" for index in range(role.replicas)),
        )
        for role in roles or (a_role(),)
    )
    policies = fields.pop("policies", None)
    if policies is not None:
        fields["detail"] = {POLICIES: encode_policies(policies)}
    values = {
        "desired": sum(role.replicas * role.pods for role in named),
        "counted_restarts": fields.get("restarts", 0),
        "roles": named,
        "pod_requests": tuple(
            PodRequests(role.replicas * role.pods, role.requests) for role in named
        ),
        **fields,
    }
    return Owner(meta=meta, **values)


def as_trainjob(owner: Owner) -> Owner:
    """Return an owner as a TrainJob, whose size is a field of its own."""
    ref = replace(owner.meta.ref, group="trainer.kubeflow.org", kind="TrainJob")
    return replace(owner, meta=replace(owner.meta, ref=ref))


def child_jobs(jobset: Owner, **fields: Any) -> tuple[Owner, ...]:
    """All child Jobs of a JobSet made by `a_jobset`, of its current attempt."""
    return tuple(
        a_job(
            child,
            of=jobset,
            pods=role.pods,
            **{
                "role_name": role.name,
                "attempt": str(jobset.restarts),
                "requests": role.requests,
                "group_name": role.group_name,
                **fields,
            },
        )
        for role in jobset.roles
        for child in role.child_names
    )


def a_pod(name: str = "train-0", *, on: str = "", group: str | Group = "", **fields: Any) -> Pod:
    """A pod: pending, or running and ready when `on` names its node.

    `index` is its completion index; `text` the scheduler's text of an unplaced pod; `ready=False`
    on a node means that it runs and is not ready.
    """
    meta = a_meta("", "Pod", name, **_split(fields))
    text, index, ready = fields.pop("text", ""), fields.pop("index", None), fields.pop("ready", on)
    labels = dict(fields.pop("labels", {}))
    if index is not None:
        labels["batch.kubernetes.io/job-completion-index"] = str(index)
    scheduled = None
    if on:
        scheduled = a_condition("PodScheduled")
    elif text:
        scheduled = a_condition("PodScheduled", "False", reason="Unschedulable", message=text)
    values = {
        "phase": "Running" if on else "Pending",
        "node": on,
        "scheduler_name": "default-scheduler",
        "priority": 0,
        "group_name": group.meta.ref.name if isinstance(group, Group) else group,
        "scheduled": scheduled,
        "ready": a_condition("Ready", "True" if ready else "False") if on else None,
        "requests": requests(cpu="1"),
        "labels": labels,
        "containers": (a_container(running=bool(on), ready=bool(ready and on)),),
        **fields,
    }
    return Pod(meta=meta, **values)


def a_container(name: str = "worker", *, running: bool = True, **fields: Any) -> Container:
    values = {
        "init": False,
        "ready": running,
        "restarts": 0,
        "state": "running" if running else "",
        **fields,
    }
    return Container(name=name, **values)


def pods_of(job: Owner, count: int, *, on: str = "", **fields: Any) -> tuple[Pod, ...]:
    """`count` indexed pods of a Job, each with the Job's requests; `on` is the node of all."""
    values = {"requests": job.pod_requests[0].requests, "group": job.group_name, **fields}
    return tuple(
        a_pod(f"{job.meta.ref.name}-{index}", of=job, index=index, on=on, **values)
        for index in range(count)
    )


def a_group(name: str = "train-group", *, quorum: int | None = None, **fields: Any) -> Group:
    """A PodGroup: gang with that quorum, or basic when none is given."""
    return _a_group("PodGroup", name, quorum, fields)


def a_composite(name: str = "tree", *, quorum: int | None = None, **fields: Any) -> Group:
    """A CompositePodGroup (`minGroupCount` = quorum)."""
    return _a_group("CompositePodGroup", name, quorum, {"version": "v1alpha3", **fields})


def _a_group(kind: str, name: str, quorum: int | None, fields: dict[str, Any]) -> Group:
    meta = a_meta(SCHEDULING, kind, name, **{"version": "v1beta1", **_split(fields)})
    values = {"policy": Policy.GANG if quorum is not None else Policy.BASIC, **fields}
    return Group(meta=meta, quorum=quorum, **values)


def placed(status: str = "True", message: str = "", reason: str = "") -> Condition:
    """The condition by which the scheduler says whether it placed a group (1.37)."""
    reason = reason or ("Scheduled" if status == "True" else "Unschedulable")
    return a_condition("PodGroupInitiallyScheduled", status, reason=reason, message=message)


def a_workload(name: str = "train-workload", *, quorum: int | None = None, **fields: Any) -> Group:
    """A core Workload with one template."""
    meta = a_meta(SCHEDULING, "Workload", name, **{"version": "v1beta1", **_split(fields)})
    policy = Policy.GANG if quorum is not None else Policy.BASIC
    values = {"templates": (GroupTemplate(f"{name}-pgt-0", policy, quorum),), **fields}
    return Group(meta=meta, **values)


def a_plan(name: str = "plan", **fields: Any) -> Group:
    """A Workload of 1.35; `entries` maps the names of its podGroups to quorums (None: basic)."""
    entries: dict[str, int | None] = fields.pop("entries", {"workers": 2})
    templates = tuple(
        GroupTemplate(entry, Policy.BASIC if quorum is None else Policy.GANG, quorum)
        for entry, quorum in entries.items()
    )
    return a_workload(name, **{"version": "v1alpha1", "templates": templates, **fields})


def a_node(name: str = "n0", *, ready: bool | None = True, **fields: Any) -> Node:
    """A node; `ready=None` is one whose kubelet went silent (`Ready=Unknown`)."""
    meta = a_meta("", "Node", name, **{"namespace": "", **_split(fields)})
    status = "Unknown" if ready is None else str(ready)
    values = {"ready": a_condition("Ready", status), **fields}
    return Node(meta=meta, **values)


def an_event(about: Made, reason: str, note: str = "", **fields: Any) -> Event:
    """A Warning event about an object, seen once 30 seconds ago."""
    name = fields.pop("name", f"{about.meta.ref.name}.{reason.lower()}")
    meta = a_meta("events.k8s.io", "Event", name, **_split(fields))
    values = {
        "type": "Warning",
        "count": 1,
        "first_seen": ago(30),
        "last_seen": ago(30),
        **fields,
    }
    return Event(meta=meta, regarding=about.meta.ref, reason=reason, note=note, **values)


def a_hold(on: Owner, **fields: Any) -> Hold:
    """A Hold by alice on a child Job of a JobSet, named as the Job, made five minutes ago."""
    name = fields.pop("name", on.meta.ref.name)
    controller = on.meta.controller
    meta = a_meta(
        "gangboard.dev",
        "Hold",
        name,
        **{"version": "v1alpha1", "uid": f"hold-{name}", "created_at": ago(300), **_split(fields)},
    )
    values = {
        "job_name": on.meta.ref.name,
        "owner_uid": controller.uid if controller else "",
        "by": "alice",
        "reason": "disk of n3",
        **fields,
    }
    return Hold(meta=meta, **values)


def an_entry(of: Made, name: str = "", **fields: Any) -> QueueEntry:
    """A Kueue Workload of an owner in queue gpu-lq: active, tried and not yet admitted."""
    meta = a_meta(
        "kueue.x-k8s.io",
        "Workload",
        name or f"{of.meta.ref.kind.lower()}-{of.meta.ref.name}-3f2a1",
        **{"version": "v1beta2", "of": of, **_split(fields)},
    )
    tried = a_condition("QuotaReserved", "False", reason="Pending")
    values = {"queue": "gpu-lq", "owner_uid": of.meta.ref.uid, "conditions": (tried,), **fields}
    over = given_up(meta, values["conditions"], active=values.get("active", True))
    return QueueEntry(meta=meta, **{"given_up": over, **values})


def a_queue(name: str, *, cohort: str = "", **fields: Any) -> Queue:
    """A ClusterQueue of Kueue that admits."""
    return _queue("ClusterQueue", QueueLevel.QUEUE, name, "Cohort", cohort, fields)


def an_alias(name: str, *, to: str, namespace: str = NAMESPACE, **fields: Any) -> Queue:
    """A LocalQueue of Kueue that leads to the ClusterQueue `to`."""
    values = {"namespace": namespace, **fields}
    return _queue("LocalQueue", QueueLevel.ALIAS, name, "ClusterQueue", to, values)


def shared_quota(name: str, *, cohort: str = "", **fields: Any) -> Queue:
    """A Cohort of Kueue."""
    return _queue("Cohort", QueueLevel.SHARED, name, "Cohort", cohort, fields)


def _queue(
    kind: str, level: QueueLevel, name: str, above: str, parent: str, fields: dict[str, Any]
) -> Queue:
    group = "kueue.x-k8s.io"
    meta = a_meta(group, kind, name, **{"namespace": "", "version": "v1beta2", **_split(fields)})
    values = {
        "parent": QueueName(group, above, "", parent) if parent else None,
        "state": QueueState.ACTIVE,
        **fields,
    }
    return Queue(meta, level, **values)


def succeeded(reason: str = "CompletionsReached", message: str = "") -> Finish:
    return Finish(Outcome.SUCCEEDED, reason, message, ago(60))


def failed(reason: str = "BackoffLimitExceeded", message: str = "") -> Finish:
    return Finish(Outcome.FAILED, reason, message, ago(60))


def facts_of(owner: Owner, *objects: Made, **fields: Any) -> Gang:
    """Facts put together by hand, without the code under test: objects are sorted by their class.

    A standalone Job is its own only entry of `jobs`. All else is by the names of Gang and ClusterView.
    """
    jobs = [obj for obj in objects if isinstance(obj, Owner)]
    if not jobs and owner.meta.ref.kind == "Job":
        jobs = [owner]
    groups = [obj for obj in objects if isinstance(obj, Group)]
    values = {
        "now": NOW,
        "jobs": tuple(jobs),
        "groups": tuple(item for item in groups if item.meta.ref.kind != "Workload"),
        "workloads": tuple(item for item in groups if item.meta.ref.kind == "Workload"),
        "pods": tuple(obj for obj in objects if isinstance(obj, Pod)),
        "events": tuple(obj for obj in objects if isinstance(obj, Event)),
        "holds": tuple(obj for obj in objects if isinstance(obj, Hold)),
        "entries": tuple(obj for obj in objects if isinstance(obj, QueueEntry)),
        "kinds": registry.kind_traits(),
        "pod_reasons": registry.pod_reasons(),
        "admission": registry.queue_traits(),
        "memory_since": ago(600),
        **fields,
    }
    of_cluster = {
        "nodes": {obj.meta.ref.name: obj for obj in objects if isinstance(obj, Node)},
        "gang_api_version": "v1beta1",
        "queue_systems": ("Kueue",),
        **{text: values.pop(text) for text in CLUSTER_WORDS & values.keys()},
    }
    return Gang(owner=owner, cluster=ClusterView(**of_cluster), **values)


def with_cluster(gang: Gang, **options: Any) -> Gang:
    """The gang in a cluster that differs by these fields of ClusterView."""
    return replace(gang, cluster=replace(gang.cluster, **options))


def a_unit(facts: Gang, **fields: Any) -> Unit:
    """One unit of everything in `facts`: its only PodGroup, or the owner when it has none.

    Name, noun, desired, quorum and held follow from the objects; give them to say otherwise.
    """
    only = [item for item in facts.groups if item.meta.ref.kind == "PodGroup"]
    group = only[0] if len(only) == 1 else None
    named = next((pod.group_name for pod in facts.pods if pod.group_name), "")
    name = group.meta.ref.name if group else named or facts.owner.meta.ref.name
    held = 0
    if not facts.owner.suspended:
        held = sum(job.desired for job in facts.jobs if job.suspended and not job.finish)
    values = {
        "name": name,
        "noun": "group" if group or named else facts.owner.meta.ref.kind,
        "desired": facts.owner.desired,
        "quorum": group.quorum if group and group.policy is Policy.GANG else None,
        "jobs": facts.jobs,
        "roles": facts.owner.roles,
        "pods": facts.pods,
        "foreign_pods": facts.foreign_pods,
        "group": group,
        "group_name": group.meta.ref.name if group else named,
        "held": held,
        "events": facts.events,
        **fields,
    }
    return Unit(gang=facts, **values)
