"""The page of one gang: findings, Jobs, members, groups, steps, events, commands."""

from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.group import GroupClaim
from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import NAMED_IN_ADVICE, Evidence, GangMode
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.readmodels.groups import GroupClaimRow
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster
from tests.factories import (
    NOW,
    make_cluster,
    make_event,
    make_finding,
    make_gang,
    make_job,
    make_members,
    make_podgroup,
    make_ref,
)

pytestmark = pytest.mark.django_db


def read(viewer: Viewer, cluster: Cluster | None = None, **columns: Any) -> GangDetail:
    gang = make_gang(cluster or make_cluster(), **columns)
    detail = gang_detail(viewer=viewer, gang_id=gang.id, now=NOW)
    assert detail is not None
    return detail


def test_missing_and_forbidden_are_the_same(owner: Viewer, stranger: Viewer) -> None:
    gang = make_gang(make_cluster())
    assert gang_detail(viewer=owner, gang_id="no-such", now=NOW) is None
    assert gang_detail(viewer=owner, gang_id="a\x00b", now=NOW) is None
    assert gang_detail(viewer=stranger, gang_id=gang.id, now=NOW) is None


def test_the_first_finding_is_the_verdict(owner: Viewer) -> None:
    findings = (make_finding(), make_finding("job-suspended", unit="workers-2"))
    detail = read(owner, detail=Detail(findings=findings))
    assert detail.verdict is not None
    assert detail.verdict.code == "insufficient-resources"
    assert [(item.label, item.value) for item in detail.verdict.evidence] == [
        ("GPUs free", "3"),
        ("GPUs needed", "8"),
    ]
    assert [
        (other_finding.code, other_finding.unit) for other_finding in detail.other_findings
    ] == [("job-suspended", "workers-2")]


def test_in_an_outage_old_findings_are_not_the_verdict(owner: Viewer) -> None:
    cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=4))
    detail = read(owner, cluster, detail=Detail(findings=(make_finding(),)))
    assert detail.verdict is None
    assert len(detail.other_findings) == 1
    assert {step.state for step in detail.steps} == {"unknown"}


def test_in_an_outage_findings_are_marked_as_last_known(owner: Viewer) -> None:
    cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=10))
    finding = make_finding(
        "running",
        health=Health.RUNNING,
        stage=Stage.RUN,
        message="All 8 pods are ready.",
        advice=("Suspend Job low.",),
        since=NOW - timedelta(hours=1),
    )
    job = make_job("runs", ready=8, finding=finding)
    detail = read(
        owner, cluster, detail=Detail((finding,), jobs=(job,), members=make_members("a", 2))
    )
    (other_finding,) = detail.other_findings
    assert (other_finding.health, other_finding.face.label, other_finding.since) == (
        "unknown",
        "Unknown",
        None,
    )
    assert other_finding.message == "Last known: All 8 pods are ready."
    assert other_finding.advice == ()
    (row,) = detail.jobs
    assert (row.state.word, row.past_state_sentence, row.message) == (
        "unknown",
        "It was running.",
        "",
    )
    assert (row.ready, row.desired) == (8, 8)
    assert {member.health for member in detail.members} == {"unknown"}
    assert {member.face.tone for member in detail.members} == {"unknown"}
    first = detail.members[0]
    assert (first.state.label, first.node, first.since) == ("Last seen ready", "gpu-01", None)


def test_in_an_outage_a_held_job_was_held(owner: Viewer) -> None:
    cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=4))
    (row,) = read(owner, cluster, detail=Detail(jobs=(make_job("a", held=True),))).jobs
    assert (row.state.word, row.past_state_sentence) == ("unknown", "It was held.")


def test_a_deleted_gang_is_unchanged_by_an_outage(owner: Viewer) -> None:
    cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=4))
    jobs = (make_job("a", ready=8),)
    detail = read(owner, cluster, gone_at=NOW, detail=Detail((make_finding(),), jobs=jobs))
    assert detail.findings[0].health == "waiting"
    assert detail.jobs[0].state.word == "running"


@pytest.mark.parametrize(
    ("stage", "health", "states"),
    [
        ("admission", "waiting", ["here", "ahead", "ahead", "ahead", "ahead"]),
        ("placement", "blocked", ["done", "done", "here", "ahead", "ahead"]),
        ("run", "degraded", ["done", "done", "done", "done", "here"]),
        ("run", "running", ["done", "done", "done", "done", "done"]),
        ("run", "succeeded", ["done", "done", "done", "done", "done"]),
        ("run", "failed", ["done", "done", "done", "done", "here"]),
        ("run", "unknown", ["unknown"] * 5),
    ],
)
def test_the_stepper_has_five_steps(
    owner: Viewer, stage: str, health: str, states: list[str]
) -> None:
    detail = read(owner, stage=stage, health=health)
    assert [step.state for step in detail.steps] == states


