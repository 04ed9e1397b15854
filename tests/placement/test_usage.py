"""Usage of the nodes follows every change and equals a full count."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangboard.domain.capacity import ClusterCapacity, NodeInfo, Requested, RunningGang
from gangboard.domain.node import Node
from gangboard.domain.objects import Condition
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import (
    HostPort,
    PodConstraints,
    PodTerm,
    Requirement,
    Spread,
    Taint,
)
from gangboard.placement.matching import matches_pod
from gangboard.placement.usage import Usage
from tests.domain_objects import a_node, a_pod, ago, requests
from tests.placement.making import S, T, term

GPU = "nvidia.com/gpu"


def node(name: str = "n1", **options: Any) -> Node:
    return a_node(name, **options)


def pod(name: str = "p1", on: str = "n1", phase: str = "Running", **options: Any) -> Pod:
    ports, terms = frozenset(options.pop("host_ports", ())), tuple(options.pop("terms", ()))
    term = options.pop("counts", None)
    spreads = (Spread("zone", term),) if term else ()
    topology_term = options.pop("near", None)
    needs = PodConstraints(
        host_ports=ports, anti_affinity=terms, pod_affinity=topology_term, spreads=spreads
    )
    if options.pop("deleted", False):
        options["deleting_since"] = ago(60)
    asks = requests(**options.pop("asks", {}))
    return a_pod(name, on=on, phase=phase, requests=asks, needs=needs, **options)


def filled(nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> Usage:
    usage = Usage()
    for item in nodes:
        usage.put_node(item)
    for other in pods:
        usage.put_pod(other)
    return usage


def only_node(usage: Usage) -> NodeInfo:
    (room,) = usage.capacity().nodes
    return room


def test_an_empty_cluster_has_no_nodes_and_no_obstacle() -> None:
    assert Usage().capacity() == ClusterCapacity()


def test_nodes_are_in_the_order_of_their_names_and_as_they_are() -> None:
    taints = (Taint("gpu", "NoSchedule"),)
    extra = {"labels": {"a": "b"}, "taints": taints, "unschedulable": True}
    room = {"allocatable": {"cpu": 4000}, "unreadable": frozenset({GPU})}
    usage = filled([node("n2"), node("n10", ready=None, **extra, **room), node("n1")])
    assert [item.name for item in usage.capacity().nodes] == ["n1", "n10", "n2"]
    assert usage.capacity().nodes[1] == NodeInfo("n10", {"a": "b"}, taints, True, False, **room)  # type: ignore[arg-type]


def test_each_pod_is_rounded_up_by_itself() -> None:
    # Resource.Add of kube-scheduler: 0.0005 cores are one thousandth, each time.
    pods = [pod(f"p{number}", asks={"cpu": "0.0005", "memory": "1.5"}) for number in range(3)]
    assert only_node(filled([node()], pods)).now.amounts == {"cpu": 3, "memory": 6}


def test_finished_pods_use_no_capacity_and_terminating_pods_do() -> None:
    done = [pod(phase, phase=phase, asks={"gpu": "1"}) for phase in ("Succeeded", "Failed")]
    going = pod("going", asks={"gpu": "2"})
    going = replace(
        going, meta=replace(going.meta, deleting_since=datetime(2026, 1, 1, tzinfo=UTC))
    )
    usage = filled([node()], [*done, going])
    assert only_node(usage).now == Requested({GPU: 2}, 1)
    assert usage.pods_on("n1") == {"uid-going"}
    assert usage.put_pod(replace(going, phase="Succeeded"))
    assert only_node(usage).now == Requested()


def test_a_nominated_pod_is_on_its_node_until_it_is_bound_elsewhere() -> None:
    nominated = pod(on="", phase="Pending", nominated_node="n1", asks={"gpu": "1"})
    usage = filled([node("n1"), node("n2")], [nominated])
    assert [item.now.pods for item in usage.capacity().nodes] == [1, 0]
    assert usage.put_pod(replace(nominated, node="n2"))
    assert [item.now.pods for item in usage.capacity().nodes] == [0, 1]


def test_pods_without_a_node_use_no_capacity() -> None:
    usage = filled([node()], [])
    assert not usage.put_pod(pod(on="", phase="Pending", asks={"gpu": "1"}))
    assert only_node(usage).now == Requested()


def test_pods_wait_for_their_node_and_for_its_return() -> None:
    usage = Usage()
    assert not usage.put_pod(pod(asks={"gpu": "1"}))
    assert usage.capacity().nodes == ()
    assert usage.put_node(node())
    assert only_node(usage).now == Requested({GPU: 1}, 1)
    assert usage.remove_node("n1")
    assert usage.capacity().nodes == ()
    assert not usage.put_pod(pod("p2", asks={"gpu": "1"}))
    assert usage.put_node(node())
    assert only_node(usage).now == Requested({GPU: 2}, 2)


def test_permanent_pods_are_counted_separately() -> None:
    agent = pod("agent", asks={"cpu": "1"}, host_ports={HostPort(9100)}, stays=True)
    train = pod("train", asks={"cpu": "2"}, terms=[S])
    room = only_node(filled([node()], [agent, train]))
    assert room.pinned == Requested({"cpu": 1000}, 1, frozenset({HostPort(9100)}))
    assert room.now == Requested({"cpu": 3000}, 2, frozenset({HostPort(9100)}), {S: 1})


def test_a_resource_of_two_pods_is_used_until_both_are_deleted() -> None:
    two = [pod(name, host_ports={HostPort(80)}, terms=[S]) for name in ("p1", "p2")]
    usage = filled([node()], [*two, pod("beside")])
    assert usage.remove_pod("uid-p1")
    assert only_node(usage).now == Requested({}, 2, frozenset({HostPort(80)}), {S: 1})
    assert usage.remove_pod("uid-p2")
    assert only_node(usage).now == Requested({}, 1)


def test_a_pod_that_moves_to_a_node_that_is_not_known_frees_the_other() -> None:
    usage = filled([node()], [pod(asks={"gpu": "1"})])
    assert usage.put_pod(pod(on="n9", asks={"gpu": "1"}))
    assert only_node(usage).now == Requested()


def test_a_request_that_could_not_be_read_makes_the_node_unreadable_in_it() -> None:
    usage = filled([node(unreadable=frozenset({"cpu"}))], [pod(unread_requests=(GPU,))])
    assert only_node(usage).unreadable == {"cpu", GPU}
    assert usage.remove_pod("uid-p1")
    assert only_node(usage).unreadable == {"cpu"}


def test_only_changes_relevant_to_placement_are_reported() -> None:
    usage = filled([node()], [pod(asks={"gpu": "1"})])
    assert not usage.put_node(replace(node(), ready=Condition("Ready", "True", "KubeletReady")))
    assert usage.put_node(node(ready=False))
    assert not usage.put_pod(pod(asks={"gpu": "1"}, reason="Whatever"))
    assert not usage.put_pod(pod(asks={"gpu": "1.0"}))
    assert usage.put_pod(pod(asks={"gpu": "2"}))
    assert not usage.remove_pod("uid-nobody")
    assert not usage.remove_node("nobody")


def test_the_capacity_object_is_reused_while_unchanged() -> None:
    usage = filled([node("n1"), node("n2")], [pod(asks={"gpu": "1"})])
    before = usage.capacity()
    usage.put_pod(pod(asks={"gpu": "1"}))
    usage.put_node(node("n1"))
    usage.put_pod(pod("waiting", on="", phase="Pending"))
    assert usage.capacity() is before
    usage.put_pod(pod("p2", on="n2"))
    after = usage.capacity()
    assert after is not before
    assert after.nodes[0] is before.nodes[0]  # n1 is unchanged
    assert before.nodes[1].now == Requested()  # a returned snapshot is unchanged


def test_unavailable_capacity_has_a_cause() -> None:
    usage = filled([node()])
    blind = usage.capacity("nodes: forbidden")
    assert (blind.nodes, blind.why) == ((), "nodes: forbidden")
    assert usage.capacity("nodes: forbidden") is blind
    assert only_node(usage).name == "n1"


def test_residents_come_along() -> None:
    def running_gangs() -> list[RunningGang]:
        return []

    usage = filled([node()])
    room = usage.capacity(running_gangs=running_gangs)
    assert room.running_gangs is running_gangs
    assert usage.capacity(running_gangs=running_gangs) is room


def test_the_load_of_some_pods() -> None:
    pods = [
        pod("a", "n1", asks={"cpu": "0.0005"}, host_ports={HostPort(80)}),
        pod("b", "n1", asks={"cpu": "0.0005", "gpu": "1"}),
        pod("c", "n2", asks={"gpu": "2"}),
        pod("d", "gone", asks={"gpu": "4"}),
        pod("e", "n2", asks={"gpu": "8"}),
    ]
    usage = filled([node("n2"), node("n1")], pods)
    result = usage.load_of(["uid-a", "uid-b", "uid-b", "uid-c", "uid-d", "uid-none"])
    assert result == {
        "n1": Requested({"cpu": 2, GPU: 1}, 2, frozenset({HostPort(80)})),
        "n2": Requested({GPU: 2}, 1),
    }
    assert usage.load_of([]) == {}


# Anti-affinity: who matches a term that some pod has.


def test_a_pod_with_a_label_counts_as_soon_as_a_term_selects_it() -> None:
    usage = filled([node()], [pod("a", labels={"app": "s"}), pod("b", labels={"app": "t"})])
    assert only_node(usage).now == Requested({}, 2)
    waits = pod("waits", on="", phase="Pending", terms=[S])
    assert usage.put_pod(waits)
    assert only_node(usage).now == Requested({}, 2, matched_terms={S: 1})
    assert usage.put_pod(pod("c", labels={"app": "s"}))
    assert only_node(usage).now == Requested({}, 3, matched_terms={S: 2})
    assert usage.remove_pod("uid-a")
    assert only_node(usage).now == Requested({}, 2, matched_terms={S: 1})
    assert usage.load_of(["uid-b", "uid-c"]) == {"n1": Requested({}, 2, matched_terms={S: 1})}
    # It is over with the last pod that has the term.
    assert not usage.put_pod(pod("also", on="", phase="Pending", terms=[S]))
    assert not usage.remove_pod("uid-also")
    assert usage.put_pod(replace(waits, phase="Failed"))
    assert only_node(usage).now == Requested({}, 2)


def test_a_changed_label_is_noticed() -> None:
    usage = filled([node()], [pod("waits", on="", terms=[S]), pod("a", labels={"app": "t"})])
    assert usage.put_pod(pod("a", labels={"app": "s"}))
    assert only_node(usage).now == Requested({}, 1, matched_terms={S: 1})
    assert usage.put_pod(pod("a", labels={}))
    assert only_node(usage).now == Requested({}, 1)


def test_the_same_labels_in_another_namespace_are_others() -> None:
    other = term("s", "team-b")
    usage = filled([node()], [pod("waits", on="", terms=[other]), pod("a", labels={"app": "s"})])
    assert only_node(usage).now == Requested({}, 1)


def test_a_topology_term_is_held_by_its_pod_only() -> None:
    usage = filled([node()], [pod("a", terms=[VAGUE], labels={"app": "s"})])
    assert only_node(usage).now == Requested({}, 1, anti_affinity={VAGUE: 1})


def test_a_rule_by_zone_is_matched_while_its_pod_waits() -> None:
    usage = filled([node()], [pod("a", labels={"app": "t"})])
    assert usage.put_pod(pod("waits", on="", phase="Pending", terms=[ZONED], near=NEAR))
    assert only_node(usage).now == Requested({}, 1, matched_terms={ZONED: 1, NEAR: 1})
    # A bound pod has the rule that other pods are checked against. The pods it matches no longer matter.
    assert usage.put_pod(pod("waits", on="n1", terms=[ZONED], near=NEAR))
    assert only_node(usage).now == Requested({}, 2, anti_affinity={ZONED: 1})


def test_a_zone_rule_about_any_value_matches_no_pod() -> None:
    """JobSet writes one about all other Jobs for each Job: pods times Jobs is too much to keep."""
    usage = filled([node()], [pod("a"), pod("waits", on="", phase="Pending", terms=[OPEN])])
    assert only_node(usage).now == Requested({}, 1)
    assert usage.put_pod(pod("waits", on="n1", terms=[OPEN]))
    assert only_node(usage).now == Requested({}, 2, anti_affinity={OPEN: 1})


# Topology spread: who counts for a constraint of a pod that has no node yet.


def test_bound_pods_count_for_the_spread_of_a_waiting_pod() -> None:
    usage = filled([node()], [pod("a", labels={"app": "s"}), pod("b", labels={"app": "t"})])
    waits = pod("waits", on="", phase="Pending", counts=COUNT)
    assert usage.put_pod(waits)
    assert only_node(usage).now == Requested({}, 2, matched_terms={COUNT: 1})
    assert usage.load_of(["uid-a", "uid-b"]) == {"n1": Requested({}, 2, matched_terms={COUNT: 1})}
    # It is over once it has a node.
    assert usage.put_pod(pod("waits", on="n1", counts=COUNT))
    assert only_node(usage).now == Requested({}, 3)


def test_pods_that_are_deleted_or_only_nominated_do_not_count() -> None:
    # countPodsMatchSelector skips pods with a deletionTimestamp; nominated ones are on no node.
    usage = filled([node()], [pod("waits", on="", counts=COUNT)])
    usage.put_pod(pod("a", on="", nominated_node="n1", labels={"app": "s"}))
    assert only_node(usage).now == Requested({}, 1, matched_terms={COUNT.of_nominated: 1})
    assert usage.put_pod(pod("a", labels={"app": "s"}))
    assert only_node(usage).now == Requested({}, 1, matched_terms={COUNT: 1})
    assert usage.put_pod(pod("a", labels={"app": "s"}, deleted=True))
    assert only_node(usage).now == Requested({}, 1)
    assert usage.load_of(["uid-a"]) == {"n1": Requested({}, 1)}
    assert usage.remove_pod("uid-a")


# Any sequence of changes against a full count of the final objects.

EVERY = PodTerm("team-a/")
LOOSE = PodTerm("*/rank,app in (s,u)", None, (
    Requirement("rank", "Exists"), Requirement("app", "In", ("s", "u"))
))  # fmt: skip
COUNT = replace(S, name="spread team-a/app=s", is_count=True)
VAGUE = replace(S, name="team-a/app=s by zone", is_exact=False)
ZONED = replace(T, name="team-a/app=t by zone", topology_key="zone")
OPEN = replace(EVERY, name="team-a/ by zone", topology_key="zone")
NEAR = replace(ZONED, name="near team-a/app=t by zone")

NAMES = st.sampled_from(["n1", "n2", "n3"])
NODES = st.builds(
    node,
    NAMES,
    ready=st.sampled_from([True, None]),
    unschedulable=st.booleans(),
    allocatable=st.dictionaries(st.sampled_from(["cpu", GPU]), st.integers(0, 9)),
    unreadable=st.sampled_from([frozenset(), frozenset({"cpu"})]),
)
PODS = st.builds(
    pod,
    st.sampled_from([f"p{number}" for number in range(6)]),
    st.sampled_from(["", "n1", "n2", "n3"]),
    st.sampled_from(["Running", "Running", "Pending", "Succeeded"]),
    nominated_node=st.sampled_from(["", "", "n1", "n3"]),
    counts=st.sampled_from([None, None, COUNT]),
    deleted=st.booleans(),
    asks=st.dictionaries(
        st.sampled_from(["cpu", "memory", GPU]), st.sampled_from(["0", "0.0001", "1", "2.5"])
    ),
    host_ports=st.sets(st.sampled_from([HostPort(80), HostPort(81)])),
    terms=st.lists(
        st.sampled_from([S, T, EVERY, LOOSE, VAGUE, ZONED, OPEN]), unique=True, max_size=3
    ),
    near=st.sampled_from([None, None, NEAR]),
    labels=st.dictionaries(st.sampled_from(["app", "rank"]), st.sampled_from("stu")),
    unread_requests=st.sampled_from([(), (GPU,)]),
    stays=st.booleans(),
)
CHANGES = st.lists(
    st.one_of(NODES, PODS, NAMES.map(lambda name: ("node", name)), st.tuples(
        st.just("pod"), st.sampled_from([f"uid-p{number}" for number in range(6)])
    )),
    max_size=40,
)  # fmt: skip


@dataclass
class Cluster:
    """The expected usage, computed as simply as possible."""

    nodes: dict[str, Node] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)

    def on(self, name: str) -> list[Pod]:
        return [
            item
            for item in self.pods.values()
            if (item.node or item.nominated_node) == name and item.phase != "Succeeded"
        ]

    def room(self, name: str) -> NodeInfo:
        on_node = self.on(name)
        item = self.nodes[name]
        live = [other for other in self.pods.values() if other.phase != "Succeeded"]
        terms = {
            term
            for other in live
            for term in other.needs.anti_affinity
            if term.is_exact and (term.is_by_host or not (other.node or term.is_open))
        }
        terms |= {NEAR for other in live if other.needs.pod_affinity and not other.node}
        terms |= {COUNT for other in live if other.needs.spreads and not other.node}
        return NodeInfo(
            name,
            unschedulable=item.unschedulable,
            ready=item.ready is not None and item.ready.status == "True",
            allocatable=item.allocatable,
            now=counted(on_node, terms),
            pinned=counted([other for other in on_node if other.stays], terms),
            unreadable=item.unreadable
            | {key for other in on_node for key in other.unread_requests},
        )

    def rooms(self) -> tuple[NodeInfo, ...]:
        return tuple(self.room(name) for name in sorted(self.nodes))


def counted(pods: list[Pod], terms: set[PodTerm]) -> Requested:
    amounts: dict[str, int] = {}
    for item in pods:
        for resource, amount in item.requests.items():
            whole = math.ceil(amount * (1000 if resource == "cpu" else 1))
            amounts[resource] = amounts.get(resource, 0) + whole
    return Requested(
        {resource: amount for resource, amount in amounts.items() if amount},
        len(pods),
        frozenset(port for item in pods for port in item.needs.host_ports),
        Counter(term for item in pods for term in item.needs.anti_affinity),
        Counter(
            term if term != COUNT or item.node else COUNT.of_nominated
            for item in pods
            for term in terms
            if matches_pod(term, "team-a", item.labels)
            and (term != COUNT or item.meta.deleting_since is None)
        ),
    )


def apply(change: Any, usage: Usage, cluster: Cluster) -> bool:
    if isinstance(change, Node):
        cluster.nodes[change.meta.ref.name] = change
        return usage.put_node(change)
    if isinstance(change, Pod):
        cluster.pods[change.meta.ref.uid] = change
        return usage.put_pod(change)
    description, name = change
    if description == "node":
        cluster.nodes.pop(name, None)
        return usage.remove_node(name)
    cluster.pods.pop(name, None)
    return usage.remove_pod(name)


@given(CHANGES)
def test_any_sequence_of_changes_equals_a_full_count(changes: list[Any]) -> None:
    usage, cluster = Usage(), Cluster()
    before, room = cluster.rooms(), usage.capacity()
    for change in changes:
        observed = apply(change, usage, cluster)
        after = cluster.rooms()
        # It may say that something has changed where two changes undo each other, never the reverse.
        assert observed or after == before
        assert usage.capacity().nodes == after
        if not observed:
            assert usage.capacity() is room
        for name in cluster.nodes:
            assert usage.pods_on(name) == {obj.meta.ref.uid for obj in cluster.on(name)}
        before, room = after, usage.capacity()
    every = usage.load_of(list(cluster.pods))
    assert every == {item.name: item.now for item in before if item.now.pods}


@given(CHANGES)
def test_unread_changes_are_accumulated(changes: list[Any]) -> None:
    usage, cluster = Usage(), Cluster()
    for change in changes:
        apply(change, usage, cluster)
    assert usage.capacity().nodes == cluster.rooms()
