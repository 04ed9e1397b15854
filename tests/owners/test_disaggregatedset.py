"""DisaggregatedSets as a real controller (0.9.0) left them, and the gang of a set and its workloads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.owners.disaggregatedset import DisaggregatedSet
from gangboard.owners.leaderworkerset import LeaderWorkerSet
from gangboard.policy.plan import offers
from tests.decode.reading import Json, model
from tests.domain_objects import NOW, Made, a_pod, ago
from tests.gangs import a_gang, assemble
from tests.kinds import registered
from tests.policy.builders import READY

OWNER = registered(DisaggregatedSet)
LWS = registered(LeaderWorkerSet)

PREFIX = "leaderworkerset.sigs.k8s.io"
CONTROLLER = Controller("disaggregatedset.x-k8s.io", "DisaggregatedSet", "serve", "uid-serve")


def spec(replicas: int = 1, size: int = 2) -> Json:
    containers = [{"image": "x", "name": "c", "resources": {"requests": {"cpu": "1"}}}]
    template = {
        "restartPolicy": "RecreateGroupOnPodRestart",
        "size": size,
        "workerTemplate": {"spec": {"containers": containers}},
    }
    return {
        "leaderWorkerTemplate": template,
        "replicas": replicas,
        "startupPolicy": "LeaderCreated",
    }


def serve(**roles: Json) -> Owner:
    requested = roles or {"prefill": spec(), "decode": spec(2, 3)}
    owner: Owner = model(
        OWNER.resource,
        {
            "metadata": {
                "name": "serve",
                "namespace": "team-a",
                "uid": "uid-serve",
                "generation": 1,
                "resourceVersion": "456",
                "creationTimestamp": "2026-11-20T09:00:00Z",
            },
            "spec": {"roles": [{"name": name, "spec": item} for name, item in requested.items()]},
        },
    )
    return owner


def role_set(role: str, revision: str = "54eea62e", **of_spec: Any) -> Owner:
    """Return the LeaderWorkerSet of a role, as it was made there."""
    name = f"serve-{revision}-{role}"
    owner: Owner = model(
        LWS.resource,
        {
            "metadata": {
                "name": name,
                "namespace": "team-a",
                "uid": f"uid-{name}",
                "resourceVersion": "518",
                "creationTimestamp": "2026-11-20T09:00:01Z",
            },
            "spec": spec(**of_spec),
        },
    )
    return replace(owner, meta=replace(owner.meta, controller=CONTROLLER))


def pods(of: Owner, replica: int = 0, size: int = 2, on: str = "n0") -> list[Pod]:
    name = of.meta.ref.name
    leader = f"{name}-{replica}"
    labels = {f"{PREFIX}/name": name, f"{PREFIX}/group-index": str(replica)}
    return [
        a_pod(
            f"{leader}-{index}" if index else leader,
            of=Controller("apps", "StatefulSet", leader if index else name, f"uid-set-{leader}"),
            labels=labels,
            on=on,
        )
        for index in range(size)
    ]


def judged(*objects: Owner | Pod) -> Verdict:
    root, *rest = objects
    return assess(assemble(root, rest, now=NOW))


def test_a_set_is_one_gang_with_its_workloads_and_their_pods() -> None:
    prefill, decode = role_set("prefill"), role_set("decode")
    existing: list[Made] = [*pods(prefill), decode, *pods(decode), serve(), prefill]
    for order in (existing, existing[::-1]):
        graph = OwnershipGraph()
        for item in order:
            graph.put(item)
        assert graph.roots() == {"uid-serve"}
        assert len(graph.members("uid-serve")) == 7


def test_a_set_with_all_pods_ready_runs() -> None:
    prefill, decode = role_set("prefill"), role_set("decode")
    result = judged(serve(), prefill, decode, *pods(prefill), *pods(decode))
    assert (result.finding.code, result.finding.message) == ("running", "All 4 pods are ready.")
    assert result.members.desired == 4


def test_the_spec_has_the_size_before_the_workloads_exist() -> None:
    assert judged(serve()).members.desired == 2 + 2 * 3


def test_a_missing_role_is_reported() -> None:
    """Near miss of a running set: the existing pods are all ready."""
    prefill = role_set("prefill")
    result = judged(serve(), prefill, *pods(prefill))
    assert (result.members.desired, result.members.ready) == (8, 2)
    assert (result.finding.code, result.finding.unit) == ("pods-not-created", "decode")
    assert result.finding.message == (
        "Role decode: DisaggregatedSet serve has created none of its 6 pods."
    )


def test_a_role_with_the_suffix_of_another_is_not_confused_with_it() -> None:
    own = serve(decode=spec(), **{"pre-decode": spec()})
    other = role_set("pre-decode")
    result = judged(own, other, *pods(other))
    assert (result.members.desired, result.finding.unit) == (4, "decode")


def test_both_revisions_count_by_their_requests_during_a_rollout() -> None:
    old, new = role_set("decode", replicas=1), role_set("decode", "aaaaaaaa", replicas=1)
    prefill = role_set("prefill")
    result = judged(serve(), old, new, prefill, *pods(old), *pods(new), *pods(prefill))
    assert (result.finding.code, result.members.desired) == ("running", 6)


def test_no_lever_suspends_a_set_or_its_workloads() -> None:
    owner, prefill = serve(), role_set("prefill")
    context = a_gang(owner=owner, middle=(prefill,))
    for plan in offers(context, READY, "uid-serve", ago(0)):
        assert plan.why_not.startswith("DisaggregatedSet serve cannot be suspended: ")
    for plan in offers(context, READY, prefill.meta.ref.uid, ago(0)):
        assert "belongs to DisaggregatedSet serve" in plan.why_not
