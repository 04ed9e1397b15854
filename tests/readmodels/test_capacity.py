"""Nodes by pool: correct sums, usable free capacity, and no numbers for unread nodes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.pages.capacity.queries import read_capacity
from gangboard.pages.capacity.rows import Capacity
from gangboard.readmodels import node_pools
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.node_amounts import Amount
from gangboard.readmodels.node_pools import Pool, TaintRow
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, ClusterCapacity
from tests.factories import NOW, make_cluster
from tests.readmodels.room import GIB, make_capacity, make_node, make_shape

pytestmark = pytest.mark.django_db


RACK = "topology.kubernetes.io/rack"


def read(viewer: Viewer, *, cluster: str = "", by: str = "") -> Capacity:
    clusters = read_freshness(viewer=viewer, now=NOW)
    return read_capacity(viewer=viewer, cluster=cluster, by=by, clusters=clusters)


def amount(pool: Pool | None, resource: str) -> Amount:
    assert pool is not None
    return next(item for item in pool.amounts if item.resource == resource)


@pytest.fixture
def cluster() -> Cluster:
    """A cluster whose nodes were read."""
    new_cluster = make_cluster()
    make_capacity(new_cluster)
    return new_cluster


def test_amounts_are_added_up_exactly(owner: Viewer, cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        make_node(cluster, name)
    total = read(owner).clusters[0].whole
    gpus = amount(total, "nvidia.com/gpu")
    assert (gpus.allocatable, gpus.used, gpus.held, gpus.free, gpus.away) == (
        *("24", "18", "6", "6"),
        "",
    )
    cpu = amount(total, "cpu")
    assert (cpu.allocatable, cpu.used, cpu.held, cpu.free) == ("576", "145.5", "48", "430.5")
    memory = amount(total, "memory")
    assert (memory.allocatable, memory.used, memory.free) == ("3 Ti", "768 Gi", "2.2 Ti")
    pods = amount(total, "pods")
    assert (pods.allocatable, pods.used, pods.held, pods.free) == ("330", "9", "3", "321")


def test_capacity_of_unschedulable_nodes_is_not_free(owner: Viewer, cluster: Cluster) -> None:
    make_node(cluster, "ready")
    make_node(cluster, "cordoned", cordoned=True)
    make_node(cluster, "lost", ready=False)
    make_node(cluster, "lost-and-cordoned", ready=False, cordoned=True)
    total = read(owner).clusters[0].whole
    assert total is not None
    assert (total.nodes, total.ready, total.cordoned, total.not_ready) == (4, 1, 1, 2)
    gpus = amount(total, "nvidia.com/gpu")
    assert (gpus.free, gpus.away) == ("2", "6")


def test_an_overcommitted_node_does_not_reduce_other_nodes(owner: Viewer, cluster: Cluster) -> None:
    make_node(cluster, "a", used={"nvidia.com/gpu": "11"})
    make_node(cluster, "b", used={"nvidia.com/gpu": "5"})
    assert amount(read(owner).clusters[0].whole, "nvidia.com/gpu").free == "3"


DEVICES = (
    "amd.com/gpu",
    "aws.amazon.com/neuron",
    "google.com/tpu",
    "habana.ai/gaudi",
    "nvidia.com/gpu",
)


def test_accelerators_of_every_vendor_come_first(owner: Viewer, cluster: Cluster) -> None:
    for number, device in enumerate(DEVICES):
        room = {"cpu": "8", "memory": str(GIB), "pods": "10", device: str(number + 1)}
        make_node(cluster, f"n{number}", allocatable=room, used={device: "1"}, held={})
    total = read(owner).clusters[0].whole
    assert total is not None
    assert [amount.resource for amount in total.amounts] == [*DEVICES, "cpu", "memory", "pods"]
    assert [(amount.allocatable, amount.free) for amount in total.amounts[:5]] == [
        ("1", "0"),
        ("2", "1"),
        ("3", "2"),
        ("4", "3"),
        ("5", "4"),
    ]
    assert [amount.is_accelerator for amount in total.amounts] == [True] * 5 + [False] * 3


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("0", "cpu 0 % used"),
        ("0.5", "cpu under 1 % used"),
        ("50", "cpu 50 % used"),
        ("99.5", "cpu over 99 % used"),
        ("100", "cpu 100 % used"),
        ("130", "cpu 130 % used"),
    ],
)
def test_a_share_is_never_rounded_to_zero_or_all(
    owner: Viewer, cluster: Cluster, used: str, expected: str
) -> None:
    make_node(cluster, "a", allocatable={"cpu": "100"}, used={"cpu": used}, held={})
    assert amount(read(owner).clusters[0].whole, "cpu").short == expected


def test_a_share_names_excluded_amounts(owner: Viewer, cluster: Cluster) -> None:
    room = {"allocatable": {"cpu": "100"}, "used": {"cpu": "40"}, "held": {}}
    make_node(cluster, "a", **room)
    make_node(cluster, "b", **room, unreadable=["cpu"])
    assert amount(read(owner).clusters[0].whole, "cpu").short == "cpu 40 % used (1 node not read)"
    cluster.nodecapacity_set.filter(name="a").delete()
    assert amount(read(owner).clusters[0].whole, "cpu").short == "cpu not known"


def test_network_devices_are_not_accelerators(owner: Viewer, cluster: Cluster) -> None:
    room = {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32", "intel.com/sriov": "4"}
    used = {"nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "16"}
    make_node(cluster, "a", allocatable={**room, "cpu": "8"}, used=used, held={})
    asking = make_shape(
        requests={"vpc.amazonaws.com/efa": "16", "nvidia.com/gpu": "4", "memory": str(GIB)}
    )
    ClusterCapacity.objects.update(shapes=[asking])
    (row,) = read(owner).clusters
    assert row.whole is not None
    assert [
        (amount.resource, amount.is_accelerator, amount.free) for amount in row.whole.amounts
    ] == [
        ("nvidia.com/gpu", True, "4"),
        ("cpu", False, "8"),
        ("intel.com/sriov", False, "4"),
        ("vpc.amazonaws.com/efa", False, "16"),
    ]
    assert row.shapes[0].asks == "4 GPUs, 1 Gi memory, 16 vpc.amazonaws.com/efa"


def test_absent_resources_are_omitted(owner: Viewer, cluster: Cluster) -> None:
    room = {"cpu": "4", "hugepages-2Mi": "0", "ephemeral-storage": "1", "example.com/fpga": "0"}
    make_node(cluster, "a", allocatable=room, used={}, held={})
    total = read(owner).clusters[0].whole
    assert total is not None
    assert [amount.resource for amount in total.amounts] == ["cpu"]


@pytest.mark.parametrize(
    "broken", [{"unreadable": ["nvidia.com/gpu"]}, {"used": {"nvidia.com/gpu": "x"}}]
)
def test_an_unparsable_amount_is_reported_and_not_summed(
    owner: Viewer, cluster: Cluster, broken: dict[str, Any]
) -> None:
    make_node(cluster, "a")
    make_node(cluster, "b", **broken)
    gpus = amount(read(owner).clusters[0].whole, "nvidia.com/gpu")
    assert (gpus.allocatable, gpus.used, gpus.free, gpus.unreadable) == ("8", "6", "2", 1)
    assert amount(read(owner).clusters[0].whole, "cpu").unreadable == 0


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"cloud.google.com/gke-nodepool": "p"}, ("cloud.google.com/gke-nodepool", "p")),
        ({"eks.amazonaws.com/nodegroup": "p"}, ("eks.amazonaws.com/nodegroup", "p")),
        ({"karpenter.sh/nodepool": "p"}, ("karpenter.sh/nodepool", "p")),
        ({"agentpool": "p"}, ("agentpool", "p")),
        ({"node.kubernetes.io/instance-type": "m7"}, ("node.kubernetes.io/instance-type", "m7")),
        (
            {"node.kubernetes.io/instance-type": "m7", "karpenter.sh/nodepool": "p"},
            ("karpenter.sh/nodepool", "p"),
        ),
        ({"team": "x"}, ("", "")),
    ],
)
def test_a_pool_is_named_by_its_well_known_label(
    owner: Viewer, cluster: Cluster, labels: dict[str, str], expected: tuple[str, str]
) -> None:
    make_node(cluster, "a", labels=labels)
    (pool,) = read(owner).clusters[0].pools
    assert (pool.label, pool.value) == expected


def test_nodes_are_grouped_by_any_label(owner: Viewer, cluster: Cluster) -> None:
    zone = "topology.kubernetes.io/zone"
    for name, labels in (("a", {zone: "z1"}), ("b", {zone: "z2"}), ("c", {zone: "z1"}), ("d", {})):
        make_node(cluster, name, labels={**labels, "kubernetes.io/hostname": name})
    result = read(owner, by=zone)
    assert [(pool.value, pool.nodes) for pool in result.clusters[0].pools] == [
        ("z1", 2),
        ("z2", 1),
        ("", 1),
    ]
    # A label that puts no two nodes together is no choice.
    assert result.labels == (zone,)
    assert [pool.nodes for pool in read(owner, by="no-such").clusters[0].pools] == [4]


def test_the_pool_label_is_not_a_fallback(owner: Viewer, cluster: Cluster) -> None:
    """It is the default: with "their pool" beside it one choice stood there twice."""
    pool, zone = "karpenter.sh/nodepool", "topology.kubernetes.io/zone"
    for name in ("a", "b"):
        make_node(cluster, name, labels={pool: "h100", zone: "z1"})
    for by in ("", zone, pool):
        result = read(owner, by=by)
        assert (result.default_label, result.labels) == (pool, (zone,))
    make_node(cluster, "c", labels={"agentpool": "a100"})
    result = read(owner)
    assert (result.default_label, result.labels) == ("", (zone, pool))


def test_blocking_taints_are_named(owner: Viewer, cluster: Cluster) -> None:
    make_node(cluster, "a", taints=["spot=true:NoSchedule", "soft:PreferNoSchedule"])
    make_node(cluster, "b", taints=["spot=true:NoSchedule", "gpu:NoExecute"])
    away = "node.kubernetes.io/unschedulable:NoSchedule"
    make_node(cluster, "c", taints=[away, "spot=true:NoSchedule"], cordoned=True)
    total = read(owner).clusters[0].whole
    assert total is not None
    assert total.taints == (TaintRow("spot=true:NoSchedule", 2), TaintRow("gpu:NoExecute", 1))


def test_shapes_show_how_many_fit(owner: Viewer) -> None:
    cluster = make_cluster()
    make_node(cluster, "a")
    shapes = (
        make_shape(),
        make_shape(requests={"cpu": "1"}, waiting=0, fits_now=190, where="pool=h100"),
        make_shape(fits_now=0, fits_empty=0, why="not understood: the toleration operator Gt"),
        make_shape(unsupported=["volume claims", "topology spread"]),
    )
    make_capacity(cluster, shapes=shapes)
    result = read(owner).clusters[0].shapes
    assert [
        (item.asks, item.waiting, item.fits_now, item.fits_empty, item.is_short) for item in result
    ] == [
        ("8 GPUs, 64 cpu", 4, 3, 7, True),
        ("1 cpu", 0, 190, 7, False),
        ("8 GPUs, 64 cpu", 4, None, None, False),
        # At most three fit of the four that wait: there is too little in any case.
        ("8 GPUs, 64 cpu", 4, 3, 7, True),
    ]
    assert [item.where for item in result] == ["", "pool=h100", "", ""]
    assert [item.why for item in result] == [
        "",
        "",
        "not understood: the toleration operator Gt",
        "",
    ]
    assert [item.unsupported for item in result] == [
        (),
        (),
        (),
        ("volume claims", "topology spread"),
    ]


def test_a_shape_of_an_older_release_is_read(owner: Viewer, cluster: Cluster) -> None:
    stored = make_shape()
    del stored["unsupported"]
    ClusterCapacity.objects.update(shapes=[stored])
    (shape,) = read(owner).clusters[0].shapes
    assert (shape.fits_now, shape.unsupported) == (3, ())


def blind(viewer: Viewer) -> str:
    (row,) = read(viewer).clusters
    assert row.blind is not None
    assert (row.whole, row.pools, row.shapes) == (None, (), ())
    before, since, after = row.blind
    return before + ("AGE" if since else "") + after


def test_node_counts_need_access_to_a_gang_of_the_cluster(owner: Viewer, cluster: Cluster) -> None:
    """The same that the node-fit table of that gang is made of; names and labels are not."""
    ClusterCapacity.objects.update(shapes=[make_shape()])
    make_node(cluster, "a", taints=["team=vision:NoSchedule"])
    make_node(cluster, "b", ready=False)
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    everywhere = Viewer(5, "nina", (Scope(None, "research", "viewer"),))
    keeper = Viewer(4, "kim", (Scope(cluster.pk, "", "viewer"),))
    (message,) = read(owner).clusters
    assert message.whole is not None
    for viewer in (reader, everywhere):
        (row,) = read(viewer, by="kubernetes.io/hostname").clusters
        unnamed = replace(message.whole, not_ready_names="", taints=(), more_taints=1)
        assert (row.blind, row.nodes, row.whole) == (None, 2, unnamed)
        assert (row.numbers_only, row.pools, row.shapes) == (True, (), ())
        assert read(viewer).labels == ()
    for viewer in (owner, keeper):
        (row,) = read(viewer).clusters
        assert (row.numbers_only, row.whole, row.pools) == (False, message.whole, message.pools)
        assert row.shapes


def test_a_viewer_of_another_cluster_sees_no_capacity(cluster: Cluster) -> None:
    other_cluster = make_cluster("west")
    viewer = Viewer(6, "wes", (Scope(other_cluster.pk, "research", "viewer"),))
    assert [row.cluster for row in read(viewer).clusters] == ["west"]
    assert not viewer.counts_nodes(cluster.pk)


def test_a_stranger_sees_no_cluster(stranger: Viewer, cluster: Cluster) -> None:
    assert read(stranger).clusters == ()


def test_forbidden_nodes_are_not_zero(owner: Viewer) -> None:
    cluster = make_cluster()
    # Rows from before the permission was lost are stale.
    make_node(cluster, "a")
    make_capacity(cluster, why="nodes: forbidden")
    assert blind(owner) == "The capacity of this cluster is unknown: nodes: forbidden."


def test_unread_nodes_are_not_zero(owner: Viewer) -> None:
    make_cluster()
    assert blind(owner) == "The nodes of this cluster have not been read yet."


def test_a_silent_cluster_has_no_numbers(owner: Viewer) -> None:
    cluster = make_cluster(contact_at=NOW - timedelta(minutes=4), problem="timeout")
    make_node(cluster, "a")
    make_capacity(cluster)
    unknown = "the free resources of its nodes are unknown."
    assert blind(owner) == f"This cluster has not answered for AGE: {unknown}"
    Cluster.objects.update(problem="")
    assert blind(owner) == f"This cluster has not been read for AGE: {unknown}"


def test_an_unread_cluster_has_no_numbers(owner: Viewer) -> None:
    make_cluster(contact_at=None, problem="unreachable")
    assert (
        blind(owner) == "This cluster has never answered: the resources of its nodes are unknown."
    )
    Cluster.objects.update(problem="")
    assert (
        blind(owner)
        == "This cluster has not been read yet: the resources of its nodes are unknown."
    )


def test_a_cluster_without_nodes_has_none(owner: Viewer, cluster: Cluster) -> None:
    (row,) = read(owner).clusters
    assert (row.blind, row.whole, row.pools) == (None, None, ())


def test_very_many_nodes_are_added_up_on_request(
    owner: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        cluster = make_cluster(name)
        make_capacity(cluster)
        for number in range(3):
            make_node(cluster, f"n{number}")
    monkeypatch.setattr(node_pools, "MOST_NODES", 4)
    assert [row.choose for row in read(owner).clusters] == [False, True]
    (row,) = read(owner, cluster="b").clusters
    assert row.whole is not None


def test_queries_do_not_grow(owner: Viewer, django_assert_num_queries: Any) -> None:
    for number in range(3):
        cluster = make_cluster(f"c{number}")
        make_capacity(cluster)
        for index in range(5):
            make_node(cluster, f"n{index}")
        with django_assert_num_queries(4):  # the clusters and three more
            read(owner)


def test_each_node_of_a_pool_has_a_square(owner: Viewer, cluster: Cluster) -> None:
    make_node(cluster, "d", held={})
    make_node(cluster, "a", labels={"cloud.google.com/gke-nodepool": "h100", RACK: "r1"}, held={})
    make_node(cluster, "b", used={"nvidia.com/gpu": "8"}, held={})
    make_node(cluster, "c")
    make_node(cluster, "e", cordoned=True)
    make_node(cluster, "f", ready=False)
    make_node(cluster, "g", labels={}, allocatable={"cpu": "8"}, used={}, held={})
    (pool, rest) = read(owner).clusters[0].pools
    assert [(square.name, square.free, square.state) for square in pool.squares] == [
        ("b", "0", "full"),
        ("c", "2", "held"),
        ("d", "2", "free"),
        ("e", "2", "cordoned"),
        ("f", "2", "not ready"),
        ("a", "2", "free"),
    ]
    assert pool.squares[0].sentence == "b: 0 of 8 free"
    assert rest.squares == ()
    numbers = read(Viewer(3, "nina", (Scope(cluster.pk, "research", "viewer"),)))
    assert all(not row.pools for row in numbers.clusters)
