"""Manifests with one fault each, and near misses without one. A real API server decides which is which.

`tests/controlplane/test_manifest_faults.py` sends each as a dry run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.decode.reading import Json

JOBSET_API = "jobset.x-k8s.io/v1alpha2"


@dataclass(frozen=True)
class Case:
    """A manifest and the field with its fault."""

    name: str
    manifest: Json
    field: str = ""
    """Empty if the manifest has no fault."""
    by_controller: bool = False
    """The API server accepts it, and the controller refuses it.

    Or a webhook refuses it that the test control plane does not have, as that of the training operator
    (real-owners-2.md §2.1).
    """


def obj(api_version: str, kind: str, name: str, spec: Json, **metadata: Any) -> Json:
    """Return an object."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": spec,
    }


def template(policy: str = "Never", name: str = "main", **resources: Json) -> Json:
    """Return a pod template with one container. An empty restart policy is left out."""
    container = {"name": name, "image": "registry.example/train:1", "resources": resources}
    spec: Json = {"containers": [container]}
    return {"spec": {**spec, **({"restartPolicy": policy} if policy else {})}}


def job(name: str = "train", pod: Json | None = None, **spec: Any) -> Json:
    """Return a Job."""
    return obj("batch/v1", "Job", name, {"template": template() if pod is None else pod, **spec})


def indexed(name: str, size: int) -> Json:
    """Return an Indexed Job."""
    return job(name, parallelism=1, completions=size, completionMode="Indexed")


def gang(policy: Json, parallelism: int = 2) -> Json:
    """Return a Job with a scheduling policy."""
    return job(parallelism=parallelism, scheduling={"schedulingPolicy": policy})


def role(name: str, replicas: int = 1, pods: int = 1, **fields: Any) -> Json:
    """Return an entry of `spec.replicatedJobs`."""
    spec = {"parallelism": pods, "completions": pods, "template": template()}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **fields}


def jobset(*roles: Json, name: str = "run", **spec: Any) -> Json:
    """Return a JobSet."""
    return obj(JOBSET_API, "JobSet", name, {"replicatedJobs": list(roles), **spec})


def after(name: str) -> Json:
    """Return a dependency on a ReplicatedJob."""
    return {"dependsOn": [{"name": name, "status": "Ready"}]}


_TEMPLATE = "spec.template"
_RESOURCES = f"{_TEMPLATE}.spec.containers[0].resources"
_GANG = "spec.scheduling.schedulingPolicy"
_IN_ORDER = {"startupPolicyOrder": "InOrder"}

JOBS = (
    Case("plain", job()),
    Case("name of 63", job("a" * 63)),
    Case("name of 64", job("a" * 64), "metadata.name"),
    Case("name in capitals", job("Train"), "metadata.name"),
    Case("name with a dot", job("a.b")),
    Case("indexed name of 61 and one digit", indexed("a" * 61, 10)),
    Case("indexed name of 61 and two digits", indexed("a" * 61, 11), "metadata.name"),
    Case("indexed name with a dot", indexed("a.b", 2), "metadata.name"),
    Case("no restart policy", job(pod=template("")), f"{_TEMPLATE}.spec.restartPolicy"),
    Case("always restarts", job(pod=template("Always")), f"{_TEMPLATE}.spec.restartPolicy"),
    Case("restarts on failure", job(pod=template("OnFailure"))),
    Case("negative parallelism", job(parallelism=-1), "spec.parallelism"),
    Case("no pods", job(parallelism=0)),
    Case("negative completions", job(completions=-1), "spec.completions"),
    Case("negative backoff", job(backoffLimit=-1), "spec.backoffLimit"),
    Case("indexed with the default completions", job(completionMode="Indexed")),
    Case(
        "indexed without completions",
        job(completionMode="Indexed", parallelism=2),
        "spec.completions",
    ),
    Case(
        "indexed with too many pods",
        job(completionMode="Indexed", completions=100_001, parallelism=100_001),
        "spec.parallelism",
    ),
    Case("quorum of the size", gang({"gang": {"minCount": 2}})),
    Case("quorum above the size", gang({"gang": {"minCount": 3}}), f"{_GANG}.gang.minCount"),
    Case("quorum of nothing", gang({"gang": {"minCount": 0}}), f"{_GANG}.gang.minCount"),
    Case("two policies", gang({"gang": {"minCount": 2}, "basic": {}}), _GANG),
    Case(
        "no container",
        job(pod={"spec": {"restartPolicy": "Never", "containers": []}}),
        f"{_TEMPLATE}.spec.containers",
    ),
    Case(
        "container name in capitals",
        job(pod=template(name="Main")),
        f"{_TEMPLATE}.spec.containers[0].name",
    ),
    Case(
        "malformed amount",
        job(pod=template(requests={"cpu": "two"})),
        f"{_RESOURCES}.requests[cpu]",
    ),
    Case(
        "negative amount", job(pod=template(requests={"cpu": "-1"})), f"{_RESOURCES}.requests[cpu]"
    ),
    Case(
        "request above the limit",
        job(pod=template(requests={"cpu": "2"}, limits={"cpu": "1"})),
        f"{_RESOURCES}.requests[cpu]",
    ),
    Case(
        "accelerators without a limit",
        job(pod=template(requests={"nvidia.com/gpu": "1"})),
        f"{_RESOURCES}.requests[nvidia.com/gpu]",
    ),
    Case("accelerators by limit only", job(pod=template(limits={"nvidia.com/gpu": "1"}))),
    Case(
        "half an accelerator",
        job(pod=template(limits={"nvidia.com/gpu": "0.5"})),
        f"{_RESOURCES}.limits[nvidia.com/gpu]",
    ),
)

