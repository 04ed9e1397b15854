"""Runtimes in the verdicts of the TrainJobs that name them, and events that only a kind knows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Gang
from simulator import Simulator
from simulator.resources import Resource
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
Json = dict[str, Any]

GROUP = "trainer.kubeflow.org"
API = f"{GROUP}/v1alpha1"
TRAINJOBS = Resource(GROUP, ("v1alpha1",), "trainjobs", "TrainJob", custom=True)
RUNTIMES = Resource(
    GROUP, ("v1alpha1",), "clustertrainingruntimes", "ClusterTrainingRuntime",
    namespaced=False, custom=True,
)  # fmt: skip
MARK = "scheduling.x-k8s.io/pod-group"
ONE_BY_ONE = (
    "not-ganged",
    "ClusterTrainingRuntime gang requests a gang (coscheduling), but default-scheduler places its pods "
    "one by one: 1 of 2.",
)


def meta(name: str, of: Json | None = None, **fields: Any) -> Json:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", **fields}
    if of is not None:
        owner = {"apiVersion": of["apiVersion"], "kind": of["kind"], "controller": True}
        owner |= {key: of["metadata"][key] for key in ("name", "uid")}
        metadata["ownerReferences"] = [owner]
    return metadata


def put_trainjob(simulator: Simulator, *, made: bool = True) -> None:
    """Put a TrainJob of two nodes, one placed and one refused. Without `made` it has no objects."""
    root = {"apiVersion": API, "kind": "TrainJob", "metadata": meta("run")}
    root["spec"] = {"runtimeRef": {"name": "gang"}, "trainer": {"numNodes": 2}}
    simulator.objects.put(root)
    if not made:
        return
    template = {"spec": {"containers": [{"name": "node"}]}}
    job_spec = {
        "parallelism": 2,
        "completions": 2,
        "completionMode": "Indexed",
        "template": template,
    }
    jobs = [{"name": "node", "replicas": 1, "template": {"spec": job_spec}}]
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": meta("run", root, uid="uid-jobset"),
        "spec": {"replicatedJobs": jobs},
    }
    labels = {"jobset.sigs.k8s.io/replicatedjob-name": "node"}
    job: Json = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta("run-node-0", jobset)}
    job["metadata"]["labels"] = labels
    job["spec"] = job_spec
    simulator.objects.put(jobset)
    simulator.objects.put(job)
    refused = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no",
    }
    for name, fields, status in (
        ("run-node-0-0", {"nodeName": "n1"}, {"phase": "Pending"}),
        ("run-node-0-1", {}, {"phase": "Pending", "conditions": [refused]}),
    ):
        spec = {"schedulerName": "default-scheduler", "containers": [{"name": "node"}], **fields}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta(name, job, labels={MARK: "run"})}
        simulator.objects.put({**pod, "spec": spec, "status": status})


def put_runtime(simulator: Simulator, **spec: Any) -> None:
    replicated_job = {"name": "node", "template": {"metadata": {"labels": {}}}}
    simulator.objects.put(
        {
            "apiVersion": API,
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": "gang"},
            "spec": {"template": {"spec": {"replicatedJobs": [replicated_job]}}, **spec},
        }
    )


def verdict_of(watching: Watching) -> tuple[str, str]:
    gang = watching.gang("run")
    return gang.code, gang.message


def test_a_created_changed_or_deleted_runtime_updates_the_gangs_that_name_it(watch: Watch) -> None:
    watching = watch(extra=(TRAINJOBS, RUNTIMES))
    simulator = watching.simulator
    put_trainjob(simulator)
    watching.settle()
    assert verdict_of(watching)[0] != "not-ganged"
    detail = unpack_detail(bytes(watching.gang("run").detail))
    assert detail.facts == {"Runtime": "ClusterTrainingRuntime gang"}

    put_runtime(simulator, podGroupPolicy={"coscheduling": {}})
    watching.settle()
    assert verdict_of(watching) == ONE_BY_ONE

    watching.forget()
    window = watching.settle()
    assert verdict_of(watching) == ONE_BY_ONE
    assert window.writer.written == 0

    put_runtime(simulator)
    watching.settle()
    assert verdict_of(watching)[0] != "not-ganged"

    put_runtime(simulator, podGroupPolicy={"coscheduling": {}})
    watching.settle()
    simulator.objects.delete(API, "ClusterTrainingRuntime", "gang")
    watching.settle()
    assert verdict_of(watching)[0] != "not-ganged"


@pytest.mark.parametrize("extra", [(TRAINJOBS,), (TRAINJOBS, RUNTIMES)])
def test_a_trainjob_without_runtime_is_assessed(watch: Watch, extra: tuple[Any, ...]) -> None:
    watching = watch(extra=extra)
    put_trainjob(watching.simulator)
    watching.settle()
    assert verdict_of(watching)[0] in ("partly-placed", "unschedulable")


def test_an_event_known_only_to_its_kind_is_stored_and_shown(watch: Watch) -> None:
    watching = watch(extra=(TRAINJOBS, RUNTIMES))
    put_trainjob(watching.simulator, made=False)
    cause = 'no matches for kind "PodGroup" in version "scheduling.volcano.sh/v1beta1"'
    watching.simulator.objects.put(
        {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "run.1", "namespace": "default"},
            "type": "Warning",
            "reason": "TrainJobResourcesCreationFailed",
            "action": "Reconciling",
            "reportingController": "trainer-trainjob-controller",
            "note": f"TrainJob resources reconciliation failed: {cause}",
            "regarding": {"apiVersion": API, "kind": "TrainJob", "namespace": "default",
                          "name": "run", "uid": "uid-run"},
            "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
    )  # fmt: skip
    watching.settle()
    assert verdict_of(watching) == (
        "objects-not-made",
        f"An object of TrainJob run cannot be created: {cause}.",
    )


def test_a_kind_that_is_served_in_two_versions_is_read_once(watch: Watch) -> None:
    """In the one that can be read, whichever the server likes best; each object is one gang."""
    both = Resource(GROUP, ("v2", "v1alpha1"), "trainjobs", "TrainJob", custom=True)
    watching = watch(extra=(both, RUNTIMES))
    put_trainjob(watching.simulator)
    watching.settle()
    assert watching.state("trainjobs.trainer.kubeflow.org").version == "v1alpha1"
    assert watching.objects("trainjobs.trainer.kubeflow.org") == 1
    versions = Gang.objects.filter(
        cluster=watching.cluster, namespace="default", name__startswith="run"
    )
    assert [(gang.kind, gang.name) for gang in versions] == [("TrainJob", "run")]