def test_jobs_have_states(owner: Viewer) -> None:
    jobs = (
        make_job("runs", ready=8),
        make_job("starts", ready=7),
        make_job("held", held=True, suspended=True),
        make_job("suspended", suspended=True),
        make_job("done", finished="succeeded", ready=0),
        make_job("waits", finding=make_finding(message="5 of 8 fit.")),
    )
    detail = read(owner, detail=Detail(jobs=jobs))
    assert [job.state.label for job in detail.jobs] == [
        "Running",
        "Starting",
        "Held",
        "Suspended",
        "Succeeded",
        "Waiting",
    ]
    assert detail.jobs[-1].message == "5 of 8 fit."


def test_many_nodes_of_a_job_are_counted(owner: Viewer) -> None:
    job = make_job("wide", nodes=tuple(f"gpu-{index}" for index in range(10)))
    (row,) = read(owner, detail=Detail(jobs=(job,))).jobs
    assert row.shown_nodes == ("gpu-0", "gpu-1", "gpu-2")
    assert row.more_nodes == 7


def test_groups_are_shown_as_stored(owner: Viewer) -> None:
    cluster = make_cluster()
    group = make_podgroup(cluster)
    detail = read(owner, cluster, detail=Detail(groups=(group.meta.ref,)))
    (row,) = detail.groups
    assert (row.kind, row.api_version, row.quorum, row.workload) == (
        "PodGroup",
        "v1beta1",
        8,
        "training",
    )


def test_a_deleted_owner_is_shown_with_its_deletion_time(owner: Viewer) -> None:
    deleted = NOW - timedelta(minutes=3)
    assert read(owner, gone_at=deleted).row.gone_at == deleted