_WORKERS = "spec.replicatedJobs[0]"
_UNNUMBERED: Json = {
    "name": "w",
    "template": {"spec": {"completionMode": "NonIndexed", "template": template()}},
}
"""A ReplicatedJob whose pods have random names only."""

JOBSETS = (
    Case(
        "Jobs whose accelerators have no limit",
        jobset(
            {
                "name": "w",
                "template": {"spec": {"template": template(requests={"nvidia.com/gpu": "1"})}},
            }
        ),
        f"{_WORKERS}.template.spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]",
        by_controller=True,
    ),
    Case(
        "Jobs whose pods always restart",
        jobset({"name": "w", "template": {"spec": {"template": template("Always")}}}),
        f"{_WORKERS}.template.spec.template.spec.restartPolicy",
        by_controller=True,
    ),
    Case("jobset", jobset(role("driver"), role("workers", 2, 2))),
    Case("Job name of 63", jobset(_UNNUMBERED, name="a" * 59)),
    Case("Job name of 64", jobset(_UNNUMBERED, name="a" * 60), f"{_WORKERS}.name"),
    Case("pod name of 63", jobset(role("w"), name="a" * 51)),
    Case("pod name of 64", jobset(role("w"), name="a" * 52), f"{_WORKERS}.name"),
    Case("role in capitals", jobset(role("Workers")), f"{_WORKERS}.name"),
    Case("name begins with a digit", jobset(role("w"), name="1run"), f"{_WORKERS}.name"),
    Case("negative replicas", jobset(role("w", -1))),
    Case("no replicas", jobset(role("w", 0), role("v"))),
    Case("too many pods", jobset(role("w", 100_000, 100_000)), _WORKERS),
    Case("group in capitals", jobset(role("w", groupName="G")), f"{_WORKERS}.groupName"),
    Case("depends on an earlier one", jobset(role("driver"), role("w", **after("driver")))),
    Case(
        "depends on nothing known",
        jobset(role("driver"), role("w", **after("leader"))),
        "spec.replicatedJobs[1].dependsOn[0].name",
    ),
    Case(
        "depends on a later one",
        jobset(role("driver"), role("w", **after("x")), role("x")),
        "spec.replicatedJobs[1].dependsOn[0].name",
    ),
    Case(
        "the first depends",
        jobset(role("driver", **after("w")), role("w")),
        f"{_WORKERS}.dependsOn",
    ),
    Case(
        "two startup orders",
        jobset(role("driver"), role("w", **after("driver")), startupPolicy=_IN_ORDER),
        "spec.startupPolicy",
    ),
    Case(
        "success of nothing known",
        jobset(role("w"), successPolicy={"operator": "All", "targetReplicatedJobs": ["x"]}),
        "spec.successPolicy.targetReplicatedJobs",
    ),
    Case(
        "failure of nothing known",
        jobset(
            role("w"),
            failurePolicy={
                "rules": [{"name": "r", "action": "FailJobSet", "targetReplicatedJobs": ["x"]}]
            },
        ),
        "spec.failurePolicy.rules[0].targetReplicatedJobs",
    ),
    Case("negative restarts", jobset(role("w"), failurePolicy={"maxRestarts": -1})),
    Case("coordinator", jobset(role("w", 2, 2), coordinator={"replicatedJob": "w", "jobIndex": 1})),
    Case(
        "coordinator of nothing known",
        jobset(role("w"), coordinator={"replicatedJob": "x"}),
        "spec.coordinator.replicatedJob",
    ),
    Case(
        "coordinator in a Job too many",
        jobset(role("w", 2), coordinator={"replicatedJob": "w", "jobIndex": 2}),
        "spec.coordinator.jobIndex",
    ),
    Case(
        "coordinator in a pod too many",
        jobset(role("w", 2, 2), coordinator={"replicatedJob": "w", "podIndex": 2}),
        "spec.coordinator.podIndex",
    ),
    Case(
        "coordinator with a long address",
        jobset(role("w"), name="a" * 40, coordinator={"replicatedJob": "w"}),
        "spec.coordinator",
    ),
    Case(
        "subdomain in capitals",
        jobset(role("w"), network={"subdomain": "Net"}),
        "spec.network.subdomain",
    ),
)

