"""Scenarios of 1.37 alone: all members in one rack, spread over zones, volumes and claims."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.scenarios.making import Objects, all_of, gang, holders, resource_claim, spread, volume
from tests.scenarios.scenario import Room, Scenario

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
        says=("4",), members={"scheduled": 0}, rooms=(_zone("a"), _zone("b")), twin="no-zones",
    ),
    # Nodes without the label are no place for such pods at all.
    Scenario(
        "no-zones", "Job", "run", "spread-constraints", "blocked",
        gang(4, **spread(ZONE)),
        says=("4",), members={"scheduled": 0}, nodes=2, twin="zone-full",
    ),
)  # fmt: skip


def _storage(name: str, storage_class: str) -> Objects:
    """Return a claim of a class whose volumes somebody outside has to make, and nobody does."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        spec = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": f"{ns}-{storage_class}",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        return [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": f"{ns}-{storage_class}"},
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


def _devices(name: str) -> Objects:
    """Return a ResourceClaim for a device that no driver offers."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        version = "resource.k8s.io/v1"
        exactly = {"deviceClassName": f"{ns}-class"}
        spec = {"devices": {"requests": [{"name": "accelerator", "exactly": exactly}]}}
        return [
            {
                "apiVersion": version,
                "kind": "DeviceClass",
                "metadata": {"name": f"{ns}-class"},
                "spec": {"selectors": [{"cel": {"expression": "true"}}]},
            },
            {
                "apiVersion": version,
                "kind": "ResourceClaim",
                "metadata": {"name": name, "namespace": ns},
                "spec": spec,
            },
        ]

    return make


CLAIMS = (
    Scenario(
        "volume-missing", "Job", "run", "volume-unavailable", "blocked",
        gang(2, spec=volume("data-of-nobody")),
        says=("data-of-nobody",), members={"scheduled": 0}, nodes=2, twin="claim-unserved",
    ),
    Scenario(
        "volume-unbound", "Job", "run", "volume-unavailable", "waiting",
        all_of(_storage("data", "slow"), gang(2, spec=volume("data"))),
        says=("2",), members={"scheduled": 0}, nodes=2, twin="claim-unserved",
    ),
    Scenario(
        "claim-unserved", "Job", "run", "claim-unavailable", "waiting",
        all_of(_devices("two-links"), gang(2, spec=resource_claim("two-links"))),
        says=("2",), members={"scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
)  # fmt: skip

TOPOLOGY_AND_MORE = (*TOPOLOGY, *SPREAD, *CLAIMS)
