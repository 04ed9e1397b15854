"""Stored shapes of pods, with numbers that are marked if they are upper bounds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from gangboard.polling import capacity
from gangboard.store.capacity import ShapeCapacity, read_stored_nodes
from gangboard.store.models import ClusterCapacity
from simulator import Simulator
from tests.polling.conftest import Watching
from tests.polling.test_pending_gangs import (
    DEVICE,
    give_devices,
    node_names,
    put_waiting_job,
    window_until,
)

Watch = Callable[..., Watching]
VOLUMES = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "a"}},
        }
    ]
}
GREATER = {"tolerations": [{"key": "speed", "operator": "Gt", "value": "5"}]}


def change_pod(simulator: Simulator, spec: dict[str, Any]) -> None:
    simulator.objects.update(
        "v1", "Pod", "waits-0", lambda pod: pod["spec"].update(spec), namespace="default"
    )


def shape_of_waiting(watching: Watching) -> dict[str, Any]:
    watching.once()
    shapes = ClusterCapacity.objects.get().shapes
    (shape,) = [shape_row for shape_row in shapes if DEVICE in shape_row["requests"]]
    return dict(shape)


@pytest.mark.parametrize(
    ("spec", "unsupported"), [(VOLUMES, "volume"), (SPREAD, "spread constraints")]
)
def test_a_constraint_that_excludes_nodes_leaves_an_upper_bound(
    watch: Watch, spec: dict[str, Any], unsupported: str
) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    give_devices(watching.simulator, node_names(watching.simulator)[0])
    change_pod(watching.simulator, spec)
    shape = shape_of_waiting(watching)
    assert (shape["waiting"], shape["fits_now"], shape["fits_empty"]) == (1, 1, 1)
    (constraint,) = shape["unsupported"]
    assert unsupported in constraint
    assert shape["why"] == ""


def test_a_request_that_cannot_be_read_leaves_an_upper_bound(watch: Watch) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    give_devices(watching.simulator, node_names(watching.simulator)[0])
    group = {"requests": {DEVICE: "16", "memory": "much"}}
    change_pod(watching.simulator, {"containers": [{"name": "main", "resources": group}]})
    shape = shape_of_waiting(watching)
    assert (shape["fits_now"], shape["why"]) == (1, "")
    assert shape["unsupported"] == ["a request of memory that could not be read"]


def test_an_undecidable_constraint_has_no_numbers(watch: Watch) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    change_pod(watching.simulator, GREATER)
    shape = shape_of_waiting(watching)
    assert shape["why"] == "not understood: the toleration operator Gt"


def test_a_stored_shape_is_read_unchanged() -> None:
    shape = asdict(ShapeCapacity({"cpu": "1"}, 1, 2, 3, unsupported=["volume claims"]))
    assert json.loads(json.dumps(shape)) == shape
    plain = asdict(ShapeCapacity({"cpu": "1"}, 1, 2, 3))
    assert json.loads(json.dumps(plain)) == plain


def test_a_node_names_the_owner_that_was_seen_after_its_pods(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watches answer in any order, so the JobSet of a running Job can come last."""
    monkeypatch.setattr(capacity, "WRITE_INTERVAL", 0.1)
    watching = watch()
    objects = watching.simulator.objects
    name = node_names(watching.simulator)[0]
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "late", "namespace": "default", "uid": "uid-late"},
        "spec": {"replicatedJobs": []},
    }
    owner = {key: jobset[key] for key in ("apiVersion", "kind")}
    put_waiting_job(watching.simulator)
    objects.update(
        "batch/v1",
        "Job",
        "waits",
        lambda job: job["metadata"].update(
            ownerReferences=[{**owner, "name": "late", "uid": "uid-late", "controller": True}]
        ),
        namespace="default",
    )
    change_pod(watching.simulator, {"nodeName": name})

    def named_owners() -> dict[str, str]:
        watching.settle()
        (row,) = [row for row in read_stored_nodes(watching.cluster.pk) if row.name == name]
        return {uid: owner for uid, owner in row.pods.items() if uid == "uid-waits-0"}

    window_until(watching, lambda: named_owners() == {"uid-waits-0": "uid-waits"})
    objects.put(jobset)
    window_until(watching, lambda: named_owners() == {"uid-waits-0": "uid-late"})