# Other kinds

_LWS = "spec.leaderWorkerTemplate"
_ALWAYS = template("", name="c")


def leaderworkerset(name: str = "run", pod: Json | None = None, **fields: Any) -> Json:
    """Return a LeaderWorkerSet."""
    spec = {"size": 2, "workerTemplate": pod or _ALWAYS, **fields}
    replicas = spec.pop("replicas", 1)
    return obj(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        name,
        {"replicas": replicas, "leaderWorkerTemplate": spec},
    )


def disaggregated(*roles: str, name: str = "run") -> Json:
    """Return a DisaggregatedSet."""
    spec = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": _ALWAYS}}
    entries = [{"name": role, "spec": spec} for role in roles]
    return obj("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", name, {"roles": entries})


def torch(name: str = "run", container: str = "pytorch", **roles: int) -> Json:
    """Return a PyTorchJob with roles of so many pods."""
    specs = {
        role: {"replicas": pods, "template": template("", name=container)}
        for role, pods in roles.items()
    }
    return obj("kubeflow.org/v1", "PyTorchJob", name, {"pytorchReplicaSpecs": specs})


def mpi(name: str = "run", **roles: int) -> Json:
    """Return an MPIJob with roles of so many pods."""
    specs = {role: {"replicas": pods, "template": template("")} for role, pods in roles.items()}
    return obj("kubeflow.org/v2beta1", "MPIJob", name, {"mpiReplicaSpecs": specs})


def ray(name: str = "run", **group: Any) -> Json:
    """Return a RayCluster with one group of workers."""
    workers = {"groupName": "gpu", "minReplicas": 1, "maxReplicas": 2, **group}
    pods = {"rayStartParams": {}, "template": _ALWAYS}
    return obj(
        "ray.io/v1",
        "RayCluster",
        name,
        {"headGroupSpec": pods, "workerGroupSpecs": [{**pods, **workers}]},
    )


def replicated(kind: str, pod: Json | None = None, **spec: Any) -> Json:
    """Return a StatefulSet or Deployment."""
    labelled = {**(pod or _ALWAYS), "metadata": {"labels": {"app": "run"}}}
    selector = {"matchLabels": {"app": "run"}}
    return obj("apps/v1", kind, "run", {"selector": selector, "template": labelled, **spec})


def cronjob(name: str = "run", schedule: str = "0 3 * * *", pod: Json | None = None) -> Json:
    """Return a CronJob."""
    jobs = {"spec": {"template": template() if pod is None else pod}}
    return obj("batch/v1", "CronJob", name, {"schedule": schedule, "jobTemplate": jobs})


_TORCH, _MPI, _RAY = "spec.pytorchReplicaSpecs", "spec.mpiReplicaSpecs", "spec.workerGroupSpecs[0]"

