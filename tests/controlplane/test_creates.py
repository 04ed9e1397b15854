"""Real controllers create the pods that `creates` foresees, for every kind whose controller runs here."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from gangboard.owners.trainjob.runtime import RUNTIMES
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Fleets, Namespaces
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.trainjobs import create_when_taken
from tests.decode.reading import model
from tests.owners.created_manifests import CREATED, Created
from tests.owners.expansion import context, expand, owner_traits, read_pod

pytestmark = pytest.mark.controlplane

PODGROUPS = "podgroups.scheduling.k8s.io/v1beta1"
NOT_NOW = ("CronJob",)
"""Kinds whose pods come at a time of day."""
RANDOM = re.compile(
    r"(?<=run-)(?:[a-z0-9]{5}(?=-head|-worker|\")|check|[0-9a-f]{8}(?=-(?:prefill|decode)))"
)
"""Part of a name that a controller chooses at random, or by a hash of its own encoding."""
HASHED = ("hash", "group-key", "/revision", "ray.io/serve")
"""Ends of labels whose value depends on a uid or on a controller's own encoding, or that a controller adds later."""


def traits(objects: list[Json]) -> Counter[str]:
    """Return what the placement of pods depends on, without random parts and without the controller.

    The controller of some pods is an object that gangboard does not read.
    """
    result: Counter[str] = Counter()
    for text, number in owner_traits(map(read_pod, objects)).items():
        entry = json.loads(RANDOM.sub("*", text))
        del entry["controller"]
        entry["labels"] = {
            key: value for key, value in entry["labels"].items() if not key.endswith(HASHED)
        }
        result[json.dumps(entry)] += number
    return result


def _create(client: Client, case: Created, namespace: str) -> list[Json]:
    """Create the objects of a case, and return its pods once all exist."""
    for obj in case.before:
        client.create(obj)
    metadata = {**case.manifest["metadata"], "namespace": namespace}
    create_when_taken(client, {**case.manifest, "metadata": metadata})
    number = sum(case.pods.values())
    wait(
        lambda: len(client.list("v1", "Pod", namespace)) >= number,
        what=f"{number} pods of a {case.manifest['kind']}",
        timeout=60,
    )
    return client.list("v1", "Pod", namespace)


@pytest.mark.parametrize("name", [name for name in CREATED if name not in NOT_NOW])
def test_real_pods_are_the_foreseen_ones(
    controlplane_kueue: ControlPlane, namespace: Namespaces, no_nodes: Fleets, name: str
) -> None:
    client, where = no_nodes(controlplane_kueue), namespace(controlplane_kueue)
    make_nodes(client, [node(f"n{index}", cpu="64", labels={"pool": "a"}) for index in range(3)])
    case = CREATED[name]
    pods = _create(client, case, where)
    if name == "RayJob":
        # The Job that submits the work comes once the RayCluster is ready.
        pods = [pod for pod in pods if "ray.io/cluster" in pod["metadata"]["labels"]]
    blueprints = [
        model(RUNTIMES[0], client.get(obj["apiVersion"], obj["kind"], obj["metadata"]["name"]))
        for obj in case.before
    ]
    metadata = {**case.manifest["metadata"], "namespace": where}
    made = expand(
        {**case.manifest, "metadata": metadata}, context(PODGROUPS, blueprints=blueprints)
    )
    foreseen, real = traits(made.of("Pod")), traits(pods)
    assert [*(foreseen - real)] == []
    assert [*(real - foreseen)] == []
