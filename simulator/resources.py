"""Resources of the simulated API server per Kubernetes minor, as data."""

from __future__ import annotations

from dataclasses import dataclass

MINORS = ("1.37", "1.36", "plain")
"""`plain` is 1.37 without any gang API, like most clusters today."""

_VERSIONS = {"1.37": "v1.37.0", "1.36": "v1.36.3", "plain": "v1.37.0"}
_GANG_VERSIONS: dict[str, tuple[str, ...]] = {
    "1.37": ("v1beta1", "v1alpha3"),
    "1.36": ("v1alpha2",),
    "plain": (),
}
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object. `versions` lists the served versions, the preferred one first."""

    group: str
    versions: tuple[str, ...]
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = True
    short: tuple[str, ...] = ()
    custom: bool = False
    """True for a CustomResourceDefinition. Its list items carry apiVersion and kind."""
    verbs: tuple[str, ...] = _VERBS

    @property
    def full(self) -> str:
        """Return the name in error texts, such as `jobs.batch`. Core resources have no suffix."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def singular(self) -> str:
        """Return the lower-case kind, as discovery has it."""
        return self.kind.lower()

    def api_version(self, version: str | None = None) -> str:
        """Return the `apiVersion` of its objects."""
        chosen = version or self.versions[0]
        return f"{self.group}/{chosen}" if self.group else chosen


PODS = Resource("", ("v1",), "pods", "Pod", short=("po",))
NODES = Resource("", ("v1",), "nodes", "Node", namespaced=False, short=("no",))
NAMESPACES = Resource("", ("v1",), "namespaces", "Namespace", namespaced=False, short=("ns",))
EVENTS = Resource("events.k8s.io", ("v1",), "events", "Event", has_status=False, short=("ev",))
CORE_EVENTS = Resource("", ("v1",), "events", "Event", has_status=False, short=("ev",))
"""The same objects as `EVENTS` in the older form. The store has only `EVENTS`."""
JOBS = Resource("batch", ("v1",), "jobs", "Job")
JOBSETS = Resource("jobset.x-k8s.io", ("v1alpha2",), "jobsets", "JobSet", custom=True)
CRONJOBS = Resource("batch", ("v1",), "cronjobs", "CronJob", short=("cj",))
STATEFULSETS = Resource("apps", ("v1",), "statefulsets", "StatefulSet", short=("sts",))
DEPLOYMENTS = Resource("apps", ("v1",), "deployments", "Deployment", short=("deploy",))
REPLICASETS = Resource("apps", ("v1",), "replicasets", "ReplicaSet", short=("rs",))
TRAINJOBS = Resource("trainer.kubeflow.org", ("v1alpha1",), "trainjobs", "TrainJob", custom=True)
LEADERWORKERSETS = Resource(
    "leaderworkerset.x-k8s.io", ("v1",), "leaderworkersets", "LeaderWorkerSet", custom=True
)
DISAGGREGATEDSETS = Resource(
    "disaggregatedset.x-k8s.io", ("v1",), "disaggregatedsets", "DisaggregatedSet", custom=True
)
RAYCLUSTERS = Resource("ray.io", ("v1",), "rayclusters", "RayCluster", custom=True)
RAYJOBS = Resource("ray.io", ("v1",), "rayjobs", "RayJob", custom=True)
RAYSERVICES = Resource("ray.io", ("v1",), "rayservices", "RayService", custom=True)
MINICLUSTERS = Resource(
    "flux-framework.org", ("v1alpha2",), "miniclusters", "MiniCluster", custom=True
)
HOLDS = Resource("gangboard.dev", ("v1alpha1",), "holds", "Hold", has_status=False, custom=True)

KUEUE = "kueue.x-k8s.io"
_KUEUE_VERSIONS = ("v1beta2", "v1beta1")


def _kueue_resource(plural: str, kind: str, *, namespaced: bool = False) -> Resource:
    return Resource(KUEUE, _KUEUE_VERSIONS, plural, kind, namespaced=namespaced, custom=True)


KUEUE_WORKLOADS = _kueue_resource("workloads", "Workload", namespaced=True)
LOCAL_QUEUES = _kueue_resource("localqueues", "LocalQueue", namespaced=True)
CLUSTER_QUEUES = _kueue_resource("clusterqueues", "ClusterQueue")
RESOURCE_FLAVORS = _kueue_resource("resourceflavors", "ResourceFlavor")
KUEUE_RESOURCES = (
    KUEUE_WORKLOADS,
    LOCAL_QUEUES,
    CLUSTER_QUEUES,
    RESOURCE_FLAVORS,
    _kueue_resource("cohorts", "Cohort"),
    _kueue_resource("admissionchecks", "AdmissionCheck"),
)
"""Additional resources of a cluster whose fleet has queues."""

_ALWAYS = (
    PODS,
    NODES,
    NAMESPACES,
    CORE_EVENTS,
    EVENTS,
    Resource("", ("v1",), "resourcequotas", "ResourceQuota", short=("quota",)),
    JOBS,
    CRONJOBS,
    JOBSETS,
    Resource(
        "scheduling.k8s.io",
        ("v1",),
        "priorityclasses",
        "PriorityClass",
        namespaced=False,
        has_status=False,
        short=("pc",),
    ),
    Resource(
        "admissionregistration.k8s.io",
        ("v1",),
        "mutatingadmissionpolicies",
        "MutatingAdmissionPolicy",
        namespaced=False,
        has_status=False,
    ),
    Resource(
        "admissionregistration.k8s.io",
        ("v1",),
        "mutatingadmissionpolicybindings",
        "MutatingAdmissionPolicyBinding",
        namespaced=False,
        has_status=False,
    ),
    Resource(
        "apiextensions.k8s.io",
        ("v1",),
        "customresourcedefinitions",
        "CustomResourceDefinition",
        namespaced=False,
        short=("crd", "crds"),
    ),
)


def gang_version(minor: str) -> str | None:
    """Return the preferred version of core PodGroups of a minor; None without gangs."""
    versions = _GANG_VERSIONS[minor]
    return versions[0] if versions else None


def git_version(minor: str) -> str:
    """Return the git version of `/version`."""
    return _VERSIONS[minor]


def served(minor: str, *, hold: bool, extra: tuple[Resource, ...] = ()) -> tuple[Resource, ...]:
    """Return all resources that a server of this minor serves. Raises `ValueError` for another minor."""
    if minor not in MINORS:
        raise ValueError(f"no minor {minor!r}; there are {', '.join(MINORS)}")
    gangs = tuple(_gang_resources(minor))
    return (*_ALWAYS, *gangs, *((HOLDS,) if hold else ()), *extra)


def _gang_resources(minor: str) -> list[Resource]:
    versions = _GANG_VERSIONS[minor]
    if not versions:
        return []
    group = "scheduling.k8s.io"
    resources = [
        Resource(group, versions, "workloads", "Workload", has_status=False),
        Resource(group, versions, "podgroups", "PodGroup"),
    ]
    if "v1alpha3" in versions:
        resources.append(Resource(group, ("v1alpha3",), "compositepodgroups", "CompositePodGroup"))
    return resources