OTHERS = (
    Case("leaderworkerset", leaderworkerset()),
    Case("set without replicas", leaderworkerset(replicas=0)),
    Case("set of -1 replicas", leaderworkerset(replicas=-1), "spec.replicas"),
    Case("set of size 0", leaderworkerset(size=0), f"{_LWS}.size"),
    Case("set in capitals", leaderworkerset("Run"), "metadata.name"),
    Case("set with a name of 64", leaderworkerset("a" * 64), "metadata.name"),
    Case("set of too many pods", leaderworkerset(replicas=100_000, size=100_000), "spec.replicas"),
    Case("disaggregatedset", disaggregated("prefill", "decode")),
    Case("torch", torch(Master=1, Worker=2)),
    Case("torch without a master", torch(Worker=2)),
    Case("torch in capitals", torch("Run", Worker=2), "metadata.name"),
    Case(
        "torch without workers",
        torch(Master=1, Worker=0),
        f"{_TORCH}[Worker].replicas",
        by_controller=True,
    ),
    Case(
        "torch with a strange role", torch(Master=1, Boss=1), f"{_TORCH}[Boss]", by_controller=True
    ),
    Case(
        "torch with two masters", torch(Master=2), f"{_TORCH}[Master].replicas", by_controller=True
    ),
    Case(
        "torch without its container",
        torch(Worker=1, container="main"),
        f"{_TORCH}[Worker].template.spec.containers",
        by_controller=True,
    ),
    Case("mpi", mpi(Launcher=1, Worker=2)),
    Case("mpi without a launcher", mpi(Worker=2), f"{_MPI}[Launcher]", by_controller=True),
    Case(
        "mpi with two launchers",
        mpi(Launcher=2, Worker=2),
        f"{_MPI}[Launcher].replicas",
        by_controller=True,
    ),
    Case(
        "mpi with a long name",
        mpi("a" * 55, Launcher=1, Worker=2),
        "metadata.name",
        by_controller=True,
    ),
    Case("ray", ray()),
    Case("ray with a name of 53", ray("a" * 53)),
    Case("ray with a name of 54", ray("a" * 54), "metadata.name", by_controller=True),
    Case(
        "ray with limits the wrong way round",
        ray(minReplicas=3),
        f"{_RAY}.minReplicas",
        by_controller=True,
    ),
    Case("deployment", replicated("Deployment")),
    Case("deployment of -1", replicated("Deployment", replicas=-1), "spec.replicas"),
    Case(
        "deployment that never restarts",
        replicated("Deployment", template("Never")),
        "spec.template.spec.restartPolicy",
    ),
    Case("statefulset", replicated("StatefulSet", serviceName="run")),
    Case("statefulset of -1", replicated("StatefulSet", replicas=-1), "spec.replicas"),
    Case("cronjob", cronjob()),
    Case("cronjob with a name of 52", cronjob("a" * 52)),
    Case("cronjob with a name of 53", cronjob("a" * 53), "metadata.name"),
    Case("cronjob without a schedule", cronjob(schedule=""), "spec.schedule"),
    Case(
        "cronjob whose pods restart",
        cronjob(pod=template("Always")),
        "spec.jobTemplate.spec.template.spec.restartPolicy",
    ),
)

# Pods and groups


def pod(name: str = "p", requests: Json | None = None) -> Json:
    """Return a pod."""
    return obj("v1", "Pod", name, template(requests=requests or {})["spec"])


def podgroup(policy: Json, name: str = "g") -> Json:
    """Return a PodGroup."""
    return obj("scheduling.k8s.io/v1beta1", "PodGroup", name, {"schedulingPolicy": policy})


PARTS = (
    Case("pod", pod()),
    Case("pod in capitals", pod("P"), "metadata.name"),
    Case(
        "pod with a malformed amount",
        pod(requests={"memory": "much"}),
        "spec.containers[0].resources.requests[memory]",
    ),
    Case("group", podgroup({"gang": {"minCount": 1}})),
    Case("basic group", podgroup({"basic": {}})),
    Case("group in capitals", podgroup({"basic": {}}, "G"), "metadata.name"),
    Case(
        "group of nothing",
        podgroup({"gang": {"minCount": 0}}),
        "spec.schedulingPolicy.gang.minCount",
    ),
    Case(
        "group with two policies",
        podgroup({"gang": {"minCount": 2}, "basic": {}}),
        "spec.schedulingPolicy",
    ),
)

CASES = (*JOBS, *JOBSETS, *OTHERS, *PARTS)
