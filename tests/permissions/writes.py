"""Writes that the actor must not be able to do. Each is one request; expectations are by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.controlplane.client import Client, Json
from tests.controlplane.objects import job, jobset, pod

_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
_FINALIZER = "example.com/kept"


@dataclass(frozen=True)
class Write:
    """One request."""

    name: str
    method: str
    path: str
    body: Any = None
    type: str = "application/json"
    says: str = ""
    """Words of the refusal, besides whose it is."""

    def send(self, client: Client, *, dry_run: bool = False) -> Json:
        """Send it. Raises ApiError."""
        query = {"dryRun": "All"} if dry_run else {}
        if self.type == _TYPES["apply"]:
            query["fieldManager"] = "tests"
        return client.request(
            self.method, self.path, self.body, content_type=self.type, query=query
        )


@dataclass(frozen=True)
class World:
    """The objects that the writes are about."""

    namespace: str
    uids: dict[str, str]
    """`Kind/name` → uid."""

    def job(self, name: str) -> str:
        """Path of a Job."""
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{name}"

    def jobset(self, name: str) -> str:
        """Path of a JobSet."""
        return f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{self.namespace}/jobsets/{name}"

    @property
    def holds(self) -> str:
        """Path of the Holds."""
        return f"/apis/gangboard.dev/v1alpha1/namespaces/{self.namespace}/holds"


def make_world(admin: Client, namespace: str) -> World:
    """Make suspended objects, so that as many fields as possible may be changed at all."""
    owner = admin.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "boss", "namespace": namespace},
        }
    )
    objects = [owner]
    metadata = {"labels": {"team": "a"}, "annotations": {"example.com/note": "kept"}}
    controlled = {"ownerReferences": [{**reference(owner), "controller": True}]}
    suspended: dict[str, Any] = {"suspend": True, "parallelism": 1}
    foreign = {"managedBy": "example.com/else"}
    for obj in (
        job("solo", namespace, **suspended),
        job("owned", namespace, **suspended),
        job("foreign", namespace, **suspended, job_spec=foreign),
        jobset("run", namespace, jobs={"w": {"replicas": 2}}, suspend=True, max_restarts=3),
        jobset("owned", namespace, jobs={"w": {}}, suspend=True),
        jobset("foreign", namespace, jobs={"w": {}}, suspend=True, jobset_spec=foreign),
    ):
        fields = controlled if obj["metadata"]["name"] == "owned" else {}
        objects.append(admin.create({**obj, "metadata": {**obj["metadata"], **metadata, **fields}}))
    uids = {f"{o['kind']}/{o['metadata']['name']}": o["metadata"]["uid"] for o in objects}
    return World(namespace, uids)


def reference(obj: Json) -> Json:
    """Return an owner reference to an object."""
    meta = obj["metadata"]
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
    }


def hold(world: World, **changes: Any) -> Json:
    """Return a Hold as gangboard makes it, with other values of `metadata` and `spec`."""
    uid = world.uids["JobSet/run"]
    owner = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "name": "run",
        "uid": uid,
    }
    metadata = {"name": "h", "namespace": world.namespace, "ownerReferences": [owner]}
    spec = {"jobName": "run-w-1", "ownerUID": uid, "by": "ada", "reason": "test"}
    return {
        "apiVersion": "gangboard.dev/v1alpha1",
        "kind": "Hold",
        "metadata": {**metadata, **changes.get("metadata", {})},
        "spec": {**spec, **changes.get("spec", {})},
    }


def merge(name: str, path: str, body: Json, says: str = "") -> Write:
    """Return a merge patch."""
    return Write(name, "PATCH", path, body, _TYPES["merge"], says)


def of_spec(path: str, kind: str, bodies: dict[str, Json]) -> Iterator[Write]:
    """Yield changes of the spec; the refusal names the field besides `suspend`."""
    for name, body in bodies.items():
        field = next(key for key in body if key != "suspend")
        yield merge(f"{kind}: {name}", path, {"spec": body}, field)


def of_affinity(path: str) -> Iterator[Write]:
    """Yield changes of a Job's template that are not the exclusion of a relocation."""
    key = "kubernetes.io/hostname"
    term = {"matchExpressions": [{"key": key, "operator": "NotIn", "values": ["n1"]}]}
    preferred = {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]
    }
    for name, affinity, says in (
        ("preferred", preferred, "preferredDuringSchedulingIgnoredDuringExecution"),
        ("In", _required({"key": key, "operator": "In", "values": ["n1"]}), "exclude nodes"),
        (
            "another label",
            _required({"key": "x", "operator": "NotIn", "values": ["y"]}),
            "exclude nodes",
        ),
    ):
        spec = {"template": {"spec": {"affinity": {"nodeAffinity": affinity}}}}
        yield merge(f"Job: {name} affinity", path, {"spec": spec}, says)
    tolerations = {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}
    yield merge("Job: tolerations", path, {"spec": tolerations}, "spec.template.spec.tolerations")


