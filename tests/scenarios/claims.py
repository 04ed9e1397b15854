"""Scenarios of volumes and devices that pods claim: missing, unbound, taken, or on another node."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import pod
from tests.scenarios.making import (
    HOST,
    Objects,
    all_of,
    bare,
    gang,
    holders,
    loose,
    once_running,
    resource_claim,
    volume,
)
from tests.scenarios.scenario import Played, Scenario, Stage, Step

_SIZE = {"storage": "1Gi"}


def _stored(kind: str, metadata: Json, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


def _claim(ns: str, name: str, mode: str, **spec: str) -> Json:
    """Return a PersistentVolumeClaim."""
    metadata = {"name": name, "namespace": ns}
    expected = {"accessModes": [mode], "resources": {"requests": _SIZE}, **spec}
    return _stored("PersistentVolumeClaim", metadata, expected)


def _volume(name: str, mode: str, **spec: object) -> Json:
    """Return a PersistentVolume."""
    alike = {"accessModes": [mode], "capacity": _SIZE, "storageClassName": ""}
    return _stored("PersistentVolume", {"name": name}, {**alike, **spec})


def _unbound(name: str) -> Objects:
    """Return a claim of a class with manual volumes. The volume never appears."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        storage_class = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": f"{ns}-slow"},
            "provisioner": "example.com/slow",
            "volumeBindingMode": "Immediate",
        }
        return [storage_class, _claim(ns, name, "ReadWriteMany", storageClassName=f"{ns}-slow")]

    return make


def _bound(name: str) -> Objects:
    """Return a claim and the volume, anywhere in the cluster, that it is bound to."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        disc, mode = f"{ns}-{name}", "ReadWriteMany"
        bound = {"namespace": ns, "name": name}
        return [
            _volume(disc, mode, claimRef=bound, hostPath={"path": "/data"}),
            _claim(ns, name, mode, storageClassName="", volumeName=disc),
        ]

    return make


def _corpus(mode: str, *, disc: bool) -> Objects:
    """Return a claim `corpus` of one named disc, and that disc if it exists."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        name = f"{ns}-disc"
        claim = _claim(ns, "corpus", mode, storageClassName="", volumeName=name)
        return [_volume(name, mode, hostPath={"path": "/corpus"}), claim] if disc else [claim]

    return make


def _disk_on(suffix: str) -> Objects:
    """Return a claim `corpus` and the local disk of a node that it is bound to."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        name, mode = f"{ns}-disk", "ReadWriteOnce"
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [f"{ns}-{suffix}"]}]}
        claim = {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": ns, "name": "corpus",
        }  # fmt: skip
        disk = _volume(
            name,
            mode,
            persistentVolumeReclaimPolicy="Retain",
            local={"path": "/disk"},
            nodeAffinity={"required": {"nodeSelectorTerms": [term]}},
            claimRef=claim,
        )
        return [disk, _claim(ns, "corpus", mode, storageClassName="", volumeName=name)]

    return make


def _make_claim(stage: Stage) -> None:
    """Create the missing claim, with a volume."""
    stage.make(_bound("data-of-nobody")(stage.namespace, {}))


def _devices(name: str) -> Objects:
    """Return a ResourceClaim for a device of which there is one, on the first node, and who has it."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        selector = {"cel": {"expression": f'device.driver == "{ns}.example.com"'}}
        class_ = _resource("DeviceClass", {"name": f"{ns}-class"}, {"selectors": [selector]})
        slice_spec = {
            "driver": f"{ns}.example.com",
            "nodeName": f"{ns}-0",
            "pool": {"name": f"{ns}-0", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "link-0"}],
        }
        exactly = {"deviceClassName": f"{ns}-class"}
        desire = {"devices": {"requests": [{"name": "accelerator", "exactly": exactly}]}}
        return [
            class_,
            _resource("ResourceSlice", {"name": f"{ns}-0"}, slice_spec),
            _resource("ResourceClaim", {"name": "taken", "namespace": ns}, desire),
            pod("first", ns, node_selector=nodes, spec=resource_claim("taken")),
            _resource("ResourceClaim", {"name": name, "namespace": ns}, desire),
        ]

    return make


def _resource(kind: str, metadata: Json, spec: Json) -> Json:
    version = "resource.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _taken(form: Objects, twin: str) -> Scenario:
    """Return the scenario of a Job `run` whose claim `links` waits for a device that another pod has."""
    return Scenario(
        "device-taken", "Job", "run", "claim-unavailable", "waiting", _devices("links"),
        says=("2",), members={"scheduled": 0}, nodes=2, act=once_running(1, form), twin=twin,
    )  # fmt: skip


_CORPUS = gang(2, spec=volume("corpus"))
_LINKS = gang(2, spec=resource_claim("links"))

