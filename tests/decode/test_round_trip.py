"""Nodes and pods are the same after they were stored and read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.store.objects import pack, unpack
from tests.decode.reading import Json, captured, captures, model, with_identity

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
FULL: Json = {
    "metadata": {"labels": {"app": "train"}, "namespace": "team-a"},
    "spec": {
        "nodeName": "n1",
        "containers": [
            {
                "name": "c",
                "ports": [{"hostPort": 80, "containerPort": 80, "hostIP": "10.0.0.1"}],
                "resources": {"requests": {"cpu": "1500m", "memory": "1.5Gi"}},
            }
        ],
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": {
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}
                    ]
                }
            },
            "podAntiAffinity": {
                REQUIRED: [
                    {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "train"}}}
                ]
            },
        },
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}],
        "preemptionPolicy": "Never",
        "activeDeadlineSeconds": 60,
    },
}


def test_pod_with_all_constraints() -> None:
    pod: Pod = model(POD, with_identity(FULL))
    assert pod.needs.anti_affinity
    assert pod.labels == {"app": "train"}
    assert pod.needs.affinity
    assert unpack(pack(pod), Pod) == pod


def test_pod_of_an_older_release_is_decoded_with_defaults() -> None:
    """Its terms had another name and form; it counts as not read yet (`decoder_version`)."""
    pod: Pod = model(POD, with_identity(FULL))
    old: Json = msgspec.msgpack.decode(pack(pod))
    del old["needs"]["anti_affinity"]
    old["needs"]["apart"] = ["team-a/app=train"]
    old["labels"] = {}
    result = unpack(msgspec.msgpack.encode(old), Pod)
    assert result == replace(pod, labels={}, needs=replace(pod.needs, anti_affinity=()))


def test_a_node_with_the_largest_amounts() -> None:
    obj = {
        "metadata": {"labels": {HOST: "n1"}},
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"memory": str(2**63 - 1), "cpu": "-1", "pods": "110"}},
    }
    node: Node = model(NODE, with_identity(obj, "n1", ""))
    assert unpack(pack(node), Node) == node


@pytest.mark.parametrize("file", captures(), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_objects_of_real_control_planes(file: Path) -> None:
    for resource in (POD, NODE):
        for result in captured(file, resource):
            assert unpack(pack(result), resource.model) == result
