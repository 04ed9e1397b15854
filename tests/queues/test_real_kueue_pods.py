"""Pods in queues of a real Kueue: groups of plain pods, StatefulSets and Deployments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
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
from tests.controlplane.conditions import is_true
from tests.controlplane.controllers import TAKES_PODS
from tests.controlplane.fixtures import Namespaces, Queues
from tests.controlplane.nodes import make_node
from tests.controlplane.objects import PodOptions, pod, pod_template
from tests.controlplane.queues import KUEUE, cluster_queue, in_queue, local_queue, resource_flavor
from tests.decode.reading import model
from tests.gangs import assemble
from tests.queues.places import QUEUES, WORKLOADS, now

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


def verdicts(client: Client, where: str, *, later: timedelta = timedelta()) -> Verdicts:
    """Return the verdict of every gang of the namespace, by kind and name, so much later than now."""
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
                now=datetime.now(UTC) + later,
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


STAYS_GATED = "test.gangboard.dev/stays-gated"
"""Label of pods from which no client may remove the last gate."""


@pytest.fixture
def dispatching(plane: ControlPlane, where: str) -> Iterator[str]:
    """Return a queue whose check this test plays as MultiKueue. The pods keep their gates.

    Kueue skips `startJob` for pods behind a check of MultiKueue (v0.19.2), which needs a second cluster. Here a policy
    refuses its removal of the gates, with the same result.
    """
    client, name = plane.client, f"{where}-dispatch"
    version = "admissionregistration.k8s.io/v1"
    check = {"apiVersion": KUEUE, "kind": "AdmissionCheck", "metadata": {"name": name}}
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["pods"],
    }
    spec = {
        "matchConstraints": {
            "resourceRules": [rule],
            "objectSelector": {"matchLabels": {STAYS_GATED: where}},
        },
        "validations": [
            {"expression": "has(object.spec.schedulingGates)", "message": "stays gated"}
        ],
    }
    bound = {"policyName": name, "validationActions": ["Deny"]}
    made: list[Json] = [
        check | {"spec": {"controllerName": "example.com/nobody"}},
        cluster_queue(
            name,
            {"cpu": "64"},
            spec={"admissionChecksStrategy": {"admissionChecks": [{"name": name}]}},
        ),
        {
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": spec,
        },
        {
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": bound,
        },
    ]
    client.create_all([resource_flavor(), *made])
    client.create(local_queue("far", where, cluster_queue=name))
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": now(),
    }
    client.patch_status(KUEUE, "AdmissionCheck", name, {"conditions": [active]})
    probe = pod("probe", where, cpu="1", spec={"schedulingGates": [{"name": "example.com/probe"}]})
    probe["metadata"].setdefault("labels", {})[STAYS_GATED] = where
    client.create(probe)

    def is_in_force() -> bool:
        try:
            patch = {"spec": {"schedulingGates": None}}
            client.patch("v1", "Pod", "probe", patch, where, dry_run=True)
        except ApiError as error:
            return "stays gated" in error.message
        return False

    wait(is_in_force, what="the policy to be in force", timeout=60)
    client.delete("v1", "Pod", "probe", where, grace=0)
    yield "far"
    for obj in made:
        client.delete(obj["apiVersion"], obj["kind"], obj["metadata"]["name"])


def entry_of(client: Client, where: str, name: str, condition: str) -> str:
    """Return the name of the Workload of a pod group or StatefulSet once it has a condition."""

    def matching() -> list[str]:
        return [
            entry["metadata"]["name"]
            for entry in client.list(KUEUE, "Workload", where)
            if name
            in (
                entry["metadata"]["name"],
                entry["metadata"].get("annotations", {}).get("kueue.x-k8s.io/job-owner-name"),
            )
            and is_true(entry, condition)
        ]

    wait(matching, what=f"{condition} of {name}", timeout=60)
    return matching()[0]


def let_in(client: Client, where: str, name: str, cluster: str = "") -> None:
    """Let the check pass, as MultiKueue does for a cluster."""
    entry = entry_of(client, where, name, "QuotaReserved")
    dispatched: Json = {}
    if cluster:
        client.patch_status(KUEUE, "Workload", entry, {"nominatedClusterNames": [cluster]}, where)
        dispatched = {"nominatedClusterNames": None, "clusterName": cluster}
    check = {
        "name": f"{where}-dispatch",
        "state": "Ready",
        "message": "",
        "lastTransitionTime": now(),
    }
    client.patch_status(KUEUE, "Workload", entry, {"admissionChecks": [check], **dispatched}, where)
    entry_of(client, where, name, "Admitted")


def test_gangs_that_multikueue_runs_in_another_cluster(
    plane: ControlPlane, where: str, dispatching: str
) -> None:
    """Near misses beside it: the same, admitted here, whose gates Kueue fails to remove."""
    client = plane.client
    gated = {STAYS_GATED: where}
    for app in ("served", "stuck"):
        created = an_app(
            "StatefulSet", app, where, labels=in_queue(dispatching), of_pods={"labels": gated}
        )
        client.create(created)
    for group in ("crew", "halted"):
        for number in range(2):
            member = pod(f"{group}-{number}", where, cpu="1")
            for key, values in in_group(dispatching, group, 2).items():
                member["metadata"].setdefault(key, {}).update(values)
            member["metadata"]["labels"].update(gated)
            client.create(member)
    for name in ("served", "crew"):
        let_in(client, where, name, "worker1")
    for name in ("stuck", "halted"):
        let_in(client, where, name)

    def told(name: str) -> tuple[str, str]:
        seen = verdicts(client, where, later=timedelta(minutes=5))
        (finding,) = [item.finding for (_, gang), item in seen.items() if gang == name]
        is_here = finding.code == "scheduling-gated"
        return finding.code, finding.health.value if is_here else finding.message

    mirror, stuck = ("not-observed", "Runs in cluster worker1."), ("scheduling-gated", "blocked")
    expected = {"served": mirror, "crew": mirror, "stuck": stuck, "halted": stuck}

    def all_told() -> dict[str, tuple[str, str]]:
        return {name: told(name) for name in expected}

    wait(lambda: all_told() == expected, what=str(expected), seen=all_told, timeout=60)
    # The pods own their Workload, so Kueue copies the whole status of the pods of worker1.
    for number, message in enumerate(("1 of 2 pods is ready", "2 of 2 pods are ready")):
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": now()}
            for kind in ("PodScheduled", "Ready")
        ]
        copied = {"phase": "Running", "hostIP": "192.0.2.1", "conditions": conditions}
        client.patch_status("v1", "Pod", f"crew-{number}", copied, where)
        code = "running" if number else "not-observed"
        assert told("crew") == (code, f"Runs in cluster worker1: {message}.")
