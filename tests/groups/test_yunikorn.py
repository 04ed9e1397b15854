"""Applications of YuniKorn: no object, a label or an annotation, and the scheduler's messages about the pods.

Texts as YuniKorn 1.9.0 wrote them on 1.37, but for those of a user's quota, of quota that has come, and of
placeholders that could not be made: these as k8shim and core write them (ask_events.go, application.go).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Finding
from gangboard.plugins import registry
from tests.decode.reading import model, with_identity
from tests.domain_objects import NOW, a_condition, a_job, a_pod, ago, an_event
from tests.gangs import assemble
from tests.sentence_values import values_in

KIND = "Application.yunikorn.apache.org"
APP_ID = "yunikorn.apache.org/app-id"
WAITS = "request is waiting for cluster resources become available"
NO_QUOTA = (
    "Request 'uid-p0' does not fit in queue 'root.data' (requested map[memory:1024 pods:1 vcore:4000], "
    "available map[vcore:2500])"
)
NO_USER_QUOTA = (
    "Request 'uid-p0' exceeds the available user quota (requested map[pods:1 vcore:500], "
    "available map[pods:0])"
)
REJECTED = "Application etl-7 scheduling failed, reason: ApplicationRejected: "
TOO_LARGE = (
    f"{REJECTED}queue root.tiny cannot fit application etl-7: task group request map[pods:3 vcore:3000] "
    "larger than max queue allocation map[vcore:2000]"
)
NO_QUEUE = (
    f"{REJECTED}failed to place application etl-7: application rejected: no placement rule matched"
)
OF_NODES = (
    "Unschedulable request 'uid-p0': failed plugin: 'NodeAffinity'\nnode(s) didn't match Pod's node "
    "affinity/selector (8x); "
)
TAINTED = "Unschedulable request 'uid-p0': node(s) had untolerated taint(s) (3x); "


def decoded(scheduler: str, annotations: dict[str, str] | None = None, **labels: str) -> Pod:
    metadata = {"labels": labels, "annotations": annotations or {}}
    result: Pod = model(
        registry.pods(),
        with_identity({"metadata": metadata, "spec": {"schedulerName": scheduler}}),
    )
    return result


@pytest.mark.parametrize(
    "given",
    [
        {"annotations": {APP_ID: "etl-7"}},
        {APP_ID: "etl-7"},
        {"applicationId": "etl-7"},
    ],
)
def test_pods_name_their_application_by_a_label_or_an_annotation(given: dict[str, Any]) -> None:
    pod = decoded("yunikorn", **given)
    assert (pod.group_name, pod.group_kind, pod.other_scheduler) == ("etl-7", KIND, True)
    stock = decoded("default-scheduler", **given)
    assert (stock.ignores_group, stock.other_scheduler) == (True, False)


@pytest.mark.parametrize("domain", ["internal.yunikorn.apache.org", "yunikorn.apache.org"])
def test_a_placeholder_is_in_no_gang(domain: str) -> None:
    held = decoded("yunikorn", {f"{domain}/placeholder": "true"}, **{APP_ID: "etl-7"})
    member = decoded("yunikorn", {f"{domain}/placeholder": "false"}, **{APP_ID: "etl-7"})
    other = decoded("yunikorn", {f"{domain}/placeholder": "true"})
    assert (held.is_placeholder, member.is_placeholder, other.is_placeholder) == (
        True,
        False,
        False,
    )
    graph = OwnershipGraph()
    assert graph.put(held) == set()
    assert graph.roots() == set()
    assert graph.put(member) == {member.meta.ref.uid}


def members(number: int = 2, **fields: Any) -> list[Pod]:
    job = a_job("etl", pods=2)
    value = {"of": job, "scheduler_name": "yunikorn", "other_scheduler": True, **fields}
    return [a_pod(f"p{n}", group="etl-7", group_kind=KIND, **value) for n in range(number)]


def event_of(pod: Pod, note: str, reason: str = "Informational", *, before: float = 30) -> Event:
    return an_event(pod, reason, note, last_seen=ago(before))


def finding_of(pods: list[Pod], *events: Event) -> Finding:
    return assess(assemble(a_job("etl", pods=2), pods, now=NOW, events=events)).finding


def refused(message: str = WAITS, reason: str = "Unschedulable") -> Any:
    return a_condition("PodScheduled", "False", reason=reason, message=message)


def test_a_full_queue_is_explained_by_its_event() -> None:
    pods = members()
    finding = finding_of(pods, *(event_of(pod, NO_QUOTA) for pod in pods))
    assert (finding.code, finding.health) == ("waiting-for-quota", Health.WAITING)
    assert finding.message == (
        "Queue root.data has too little quota for 2 pods: each requests 4 CPUs, and 2.5 is left."
    )
    assert [item.value for item in finding.evidence] == [NO_QUOTA]


def test_a_user_quota_is_distinguished_from_a_queue_quota() -> None:
    pods = members()
    assert finding_of(pods, event_of(pods[0], NO_USER_QUOTA)).message == (
        "The quota of its user has too little quota for 1 pod: it requests 1 pod, and 0 is left."
    )


@pytest.mark.parametrize(
    "later",
    [
        "Request 'uid-p0' has become schedulable in queue 'root.data'",
        "Request 'uid-p0' fits in the available user quota",
    ],
)
def test_quota_that_has_come_is_no_reason(later: str) -> None:
    (pod, *rest) = members()
    events = event_of(pod, NO_QUOTA, before=30), event_of(pod, later, before=10)
    assert finding_of([pod, *rest], *events).code == "not-attempted"


def test_a_pod_that_was_tried_since_does_not_wait_for_quota() -> None:
    """Events of one sort on one pod within minutes are one, with the first text (client-go)."""
    pods = members(scheduled=refused())
    assert finding_of(pods, event_of(pods[0], NO_QUOTA)).code == "unschedulable"


@pytest.mark.parametrize(
    "odd",
    [
        "Request 'uid-p0' does not fit in queue 'root.data' (requested map[], available map[])",
        "Request 'uid-p0' does not fit in queue 'root.data' (requested map[vcore:x], available map[vcore:1])",
    ],
)
def test_meaningless_amounts_are_omitted(odd: str) -> None:
    pods = members()
    assert (
        finding_of(pods, event_of(pods[0], odd)).message
        == "Queue root.data has too little quota for 1 pod."
    )


def test_half_of_the_gang_runs_and_the_queue_is_full() -> None:
    (first, _), (_, second) = members(on="n0"), members()
    finding = finding_of([first, second], event_of(second, NO_QUOTA))
    assert (finding.code, finding.health) == ("partly-placed", Health.DEGRADED)
    assert finding.message == (
        "1 of 2 pods is placed. Queue root.data has too little quota for 1 pod: it requests "
        "4 CPUs, and 2.5 is left."
    )


@pytest.mark.parametrize(
    ("condition", "notes", "message"),
    [
        (refused(), (), "YuniKorn cannot place 2 pods, and does not say why."),
        (
            refused(),
            (TAINTED,),
            "YuniKorn cannot place 2 pods: node(s) had untolerated taint(s) (3x).",
        ),
        (
            refused("over its quota", "SchedulingSkipped"),
            (),
            "YuniKorn cannot place 2 pods: over its quota.",
        ),
    ],
)
def test_node_messages_are_quoted(condition: Any, notes: tuple[str, ...], message: str) -> None:
    pods = members(scheduled=condition)
    finding = finding_of(pods, *(event_of(pods[0], note) for note in notes))
    assert (finding.code, finding.health) == ("unschedulable", Health.WAITING)
    assert finding.message == message
    assert finding.advice_texts == ()


def test_members_wait_for_placeholders_before_they_are_tried() -> None:
    pods = members()
    event = event_of(pods[0], "Application etl-7 creating placeholders", "GangScheduling")
    finding = finding_of(pods, event)
    assert (finding.code, finding.health) == ("unschedulable", Health.WAITING)
    assert finding.message == (
        "YuniKorn holds 2 pods back until the placeholders of application etl-7 are placed."
    )
    done = event_of(
        pods[0],
        "Application etl-7 all placeholders are allocated. Transitioning to running state.",
        "GangScheduling",
        before=5,
    )
    assert finding_of(pods, event, done).code == "not-attempted"


@pytest.mark.parametrize(
    "note",
    [
        "Application etl-7 resuming as non-gang application (SOFT)",
        "Application etl-7 fall back to normal scheduling",
    ],
)
def test_an_abandoned_gang_is_scheduled_pod_by_pod(note: str) -> None:
    (first, _), (_, second) = members(on="n0"), members(scheduled=refused())
    event = event_of(first, note, "GangScheduling")
    finding = finding_of([first, second], event)
    assert (finding.code, finding.health) == ("not-ganged", Health.DEGRADED)
    assert finding.message == (
        "YuniKorn gave up gang scheduling of application etl-7 and places pods one by one: 1 "
        "of 2 pods is placed."
    )
    assert finding_of(members(on="n0"), event).code == "running"
    assert finding_of(members(scheduled=refused()), event).code == "unschedulable"


def test_a_group_without_an_object_is_not_missed() -> None:
    verdict = assess(assemble(a_job("etl", pods=2), members(on="n0"), now=NOW))
    assert (verdict.finding.code, verdict.members.desired, verdict.members.quorum) == (
        "running",
        2,
        None,
    )
    assert finding_of(members()).code == "not-attempted"


def test_pods_of_the_default_scheduler_are_judged_without_yunikorn() -> None:
    pods = members(scheduler_name="default-scheduler", other_scheduler=False, ignores_group=True)
    assert finding_of(pods, event_of(pods[0], NO_QUOTA)).code == "not-attempted"


QUEUE = "yunikorn.apache.org/queue"


@pytest.mark.parametrize(
    ("labels", "annotations", "queue"),
    [
        ({QUEUE: "root.a"}, {}, "root.a"),
        ({}, {QUEUE: "root.b"}, "root.b"),
        ({"queue": "root.c"}, {}, "root.c"),
        ({QUEUE: "root.a", "queue": "root.c"}, {QUEUE: "root.b"}, "root.a"),
        ({"queue": "root.c"}, {QUEUE: "root.b"}, "root.b"),
        ({}, {}, ""),
    ],
)
def test_pods_name_their_queue(
    labels: dict[str, str], annotations: dict[str, str], queue: str
) -> None:
    assert decoded("yunikorn", annotations, **labels).queue == queue
    assert decoded("default-scheduler", annotations, **labels).queue == ""


def ended(message: str = " queue root.tiny cannot fit application etl-7", **fields: Any) -> Any:
    return members(phase="Failed", reason="ApplicationRejected", message=message, **fields)


@pytest.mark.parametrize(
    ("note", "code", "health", "message"),
    [
        (
            TOO_LARGE,
            "exceeds-quota",
            Health.BLOCKED,
            (
                "YuniKorn rejected application etl-7: its task groups request 3 CPUs at once, and "
                "queue root.tiny allows at most 2."
            ),
        ),
        (
            TOO_LARGE.replace("vcore:2000", "vcore:x"),
            "exceeds-quota",
            Health.BLOCKED,
            (
                "YuniKorn rejected application etl-7: its task groups request more than queue "
                "root.tiny allows."
            ),
        ),
        (
            NO_QUEUE,
            "queue-missing",
            Health.BLOCKED,
            (
                "YuniKorn rejected application etl-7: Queue root.absent does not exist, or no "
                "placement rule allows it."
            ),
        ),
        (
            f"{REJECTED}of a text: that is new",
            "failed",
            Health.FAILED,
            "YuniKorn rejected application etl-7: of a text: that is new.",
        ),
    ],
)
def test_an_application_is_rejected(note: str, code: str, health: Health, message: str) -> None:
    pods = ended(queue="root.absent")
    finding = finding_of(pods, event_of(pods[0], note, "ApplicationFailed"))
    assert (finding.code, finding.health, finding.message) == (code, health, message)


def test_a_rejection_without_its_event_is_explained_by_the_pod() -> None:
    finding = finding_of(ended())
    assert (finding.code, finding.message) == (
        "failed",
        "YuniKorn rejected application etl-7: queue root.tiny cannot fit application etl-7.",
    )


def test_a_running_pod_is_no_longer_rejected() -> None:
    (first, _), (_, second) = members(on="n0"), ended()
    assert finding_of(
        [first, second], event_of(second, TOO_LARGE, "ApplicationFailed")
    ).code not in (
        "exceeds-quota",
        "failed",
    )
    rest = members(phase="Failed", reason="Evicted")
    assert (
        finding_of(rest, event_of(rest[0], TOO_LARGE, "ApplicationFailed")).code != "exceeds-quota"
    )


def test_placeholders_explain_waiting_members() -> None:
    pods = members()
    held = a_pod(
        "tg-etl-7-workers-x",
        group="etl-7",
        group_kind=KIND,
        scheduler_name="yunikorn",
        is_placeholder=True,
        scheduled=refused(),
    )
    events = (
        event_of(pods[0], "Application etl-7 creating placeholders", "GangScheduling"),
        event_of(held, OF_NODES),
    )
    facts = assemble(a_job("etl", pods=2), pods, now=NOW, events=events, placeholders=[held])
    finding = assess(facts).finding
    assert (finding.code, finding.health) == ("unschedulable", Health.WAITING)
    assert values_in(finding.message) == "2 etl-7 1 affinity/selector 8x"


def test_a_placeholder_triggers_an_assessment_of_its_gang() -> None:
    member = decoded("yunikorn", None, **{APP_ID: "etl-7"})
    held = replace(
        member,
        is_placeholder=True,
        meta=replace(member.meta, ref=replace(member.meta.ref, name="tg", uid="uid-tg")),
    )
    root = member.meta.ref.uid
    graph = OwnershipGraph()
    graph.put(member)
    assert graph.put(held) == {root}
    assert graph.placeholders(root) == ("uid-tg",)
    assert graph.gangs_of_event(event_of(held, OF_NODES)) == {root}
    assert graph.put(replace(held, node="n0")) == {root}
    assert graph.placeholders(root) == ()
    assert graph.remove("uid-tg") == {root}


def test_messages_about_task_groups_do_not_hide_an_abandoned_gang() -> None:
    """The order of 1.9.0: the pods of the gang are matched with it once more after it was given up."""
    (first, _), (_, second) = members(on="n0"), members(scheduled=refused())
    matched = "Pod belongs to the taskGroup workers, it will be scheduled as a gang member"
    events = (
        event_of(
            first, "Application etl-7 resuming as non-gang application (SOFT)", "GangScheduling"
        ),
        event_of(first, matched, "GangScheduling", before=5),
    )
    assert finding_of([first, second], *events).code == "not-ganged"


def test_requests_to_a_full_cluster_are_shown() -> None:
    """If the queue has no limit, the event has the free capacity of the cluster, and the pod has a condition."""
    pods = members(scheduled=refused())
    finding = finding_of(pods, event_of(pods[0], NO_QUOTA))
    assert (finding.code, finding.message) == (
        "unschedulable",
        ("YuniKorn cannot place 2 pods: 4 CPUs requested, and 2.5 was left for queue root.data."),
    )


def test_a_refusing_plugin_is_explained_by_its_cause() -> None:
    pods = members(scheduled=refused())
    assert finding_of(pods, event_of(pods[0], OF_NODES)).message == (
        "YuniKorn cannot place 2 pods: node(s) didn't match Pod's node affinity/selector (8x)."
    )
