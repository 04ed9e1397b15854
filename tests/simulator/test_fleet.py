"""The fleets: every code, every health, and objects that hang together."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gangboard.domain.api_resource import Resource
from gangboard.plugins import registry
from simulator import EXPECTED, Fleet, Gang, NodePool, PodTemplate, Role, Simulator
from simulator.builder import FleetError
from simulator.fleets import EAST, WEST
from simulator.kinds import by_kind
from simulator.placement import FreeResources, requests_of
from simulator.pod_status import WORDS
from tests.controlplane.client import ApiError, Client, Json
from tests.simulator.conftest import Start, client_of

Demo = tuple[Simulator, Client]

CODES = """
suspended job-suspended queue-evaluating waiting-for-quota
pods-not-created pod-creation-refused group-creation-failed dependency-waiting quorum-deadlock
below-quorum quorum-lost podgroup-missing podgroup-terminating not-ganged termination-stuck
scheduling-gated not-attempted mixed-schedulers scheduler-error partly-placed unschedulable
insufficient-resources fragmented exceeds-capacity topology-does-not-fit nodes-unschedulable
untolerated-taint no-matching-node waiting-for-nodes
starting image-pull crash-loop init-failing container-config
running resizing below-size lost-members node-lost restarting failed succeeded
"""

FAMILY = {"TFJob", "XGBoostJob", "PaddleJob", "JAXJob"}
"""They have all in common with PyTorchJobs: one of each is enough."""


def test_the_demo_has_a_gang_for_every_code() -> None:
    assert set(CODES.split()) <= set(EXPECTED.values())
    assert len(EXPECTED) == len(EAST.gangs) + len(WEST.gangs)


def test_the_demo_has_each_kind_in_three_states() -> None:
    healths: dict[str, set[str]] = {}
    for gang in EAST.gangs:
        kind = gang.made_by["kind"] if gang.made_by else gang.kind
        healths.setdefault(kind, set()).add(gang.code)
    created = {kind: codes for kind, codes in healths.items() if kind != "Pod"}
    own = {kind for kind, _ in by_kind()}
    assert set(created) >= {*own, "CronJob", "Job", "JobSet", "PodGroup"}
    assert all(len(codes) >= 3 for kind, codes in created.items() if kind not in FAMILY), created


def test_the_demo_has_each_kind_of_the_table(demo: Demo) -> None:
    """A gang for each line of docs/kinds.md, or pods that name a group for a grouping API without objects."""
    _, client = demo
    kinds = [kind for kind in registry.owner_kinds() if kind.stands_alone or kind.makes_gangs]
    missing = [kind.label for kind in kinds if not _is_served(client, kind.resource)]
    labels = {key for pod in client.list("v1", "Pod") for key in pod["metadata"].get("labels", {})}
    for api in registry.grouping_apis():
        by_label = not api.resources and labels & api.labels.keys()
        if not by_label and not any(_is_served(client, resource) for resource in api.resources):
            missing.append(api.label)
    assert missing == []


def _is_served(client: Client, resource: Resource) -> bool:
    """Whether there is one of a resource, in whatever version it is served."""
    for version in resource.versions:
        try:
            result = client.list(f"{resource.group}/{version}".lstrip("/"), resource.kind)
        except ApiError:
            continue
        if result:
            return True
    return False


def test_every_expected_gang_exists(start: Start) -> None:
    versions = {
        "Job": "batch/v1",
        "JobSet": "jobset.x-k8s.io/v1alpha2",
        "PodGroup": "scheduling.k8s.io/v1beta1",
        "Pod": "v1",
        "TrainJob": "trainer.kubeflow.org/v1alpha1",
        "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
        "DisaggregatedSet": "disaggregatedset.x-k8s.io/v1",
        "PodCliqueSet": "grove.io/v1alpha1",
        "PyTorchJob": "kubeflow.org/v1",
        **dict.fromkeys(FAMILY, "kubeflow.org/v1"),
        "MPIJob": "kubeflow.org/v2beta1",
        "RayCluster": "ray.io/v1",
        "RayJob": "ray.io/v1",
        "RayService": "ray.io/v1",
        "MiniCluster": "flux-framework.org/v1alpha2",
        "StatefulSet": "apps/v1",
        "Deployment": "apps/v1",
    }
    of_others = {
        "batch.volcano.sh": "batch.volcano.sh/v1alpha1",
        "scheduling.x-k8s.io": "scheduling.x-k8s.io/v1alpha1",
        "scheduling.run.ai": "scheduling.run.ai/v2alpha2",
    }
    for name in ("east", "west"):
        simulator = start(name)
        for gang in simulator.fleet.gangs_of(simulator.minor):
            version = of_others.get(gang.api) or versions[gang.kind]
            assert simulator.objects.get(version, gang.kind, gang.name, gang.namespace), gang.key


@pytest.mark.parametrize("minor", ["1.37", "1.36", "plain"])
@pytest.mark.parametrize("name", ["east", "west"])
def test_every_fleet_can_be_built_on_every_minor(name: str, minor: str) -> None:
    simulator = Simulator(name, minor=minor, hold=False, story=False)
    assert simulator.expected()
    simulator.stop()


def test_nodes_are_not_overcommitted(demo: Demo) -> None:
    _, client = demo
    room = FreeResources(client.list("v1", "Node"))
    for pod in client.list("v1", "Pod"):
        if pod["status"]["phase"] in ("Succeeded", "Failed"):
            continue
        if pod["spec"].get("nodeName"):
            room.take(pod["spec"]["nodeName"], requests_of(pod))
    for node in room.nodes.values():
        assert all(remaining >= 0 for remaining in node.free.values()), (node.name, node.free)


def test_every_reference_has_its_object(demo: Demo) -> None:
    _, client = demo
    kinds = (
        ("v1", "Pod"),
        ("batch/v1", "Job"),
        ("jobset.x-k8s.io/v1alpha2", "JobSet"),
        ("scheduling.k8s.io/v1beta1", "PodGroup"),
        ("scheduling.k8s.io/v1beta1", "Workload"),
        ("scheduling.k8s.io/v1alpha3", "CompositePodGroup"),
        ("batch/v1", "CronJob"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet"),
        ("kubeflow.org/v1", "PyTorchJob"),
        *(("kubeflow.org/v1", kind) for kind in sorted(FAMILY)),
        ("kubeflow.org/v2beta1", "MPIJob"),
        ("ray.io/v1", "RayCluster"),
        ("ray.io/v1", "RayJob"),
        ("ray.io/v1", "RayService"),
        ("flux-framework.org/v1alpha2", "MiniCluster"),
        ("grove.io/v1alpha1", "PodCliqueSet"),
        ("grove.io/v1alpha1", "PodClique"),
        ("scheduler.grove.io/v1alpha1", "PodGang"),
        ("batch.volcano.sh/v1alpha1", "Job"),
        ("scheduling.volcano.sh/v1beta1", "PodGroup"),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
        ("scheduling.run.ai/v2alpha2", "PodGroup"),
    )
    everything = [item for version, kind in kinds for item in client.list(version, kind)]
    by_uid = {item["metadata"]["uid"]: item for item in everything}
    assert len(by_uid) == len(everything)
    for item in everything:
        for reference in item["metadata"].get("ownerReferences", []):
            owner = by_uid[reference["uid"]]
            assert owner["metadata"]["name"] == reference["name"]
            assert owner["kind"] == reference["kind"]


def test_gangs_that_wait_only_for_capacity_are_not_frozen(start: Start, tmp_path: Path) -> None:
    simulator = start("east", speed=20)
    client = client_of(simulator, tmp_path)
    body = {"spec": {"suspend": True}}
    client.patch("jobset.x-k8s.io/v1alpha2", "JobSet", "llama-ft", body, "team-nlp")

    def placed(found: Json) -> bool:
        return bool(found["status"].get("ready") == 4)

    # The next gang in that pool was waiting for its four nodes.
    client.wait_for("batch/v1", "Job", "llama-70b-sft", "team-nlp", until=placed, timeout=60)


def test_an_impossible_script_is_refused() -> None:
    pools = (NodePool("n", 1, gpus=4),)
    template = PodTemplate(gpus=4, pool="n")

    def fleet(states: tuple[str, ...]) -> Fleet:
        gang = Gang("t", "Job", "x", "running", roles=(Role("", template, pods=2, states=states),))
        return Fleet("broken", pools, (gang,))

    with pytest.raises(FleetError, match="is said to have a node, but 0/1 nodes are available"):
        Simulator(fleet(("running",)), story=False)
    pools = (NodePool("n", 4, gpus=4),)
    with pytest.raises(FleetError, match="there is room"):
        Simulator(fleet(("unschedulable",)), story=False)


def test_scripts_use_known_codes() -> None:
    states = Counter(
        state for gang in (*EAST.gangs, *WEST.gangs) for role in gang.roles for state in role.states
    )
    assert states.keys() <= WORDS | {"absent", "error"}


def test_requests_are_added_up() -> None:
    pod = {
        "spec": {
            "containers": [
                {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
                {"resources": {"requests": {"cpu": "2", "nvidia.com/gpu": "4"}}},
                {},
            ]
        }
    }
    assert requests_of(pod) == {
        "pods": 1000,
        "cpu": 2500,
        "memory": 2**30 * 1000,
        "nvidia.com/gpu": 4000,
    }
