"""One node: its capacity, its gangs, and its fit for waiting gangs, by viewer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.objects import Condition
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodConstraints, Taint
from gangboard.domain.verdict import MemberState
from gangboard.pages.nodes.queries import read_node
from gangboard.pages.nodes.rows import NodeDetail
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang, NodeCapacity
from tests.domain_objects import a_container, a_node, a_pod, requests
from tests.factories import NOW, make_cluster, make_gang, store_object
from tests.readmodels.room import make_capacity, make_fit, make_node, make_shape

pytestmark = pytest.mark.django_db

ROOM = {"nvidia.com/gpu": 8, "cpu": 64_000, "memory": 2**40, "pods": 110}
TEXTS = {"nvidia.com/gpu": "8", "cpu": "64", "memory": str(2**40), "pods": "110"}


@dataclass
class Place:
    """The node h100-09 of eu-train."""

    cluster: Cluster
    row: NodeCapacity

    def put(
        self, namespace: str, name: str, gpu: str, gang: Gang | None = None, **fields: Any
    ) -> Pod:
        """Let a pod run there."""
        values = {"requests": requests(gpu=gpu, cpu="4"), **fields}
        pod = a_pod(name, uid=f"uid-of-{name}", namespace=namespace, on="h100-09", **values)
        store_object(self.cluster, "pods", pod)
        self.row.pods[pod.meta.ref.uid] = gang.uid if gang is not None else ""
        self.row.save()
        return pod

    def gang(self, namespace: str, name: str, *gpus: str, elsewhere: int = 0) -> Gang:
        """Let a gang run there, a pod for each number, and others on another node."""
        refs = [f"{name}-{number}" for number in range(len(gpus) + elsewhere)]
        members = tuple(
            MemberState(
                a_pod(ref, uid=f"uid-of-{ref}", namespace=namespace).meta.ref,
                name,
                "h100-09" if number < len(gpus) else "h100-10",
                Health.RUNNING,
                "ready",
            )
            for number, ref in enumerate(refs)
        )
        new_gang = make_gang(
            self.cluster,
            name,
            namespace=namespace,
            health=Health.RUNNING,
            scheduled=8,
            detail=Detail(members=members),
        )
        for ref, gpu in zip(refs, gpus, strict=False):
            self.put(namespace, ref, gpu, new_gang)
        return new_gang

    def waits(
        self, name: str, gpu: str, pods: int = 2, namespace: str = "research", **fields: Any
    ) -> Gang:
        """Let pods of a gang wait for a node."""
        built = tuple(
            a_pod(
                f"{name}-{number}",
                uid=f"uid-of-{name}-{number}",
                namespace=namespace,
                **{"requests": requests(gpu=gpu, cpu="4"), **fields},
            )
            for number in range(pods)
        )
        for pod in built:
            store_object(self.cluster, "pods", pod)
        members = tuple(
            MemberState(pod.meta.ref, name, "", Health.WAITING, "waiting") for pod in built
        )
        fit = (make_fit(waiting=pods, requests={"nvidia.com/gpu": gpu}),)
        return make_gang(
            self.cluster,
            name,
            namespace=namespace,
            created=pods,
            accelerators=pods * float(gpu),
            detail=Detail(members=members, fit=fit),
        )

    def read(self, viewer: Viewer) -> NodeDetail | None:
        """Return the node detail for a viewer, or None."""
        clusters = read_freshness(viewer=viewer, now=NOW)
        return read_node(
            viewer=viewer, cluster="eu-train", name="h100-09", clusters=clusters, now=NOW
        )

    def seen(self, viewer: Viewer) -> NodeDetail:
        """Return the node detail, which must exist."""
        result = self.read(viewer)
        assert result is not None
        return result


def make_place(cluster: Cluster, used: str = "6", **node: Any) -> Place:
    cordoned = node.get("unschedulable", False)
    store_object(
        cluster,
        "nodes",
        a_node("h100-09", uid="uid-of-node", allocatable=ROOM, **node),
    )
    row = make_node(
        cluster,
        "h100-09",
        allocatable=TEXTS,
        used={"nvidia.com/gpu": used, "cpu": "8", "pods": "2"},
        held={},
        cordoned=cordoned,
    )
    return Place(cluster, row)


@pytest.fixture
def cluster() -> Cluster:
    new_cluster = make_cluster()
    make_capacity(new_cluster)
    return new_cluster


@pytest.fixture
def place(cluster: Cluster) -> Place:
    return make_place(cluster)


def test_a_node_lists_gangs_with_pods_here_and_elsewhere(owner: Viewer, place: Place) -> None:
    gang = place.gang("nlp", "asr", "4", elsewhere=2)
    place.gang("research", "eval", "1", "1")
    place.put("kube-system", "exporter", "0", stays=True)
    place.put("tools", "shell", "0", containers=(a_container(restarts=3),))
    result = place.seen(owner)
    assert [
        (occupant.gang.name, occupant.accelerators, occupant.elsewhere)
        for occupant in result.occupants
    ] == [
        ("asr", 4.0, 2),
        ("eval", 2.0, 0),
    ]
    (pod,) = result.occupants[0].pods
    assert result.occupants[0].gang.id == gang.pk
    assert pod.member is not None
    assert (pod.name, pod.accelerators, pod.member.label) == ("asr-0", 4.0, "ready")
    assert [
        (occupant.namespace, occupant.name, occupant.restarts) for occupant in result.other_pods
    ] == [("tools", "shell", 3)]
    assert (result.staying.pods, result.hidden.pods) == (1, 0)
    assert result.sentence == "2 of 8 GPUs are free."


def test_other_namespaces_are_summed_without_names(place: Place) -> None:
    place.gang("research", "eval", "2")
    place.gang("secret", "moonshot", "3", "1")
    place.waits("own", "2")
    place.waits("hidden", "2", namespace="secret")
    nina = Viewer(3, "nina", (Scope(place.cluster.pk, "research", "viewer"),))
    result = place.seen(nina)
    assert [occupant.gang.name for occupant in result.occupants] == ["eval"]
    assert (result.hidden.pods, result.hidden.accelerators) == (2, 4.0)
    assert [row.gang.name for row in result.waiting] == ["own"]
    assert (result.taints, result.topology, result.pool) == ((), (), ("", ""))
    assert "moonshot" not in repr(result)
    assert "secret" not in repr(result)


def test_a_node_without_visible_pods_is_a_404(place: Place, stranger: Viewer) -> None:
    place.gang("secret", "moonshot", "3")
    nina = Viewer(3, "nina", (Scope(place.cluster.pk, "research", "viewer"),))
    assert place.read(nina) is None
    assert place.read(stranger) is None


def test_moved_pods_are_not_on_the_node(owner: Viewer, place: Place) -> None:
    place.gang("nlp", "asr", "4")
    place.row.pods["uid-of-a-pod-that-is-gone"] = "uid-of-a-gang"
    place.row.save()
    result = place.seen(owner)
    assert (len(result.occupants), result.other_pods, result.staying.pods) == (1, (), 0)


def test_a_node_lists_fitting_gangs_and_obstacles_for_others(owner: Viewer, place: Place) -> None:
    place.gang("nlp", "asr", "4", "2")
    place.waits("fits", "1", pods=4)
    place.waits("large", "8")
    place.waits("other-pool", "1", needs=PodConstraints(node_selector=(("pool", "a100"),)))
    make_gang(place.cluster, "queued", stage="admission", code="waiting-for-quota", created=0)
    fits = {
        row.gang.name: (row.answer, row.fitting, row.sentence) for row in place.seen(owner).waiting
    }
    assert fits == {
        "fits": ("fits", 2, "2 of 4 pods fit now."),
        "large": ("kept-out", 0, "Needs 8 GPUs; 2 free."),
        "other-pool": ("kept-out", 0, "Wants nodes with pool=a100."),
    }
    assert place.seen(owner).waiting[0].gang.name == "fits"


def test_gangs_with_the_same_obstacle_are_grouped(owner: Viewer, place: Place) -> None:
    place.gang("nlp", "asr", "4", "2")
    place.waits("fits", "1")
    place.waits("large", "8")
    for name in ("other-pool", "and-another"):
        place.waits(name, "1", needs=PodConstraints(node_selector=(("pool", "a100"),)))
    result = place.seen(owner)
    assert [row.gang.name for row in result.would_fit] == ["fits"]
    assert {item.sentence: {row.gang.name for row in item.rows} for item in result.excluded} == {
        "Needs 8 GPUs; 2 free.": {"large"},
        "Wants nodes with pool=a100.": {"other-pool", "and-another"},
    }
    assert result.excluded[0].rows[0].gang.name == "large", "that waits for the most"


def test_a_cordon_as_the_only_obstacle_is_reported(owner: Viewer, cluster: Cluster) -> None:
    cordon = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")
    place = make_place(cluster, used="4", unschedulable=True, taints=(cordon,))
    place.gang("nlp", "asr", "4")
    place.waits("multimodal", "4", pods=1)
    result = place.seen(owner)
    assert result.sentence == "Cordoned: 4 of 8 GPUs are free but take no new pods."
    (row,) = result.waiting
    assert (row.answer, row.sentence) == ("fits-uncordoned", "Its pod fits once uncordoned.")
    assert result.commands[0].text == "kubectl uncordon h100-09"
    assert result.stranded == ()


def test_a_node_in_maintenance_is_not_simply_uncordoned(owner: Viewer, cluster: Cluster) -> None:
    cordon = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")
    leaves = Taint("karpenter.sh/disrupted", effect="NoSchedule")
    other_taint = Taint("team", effect="NoSchedule", value="vision")
    place = make_place(
        cluster,
        used="4",
        unschedulable=True,
        taints=(cordon, leaves, other_taint),
        lifecycle=(Condition("MaintenanceInProgress", "True", "Upgrade"),),
    )
    result = place.seen(owner)
    assert result.sentence == (
        "Cordoned, for MaintenanceInProgress and karpenter.sh/disrupted: 4 of 8 GPUs are free but take no new pods."
    )
    assert result.commands[0].text == "kubectl uncordon h100-09"
    assert result.commands[0].meaning.startswith(
        "Allow new pods again, once this is over: MaintenanceInProgress and karpenter.sh/disrupted"
    )


def test_accelerators_without_cpu_are_stranded(owner: Viewer) -> None:
    cluster = make_cluster()
    make_capacity(cluster, shapes=(make_shape(requests={"cpu": "60", "nvidia.com/gpu": "2"}),))
    result = make_place(cluster).seen(owner)
    assert [(item.resource, item.amount, item.for_lack_of) for item in result.stranded] == [
        ("nvidia.com/gpu", Decimal(2), "cpu")
    ]
    assert result.sentence == ("2 of 8 GPUs are stranded: too little cpu is left for any pod.")


def test_unknown_values_are_omitted(owner: Viewer) -> None:
    cluster = make_cluster(contact_at=NOW - timedelta(minutes=4))
    make_capacity(cluster)
    place = make_place(cluster)
    place.waits("fits", "1")
    result = place.seen(owner)
    assert result.blind is not None
    assert (result.sentence, result.amounts, result.waiting) == ("", (), ())


def test_an_unready_node_has_a_reason(owner: Viewer, cluster: Cluster) -> None:
    result = make_place(cluster, ready=None).seen(owner)
    assert result.sentence == "Not ready: nothing new starts here, and what was here may be lost."
    assert result.ready is False
