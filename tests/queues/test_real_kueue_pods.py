"""Pods in queues of a real Kueue: groups of plain pods, StatefulSets and Deployments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from gangboard.decode.pods import POD
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.quota import QueueTree
from gangboard.domain.verdict import Verdict
from gangboard.plugins import registry
from gangboard.queues.kueue import Kueue
from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.controllers import TAKES_PODS
from tests.controlplane.fixtures import Namespaces, Queues
from tests.controlplane.nodes import make_node
from tests.controlplane.objects import PodOptions, pod, pod_template
from tests.controlplane.queues import KUEUE, in_queue
from tests.decode.reading import model
from tests.gangs import assemble
from tests.queues.places import QUEUES, WORKLOADS

pytestmark = pytest.mark.controlplane

NODE = "takes-pods"
FRAMEWORKS = ("batch/job", "pod", "statefulset", "deployment")
APPS = [kind.resource for kind in registry.owner_kinds() if kind.needs_group]
Verdicts = Mapping[tuple[str, str], Verdict]


@pytest.fixture(scope="module")
def plane(controlplane_kueue: ControlPlane) -> Iterator[ControlPlane]:
    """Kueue that manages pods."""
    with controlplane_kueue.kueue_configured(integrations={"frameworks": list(FRAMEWORKS)}):
        yield controlplane_kueue


@pytest.fixture
def where(plane: ControlPlane, namespace: Namespaces, queues: Queues) -> Iterator[str]:
    """Return a namespace whose pods Kueue takes; at the end it lets go of them, before all else goes.

    Other tests of this folder have nodes there, which stay.
    """
    client, name = plane.client, namespace(plane)
    make_node(client, NODE, cpu="64")
    client.patch("v1", "Namespace", name, {"metadata": {"labels": TAKES_PODS}})
    yield name
    for kind in ("StatefulSet", "Deployment"):
        for owner in client.list("apps/v1", kind, name):
            client.delete("apps/v1", kind, owner["metadata"]["name"], name)

    def is_empty() -> bool:
        for obj in client.list("v1", "Pod", name):
            pod_name = obj["metadata"]["name"]
            try:
                client.delete("v1", "Pod", pod_name, name, grace=0)
                client.patch("v1", "Pod", pod_name, {"metadata": {"finalizers": None}}, name)
            except ApiError as error:
                if error.status != 404:
                    raise
        return not client.list("v1", "Pod", name)

    wait(is_empty, what="no pods")
    client.delete("v1", "Node", NODE)


def in_group(queue: str, name: str, count: int) -> dict[str, Json]:
    return {
        "labels": {**in_queue(queue), "kueue.x-k8s.io/pod-group-name": name},
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": str(count)},
    }


def an_app(
    kind: str, name: str, where: str, *, labels: Json | None = None, of_pods: Json | None = None
) -> Json:
    """Return a StatefulSet or Deployment of three pods of one cpu."""
    template = pod_template(PodOptions(cpu="1"))
    metadata = template["metadata"]
    for key, values in (of_pods or {}).items():
        metadata.setdefault(key, {}).update(values)
    metadata.setdefault("labels", {})["app"] = name
    template["spec"].pop("restartPolicy", None)
    spec: Json = {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": template}
    if kind == "StatefulSet":
        spec |= {"podManagementPolicy": "Parallel", "serviceName": name}
    own = {"name": name, "namespace": where, "labels": labels or {}}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": own, "spec": spec}


def verdicts(client: Client, where: str) -> Verdicts:
    """Return the verdict of every gang of the namespace, by kind and name."""
    read = [model(POD, obj) for obj in client.list("v1", "Pod", where)]
    for resource in APPS:
        read += [model(resource, obj) for obj in client.list("apps/v1", resource.kind, where)]
    read += [model(WORKLOADS, obj) for obj in client.list(KUEUE, "Workload", where)]
    every = {obj.meta.ref.uid: obj for obj in read}
    graph = OwnershipGraph()
    for obj in read:
        graph.put(obj)
    queues = QueueTree(
        model(kind, obj)
        for kind in QUEUES
        for obj in client.list(KUEUE, kind.kind, where if kind.kind == "LocalQueue" else "")
    )
    result = {}
    for root in graph.roots():
        ref = every[root].meta.ref
        members = [every[uid] for uid in graph.members(root) if uid != root]
        result[ref.kind, ref.name] = assess(
            assemble(
                every[root],
                members,
                queues=queues,
                now=datetime.now(UTC),
                queue_visibility="served",
                queue_systems=(Kueue.label,),
            )
        )
    return result


def wait_told(
    client: Client, where: str, expected: Mapping[tuple[str, str], tuple[Any, ...]]
) -> Verdicts:
    """Return the verdicts once these are the gangs, with these codes, and pods desired and scheduled."""

    def short() -> dict[tuple[str, str], tuple[Any, ...]]:
        return {
            key: (item.finding.code, item.members.desired, item.members.scheduled)
            for key, item in verdicts(client, where).items()
        }

    wait(lambda: short() == expected, what=str(expected), seen=short, timeout=60)
    return verdicts(client, where)


def test_a_pod_group_with_one_bound_pod(plane: ControlPlane, where: str, queues: Queues) -> None:
    """Near miss beside it: a group whose pods all run, and a pod that is in the queue by itself."""
    client = plane.client
    queue = queues(plane, where, {"cpu": "64"})
    for group, selector in (("spark", {"disk": "fast"}), ("flink", {})):
        for number in range(3):
            options = PodOptions(cpu="1", node_selector=selector if number else {})
            created = pod(f"{group}-{number}", where, **options)
            for key, values in in_group(queue, group, 3).items():
                created["metadata"].setdefault(key, {}).update(values)
            client.create(created)
    lone = pod("lone", where, cpu="1")
    lone["metadata"].setdefault("labels", {}).update(in_queue(queue))
    client.create(lone)
    result = wait_told(
        client,
        where,
        {
            ("Workload", "spark"): ("partly-placed", 3, 1),
            ("Workload", "flink"): ("running", 3, 3),
            ("Pod", "lone"): ("running", 1, 1),
        },
    )
    assert "1 of 3" in result["Workload", "spark"].finding.message


def test_queued_owners_without_a_suspend_field(
    plane: ControlPlane, where: str, queues: Queues
) -> None:
    """Near misses: one with room in its queue, and a Deployment in no queue, which is no gang."""
    client = plane.client
    small = queues(plane, where, {"cpu": "4"}, name="small")
    tiny = queues(plane, where, {"cpu": "1"}, name="tiny")
    own = queues(plane, where, {"cpu": "1"}, name="own")
    large = queues(plane, where, {"cpu": "64"}, name="large")
    holder = pod("holder", where, cpu="3")
    holder["metadata"].setdefault("labels", {}).update(in_queue(small))
    client.create(holder)
    wait_told(client, where, {("Pod", "holder"): ("running", 1, 1)})
    client.create_all(
        [
            an_app("StatefulSet", "vllm", where, of_pods=in_group(small, "vllm", 3)),
            an_app("StatefulSet", "labelled", where, labels=in_queue(own)),
            an_app("StatefulSet", "roomy", where, labels=in_queue(large)),
            an_app("Deployment", "web", where, labels=in_queue(tiny)),
            an_app("Deployment", "plain", where),
        ]
    )
    result = wait_told(
        client,
        where,
        {
            ("Pod", "holder"): ("running", 1, 1),
            ("StatefulSet", "vllm"): ("waiting-for-quota", 3, 0),
            ("StatefulSet", "labelled"): ("exceeds-quota", 3, 0),
            ("StatefulSet", "roomy"): ("running", 3, 3),
            ("Deployment", "web"): ("waiting-for-quota", 3, 1),
        },
    )
    message = result["StatefulSet", "vllm"].finding.message
    assert message.startswith(f"Queue {small} has not admitted it yet: 2 more cpu")
    message = result["Deployment", "web"].finding.message
    assert message.startswith(f"Queue {tiny} has not admitted 2 more pods yet: 1 more cpu")