def _required(requirement: Json) -> Json:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def of_metadata(path: str, kind: str, owner: Json) -> Iterator[Write]:
    """Yield changes of metadata."""
    for name, body, says in (
        ("label added", {"labels": {"x": "y"}}, "not metadata.labels"),
        ("label removed", {"labels": {"team": None}}, "not metadata.labels"),
        ("finalizer", {"finalizers": [_FINALIZER]}, "not metadata.finalizers"),
        ("owner", {"ownerReferences": [owner]}, "not metadata.ownerReferences"),
        ("annotation added", {"annotations": {"example.com/x": "y"}}, "example.com/x"),
        ("annotation removed", {"annotations": {"example.com/note": None}}, "example.com/note"),
    ):
        yield merge(f"{kind}: {name}", path, {"metadata": body}, says)


def refused_by_policy(world: World) -> Iterator[Write]:
    """Yield writes that RBAC alone would allow the actor."""
    boss = {"apiVersion": "v1", "kind": "ConfigMap", "name": "boss"}
    owner = {**boss, "uid": world.uids["ConfigMap/boss"]}
    template = {"spec": {"nodeSelector": {"pool": "mine"}}}
    yield from of_spec(
        world.job("solo"),
        "Job",
        {
            "parallelism": {"parallelism": 7},
            "parallelism 0": {"parallelism": 0},
            "completions": {"completions": 3, "parallelism": 3},
            "activeDeadlineSeconds": {"activeDeadlineSeconds": 1},
            "backoffLimit": {"backoffLimit": 0},
            "ttlSecondsAfterFinished": {"ttlSecondsAfterFinished": 0},
            "template": {"template": template},
            "template's labels": {"template": {"metadata": {"labels": {"x": "y"}}}},
            "suspend and backoffLimit": {"suspend": False, "backoffLimit": 0},
            "suspend and parallelism": {"suspend": False, "parallelism": 2},
        },
    )
    yield from of_affinity(world.job("solo"))
    yield from of_metadata(world.job("solo"), "Job", owner)
    yield from of_spec(
        world.jobset("run"),
        "JobSet",
        {
            "ttlSecondsAfterFinished": {"ttlSecondsAfterFinished": 1},
            "coordinator": {"coordinator": {"replicatedJob": "w"}},
            "suspend and ttl": {"suspend": False, "ttlSecondsAfterFinished": 1},
        },
    )
    pointer = "/spec/replicatedJobs/0/template/spec/template/spec/nodeSelector"
    yield Write(
        "JobSet: replicatedJobs",
        "PATCH",
        world.jobset("run"),
        [{"op": "add", "path": pointer, "value": {"pool": "mine"}}],
        _TYPES["json"],
        "not spec.replicatedJobs",
    )
    yield from of_metadata(world.jobset("run"), "JobSet", owner)
    resume = {"spec": {"suspend": False}}
    controlled, managed = "something else controls: ConfigMap boss", "manages: example.com/else"
    yield merge("Job of an unknown kind", world.job("owned"), resume, controlled)
    yield merge("Job of another controller", world.job("foreign"), resume, managed)
    yield merge("JobSet of an unknown kind", world.jobset("owned"), resume, controlled)
    yield merge("JobSet of another controller", world.jobset("foreign"), resume, managed)
    yield from _bad_holds(world, owner)


