"""LeaderWorkerSets as a real controller (0.9.0) left them: their decoded fields and their gang."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import Condition, Controller
from gangboard.domain.owner import LeaderState, Owner, PodRequests
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.owners.leaderworkerset import LeaderWorkerSet
from gangboard.policy.plan import offers
from tests.decode.reading import Json, model
from tests.domain_objects import NOW, Made, a_pod, ago, an_event
from tests.gangs import a_gang, assemble
from tests.kinds import registered
from tests.policy.builders import READY
from tests.rules.evaluation import unit_of

OWNER = registered(LeaderWorkerSet)

PREFIX = "leaderworkerset.sigs.k8s.io"
TEMPLATE = {
    "metadata": {"annotations": {}},
    "spec": {"containers": [{"image": "x", "name": "c", "resources": {"requests": {"cpu": "1"}}}]},
}
BIG = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "9"}}}]}}
LWS: Json = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {
        "name": "run",
        "namespace": "team-a",
        "uid": "uid-run",
        "generation": 1,
        "resourceVersion": "430",
        "creationTimestamp": "2026-11-20T09:00:00Z",
    },
    "spec": {
        "leaderWorkerTemplate": {
            "restartPolicy": "RecreateGroupOnPodRestart",
            "size": 3,
            "workerTemplate": TEMPLATE,
        },
        "networkConfig": {"subdomainPolicy": "Shared"},
        "replicas": 2,
        "rolloutStrategy": {
            "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1, "partition": 0},
            "type": "RollingUpdate",
        },
        "startupPolicy": "LeaderCreated",
    },
    "status": {
        "conditions": [
            {
                "lastTransitionTime": "2026-11-20T09:00:01Z",
                "message": "All replicas are ready",
                "observedGeneration": 1,
                "reason": "AllGroupsReady",
                "status": "True",
                "type": "Available",
            }
        ],
        "hpaPodSelector": f"{PREFIX}/name=run,{PREFIX}/worker-index=0",
        "observedGeneration": 1,
        "readyReplicas": 2,
        "replicas": 2,
        "updatedReplicas": 2,
    },
}


def lws(template: Json | None = None, metadata: Json | None = None, **spec: Any) -> Owner:
    created = {**LWS["spec"]["leaderWorkerTemplate"], **(template or {})}
    whole = {**LWS["spec"], "leaderWorkerTemplate": created, **spec}
    meta = {**LWS["metadata"], **(metadata or {})}
    owner: Owner = model(OWNER.resource, {**LWS, "metadata": meta, "spec": whole})
    return owner


def member(replica: int, index: int, of: str = "run", **fields: Any) -> Pod:
    """Return a pod as the controller names and labels it: index 0 is the leader."""
    leader = f"{of}-{replica}"
    labels = {
        f"{PREFIX}/name": of,
        f"{PREFIX}/group-index": str(replica),
        f"{PREFIX}/worker-index": str(index),
    }
    maker = of if index == 0 else leader
    controller = Controller("apps", "StatefulSet", maker, f"uid-set-{maker}")
    name = leader if index == 0 else f"{leader}-{index}"
    return a_pod(name, of=controller, labels=labels, **fields)


def judged(owner: Owner, *pods: Pod) -> Verdict:
    return assess(assemble(owner, pods, now=NOW))


def finding_summary(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.finding.code, verdict.finding.health.value, verdict.finding.message


def test_fields_of_a_leaderworkerset_are_decoded() -> None:
    result = lws({"leaderTemplate": BIG}, {"labels": {"kueue.x-k8s.io/queue-name": "gpu"}})
    assert (result.desired, result.queue, result.suspended, result.finish) == (
        6,
        "gpu",
        False,
        None,
    )
    assert [(role.name, role.replicas, role.pods, role.noun) for role in result.roles] == [
        ("run", 2, 3, "replica")
    ]
    assert [role.name for role in assemble(result, [], now=NOW).owner.roles] == ["run-0", "run-1"]
    assert result.pod_requests == (
        PodRequests(2, {"cpu": Decimal(9)}),
        PodRequests(4, {"cpu": Decimal(1)}),
    )


@pytest.mark.parametrize(
    ("spec", "desired", "replicas"),
    [({"replicas": 0}, 0, 0), ({"replicas": None}, 3, 1), ({"replicas": 64}, 192, 64)],
)
def test_desired_pods_follow_replicas_and_size(
    spec: dict[str, Any], desired: int, replicas: int
) -> None:
    result = lws(**spec)
    assert result.desired == desired
    assert len(assemble(result, [], now=NOW).owner.roles) == replicas


def test_existing_replicas_are_separate_and_missing_ones_counted() -> None:
    """However many it asks for: 2 exist, 64 that do not are named, and the rest is one unit."""
    pods = [member(replica, 0, on="n0") for replica in (3, 70_000)]
    owner = lws({"size": 8}, replicas=2**31 - 1)
    roles = assemble(owner, pods, now=NOW).owner.roles
    assert len(roles) == 67
    assert {"run-3", "run-70000"} <= {role.name for role in roles}
    assert (roles[-1].name, roles[-1].replicas) == (
        "run-65 and 2,147,483,580 more like it",
        2**31 - 1 - 66,
    )
    assert sum(role.replicas for role in roles) == 2**31 - 1
    result = judged(owner, *pods)
    assert (result.members.desired, result.members.scheduled) == ((2**31 - 1) * 8, 2)
    assert result.requests == {"cpu": str((2**31 - 1) * 8)}


@pytest.mark.parametrize(
    ("spec", "annotations", "until"),
    [
        ("LeaderCreated", {}, None),
        ("LeaderReady", {}, LeaderState.READY),
        ("LeaderCreated", {f"{PREFIX}/exclusive-topology": "rack"}, LeaderState.PLACED),
        ("LeaderReady", {f"{PREFIX}/exclusive-topology": "rack"}, LeaderState.READY),
        ("LeaderCreated", {f"{PREFIX}/subgroup-exclusive-topology": "rack"}, None),
    ],
)
def test_workers_wait_for_the_leader_by_the_startup_policy(
    spec: str, annotations: dict[str, str], until: LeaderState | None
) -> None:
    result = lws(metadata={"annotations": annotations}, startupPolicy=spec)
    assert {role.followers_wait for role in result.roles} == {until}


def test_its_pods_are_its_gang_by_their_labels_and_a_plain_statefulset_is_none() -> None:
    owner = lws()
    pods = [member(replica, index) for replica in (0, 1) for index in (0, 1, 2)]
    plain = a_pod("db-0", of=Controller("apps", "StatefulSet", "db", "uid-db"))
    graph = OwnershipGraph()
    created: list[Made] = [*pods, plain, owner]
    for item in created:
        graph.put(item)
    assert graph.roots() == {"uid-run"}
    assert len(graph.members("uid-run")) == 7


def test_its_own_readiness_is_not_believed() -> None:
    """Seen on 0.8.0: Available, all replicas ready, with workers that have no node."""
    leaders = [member(replica, 0, on="n0") for replica in (0, 1)]
    refused = {"text": "0/1 nodes are available: 1 Insufficient cpu."}
    workers = [member(replica, index, **refused) for replica in (0, 1) for index in (1, 2)]
    result = judged(lws(), *leaders, *workers)
    assert finding_summary(result)[:2] == ("partly-placed", "degraded")
    assert (result.members.desired, result.members.ready) == (6, 2)


def test_each_replica_is_judged_for_itself() -> None:
    whole = [member(0, index, on="n0") for index in (0, 1, 2)]
    unready = [member(1, index, on="n0", ready=index < 2) for index in (0, 1, 2)]
    result = judged(lws(), *whole, *unready)
    assert result.finding.unit == "run-1"
    assert finding_summary(result) == (
        "starting",
        "starting",
        "Replica run-1: All 3 pods are placed; 1 is not ready yet.",
    )
    assert "1 of 2 replicas is whole." in [finding.message for finding in result.findings]


def test_a_set_scaled_to_zero_desires_no_pods() -> None:
    assert finding_summary(judged(lws(replicas=0))) == (
        "paused",
        "suspended",
        "LeaderWorkerSet run requests no pods.",
    )


def waiting(seconds: int, *, ready: bool, policy: str = "LeaderReady") -> Verdict:
    """Judge one replica of which there is only the leader, ready or not for so long."""
    leader = member(0, 0, on="n0")
    since = NOW - timedelta(seconds=seconds)
    state = Condition("Ready", "True" if ready else "False", since=since)
    leader = replace(leader, ready=state)
    return judged(lws(replicas=1, startupPolicy=policy), leader)


def test_workers_that_wait_for_their_leader_are_not_blamed_on_their_controller() -> None:
    code, health, message = finding_summary(waiting(3600, ready=False))
    assert (code, health) == ("starting", "starting")
    assert message == "1 of 3 pods is placed; 1 is not ready yet."


def test_missing_workers_of_a_ready_leader_are_reported() -> None:
    """Twin: as soon as the leader is ready its workers are due, after a grace from then."""
    assert finding_summary(waiting(30, ready=True))[:2] == ("pods-not-created", "starting")
    assert finding_summary(waiting(3600, ready=True))[:2] == ("pods-not-created", "blocked")
    assert (
        finding_summary(waiting(3600, ready=False, policy="LeaderCreated"))[0] == "pods-not-created"
    )


def test_no_lever_suspends_a_set_and_the_cause_is_shown() -> None:
    owner = lws()
    for plan in offers(a_gang(owner=owner), READY, "uid-run", ago(0)):
        assert not plan.allowed
        assert plan.why_not == (
            "LeaderWorkerSet run cannot be suspended: LeaderWorkerSets have no suspend field, and "
            "scaling to 0 would end all pods without a record of how many there were."
        )


def test_each_pod_is_shown_with_its_replica() -> None:
    pods = [member(replica, index) for replica in (0, 1) for index in (0, 1, 2)]
    displayed = judged(lws(), *pods).pods
    assert [item.part for item in displayed] == ["run-0"] * 3 + ["run-1"] * 3


def _refused(away: Any, which: str = "leader") -> tuple[str, str]:
    """Return the sentence and the first advice where a StatefulSet was refused."""
    rolling = {"maxSurge": 1, "maxUnavailable": away, "partition": 0}
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": rolling}
    owner = model(OWNER.resource, {**LWS, "spec": {**LWS["spec"], "rolloutStrategy": rollout}})
    event = an_event(owner, "FailedCreate", f"Failed to create {which} statefulset")
    (rule,) = (rule for rule in OWNER.rules if rule.code == "pod-creation-refused")
    finding = rule.find(unit_of(owner, event, desired=6))
    assert finding is not None
    return finding.message, finding.advice[0].text


@pytest.mark.parametrize("away", [0, "0%"])
def test_a_set_that_is_refused_since_no_pod_may_be_away(away: Any) -> None:
    message, advice = _refused(away)
    assert message == (
        "0 of 6 pods exist. The StatefulSet of its leaders is refused: maxUnavailable of its "
        "rolloutStrategy is 0."
    )
    assert advice == "Set maxUnavailable of its rolloutStrategy to 1 (no restart)."


@pytest.mark.parametrize(("away", "which"), [(1, "leader"), (0, "worker")])
def test_a_set_that_is_refused_for_a_reason_in_the_log(away: Any, which: str) -> None:
    message, advice = _refused(away, which)
    assert message == f"0 of 6 pods exist. The StatefulSet of its {which}s is refused."
    assert advice.startswith("Read the log of the LeaderWorkerSet controller")
