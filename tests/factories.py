"""Rows as the poll would write them: for tests of what people and programs are shown."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from gangboard.domain.advice import advised_steps
from gangboard.domain.event import Event
from gangboard.domain.group import Group, Policy
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Condition, Controller, Meta, ObjectRef
from gangboard.domain.usage import AMOUNTS
from gangboard.domain.verdict import (
    Evidence,
    Finding,
    JobState,
    MemberState,
    Scheduling,
)
from gangboard.facts.stored_verdict import bottleneck_of
from gangboard.store.gang_search import save_search
from gangboard.store.gangs import Detail, gang_id, pack_detail
from gangboard.store.models import (
    Cluster,
    Eviction,
    Gang,
    Heartbeat,
    Outage,
    ResourceState,
    UsageDay,
    VerdictSpan,
    WatchedObject,
)
from gangboard.store.objects import owner_uid, pack
from gangboard.store.verdict_spans import request_digest

NOW = datetime(2026, 11, 21, 10, 0, 0, tzinfo=UTC)
"""The time of every test that does not need the real one."""

PODGROUPS = "podgroups.scheduling.k8s.io"
WORKLOADS = "workloads.scheduling.k8s.io"

_numbers = itertools.count(1)


def make_cluster(name: str = "eu-train", *, now: datetime = NOW, **columns: Any) -> Cluster:
    """Make a cluster that answered two seconds ago."""
    values = {
        "server": f"https://{name}.example:6443",
        "credentials": b"",
        "contact_at": now - timedelta(seconds=2),
        "listed_at": now - timedelta(hours=1),
        "discovered_at": now - timedelta(minutes=2),
        "server_version": "v1.37.0",
        "data_version": 1,
    }
    return Cluster.objects.create(name=name, **{**values, **columns})


def make_gang(cluster: Cluster, name: str = "", *, now: datetime = NOW, **columns: Any) -> Gang:
    """Make a gang that waits for room: JobSet of 8 pods with one GPU each, queue gpu-prod."""
    number = next(_numbers)
    uid = columns.pop("uid", f"uid-{number}")
    health = Health(columns.pop("health", Health.WAITING))
    detail = columns.pop("detail", Detail())
    values = {
        "api_group": "jobset.x-k8s.io",
        "api_version": "v1alpha2",
        "kind": "JobSet",
        "namespace": "research",
        "name": name or f"run-{number}",
        "generation": 1,
        "health": health.value,
        "severity": health.severity,
        "stage": Stage.PLACEMENT.value,
        "code": "insufficient-resources",
        "title": "Too little is free",
        "message": "8 pods need 1 GPU each; 3 are free on the eligible nodes.",
        "advice": ["It goes when 5 GPUs become free."],
        "desired": 8,
        "quorum": 8,
        "created": 8,
        "requests": {"nvidia.com/gpu": "8"},
        "accelerators": 8.0,
        "queue": "gpu-prod",
        "priority": "normal",
        "created_at": now - timedelta(hours=3),
        "since": now - timedelta(minutes=38),
        "observed_at": now - timedelta(seconds=2),
        "first_seen_at": now - timedelta(hours=3),
    }
    values["bottleneck"] = bottleneck_of(detail.fit)
    gang = Gang.objects.create(
        id=gang_id(cluster.name, uid),
        cluster=cluster,
        uid=uid,
        detail=pack_detail(detail),
        memory=b"",
        **{**values, **columns},
    )
    if gang.gone_at is None:
        save_search([vars(gang)])
    return gang


def make_gangs(cluster: Cluster, number: int, *, now: datetime = NOW) -> list[Gang]:
    """Make many gangs of all states, as a large fleet has them, with a few queries."""
    healths = list(Health)
    template = make_gang(cluster, now=now)
    rows = []
    for index in range(number - 1):
        health = healths[index % len(healths)]
        uid = f"many-{index}"
        columns = {
            field.attname: getattr(template, field.attname) for field in Gang._meta.concrete_fields
        }
        columns.update(
            id=gang_id(cluster.name, uid),
            uid=uid,
            name=f"training-run-with-a-usual-name-{index:04}",
            health=health.value,
            severity=health.severity,
            since=now - timedelta(minutes=index),
        )
        rows.append(Gang(**columns))
    Gang.objects.bulk_create(rows, batch_size=500)
    save_search([vars(row) for row in rows])
    return [template, *rows]


def make_ref(
    kind: str, name: str, *, group: str = "", namespace: str = "research", uid: str = ""
) -> ObjectRef:
    """Make a reference."""
    return ObjectRef(group, kind, namespace, name, uid or f"uid-of-{name}")


def make_finding(code: str = "insufficient-resources", **fields: Any) -> Finding:
    """Make a finding about a gang that waits for room."""
    values: dict[str, Any] = {
        "health": Health.WAITING,
        "stage": Stage.PLACEMENT,
        "title": "Too little is free",
        "message": "8 pods need 1 GPU each; 3 are free on the eligible nodes.",
        "advice": ("It goes when 5 GPUs become free.",),
        "evidence": (Evidence("GPUs free", "3"), Evidence("GPUs needed", "8")),
    }
    values |= fields
    return Finding(code=code, **{**values, "advice": advised_steps(values["advice"])})


def make_job(name: str, **fields: Any) -> JobState:
    """Make a child Job of 8 pods of which none is placed."""
    values: dict[str, Any] = {
        "ref": make_ref("Job", name, group="batch"),
        "generation": 1,
        "part": "workers",
        "suspended": False,
        "held": False,
        "finished": "",
        "desired": 8,
        "created": 8,
        "ready": 0,
        "nodes": (),
        "restarts": 0,
        "scheduling": Scheduling("gang", "as a gang", "The Job controller made its PodGroup."),
    }
    return JobState(**{**values, **fields})


def make_members(
    job: str, number: int, state: Health = Health.RUNNING, **fields: Any
) -> tuple[MemberState, ...]:
    """Make pods of one Job in one state."""
    values: dict[str, Any] = {
        "job": job,
        "node": "gpu-01" if state is Health.RUNNING else "",
        "state": state,
        "label": "ready" if state is Health.RUNNING else "waiting",
    }
    return tuple(
        MemberState(ref=make_ref("Pod", f"{job}-{index}"), **{**values, **fields})
        for index in range(number)
    )


def make_podgroup(
    cluster: Cluster,
    name: str = "workers-0",
    *,
    namespace: str = "research",
    uid: str = "",
    owner_uids: Iterable[str] = (),
    now: datetime = NOW,
    **fields: Any,
) -> Group:
    """Store a core PodGroup of quorum 8 that the scheduler could not place."""
    ref = ObjectRef(
        "scheduling.k8s.io", "PodGroup", namespace, name, uid or f"group-{next(_numbers)}"
    )
    owners = tuple(owner_uids)
    values: dict[str, Any] = {
        "policy": Policy.GANG,
        "quorum": 8,
        "workload_name": "training",
        "template_name": "workers",
        "placed": Condition(
            "PodGroupScheduled",
            "False",
            "Unschedulable",
            "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
            now - timedelta(minutes=38),
        ),
    }
    group = Group(
        meta=Meta(
            api_version="v1beta1",
            ref=ref,
            resource_version="10",
            generation=1,
            created_at=now - timedelta(hours=3),
            controller=Controller("batch", "Job", name, owners[0]) if owners else None,
            owner_uids=owners,
        ),
        **{**values, **fields},
    )
    store_object(cluster, PODGROUPS, group)
    return group


def store_object(cluster: Cluster, resource: str, model: Any) -> WatchedObject:
    """Store anything with `meta` as the poll does."""
    meta = model.meta
    return WatchedObject.objects.create(
        cluster=cluster,
        resource=resource,
        uid=meta.ref.uid,
        namespace=meta.ref.namespace,
        name=meta.ref.name,
        resource_version=meta.resource_version,
        data=pack(model),
        owner_uid=owner_uid(model),
    )


def make_event(
    cluster: Cluster,
    name: str,
    note: str,
    *,
    about: str,
    last_seen: datetime = NOW,
    pod: str = "a-0",
    reason: str = "",
    count: int = 3,
) -> WatchedObject:
    """Store a Warning about the pod with this uid in namespace research. The default reason is `name`."""
    event = Event(
        meta=Meta("v1", make_ref("Event", name, group="events.k8s.io"), "1", 0, last_seen),
        regarding=make_ref("Pod", pod, uid=about),
        reason=reason or name,
        type="Warning",
        note=note,
        count=count,
        first_seen=None,
        last_seen=last_seen,
    )
    return WatchedObject.objects.create(
        cluster=cluster,
        resource="events.events.k8s.io",
        uid=name,
        namespace="research",
        name=name,
        resource_version="1",
        data=pack(event),
        about=about,
    )


def make_resource(cluster: Cluster, resource: str = "pods", **columns: Any) -> ResourceState:
    """Make the state of one resource that is read."""
    values = {
        "version": "v1",
        "state": "ok",
        "needed": True,
        "listed_at": NOW - timedelta(hours=1),
        "contact_at": NOW - timedelta(seconds=2),
        "objects_count": 12,
    }
    return ResourceState.objects.create(cluster=cluster, resource=resource, **{**values, **columns})


def make_outage(
    cluster: Cluster,
    began_at: datetime,
    ended_at: datetime,
    *,
    problem: str = "",
    sentence: str = "",
) -> Outage:
    """Make an outage of a cluster."""
    return Outage.objects.create(
        cluster=cluster,
        began_at=began_at,
        ended_at=ended_at,
        problem=problem,
        sentence=sentence,
    )


def make_usage(cluster: Cluster, *, now: datetime | None = None, **columns: Any) -> UsageDay:
    """Make the accelerator time of a day, by default of the real today: ten accelerator-hours used."""
    day = (now or timezone.now()).date()
    values = {
        "day": day,
        "namespace": "research",
        "queue": "gpu-prod",
        "submitter": "ada",
        "stage": "run",
        "code": "running",
    }
    amounts = {} if columns.keys() & set(AMOUNTS) else {"used": 36_000.0}
    Cluster.objects.filter(pk=cluster.pk, usage_since=None).update(
        usage_since=cluster.created_at - timedelta(days=60)
    )
    return UsageDay.objects.create(cluster=cluster, **{**values, **amounts, **columns})


def make_eviction(gang: Gang, *, at: datetime | None = None, **columns: Any) -> Eviction:
    """Make a preemption of a gang an hour ago by Job urgent/eval."""
    at = at or timezone.now() - timedelta(hours=1)
    names = ("api_group", "kind", "namespace", "name", "queue", "accelerators")
    values = {
        "code": "preempted",
        "at": at,
        "last_at": at,
        "taker_group": "batch",
        "taker_kind": "Job",
        "taker_namespace": "urgent",
        "taker_name": "eval",
        "taker_uid": "uid-eval",
        **{name: getattr(gang, name) for name in names},
    }
    return Eviction.objects.create(
        cluster_id=gang.cluster_id, gang_id=gang.pk, **{**values, **columns}
    )


def make_heartbeats(*, now: datetime = NOW, slots: int = 8) -> None:
    """Make poll, act, prove and notify workers and a beat that are alive, and orders that arrive."""
    for kind in ("poll", "act", "prove", "notify", "beat", "poll-orders", "act-orders"):
        values = {
            "kind": kind,
            "beat_at": now,
            "began_at": now - timedelta(hours=1),
            "slots": slots if kind == "poll" else 0,
        }
        Heartbeat.objects.update_or_create(name=f"{kind}-1", defaults=values)


VERDICTS: dict[str, dict[str, str]] = {
    "forming": {"health": "starting", "stage": "formation", "code": "pods-not-created"},
    "quota": {"health": "waiting", "stage": "admission", "code": "waiting-for-quota"},
    "room": {"health": "waiting", "stage": "placement", "code": "insufficient-resources"},
    "images": {"health": "starting", "stage": "start", "code": "starting"},
    "below": {"health": "degraded", "stage": "run", "code": "below-size"},
    "runs": {"health": "running", "stage": "run", "code": "running"},
    "held": {"health": "suspended", "stage": "admission", "code": "suspended"},
    "part-held": {"health": "suspended", "stage": "run", "code": "job-suspended"},
    "part-off": {"health": "suspended", "stage": "run", "code": "deactivated"},
    "off": {"health": "suspended", "stage": "admission", "code": "deactivated"},
    "unknown": {"health": "unknown", "stage": "run", "code": "not-observed"},
    "failed": {"health": "failed", "stage": "run", "code": "failed"},
    "succeeded": {"health": "succeeded", "stage": "run", "code": "succeeded"},
}
"""Verdicts by a word, for histories."""


def make_history(
    gang: Gang, begin: datetime, *verdicts: tuple[str, float], gone: bool = False, **columns: Any
) -> list[VerdictSpan]:
    """Store verdicts of a gang as (key of VERDICTS, minutes), oldest first.

    The last verdict stays open unless the gang is deleted.
    """
    values = {
        name: getattr(gang, name)
        for name in (
            *("api_group", "kind", "namespace", "name", "uid", "queue", "desired"),
            *("accelerators", "created_at"),
        )
    }
    values.update(
        cluster_id=gang.cluster_id,
        gang_id=gang.pk,
        shape=request_digest(gang.requests, gang.desired),
    )
    spans = []
    for index, (text, minutes) in enumerate(verdicts):
        end = begin + timedelta(minutes=minutes)
        is_last = index == len(verdicts) - 1
        spans.append(
            VerdictSpan(
                **{
                    **values,
                    **VERDICTS[text],
                    "title": VERDICTS[text]["code"].replace("-", " ").capitalize(),
                    "message": f"It was said: {text}.",
                    **columns,
                },
                began_at=begin,
                ended_at=end if gone or not is_last else None,
                last=gone and is_last,
            )
        )
        begin = end
    return VerdictSpan.objects.bulk_create(spans)
