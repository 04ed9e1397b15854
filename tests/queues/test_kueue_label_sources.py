"""Who adds node labels to the pods of a Workload of Kueue."""

from __future__ import annotations

from typing import Any

from gangboard.domain.queue import LabelSources, QueueEntry
from gangboard.queues.kueue import Kueue
from tests.decode.reading import model, with_identity

WORKLOADS, *_ = Kueue.resources
PODS = {"name": "main", "count": 2, "template": {"spec": {"nodeSelector": {"tier2": "spot"}}}}
ASSIGNED = {"name": "main", "count": 2, "flavors": {"cpu": "any", "nvidia.com/gpu": "owned2"}}


def sources(status: dict[str, Any]) -> tuple[LabelSources, ...]:
    obj = {"spec": {"podSets": [PODS]}, "status": status}
    entry: QueueEntry = model(WORKLOADS, with_identity(obj, "job-run-1a2b3"), "v1beta2")
    return entry.label_sources


def test_flavors_and_checks_of_each_pod_set() -> None:
    updates = [{"name": "main", "nodeSelector": {"burst": "yes"}}, {"name": "other"}]
    checks = [{"name": "autoscaler", "state": "Ready", "podSetUpdates": updates}, {"name": "x"}]
    admission = {"clusterQueue": "q", "podSetAssignments": [ASSIGNED]}
    assert sources({"admission": admission, "admissionChecks": checks}) == (
        LabelSources(
            "kueue.x-k8s.io/podset",
            "main",
            frozenset({"tier2"}),
            ("any", "owned2"),
            {"burst": "autoscaler"},
        ),
    )


def test_what_has_no_quota_has_none() -> None:
    assert sources({}) == ()