GANGS = (
    # An unusable claim ends a gang's attempt in an error that does not name it (1.37.0). A lookup
    # shows that the claim does not exist.
    Scenario(
        "volume-hidden", "Job", "run", "volume-unavailable", "blocked",
        gang(2, spec=volume("data-of-nobody")),
        says=("2 pods", "data-of-nobody", "does not exist"), members={"scheduled": 0}, nodes=2,
        twin="volume-there", steps=(Step(_make_claim, "running", "running", (), {"ready": 2}),),
    ),
    Scenario(
        "volume-there", "Job", "run", "running", "running",
        all_of(_bound("data"), gang(2, spec=volume("data"))), members={"ready": 2}, nodes=2,
        twin="volume-hidden",
    ),
    # The claim exists without a volume.
    Scenario(
        "volume-unbound-gang", "Job", "run", "volume-unavailable", "waiting",
        all_of(_unbound("data"), gang(2, spec=volume("data"))),
        says=("2 pods", "data"), members={"scheduled": 0}, nodes=2, twin="volume-hidden",
    ),
    # For a single pod, the scheduler reports it.
    Scenario(
        "volume-missing", "Pod", "reader", "volume-unavailable", "blocked",
        lambda ns, where: [pod("reader", ns, node_selector=where, spec=volume("data-of-nobody"))],
        says=("data-of-nobody",), members={"scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
    Scenario(
        "volume-unbound", "Pod", "reader", "volume-unavailable", "waiting",
        lambda ns, where: [
            *_unbound("data")(ns, where),
            pod("reader", ns, node_selector=where, spec=volume("data")),
        ],
        members={"scheduled": 0}, nodes=2, twin="volume-hidden",
    ),
    _taken(_LINKS, "volume-hidden"),
    Scenario(
        "claim-missing", "Pod", "reader", "claim-unavailable", "blocked",
        lambda ns, where: [pod("reader", ns, node_selector=where, spec=resource_claim("links"))],
        says=("links", "does not exist"), members={"scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
    # The same of a gang.
    Scenario(
        "claim-missing-gang", "Job", "run", "claim-unavailable", "blocked",
        _LINKS,
        says=("2 pods", "links", "does not exist"), members={"quorum": 2, "scheduled": 0}, nodes=2,
        twin="device-taken",
    ),
    # One of three bare pods mounts a missing claim, so no pod is bound.
    Scenario(
        "one-claim-missing", "PodGroup", "run", "volume-unavailable", "blocked", bare(3, {}, {}, {"spec": volume("checkpoints")}),
        nodes=2, says=("checkpoints",), members={"desired": 3, "quorum": 3, "scheduled": 0},
        twin="disk-on-full-node",
    ),
    # The data is on a local disk of node 0, where a holder leaves 1 of 8 CPU for 2 x 1. Node 1 is empty.
    Scenario(
        "disk-on-full-node", "Job", "run", "volume-unavailable", "waiting",
        all_of(_disk_on("0"), holders((0,), cpu="7"), _CORPUS), nodes=2,
        says=("corpus",), members={"quorum": 2, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-0"), "running", "running"),),
        twin="disk-of-lost-node",
    ),
    # The same with the disk of a node that is not there any more.
    Scenario(
        "disk-of-lost-node", "Job", "run", "volume-unavailable", "blocked",
        all_of(_disk_on("retired"), _CORPUS), nodes=2, says=("corpus",),
        members={"quorum": 2, "scheduled": 0}, twin="disk-on-full-node",
    ),
)  # fmt: skip

LOOSE = (
    Scenario(
        "volume-missing", "Job", "run", "volume-unavailable", "blocked",
        loose(2, spec=volume("data-of-nobody")),
        says=("data-of-nobody",), members={"scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
    Scenario(
        "volume-unbound", "Job", "run", "volume-unavailable", "waiting",
        all_of(_unbound("data"), loose(2, spec=volume("data"))),
        says=("2",), members={"scheduled": 0}, nodes=2, twin="device-taken",
    ),
    _taken(loose(2, spec=resource_claim("links")), "volume-unbound"),
    # A claim that does not exist keeps a pod from being tried at all: no scheduler says a word.
    Scenario(
        "claim-missing", "Job", "run", "claim-unavailable", "blocked",
        loose(2, spec=resource_claim("links-of-nobody")),
        says=("2 pods", "links-of-nobody", "does not exist"), members={"desired": 2, "scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
    # The claim asks for one volume by name, and there is no volume of that name: it never binds.
    Scenario(
        "claim-typo", "Job", "run", "volume-unavailable", "blocked",
        all_of(_corpus("ReadWriteOnce", disc=False), loose(2, spec=volume("corpus"))), nodes=2,
        says=("corpus",), members={"desired": 2, "scheduled": 0}, twin="claim-alone",
    ),
    # The volume exists, but its claim is for a single pod of the cluster, and the Job has two.
    Scenario(
        "claim-alone", "Job", "run", "partly-placed", "degraded",
        all_of(_corpus("ReadWriteOncePod", disc=True), loose(2, spec=volume("corpus"))), nodes=2,
        says=("1 of 2", "corpus"), members={"desired": 2, "scheduled": 1, "ready": 1},
        twin="claim-typo",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": GANGS, "plain": LOOSE}
