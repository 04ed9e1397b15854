"""StatefulSets and Deployments: occupants, unless a group takes their pods."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.group import Group, Policy
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Finding
from gangboard.facts.owner_references import unread_owners
from gangboard.plugins import registry
from tests.decode.reading import Json, model, with_identity
from tests.domain_objects import NOW, Made, a_group, a_meta, a_pod, ago, placed
from tests.gangs import assemble
from tests.sentence_values import values_in

HASH = "pod-template-hash"
KINDS = {kind.resource.kind: kind for kind in registry.owner_kinds() if kind.needs_group}


def an_app(kind: str, name: str = "serve", **spec: Any) -> Owner:
    built: Owner = model(KINDS[kind].resource, with_identity({"spec": spec}, name))
    return replace(
        built, meta=a_meta("apps", kind, name, uid=f"{kind}-{name}", created_at=ago(600))
    )


def of_statefulset(owner: Owner, number: int, **fields: Any) -> Pod:
    ref = owner.meta.ref
    maker = Controller(ref.group, ref.kind, ref.name, ref.uid)
    return a_pod(f"{ref.name}-{number}", of=maker, **fields)


def of_replicaset(name: str, hash_: str, suffix: str = "x7k2p", **fields: Any) -> Pod:
    """Return a pod as a ReplicaSet of a Deployment makes it."""
    maker = Controller("apps", "ReplicaSet", name, f"uid-{name}")
    return a_pod(f"{name}-{suffix}", of=maker, labels={HASH: hash_}, **fields)


def graph_of(*objects: Made) -> OwnershipGraph:
    graph = OwnershipGraph()
    for obj in objects:
        graph.put(obj)
    return graph


def uid(item: Made) -> str:
    return item.meta.ref.uid


def finding_of(root: Owner, *objects: Group | Pod) -> Finding:
    return assess(assemble(root, objects, now=NOW, gang_api_version="v1beta1")).finding


TEMPLATE: Json = {
    "spec": {
        "terminationGracePeriodSeconds": 7,
        "priorityClassName": "high",
        "schedulingGroup": {"podGroupName": "ring"},
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}],
    }
}


@pytest.mark.parametrize("kind", ["StatefulSet", "Deployment"])
def test_fields_of_a_workload_are_decoded(kind: str) -> None:
    result = an_app(kind, replicas=3, template=TEMPLATE)
    assert (result.desired, result.group_name, result.priority_class) == (3, "ring", "high")
    assert result.grace_seconds == 7
    assert [(request.count, str(request.requests["cpu"])) for request in result.pod_requests] == [
        (3, "2")
    ]


@pytest.mark.parametrize(("replicas", "desired"), [(None, 1), (0, 0), (-2, 0)])
def test_one_pod_is_desired_without_a_replica_count(replicas: int | None, desired: int) -> None:
    assert an_app("Deployment", replicas=replicas).desired == desired


# Occupants


def test_pods_of_a_statefulset_in_no_group_are_no_gang() -> None:
    owner = an_app("StatefulSet", replicas=2)
    graph = graph_of(owner, of_statefulset(owner, 0, on="n0"), of_statefulset(owner, 1))
    assert graph.roots() == set()
    assert graph.root_of(uid(owner)) is None


def test_pods_of_an_unreadable_statefulset_are_no_gang() -> None:
    pod = of_statefulset(an_app("StatefulSet"), 0)
    assert graph_of(pod).roots() == set()


def test_pods_of_a_deployment_and_of_a_bare_replicaset_are_no_gang() -> None:
    owner = an_app("Deployment", "web", replicas=2)
    created = of_replicaset("web-5d9f", "5d9f")
    alone = a_pod("rs-1", of=Controller("apps", "ReplicaSet", "rs", "uid-rs"))
    assert graph_of(owner, created, alone).roots() == set()


def test_that_takes_no_list_of_their_owners() -> None:
    """The controller of a pod shows that the pod only uses capacity."""
    owner = an_app("StatefulSet", "db")
    graph = graph_of(of_statefulset(owner, 0), of_replicaset("web-5d9f", "5d9f"))
    assert graph.owners_to_read() == set()


@pytest.mark.parametrize(
    ("policy", "basic"),
    [({"policy": Policy.BASIC}, True), ({"quorum": 2}, False)],
    ids=["basic", "gang"],
)
def test_a_basic_group_makes_no_gang_of_other_workloads(
    policy: dict[str, Any], basic: bool
) -> None:
    """KAI makes such a PodGroup for each pod of a Deployment, which owns it, and Volcano one for each ReplicaSet
    (plugins/deployment in KAI-Scheduler 0.12, pg_controller_handler.go in Volcano 1.14)."""
    owner, pod = an_app("Deployment", "web"), of_replicaset("web-5d9f", "5d9f", group="ring")
    ring = a_group("ring", owner_uids=(uid(pod),), **policy)
    for order in _all_orders(ring, owner, pod):
        graph = graph_of(*order)
        assert graph.roots() == (set() if basic else {uid(owner)})
        assert graph.owners_to_read() == (set() if basic else {"deployments.apps"})


def test_a_bare_pod_in_a_basic_group_is_a_gang_without_the_other_workload() -> None:
    ring = a_group("ring", policy=Policy.BASIC)
    bare = a_pod("bare", group=ring)
    occupant = of_replicaset("web-5d9f", "5d9f", group=ring)
    for order in _all_orders(ring, bare, occupant):
        graph = graph_of(*order)
        assert graph.roots() == {uid(ring)}
        assert set(graph.members(uid(ring))) == {uid(ring), uid(bare)}


def test_a_group_name_without_its_object_makes_no_gang() -> None:
    """An application of YuniKorn is all that its web servers have in common."""
    pod = replace(
        of_replicaset("web-5d9f", "5d9f"),
        group_name="shop",
        group_kind="Application.yunikorn.apache.org",
    )
    assert graph_of(pod).roots() == set()
    assert graph_of(pod).owners_to_read() == set()


def test_a_group_that_becomes_a_gang_includes_its_statefulset() -> None:
    owner, loose = an_app("StatefulSet"), a_group("ring", policy=Policy.BASIC)
    graph = graph_of(owner, loose, of_statefulset(owner, 0, group=loose))
    assert graph.roots() == set()
    tight = a_group("ring", quorum=2)
    assert graph.put(tight) == {uid(owner)}
    assert graph.roots() == {uid(owner)}
    assert graph.owners_to_read() == {"statefulsets.apps"}


def test_a_statefulset_without_pods_is_a_gang_if_its_group_can_be() -> None:
    """The group its template names may be created later and differ from the guess."""
    owner = an_app("StatefulSet", replicas=2, template=TEMPLATE)
    graph = graph_of(owner)
    assert graph.roots() == {uid(owner)}
    loose = a_group("ring", policy=Policy.BASIC)
    assert uid(owner) in graph.put(loose)
    assert graph.root_of(uid(owner)) is None
    assert uid(owner) in graph.put(a_group("ring", quorum=2))
    assert graph.roots() == {uid(owner)}
    assert uid(owner) in graph.remove(uid(loose))


def test_a_pod_of_a_replicaset_of_another_api_is_a_gang() -> None:
    pod = a_pod("web-1", of=Controller("example.com", "ReplicaSet", "web", "uid-rs"))
    assert graph_of(pod).roots() == {uid(pod)}


# Gangs


def _all_orders(*objects: Made) -> list[tuple[Made, ...]]:
    return list(permutations(objects))


def test_a_statefulset_is_a_gang_while_a_pod_of_it_names_a_group() -> None:
    owner, ring = an_app("StatefulSet", replicas=2), a_group("ring", quorum=2)
    grouped, alone = of_statefulset(owner, 0, group=ring), of_statefulset(owner, 1)
    for order in _all_orders(owner, ring, grouped, alone):
        graph = graph_of(*order)
        assert graph.roots() == {uid(owner)}
        assert set(graph.members(uid(owner))) == {uid(item) for item in order}
        assert graph.remove(uid(grouped)) == {uid(owner), uid(ring)}
        assert graph.roots() == {uid(ring)}, "a group without pods stands for itself"


def test_a_statefulset_whose_template_names_a_group_is_a_gang_before_it_has_pods() -> None:
    """Known once, it stays so while it is scaled to 0."""
    owner = an_app("StatefulSet", replicas=2, template=TEMPLATE)
    assert graph_of(owner).roots() == {uid(owner)}
    assert graph_of(owner).owners_to_read() == {"statefulsets.apps"}


def test_a_deployment_is_a_gang_by_the_pods_of_its_replicasets() -> None:
    owner, ring = an_app("Deployment", "web", replicas=2), a_group("ring", quorum=2)
    old = of_replicaset("web-5d9f", "5d9f", group=ring)
    new = of_replicaset("web-7c1b", "7c1b", group=ring)
    for order in _all_orders(owner, ring, old, new):
        graph = graph_of(*order)
        assert graph.roots() == {uid(owner)}
        assert set(graph.members(uid(owner))) == {uid(item) for item in order}
        assert set(graph.makers(graph.members(uid(owner)))) == {"uid-web-5d9f", "uid-web-7c1b"}


def test_a_replicaset_that_resembles_one_of_a_deployment_is_separate() -> None:
    """A ReplicaSet made by hand: its pods have no hash, or another one."""
    owner, ring = an_app("Deployment", "web"), a_group("ring", quorum=1)
    for pod in (
        of_replicaset("web-5d9f", "", group=ring),
        of_replicaset("web-5d9f", "7c1b", group=ring),
    ):
        graph = graph_of(owner, ring, pod)
        assert graph.roots() == {uid(ring)}
        assert graph.owners_to_read() == set(), "no list of Deployments has its owner"


def test_a_group_with_an_unreadable_owner_represents_its_pods_and_names_the_owner() -> None:
    owner, ring = an_app("StatefulSet", "db"), a_group("ring", quorum=1)
    pod = of_statefulset(owner, 0, group=ring)
    graph = graph_of(ring, pod)
    assert graph.roots() == {uid(ring)}
    assert graph.owners_to_read() == {"statefulsets.apps"}
    assert unread_owners(assemble(ring, [pod], now=NOW)) == ("StatefulSet/db",)


def test_pods_that_a_label_gives_to_another_kind_stay_with_that() -> None:
    """The leader StatefulSet of a LeaderWorkerSet has its name and is read as well."""
    labels = {"leaderworkerset.sigs.k8s.io/name": "serve"}
    lws = Owner(meta=a_meta("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "serve"), desired=2)
    leader = an_app("StatefulSet", "serve")
    below = replace(leader, meta=a_meta("apps", "StatefulSet", "serve", uid=uid(leader), of=lws))
    workers = an_app("StatefulSet", "serve-0")
    ring = a_group("ring", quorum=2)
    pods = (
        of_statefulset(leader, 0, labels=labels, group=ring),
        of_statefulset(workers, 1, labels=labels, group=ring),
    )
    for order in _all_orders(lws, below, workers, *pods):
        graph = graph_of(ring, *order)
        assert graph.roots() == {uid(lws)}
        assert graph.owners_to_read() == set()
        assert {uid(pod) for pod in pods} < set(graph.members(uid(lws)))


# Its own reason


def _ordered(policy: str = "OrderedReady", replicas: int = 3) -> Owner:
    return an_app("StatefulSet", replicas=replicas, podManagementPolicy=policy)


def _first_pod_waits(owner: Owner, ring: Group) -> Finding:
    return finding_of(owner, ring, of_statefulset(owner, 0, group=ring, created_at=ago(60)))


def test_a_gang_of_an_ordered_statefulset_waits_forever() -> None:
    finding = _first_pod_waits(_ordered(), a_group("ring", quorum=3))
    assert (finding.code, values_in(finding.message)) == ("quorum-deadlock", "3")
    assert len(finding.advice) == 1


def test_a_parallel_statefulset_is_below_its_quorum() -> None:
    assert (
        _first_pod_waits(_ordered("Parallel"), a_group("ring", quorum=3)).code != "quorum-deadlock"
    )


def test_a_quorum_of_one_is_no_deadlock() -> None:
    assert _first_pod_waits(_ordered(), a_group("ring", quorum=1)).code != "quorum-deadlock"


def test_more_than_it_will_ever_have_is_another_matter() -> None:
    finding = _first_pod_waits(_ordered(replicas=2), a_group("ring", quorum=3))
    assert finding.code == "below-quorum"


def test_a_running_statefulset_is_whole() -> None:
    owner, ring = _ordered(replicas=2), a_group("ring", quorum=2, placed=placed())
    pods = [of_statefulset(owner, number, group=ring, on="n0") for number in range(2)]
    finding = finding_of(owner, ring, *pods)
    assert (finding.code, finding.message) == ("running", "Both pods are ready.")
