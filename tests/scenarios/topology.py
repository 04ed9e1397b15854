"""Scenarios of 1.37 alone: all members in one rack, spread over zones, volumes and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import pod
from tests.scenarios.making import Objects, all_of, gang, holders, resource_claim, spread, volume
from tests.scenarios.scenario import POOL, Room, Scenario, Stage, Step

RACK = "example.com/rack"
ZONE = "example.com/zone"


def _rack(name: str, gpus: int) -> Room:
    return Room(gpus=gpus, labels={RACK: name})


def _zone(name: str) -> Room:
    return Room(labels={ZONE: name})


# 12 GPUs wanted in one rack.
TOPOLOGY = (
    # Two racks of two nodes with 4 each: 16 in all, 8 in a rack. Never.
    Scenario(
        "racks-too-small", "Job", "run", "topology-does-not-fit", "blocked",
        gang(3, gpu=4, topology=RACK),
        says=("3", RACK), members={"scheduled": 0},
        rooms=(_rack("a", 4), _rack("a", 4), _rack("b", 4), _rack("b", 4)), twin="racks-taken",
    ),
    # Two racks of two nodes with 8 each, half of each rack taken: 16 free, 8 in a rack.
    Scenario(
        "racks-taken", "Job", "run", "topology-does-not-fit", "waiting",
        all_of(holders([0, 2], gpu=8), gang(3, gpu=4, topology=RACK)),
        says=("3", RACK), members={"scheduled": 0},
        rooms=(_rack("a", 8), _rack("a", 8), _rack("b", 8), _rack("b", 8)),
        twin="racks-too-small",
    ),
    # Room for all of it, and no node has the label.
    Scenario(
        "no-racks", "Job", "run", "topology-does-not-fit", "blocked",
        gang(3, gpu=4, topology=RACK),
        says=("3", RACK), members={"scheduled": 0}, rooms=(Room(gpus=4),) * 3, twin="one-rack",
    ),
    # One rack is large enough.
    Scenario(
        "one-rack", "Job", "run", "running", "running",
        gang(3, gpu=4, topology=RACK),
        members={"desired": 3, "ready": 3},
        rooms=(_rack("a", 4), _rack("b", 8), _rack("b", 8)), twin="racks-too-small",
    ),
)  # fmt: skip

SPREAD = (
    # A pod more in zone a needs one in zone b first, and its only node is full.
    Scenario(
        "zone-full", "Job", "run", "spread-constraints", "waiting",
        all_of(holders([1], cpu="8"), gang(4, **spread(ZONE))),
        says=("4 pods", ZONE, "only 1 of 4 fits", "b has none", "maxSkew 1"),
        members={"scheduled": 0}, rooms=(_zone("a"), _zone("b")), twin="no-zones",
    ),
    # Nodes without the label are no place for such pods at all.
    Scenario(
        "no-zones", "Job", "run", "spread-constraints", "blocked",
        gang(4, **spread(ZONE)),
        says=("4 pods", ZONE, "none fits"), members={"scheduled": 0}, nodes=2, twin="zone-full",
    ),
    # Nobody can be in zone b, and it is counted all the same: a pod more in zone a is one too many.
    Scenario(
        "zone-cordoned", "Job", "run", "spread-constraints", "blocked",
        gang(4, **spread(ZONE)),
        says=("4 pods", ZONE, "only 1 of 4 fits", "b has none"), members={"scheduled": 0},
        rooms=(_zone("a"), Room(labels={ZONE: "b"}, unschedulable=True)), twin="zones-even",
    ),
    # Two in each zone.
    Scenario(
        "zones-even", "Job", "run", "running", "running",
        gang(4, **spread(ZONE)),
        members={"desired": 4, "ready": 4}, rooms=(_zone("a"), _zone("b")), twin="zone-full",
    ),
    # Both zones alike, each with one core free: no matter of spread.
    Scenario(
        "zones-short", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], cpu="7"), gang(4, **spread(ZONE))),
        says=("4", "2", "CPU"), members={"scheduled": 0}, rooms=(_zone("a"), _zone("b")),
        twin="zone-full",
    ),
)  # fmt: skip


def storage(name: str) -> Objects:
    """Return a claim of a class whose volumes somebody outside has to make, and nobody does."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        spec = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": f"{ns}-slow",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        return [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": f"{ns}-slow"},
                "provisioner": "example.com/slow",
                "volumeBindingMode": "Immediate",
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": ns},
                "spec": spec,
            },
        ]

    return make


