"""Two tenants of one installation. Each field of their objects has a word of its own: a canary.

`zqa-…` belongs to the first tenant, `zqb-…` to the second one, `zqn-…` to the operators of the cluster that both
share, which neither of them may read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.domain.objects import Condition, Meta, ObjectRef
from gangboard.domain.verdict import Evidence, FitReason
from gangboard.store import authentication, group_roles, people
from gangboard.store.feed import FeedType, add_action_event, add_span_events, number_events
from gangboard.store.gang_search import save_search
from gangboard.store.gangs import pack_detail, unpack_detail
from gangboard.store.models import (
    Action,
    Channel,
    Cluster,
    Delivery,
    Gang,
    HoldCheck,
    Identity,
    LeverRecord,
    NotifyCursor,
    Rule,
    SavedView,
    SessionRecord,
    TrendPoint,
    WatchedObject,
)
from gangboard.store.objects import pack
from gangboard.store.secrets import seal
from tests.domain_objects import a_jobset, a_node, a_queue, an_alias, an_entry
from tests.factories import (
    make_cluster,
    make_finding,
    make_gang,
    make_heartbeats,
    make_history,
    make_members,
    make_outage,
    make_podgroup,
    make_resource,
    store_object,
)
from tests.readmodels.room import make_capacity, make_fit, make_node, make_shape
from tests.recorded_actions import make_action, make_audit
from tests.stored_jobsets import make_hold, make_jobset
from tests.stored_queues import serve, store
from tests.web.acting import make_acting_cluster

CANARY = re.compile(r"zq[abn]-[a-z]+", re.IGNORECASE)
FIRST, SECOND, NOBODY = "zqa", "zqb", "zqn"
SHARED = "shared"
"""Name of the cluster of both."""


@dataclass(frozen=True)
class Tenant:
    """A person with a role on the namespaces of one tenant, and the objects there by parameters of routes."""

    word: str
    user: User
    parameters: dict[str, str]
    rule: Rule


def canaries(text: str) -> set[str]:
    """Return the canaries of a text. Neither HTML nor addresses nor JSON quote a character of theirs."""
    return {one.lower() for one in CANARY.findall(text)}


def make_tenants() -> tuple[Tenant, Tenant]:
    """Write everything that an installation knows of two tenants. The second one has a cluster of its own, too."""
    now = timezone.now()
    make_heartbeats(now=now)
    NotifyCursor.objects.create(pk=1, number=0)
    cluster = _shared_cluster(now)
    own = _own_cluster(now)
    first, second = (_tenant(word, cluster, now) for word in (FIRST, SECOND))
    people.grant_role(user=second.user, role="viewer", cluster_name=own.name)
    _name_each_other(first, second)
    number_events()
    return first, second


def _shared_cluster(now: datetime) -> Cluster:
    cluster = make_acting_cluster(SHARED, now=now)
    broken = [
        {"namespace": f"{word}-ns", "name": f"{word}-broken", "sentence": f"{word}-unreadable"}
        for word in (FIRST, SECOND)
    ]
    make_resource(cluster, "pods", problems=broken, problems_count=2)
    make_resource(cluster, "nodes")
    serve(cluster)
    # A LocalQueue of each tenant leads to it, so both read its name.
    store(cluster, a_queue("both", cohort=f"{NOBODY}-cohort"), a_queue(f"{NOBODY}-otherqueue"))
    _node(cluster, f"{NOBODY}-node")
    asked = {"cpu": "8", f"example.com/{NOBODY}-asked": "8"}
    make_capacity(
        cluster,
        shapes=(make_shape(where=f"pool={NOBODY}-pool", requests=asked, why=f"{NOBODY}-why"),),
        now=now,
    )
    LeverRecord.objects.create(
        cluster=cluster, lever="hold", refuted_at=now, sentence=f"{NOBODY}-proof"
    )
    make_outage(
        cluster,
        now - timedelta(hours=2),
        now - timedelta(hours=1),
        problem="unreachable",
        sentence=f"{NOBODY}-outage",
    )
    reasons = {"placement/zqn-code": [2, 16.0]}
    TrendPoint.objects.create(
        cluster=cluster,
        at=now.replace(minute=0, second=0, microsecond=0),
        is_lasting=True,
        gangs={},
        reasons=reasons,
        **dict.fromkeys(("used", "held", "free", "away", "waiting"), 8.0),
    )
    group_roles.grant_group(group=f"{NOBODY}-group", role="viewer")
    make_audit(cluster, "", f"{NOBODY}-clusterline", object_name=f"{NOBODY}-thing")
    return cluster


def _own_cluster(now: datetime) -> Cluster:
    cluster = make_cluster(f"{SECOND}-cluster", now=now, server=f"https://{SECOND}-server:6443")
    for resource in ("pods", "nodes"):
        make_resource(cluster, resource)
    serve(cluster)
    store(cluster, a_queue(f"{SECOND}-clusterqueue"))
    _node(cluster, f"{SECOND}-node")
    make_capacity(cluster, now=now)
    make_gang(cluster, f"{SECOND}-owngang", namespace=f"{SECOND}-ownns", now=now)
    return cluster


def _node(cluster: Cluster, name: str) -> None:
    word = name[:3]
    make_node(
        cluster,
        name,
        labels={"cloud.google.com/gke-nodepool": f"{word}-nodevalue"},
        taints=[f"{word}-taint=x:NoSchedule"],
        allocatable={"cpu": "8", "pods": "9", "example.com/device": "8"},
        pods={f"{NOBODY}-nodepod": f"{NOBODY}-nodeowner"},
    )
    store_object(cluster, "nodes", a_node(name, uid=f"uid-{cluster.name}-{name}"))


def _tenant(word: str, cluster: Cluster, now: datetime) -> Tenant:
    user, _ = people.create_user(
        name=f"{word}-person", role="operator", cluster_name=SHARED, namespace=f"{word}-*"
    )
    namespace = f"{word}-ns"
    gang = _gang(word, cluster, namespace, now)
    action = _action(word, cluster, gang, user)
    group = make_podgroup(
        cluster,
        f"{word}-podgroup",
        namespace=namespace,
        now=now,
        workload_name=f"{word}-workload",
        template_name=f"{word}-template",
        owner_uids=(gang.uid,),
        placed=Condition("PodGroupScheduled", "False", f"{word}-reason", f"{word}-condition", now),
    )
    _history(word, cluster, gang, namespace, now)
    _queue(word, cluster, gang, namespace)
    channel, rule = _messages(word, user, gang, now)
    session, token, view = _personal(word, user, now)
    parameters = {
        "<str:gang_id>": gang.pk,
        "<str:group_id>": f"{SHARED}~{group.meta.ref.uid}",
        "<str:action_id>": action.pk,
        "<str:batch>": action.batch,
        "<str:channel_id>": str(channel.pk),
        "<str:rule_id>": str(rule.pk),
        "<str:token_id>": token,
        "<int:session_id>": session,
        "<str:view_id>": view,
        "<int:role_id>": "1",
        "<str:trial_id>": "0" * 32,
        "<str:ending>": "csv",
        "<path:rest>": "nowhere",
        "<str:resource>": "gangs",
        "users/<str:name>": f"users/{word}-person",
        "people/<str:name>": f"people/{word}-person",
        "nodes/<str:cluster>/<str:name>": f"nodes/{SHARED}/{word}-onnode",
        "queues/<str:cluster>/<str:name>": f"queues/{SHARED}/both",
        "<str:name>": SHARED,
    }
    if word == SECOND:
        own = f"{SECOND}-cluster"
        parameters["nodes/<str:cluster>/<str:name>"] = f"nodes/{own}/{SECOND}-node"
        parameters["queues/<str:cluster>/<str:name>"] = f"queues/{own}/{SECOND}-clusterqueue"
        parameters["<str:name>"] = own
    return Tenant(word, user, parameters, rule)


def _gang(word: str, cluster: Cluster, namespace: str, now: datetime) -> Gang:
    """Write a gang that waits, with its Jobs, pods, an event and a Hold; and one of an unknown kind and code."""
    ref = ObjectRef("batch", "Job", namespace, f"{word}-source", f"{word}-sourceuid")
    finding = make_finding(
        title=f"{word}-title",
        message=f"{word}-message",
        advice=(f"{word}-advice",),
        evidence=(Evidence(f"{word}-label", f"{word}-value", ref),),
    )
    gang = make_jobset(
        cluster,
        f"{word}-gang",
        namespace=namespace,
        now=now,
        health="waiting",
        stage="placement",
        code="insufficient-resources",
        title=finding.title,
        message=finding.message,
        advice=[f"{word}-advice"],
        queue=f"{word}-localqueue",
        priority=f"{word}-priority",
        labels={f"{word}-labelkey": f"{word}-labelvalue"},
        submitter=f"{word}-submitter",
        bottleneck=f"{word}-bottleneck",
    )
    job = f"{gang.name}-workers-0"
    members = make_members(
        job, 2, Health.WAITING, label=f"{word}-memberlabel", reason=f"{word}-memberreason"
    )
    members = tuple(
        replace(
            one,
            ref=replace(one.ref, namespace=namespace, name=f"{word}-pod", uid=f"{word}-poduid-{n}"),
        )
        for n, one in enumerate(members)
    )
    detail = unpack_detail(bytes(gang.detail))
    full = FitReason("nvidia.com/gpu", 5, examples=(f"{NOBODY}-fullnode",))
    fit = make_fit(shape=f"{word}-shape", unit=gang.name, saturated=(full,), excluded=())
    gang.detail = pack_detail(replace(detail, findings=(finding,), members=members, fit=(fit,)))
    gang.save(update_fields=["detail"])
    _event(word, cluster, members[0].ref, now)
    hold = make_hold(cluster, gang, job, by=f"{word}-holder", reason=f"{word}-holdreason")
    HoldCheck.objects.create(
        cluster=cluster, hold_uid=hold.meta.ref.uid, in_force=True, checked_at=now
    )
    make_gang(
        cluster,
        f"{word}-odd",
        namespace=namespace,
        now=now,
        kind=f"{word}-kind",
        api_group=f"{word}-apigroup",
        code=f"{word}-code",
        health="blocked",
    )
    return gang


def _event(word: str, cluster: Cluster, about: ObjectRef, now: datetime) -> None:
    event = Event(
        meta=Meta(
            "v1",
            ObjectRef("events.k8s.io", "Event", about.namespace, f"{word}-event", f"{word}-e"),
            "1",
            0,
            now,
        ),
        regarding=about,
        reason=f"{word}-eventreason",
        type="Warning",
        note=f"{word}-note",
        count=3,
        first_seen=None,
        last_seen=now,
        reporter=f"{word}-reporter",
    )
    WatchedObject.objects.create(
        cluster=cluster,
        resource="events.events.k8s.io",
        uid=event.meta.ref.uid,
        namespace=about.namespace,
        name=event.meta.ref.name,
        resource_version="1",
        data=pack(event),
        about=about.uid,
    )


def _action(word: str, cluster: Cluster, gang: Gang, user: User) -> Action:
    action = make_action(
        cluster,
        gang_id=gang.pk,
        namespace=gang.namespace,
        name=f"{word}-actedjob",
        user=user,
        actor_name=f"{word}-actor",
        reason=f"{word}-actionreason",
        message=f"{word}-actionmessage",
        reverted_by=f"{word}-reverter",
        state="reverted",
        lever=f"{word}-lever"[:16],
        batch=f"{word:0<32}".replace("zq", "0"),
        warnings=[f"{word}-warning"],
        reactions=[f"{word}-reaction"],
        before={"x": f"{word}-before"},
        after={"x": f"{word}-after"},
        steps=(("patch", f"{word}-step", "done", f"{word}-stepresult"),),
    )
    add_action_event(action, at=timezone.now())
    make_audit(
        cluster,
        gang.namespace,
        f"{word}-auditsentence",
        actor_name=f"{word}-auditor",
        object_name=f"Job/{word}-auditobject",
    )
    return action


def _history(word: str, cluster: Cluster, gang: Gang, namespace: str, now: datetime) -> None:
    begin = now - timedelta(hours=3)
    spans = make_history(
        gang,
        begin,
        *(("forming", 5.0), ("room", 0.0)),
        title=f"{word}-spantitle",
        message=f"{word}-spanmessage",
    )
    add_span_events(spans, FeedType.VERDICT, at=now)
    gone = make_gang(
        cluster,
        f"{word}-gone",
        namespace=namespace,
        now=now,
        message=f"{word}-gonemessage",
        gone_at=now - timedelta(minutes=9),
    )
    ended = make_history(
        gone, begin, ("room", 60.0), gone=True, title="Gone", message=f"{word}-lastmessage"
    )
    add_span_events(ended, FeedType.DELETED, at=now)


def _queue(word: str, cluster: Cluster, gang: Gang, namespace: str) -> None:
    jobset = a_jobset(gang.name, uid=gang.uid, namespace=namespace)
    store(
        cluster,
        an_alias(
            f"{word}-localqueue",
            to="both",
            namespace=namespace,
            uid=f"{word}-localqueueuid",
        ),
        a_queue(f"{word}-ownqueue"),
        an_alias(
            f"{word}-alias", to=f"{word}-ownqueue", namespace=namespace, uid=f"{word}-aliasuid"
        ),
        an_entry(jobset, f"{word}-entry", namespace=namespace, queue=f"{word}-localqueue"),
    )


def _messages(word: str, user: User, gang: Gang, now: datetime) -> tuple[Channel, Rule]:
    channel = Channel.objects.create(
        name=f"{word}-channel",
        kind="apprise",
        service=f"{word}-service",
        address=seal({"address": f"apprise://{word}-address", "secret": ""}),
        owner=user,
        error=f"{word}-channelerror",
        created_at=now,
    )
    rule = Rule.objects.create(
        name=f"{word}-rule", owner=user, trigger="verdict", kind="", created_at=now
    )
    acted = Rule.objects.create(
        name=f"{word}-acts", owner=user, trigger="action", gang_id="", created_at=now
    )
    waits = Rule.objects.create(
        name=f"{word}-waits", owner=user, trigger="waits", minutes=1, created_at=now
    )
    for one in (rule, acted, waits):
        one.channels.set([channel])
    Delivery.objects.create(
        rule=rule,
        channel=channel,
        state="given-up",
        error=f"{word}-deliveryerror",
        next_at=now,
        created_at=now,
        finished_at=now,
    )
    return channel, rule


def _personal(word: str, user: User, now: datetime) -> tuple[str, str, str]:
    """Write what belongs to the person; return the ids of a session, a token and a view."""
    session = SessionRecord.objects.create(
        session_key=f"{word}-key",
        user=user,
        method="password",
        address=f"{word}-source",
        created_at=now,
        last_seen_at=now,
        ends_at=now + timedelta(hours=1),
    )
    token = authentication.issue_token(user=user).rpartition("_")[0]
    view = SavedView.objects.create(user=user, name=f"{word}-view", query=f"q={word}-viewquery")
    Identity.objects.create(
        user=user, issuer="https://id", subject=word, groups=[f"{word}-idgroup"]
    )
    return str(session.pk), token, str(view.pk)


def _name_each_other(*tenants: Tenant) -> None:
    """Let the verdict of each gang name the other one, with the reference by which names are taken out."""
    gangs = {one.word: Gang.objects.get(pk=one.parameters["<str:gang_id>"]) for one in tenants}
    for word, other in ((FIRST, SECOND), (SECOND, FIRST)):
        gang, named = gangs[word], gangs[other]
        ref = ObjectRef(named.api_group, named.kind, named.namespace, named.name, named.uid)
        detail = unpack_detail(bytes(gang.detail))
        message = f"{word}-message: {named.kind} {named.name} holds what it needs."
        finding = replace(
            detail.findings[0],
            message=message,
            evidence=(*detail.findings[0].evidence, Evidence("held by", named.name, ref)),
        )
        gang.message = message
        gang.detail = pack_detail(replace(detail, findings=(finding,)))
        gang.save(update_fields=["message", "detail"])
        save_search([vars(gang)])
