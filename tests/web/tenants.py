"""Two tenants of one installation. Each field of their objects has a word of its own: a canary.

`zqa-…` belongs to the first tenant, `zqb-…` to the second one, `zqn-…` to the operators of the cluster that both
share, which neither of them may read.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from gangboard.domain.check import CheckedGang, CheckVerdict, ClusterCheck
from gangboard.domain.cluster_plan import ClusterPlan, PlanGain, PlanStep, PlanStepKind
from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.domain.objects import Condition, Meta, ObjectRef, node_ref
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.quota import FairShare
from gangboard.domain.usage import AcceleratorUse
from gangboard.domain.verdict import Evidence, FitReason
from gangboard.store import authentication, group_roles, people
from gangboard.store.cluster_plans import save_plan
from gangboard.store.feed import FeedType, add_action_event, add_span_events, number_events
from gangboard.store.gang_search import save_search
from gangboard.store.gangs import pack_detail, unpack_detail
from gangboard.store.models import (
    Action,
    Channel,
    CheckRun,
    Cluster,
    Delivery,
    Gang,
    GangUse,
    HoldCheck,
    Identity,
    LeverRecord,
    NotifyCursor,
    Rule,
    SavedView,
    SessionRecord,
    SubmitterNames,
    TrendPoint,
    WatchedObject,
)
from gangboard.store.objects import pack
from gangboard.store.secrets import seal, seal_bytes
from gangboard.store.usage import Meter, UsagePlace, save_meters
from tests.domain_objects import a_jobset, a_node, a_queue, an_alias, an_entry, shared_quota
from tests.factories import (
    make_cluster,
    make_eviction,
    make_finding,
    make_gang,
    make_heartbeats,
    make_history,
    make_members,
    make_outage,
    make_podgroup,
    make_resource,
    make_usage,
    store_object,
)
from tests.readmodels.room import make_capacity, make_fit, make_node, make_shape
from tests.recorded_actions import make_action, make_audit
from tests.stored_jobsets import make_hold, make_jobset
from tests.stored_queues import serve, store, waits
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
    """Return the canaries of a text. HTML, addresses and JSON leave their characters unescaped."""
    return {match.lower() for match in CANARY.findall(text)}


def make_tenants() -> tuple[Tenant, Tenant]:
    """Write rows of two tenants into every table. The second tenant also has its own cluster."""
    now = timezone.now()
    make_heartbeats(now=now)
    NotifyCursor.objects.create(pk=1, number=0)
    cluster = _shared_cluster(now)
    own = _own_cluster(now)
    first, second = (_tenant(text, cluster, now) for text in (FIRST, SECOND))
    people.grant_role(user=second.user, role="viewer", cluster_name=own.name)
    _name_each_other(first, second)
    _check_beside(first, second, now)
    _check_beside(second, first, now)
    _plan(cluster, now)
    number_events()
    return first, second


def _shared_cluster(now: datetime) -> Cluster:
    cluster = make_acting_cluster(SHARED, now=now)
    broken = [
        {"namespace": f"{text}-ns", "name": f"{text}-broken", "sentence": f"{text}-unreadable"}
        for text in (FIRST, SECOND)
    ]
    make_resource(cluster, "pods", problems=broken, problems_count=2)
    make_resource(cluster, "nodes")
    serve(cluster)
    # A LocalQueue of each tenant leads to it, so both read its name.
    cohort = f"{NOBODY}-cohort"
    store(
        cluster,
        a_queue("both", cohort=cohort, share=FairShare(340)),
        # It goes before `both`.
        a_queue(f"{NOBODY}-otherqueue", cohort=cohort, share=FairShare(120)),
        shared_quota(cohort, share=FairShare(230)),
        an_alias(f"{NOBODY}-lq", to=f"{NOBODY}-otherqueue", namespace=f"{NOBODY}-ns"),
        waits(f"{NOBODY}-waiting", f"{NOBODY}-ns", queue=f"{NOBODY}-lq"),
    )
    _node(cluster, f"{NOBODY}-node")
    requested = {"cpu": "8", f"example.com/{NOBODY}-asked": "8"}
    make_capacity(
        cluster,
        shapes=(make_shape(where=f"pool={NOBODY}-pool", requests=requested, why=f"{NOBODY}-why"),),
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


def _plan(cluster: Cluster, now: datetime) -> None:
    """Write a plan whose steps are about gangs and pods of both tenants, and about nodes."""
    gangs = {
        text: tuple(
            ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)
            for gang in Gang.objects.filter(cluster=cluster, namespace=f"{text}-ns", gone_at=None)
        )
        for text in (FIRST, SECOND)
    }
    gains = tuple(PlanGain(refs, len(refs), 1, 8) for refs in gangs.values())
    nodes = (node_ref(f"{NOBODY}-plannode"),)
    pods = tuple(
        ObjectRef("", "Pod", f"{text}-ns", f"{text}-movedpod", f"{text}-movedpod")
        for text in (FIRST, SECOND)
    )
    taint = Taint(f"{NOBODY}-plantaint", "NoSchedule")
    steps = (
        PlanStep(PlanStepKind.UNCORDON, gains, 16, nodes, by=f"with {NOBODY}-cordoner"),
        PlanStep(PlanStepKind.REMOVE_TAINT, gains, 16, nodes, taint),
        PlanStep(PlanStepKind.MOVE_PODS, gains, 16, nodes, pods=pods),
        *(PlanStep(PlanStepKind.STOP_WHOLE, gains, 16, gangs=refs[:1]) for refs in gangs.values()),
    )
    save_plan(cluster.pk, ClusterPlan(steps, gains, 4, 64), at=now)


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
    text = name[:3]
    make_node(
        cluster,
        name,
        labels={"cloud.google.com/gke-nodepool": f"{text}-nodevalue"},
        taints=[f"{text}-taint=x:NoSchedule"],
        allocatable={"cpu": "8", "pods": "9", "example.com/device": "8"},
        pods={f"{NOBODY}-nodepod": f"{NOBODY}-nodeowner"},
    )
    store_object(cluster, "nodes", a_node(name, uid=f"uid-{cluster.name}-{name}"))


def _tenant(text: str, cluster: Cluster, now: datetime) -> Tenant:
    user, _ = people.create_user(
        name=f"{text}-person", role="operator", cluster_name=SHARED, namespace=f"{text}-*"
    )
    namespace = f"{text}-ns"
    gang = _gang(text, cluster, namespace, now)
    action = _action(text, cluster, gang, user)
    group = make_podgroup(
        cluster,
        f"{text}-podgroup",
        namespace=namespace,
        now=now,
        workload_name=f"{text}-workload",
        template_name=f"{text}-template",
        owner_uids=(gang.uid,),
        placed=Condition("PodGroupScheduled", "False", f"{text}-reason", f"{text}-condition", now),
    )
    _history(text, cluster, gang, namespace, now)
    _queue(text, cluster, gang, namespace)
    channel, rule = _messages(text, user, gang, now)
    session, token, view = _personal(text, user, now)
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
        "<str:check_id>": f"{text}-checkid",
        "<str:ending>": "csv",
        "<path:rest>": "nowhere",
        "<str:resource>": "gangs",
        "users/<str:name>": f"users/{text}-person",
        "people/<str:name>": f"people/{text}-person",
        "nodes/<str:cluster>/<str:name>": f"nodes/{SHARED}/{text}-onnode",
        "queues/<str:cluster>/<str:name>": f"queues/{SHARED}/both",
        "<str:name>": SHARED,
    }
    if text == SECOND:
        own = f"{SECOND}-cluster"
        parameters["nodes/<str:cluster>/<str:name>"] = f"nodes/{own}/{SECOND}-node"
        parameters["queues/<str:cluster>/<str:name>"] = f"queues/{own}/{SECOND}-clusterqueue"
        parameters["<str:name>"] = own
    return Tenant(text, user, parameters, rule)


def _gang(text: str, cluster: Cluster, namespace: str, now: datetime) -> Gang:
    """Write a gang that waits, with its Jobs, pods, an event and a Hold; and one of an unknown kind and code."""
    ref = ObjectRef("batch", "Job", namespace, f"{text}-source", f"{text}-sourceuid")
    finding = make_finding(
        title=f"{text}-title",
        message=f"{text}-message",
        advice=(f"{text}-advice",),
        evidence=(Evidence(f"{text}-label", f"{text}-value", ref),),
    )
    gang = make_jobset(
        cluster,
        f"{text}-gang",
        namespace=namespace,
        now=now,
        health="waiting",
        stage="placement",
        code="insufficient-resources",
        title=finding.title,
        message=finding.message,
        advice=[f"{text}-advice"],
        queue=f"{text}-localqueue",
        priority=f"{text}-priority",
        labels={f"{text}-labelkey": f"{text}-labelvalue"},
        submitter=f"{text}-submitter",
        bottleneck=f"{text}-bottleneck",
    )
    job = f"{gang.name}-workers-0"
    members = make_members(
        job, 2, Health.WAITING, label=f"{text}-memberlabel", reason=f"{text}-memberreason"
    )
    members = tuple(
        replace(
            item,
            ref=replace(
                item.ref, namespace=namespace, name=f"{text}-pod", uid=f"{text}-poduid-{n}"
            ),
        )
        for n, item in enumerate(members)
    )
    detail = unpack_detail(bytes(gang.detail))
    full = FitReason("nvidia.com/gpu", 5, examples=(f"{NOBODY}-fullnode",))
    fit = make_fit(shape=f"{text}-shape", unit=gang.name, saturated=(full,), excluded=())
    gang.detail = pack_detail(replace(detail, findings=(finding,), members=members, fit=(fit,)))
    gang.save(update_fields=["detail"])
    GangUse.objects.create(
        gang=gang,
        cluster=cluster,
        read_at=now,
        pods=2,
        mean=50,
        least=10,
        least_pod=f"{text}-pod",
        most=90,
        most_pod=f"{text}-pod",
    )
    _event(text, cluster, members[0].ref, now)
    hold = make_hold(cluster, gang, job, by=f"{text}-holder", reason=f"{text}-holdreason")
    HoldCheck.objects.create(
        cluster=cluster, hold_uid=hold.meta.ref.uid, in_force=True, checked_at=now
    )
    make_gang(
        cluster,
        f"{text}-odd",
        namespace=namespace,
        now=now,
        kind=f"{text}-kind",
        api_group=f"{text}-apigroup",
        code=f"{text}-code",
        health="blocked",
    )
    return gang


def _event(text: str, cluster: Cluster, about: ObjectRef, now: datetime) -> None:
    event = Event(
        meta=Meta(
            "v1",
            ObjectRef("events.k8s.io", "Event", about.namespace, f"{text}-event", f"{text}-e"),
            "1",
            0,
            now,
        ),
        regarding=about,
        reason=f"{text}-eventreason",
        type="Warning",
        note=f"{text}-note",
        count=3,
        first_seen=None,
        last_seen=now,
        reporter=f"{text}-reporter",
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


def _action(text: str, cluster: Cluster, gang: Gang, user: User) -> Action:
    action = make_action(
        cluster,
        gang_id=gang.pk,
        namespace=gang.namespace,
        name=f"{text}-actedjob",
        user=user,
        actor_name=f"{text}-actor",
        reason=f"{text}-actionreason",
        message=f"{text}-actionmessage",
        reverted_by=f"{text}-reverter",
        state="reverted",
        lever=f"{text}-lever"[:16],
        batch=f"{text:0<32}".replace("zq", "0"),
        warnings=[f"{text}-warning"],
        reactions=[f"{text}-reaction"],
        before={"x": f"{text}-before"},
        after={"x": f"{text}-after"},
        steps=(("patch", f"{text}-step", "done", f"{text}-stepresult"),),
    )
    add_action_event(action, at=timezone.now())
    make_audit(
        cluster,
        gang.namespace,
        f"{text}-auditsentence",
        actor_name=f"{text}-auditor",
        object_name=f"Job/{text}-auditobject",
    )
    return action


def _history(text: str, cluster: Cluster, gang: Gang, namespace: str, now: datetime) -> None:
    begin = now - timedelta(hours=3)
    spans = make_history(
        gang,
        begin,
        *(("forming", 5.0), ("room", 0.0)),
        title=f"{text}-spantitle",
        message=f"{text}-spanmessage",
    )
    add_span_events(spans, FeedType.VERDICT, at=now)
    deleted_gang = make_gang(
        cluster,
        f"{text}-gone",
        namespace=namespace,
        now=now,
        message=f"{text}-gonemessage",
        gone_at=now - timedelta(minutes=9),
    )
    ended = make_history(
        deleted_gang, begin, ("room", 60.0), gone=True, title="Gone", message=f"{text}-lastmessage"
    )
    add_span_events(ended, FeedType.DELETED, at=now)
    make_usage(cluster, now=now, namespace=namespace)
    place = UsagePlace(namespace, "", "", "run", "running")
    meter = Meter(gang.pk, gang.uid, place, AcceleratorUse(used=1), begin)
    save_meters(cluster.pk, ended=(), opened=[meter], at=begin)


def _queue(text: str, cluster: Cluster, gang: Gang, namespace: str) -> None:
    jobset = a_jobset(gang.name, uid=gang.uid, namespace=namespace)
    store(
        cluster,
        an_alias(
            f"{text}-localqueue",
            to="both",
            namespace=namespace,
            uid=f"{text}-localqueueuid",
        ),
        a_queue(f"{text}-ownqueue"),
        an_alias(
            f"{text}-alias", to=f"{text}-ownqueue", namespace=namespace, uid=f"{text}-aliasuid"
        ),
        an_entry(jobset, f"{text}-entry", namespace=namespace, queue=f"{text}-localqueue"),
    )


def _messages(text: str, user: User, gang: Gang, now: datetime) -> tuple[Channel, Rule]:
    channel = Channel.objects.create(
        name=f"{text}-channel",
        kind="apprise",
        service=f"{text}-service",
        address=seal({"address": f"apprise://{text}-address", "secret": ""}),
        owner=user,
        error=f"{text}-channelerror",
        created_at=now,
    )
    rule = Rule.objects.create(
        name=f"{text}-rule", owner=user, trigger="verdict", kind="", created_at=now
    )
    acted = Rule.objects.create(
        name=f"{text}-acts", owner=user, trigger="action", gang_id="", created_at=now
    )
    waits = Rule.objects.create(
        name=f"{text}-waits", owner=user, trigger="waits", minutes=1, created_at=now
    )
    for item in (rule, acted, waits):
        item.channels.set([channel])
    Delivery.objects.create(
        rule=rule,
        channel=channel,
        state="given-up",
        error=f"{text}-deliveryerror",
        next_at=now,
        created_at=now,
        finished_at=now,
    )
    return channel, rule


def _personal(text: str, user: User, now: datetime) -> tuple[str, str, str]:
    """Write what belongs to the person; return the ids of a session, a token and a view."""
    session = SessionRecord.objects.create(
        session_key=f"{text}-key",
        user=user,
        method="password",
        address=f"{text}-source",
        created_at=now,
        last_seen_at=now,
        ends_at=now + timedelta(hours=1),
    )
    token = authentication.issue_token(user=user).rpartition("_")[0]
    view = SavedView.objects.create(user=user, name=f"{text}-view", query=f"q={text}-viewquery")
    SubmitterNames.objects.create(user=user, names=[f"{text}-mine"])
    Identity.objects.create(
        user=user, issuer="https://id", subject=text, groups=[f"{text}-idgroup"]
    )
    return str(session.pk), token, str(view.pk)


def _check_beside(tenant: Tenant, another: Tenant, now: datetime) -> None:
    """Write the answer to a check of a tenant, in which the gang of the other one is before its own."""
    stored, other = (
        Gang.objects.get(pk=each.parameters["<str:gang_id>"]) for each in (tenant, another)
    )
    row = {field.attname: getattr(stored, field.attname) for field in Gang._meta.concrete_fields}
    behind = tuple(
        ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)
        for gang in (stored, other)
    )
    word = CheckVerdict.WOULD_WAIT
    name = f"{tenant.word}-checkedgang"
    gang = CheckedGang(
        1, "batch", "Job", stored.namespace, name, word, stored.code, row=row, behind=behind
    )
    answer = ClusterCheck(stored.cluster_id, SHARED, (gang,))
    CheckRun.objects.create(
        id=stored.pk,
        check_id=tenant.parameters["<str:check_id>"],
        user=tenant.user,
        cluster_id=stored.cluster_id,
        state="answered",
        answer=seal_bytes(zlib.compress(pack(answer))),
        created_at=now,
        expires_at=now + timedelta(hours=1),
    )


def _name_each_other(*tenants: Tenant) -> None:
    """Let the verdict of each gang name the other one, with the reference by which names are taken out."""
    gangs = {
        tenant.word: Gang.objects.get(pk=tenant.parameters["<str:gang_id>"]) for tenant in tenants
    }
    for text, another in ((FIRST, SECOND), (SECOND, FIRST)):
        gang, named = gangs[text], gangs[another]
        ref = ObjectRef(named.api_group, named.kind, named.namespace, named.name, named.uid)
        detail = unpack_detail(bytes(gang.detail))
        message = f"{text}-message: {named.kind} {named.name} holds what it needs."
        finding = replace(
            detail.findings[0],
            message=message,
            evidence=(*detail.findings[0].evidence, Evidence("held by", named.name, ref)),
        )
        gang.message = message
        gang.detail = pack_detail(replace(detail, findings=(finding,)))
        gang.save(update_fields=["message", "detail"])
        save_search([vars(gang)])
        make_eviction(
            gang,
            at=gang.observed_at,
            reason=f"{text}-evictionreason",
            taker_namespace=named.namespace,
            taker_name=named.name,
            taker_uid=named.uid,
        )