def bound_storage(name: str) -> Objects:
    """Return a claim and the volume, anywhere in the cluster, that it is bound to."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        amount = {"storage": "1Gi"}
        modes = ["ReadWriteMany"]
        volume_spec = {
            "capacity": amount,
            "accessModes": modes,
            "storageClassName": "",
            "claimRef": {"namespace": ns, "name": name},
            "hostPath": {"path": "/data"},
        }
        claim_spec = {
            "accessModes": modes,
            "storageClassName": "",
            "volumeName": f"{ns}-{name}",
            "resources": {"requests": amount},
        }
        return [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"{ns}-{name}"},
                "spec": volume_spec,
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": ns},
                "spec": claim_spec,
            },
        ]

    return make


def _make_claim(stage: Stage) -> None:
    """Somebody makes the claim that was missing, with a volume."""
    stage.make(bound_storage("data-of-nobody")(stage.namespace, {}))


def devices(name: str) -> Objects:
    """Return a ResourceClaim for a device of which there is one, on the first node, and who has it."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        selector = {"cel": {"expression": f'device.driver == "{ns}.example.com"'}}
        class_ = _resource("DeviceClass", {"name": f"{ns}-class"}, {"selectors": [selector]})
        slice_spec = {
            "driver": f"{ns}.example.com",
            "nodeName": f"{ns}-0",
            "pool": {"name": f"{ns}-0", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "link-0"}],
        }
        exactly = {"deviceClassName": f"{ns}-class"}
        wish = {"devices": {"requests": [{"name": "accelerator", "exactly": exactly}]}}
        return [
            class_,
            _resource("ResourceSlice", {"name": f"{ns}-0"}, slice_spec),
            _resource("ResourceClaim", {"name": "taken", "namespace": ns}, wish),
            pod("first", ns, node_selector=where, spec=resource_claim("taken")),
            _resource("ResourceClaim", {"name": name, "namespace": ns}, wish),
        ]

    return make


def _resource(kind: str, metadata: Json, spec: Json) -> Json:
    version = "resource.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _run_when_taken(make: Objects) -> Callable[[Stage], None]:
    """Return an act that makes the gang when the only device is somebody else's."""

    def act(stage: Stage) -> None:
        stage.wait_running(1)
        stage.make(make(stage.namespace, {POOL: stage.pool}))

    return act


def claim_taken(make: Objects, twin: str) -> Scenario:
    """Return the scenario of a Job `run` whose claim `links` waits for a device."""
    return Scenario(
        "device-taken", "Job", "run", "claim-unavailable", "waiting", devices("links"),
        says=("2",), members={"scheduled": 0}, nodes=2, act=_run_when_taken(make), twin=twin,
    )  # fmt: skip


CLAIMS = (
    # A claim that cannot be used ends a gang's attempt in an error that does not name it (1.37.0);
    # whoever looks for the claim finds that there is none.
    Scenario(
        "volume-hidden", "Job", "run", "volume-unavailable", "blocked",
        gang(2, spec=volume("data-of-nobody")),
        says=("2 pods", "data-of-nobody", "does not exist"), members={"scheduled": 0}, nodes=2,
        twin="volume-there", steps=(Step(_make_claim, "running", "running", (), {"ready": 2}),),
    ),
    Scenario(
        "volume-there", "Job", "run", "running", "running",
        all_of(bound_storage("data"), gang(2, spec=volume("data"))), members={"ready": 2}, nodes=2,
        twin="volume-hidden",
    ),
    # It is there, and nobody makes a volume for it.
    Scenario(
        "volume-unbound-gang", "Job", "run", "volume-unavailable", "waiting",
        all_of(storage("data"), gang(2, spec=volume("data"))),
        says=("2 pods", "data"), members={"scheduled": 0}, nodes=2, twin="volume-hidden",
    ),
    # Of a pod alone the scheduler says it.
    Scenario(
        "volume-missing", "Pod", "reader", "volume-unavailable", "blocked",
        lambda ns, where: [pod("reader", ns, node_selector=where, spec=volume("data-of-nobody"))],
        says=("data-of-nobody",), members={"scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
    Scenario(
        "volume-unbound", "Pod", "reader", "volume-unavailable", "waiting",
        lambda ns, where: [
            *storage("data")(ns, where),
            pod("reader", ns, node_selector=where, spec=volume("data")),
        ],
        members={"scheduled": 0}, nodes=2, twin="volume-hidden",
    ),
    claim_taken(gang(2, spec=resource_claim("links")), "volume-hidden"),
    Scenario(
        "claim-missing", "Pod", "reader", "claim-unavailable", "blocked",
        lambda ns, where: [pod("reader", ns, node_selector=where, spec=resource_claim("links"))],
        says=("links", "does not exist"), members={"scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
    # The same of a gang.
    Scenario(
        "claim-missing-gang", "Job", "run", "claim-unavailable", "blocked",
        gang(2, spec=resource_claim("links")),
        says=("2 pods", "links", "does not exist"), members={"scheduled": 0}, nodes=2,
        twin="device-taken",
    ),
)  # fmt: skip

TOPOLOGY_AND_MORE = (*TOPOLOGY, *SPREAD, *CLAIMS)