def _bad_holds(world: World, owner: Json) -> Iterator[Write]:
    ours = hold(world)["metadata"]["ownerReferences"][0]
    belongs = "belongs to the owner"
    for name, changes, says in (
        ("without an owner", {"metadata": {"ownerReferences": []}}, belongs),
        ("owner of another uid", {"spec": {"ownerUID": world.uids["JobSet/owned"]}}, belongs),
        (
            "owner of another kind",
            {"metadata": {"ownerReferences": [owner]}, "spec": {"ownerUID": owner["uid"]}},
            belongs,
        ),
        ("two owners", {"metadata": {"ownerReferences": [ours, owner]}}, belongs),
        ("without a reason", {"spec": {"reason": ""}}, "who wants it and why"),
        ("without an author", {"spec": {"by": ""}}, "who wants it and why"),
        ("finalizer", {"metadata": {"finalizers": [_FINALIZER]}}, "has no finalizer"),
        ("foreign label", {"metadata": {"labels": {"x": "y"}}}, "no label besides"),
        ("foreign annotation", {"metadata": {"annotations": {"x": "y"}}}, "no annotation"),
    ):
        yield Write(f"Hold: {name}", "POST", world.holds, hold(world, **changes), says=says)


def refused_by_rbac(world: World) -> Iterator[Write]:
    """Yield writes to which no role gives a right."""
    ns = world.namespace
    core = f"/api/v1/namespaces/{ns}"
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    policies = "/apis/admissionregistration.k8s.io/v1"
    jobs = f"/apis/batch/v1/namespaces/{ns}/jobs"
    yield Write("create a Job", "POST", jobs, job("new", ns))
    applied = Write(
        "create a Job by apply", "PATCH", world.job("new"), job("new", ns), _TYPES["apply"]
    )
    yield applied
    yield Write("replace a Job", "PUT", world.job("solo"), job("solo", ns))
    yield Write("delete a Job", "DELETE", world.job("solo"))
    yield Write("delete all Jobs", "DELETE", jobs)
    yield merge("status of a Job", f"{world.job('solo')}/status", {"status": {"active": 1}})
    objects = jobset("new", ns, jobs={"w": {}})
    yield Write("create a JobSet", "POST", world.jobset("").rstrip("/"), objects)
    yield Write("delete a JobSet", "DELETE", world.jobset("run"))
    yield merge("status of a JobSet", f"{world.jobset('run')}/status", {"status": {"restarts": 1}})
    yield Write("create a pod", "POST", f"{core}/pods", pod("p", ns))
    yield Write("delete a pod", "DELETE", f"{core}/pods/p")
    yield merge("change a pod", f"{core}/pods/p", {"metadata": {"labels": {"x": "y"}}})
    yield Write("evict a pod", "POST", f"{core}/pods/p/eviction", {})
    yield Write("run in a pod", "POST", f"{core}/pods/p/exec", {})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    yield Write("create a Secret", "POST", f"{core}/secrets", secret)
    yield merge("cordon a node", "/api/v1/nodes/n", {"spec": {"unschedulable": True}})
    yield merge("change a Hold", f"{world.holds}/h", {"spec": {"by": "eve"}})
    yield Write("delete all Holds", "DELETE", world.holds)
    yield Write(
        "delete the Hold's policy",
        "DELETE",
        f"{policies}/mutatingadmissionpolicies/gangboard-hold",
    )
    limit = "validatingadmissionpolicybindings/gangboard-actor-jobs.batch"
    yield Write("delete its own limits", "DELETE", f"{policies}/{limit}")
    yield merge("widen its own role", f"{rbac}/clusterroles/gangboard-actor", {"rules": []})
    yield Write("bind itself", "POST", f"{rbac}/clusterrolebindings", {})
    token = "/api/v1/namespaces/gangboard/serviceaccounts/gangboard-reader/token"
    yield Write("token of another account", "POST", token, {})
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/holds.gangboard.dev"
    yield Write("delete the Hold resource", "DELETE", crd)