def test_own_events_are_newest_first(owner: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = make_cluster()
    members = make_members("a", 1)

    def store(name: str, uid: str, minutes: int) -> None:
        make_event(
            cluster,
            name,
            "0/4 nodes are available.",
            about=uid,
            last_seen=NOW - timedelta(minutes=minutes),
        )

    store("Older", members[0].ref.uid, 9)
    store("Newer", members[0].ref.uid, 1)
    store("Foreign", "somebody-else", 0)
    detail = read(owner, cluster, detail=Detail(members=members))
    assert [event.reason for event in detail.events] == ["Newer", "Older"]
    # However much else there is in its namespace.
    monkeypatch.setattr("gangboard.pages.gang.events.MOST_READ", 2)
    for number in range(5):
        store(f"Foreign-{number}", f"somebody-{number}", 0)
    detail = read(owner, cluster, uid="1bb2", detail=Detail(members=members))
    assert [event.reason for event in detail.events] == ["Newer", "Older"]


def test_similar_events_share_one_row(owner: Viewer) -> None:
    cluster = make_cluster()
    members = make_members("a", 4)

    def store(pod: int, name: str, note: str, count: int) -> None:
        last_seen = NOW - timedelta(minutes=pod)
        ref = members[pod].ref
        make_event(
            *(cluster, name, note.format(ref.name)),
            about=ref.uid,
            pod=ref.name,
            reason="FailedScheduling",
            last_seen=last_seen,
            count=count,
        )

    for pod in range(3):
        store(pod, f"e{pod}", "pod group is unschedulable", 7)
        store(pod, f"own{pod}", "pod {} waits", pod + 1)
    store(3, "other", "0/4 nodes are available", 1)
    detail = read(owner, cluster, detail=Detail(members=members))
    names = tuple(member.ref.name for member in members)
    assert [(row.regarding, row.times, row.names) for row in detail.events] == [
        ("3 Pods", "7 times each", names[:3]),
        ("3 Pods", "1 to 3 times each", names[:3]),
        (f"Pod {names[3]}", "", ()),
    ]
    assert detail.events[0].last_seen == NOW


def test_events_of_failing_members_come_first_in_a_large_gang(
    owner: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_cluster()
    runs, waits = make_members("a", 3), make_members("b", 2, Health.WAITING)
    for index, member in enumerate((*runs, *waits)):
        make_event(
            cluster,
            f"e{index}",
            "0/4 nodes are available.",
            about=member.ref.uid,
            last_seen=NOW - timedelta(minutes=index),
        )
    monkeypatch.setattr("gangboard.pages.gang.events.BATCH", 2)
    monkeypatch.setattr("gangboard.pages.gang.events.MOST_READ", 3)
    detail = read(owner, cluster, detail=Detail(members=(*runs, *waits)))
    assert [event.reason for event in detail.events] == ["e0", "e3", "e4"]


def test_commands_name_the_api_group(owner: Viewer) -> None:
    detail = read(owner, name="llama", uid="0aa1")
    assert [command.text for command in detail.commands] == [
        "kubectl get jobset.v1alpha2.jobset.x-k8s.io llama -n research -o yaml",
        "kubectl describe jobset.v1alpha2.jobset.x-k8s.io llama -n research",
        "kubectl get pods -n research -l jobset.sigs.k8s.io/jobset-name=llama -o wide",
        "kubectl get events -n research --field-selector involvedObject.uid=0aa1",
    ]


@pytest.mark.parametrize("name", ["a; rm -rf ~", "$(x)", "a\nb", "-o", "a'b"])
def test_commands_contain_no_shell_metacharacters(owner: Viewer, name: str) -> None:
    assert read(owner, name=name).commands == ()


def test_hidden_names_are_redacted_and_own_nodes_shown() -> None:
    cluster = make_cluster()
    viewer = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    finding = make_finding(
        message="team-x/eval-92 holds gpu-17; gpu-01 lost power.",
        stage=Stage.PLACEMENT,
        evidence=(
            Evidence(
                "holds the room", "eval-92", make_ref("JobSet", "eval-92", namespace="team-x")
            ),
            Evidence("cordoned", "gpu-17", make_ref("Node", "gpu-17", namespace="")),
            Evidence("lost", "gpu-01", make_ref("Node", "gpu-01", namespace="")),
        ),
    )
    job = make_job("a", nodes=("gpu-01",), finding=finding)
    detail = read(
        viewer,
        cluster,
        detail=Detail(findings=(finding,), jobs=(job,), members=make_members("a", 1)),
    )
    hidden = "a gang you may not see holds a node you may not see; gpu-01 lost power."
    assert detail.findings[0].message == hidden
    assert detail.jobs[0].message == hidden
    assert [item.value for item in detail.findings[0].evidence] == [
        "a gang you may not see",
        "a node you may not see",
        "gpu-01",
    ]


def test_a_foreign_gang_of_the_same_name_causes_no_redaction() -> None:
    cluster = make_cluster()
    viewer = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    own = "Lower the parallelism of Job train from 8 to 4: that many fit now."
    finding = make_finding(
        message="8 pods need 8 GPUs.",
        advice=(own, "Suspend Job team-x/train or Job team-x/8."),
        evidence=tuple(
            Evidence(NAMED_IN_ADVICE, name, make_ref("Job", name, namespace="team-x"))
            for name in ("train", "8")
        ),
    )
    detail = read(viewer, cluster, name="train", detail=Detail(findings=(finding,)))
    assert detail.findings[0].message == "8 pods need 8 GPUs."
    assert detail.findings[0].advice == (own,)


MODE = GangMode("whole", "One gang", "All its Jobs are one gang of 9 pods.", asked="All of it")


def test_the_mode_of_a_gang_has_its_request(owner: Viewer) -> None:
    assert read(owner, detail=Detail(gang_mode=MODE)).gang_mode == MODE


def test_mode_and_matrix_are_hidden_in_a_silent_cluster(owner: Viewer) -> None:
    cluster = make_cluster("lab", contact_at=NOW - timedelta(minutes=4))
    jobs = make_job("a", part="driver"), make_job("b", part="workers")
    pods = (*make_members("a", 1, group="ring"), *make_members("b", 8, group="ring"))
    stored_detail = Detail(jobs=jobs, members=pods, gang_mode=MODE)
    silent = read(owner, cluster, detail=stored_detail)
    assert (silent.gang_mode, silent.matrix) == (None, None)
    heard = read(owner, make_cluster("east"), detail=stored_detail)
    assert heard.matrix is not None


def test_a_group_shows_required_and_actual_topology(owner: Viewer) -> None:
    cluster = make_cluster()
    group = make_podgroup(
        cluster,
        topology_keys=("rack", "zone"),
        priority=100,
        disruption_mode="all",
        claims=(GroupClaim("imex", "imex-7k2p", "imex-channel"),),
    )
    uid = group.meta.ref.uid
    detail = Detail(groups=(group.meta.ref,), domains={uid: {"rack": "r3"}})
    (row,) = read(owner, cluster, detail=detail).groups
    assert row.within == ("within one rack: r3", "within one zone")
    assert (row.priority, row.disruption_label) == (100, "preempted as a whole")
    assert row.claims == (GroupClaimRow("imex", "imex-7k2p", "imex-channel"),)
