"""The operators of kubeflow.org: their pods, and how they suspend and resume a job (real-owners-2.md §1 and
2).

A job has a pod `<job>-<role>-<index>` for each replica. `spec.runPolicy.suspend` removes the pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator import job_status, manifests
from simulator.controller import Controller
from simulator.fleet_spec import Gang, Role
from simulator.manifests import owner_reference
from simulator.resources import PODS, Resource
from simulator.world import World
from simulator.writes import timestamp

if TYPE_CHECKING:
    from simulator.builder import Builder
    from simulator.kubelet import Kubelet

Json = dict[str, Any]

LABEL = "training.kubeflow.org"
_DELAY = 0.06
"""Seconds until a reaction. Suspended was True after 62 to 92 ms on a real cluster."""


def spec_of(gang: Gang, field: str) -> Json:
    """Return the spec of a job. `field` contains the roles of its kind."""
    specs = {
        role.name: {
            "replicas": role.pods,
            "restartPolicy": "OnFailure",
            "template": role.template.manifest(),
        }
        for role in gang.roles
    }
    return {field: specs, "runPolicy": {"suspend": gang.suspended}}


def labels_of(name: str, operator: str, **more: str) -> Json:
    """Return the labels of a pod. `more` are labels of some kinds only, such as `replica_type`."""
    fields = {"job-name": name, "operator-name": operator, **more}
    return {f"{LABEL}/{key.replace('_', '-')}": value for key, value in fields.items()}


def make_pods(builder: Builder, gang: Gang, role: Role, owner: Json, labels: Json) -> list[Json]:
    """Create the pods of a role in the states of its script."""
    pods = []
    for index in range(role.pods):
        state = role.state(index)
        if state == "absent" or gang.suspended:
            continue
        pod = pod_of(owner, role.name, index, role.template.manifest(), labels)
        node = role.nodes[index] if index < len(role.nodes) else ""
        pods.append(builder.make_pod(gang, pod, state, node))
    return pods


def pod_of(owner: Json, role: str, index: int, template: Json, labels: Json) -> Json:
    """Return a new pod of a role, before scheduler and kubelet have changed it."""
    spec = dict(template["spec"])
    manifests.finish_pod_spec(spec, 0)
    meta = {
        "name": f"{owner['metadata']['name']}-{role.lower()}-{index}",
        "namespace": owner["metadata"]["namespace"],
        "labels": {**labels, f"{LABEL}/replica-index": str(index)},
        "ownerReferences": [owner_reference(owner)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def begin(
    builder: Builder, gang: Gang, resource: Resource, job: Json, pods: Sequence[Json]
) -> None:
    """Write the status of a job with these pods, as its script says."""
    when = timestamp(builder.started_at(gang))
    conditions = [_condition(gang.kind, gang.name, "Created", when)]
    if gang.suspended:
        conditions.append(_condition(gang.kind, gang.name, "Suspended", when))
    elif any(map(job_status.is_ready, pods)):
        conditions.append(_condition(gang.kind, gang.name, "Running", when))
    status = {"conditions": conditions, "startTime": when}
    builder.world.set_status(resource, job, status, "training-operator")


class Operator(Controller):
    """Creates the pods of a job, removes them while it is suspended, and writes its conditions."""

    def __init__(
        self, world: World, kubelet: Kubelet, resource: Resource, field: str, operator: str
    ) -> None:
        super().__init__(world, resource, PODS, resource.kind, _DELAY)
        self._kubelet, self._field, self._operator = kubelet, field, operator

    def labels(self, name: str, role: str) -> Json:
        """Return the labels of a pod of a role."""
        return labels_of(name, self._operator, replica_type=role.lower())

    def makes(self, _role: str) -> bool:
        """Return whether the operator itself creates the pods of a role."""
        return True

    def _sync(self, obj: Json) -> None:
        suspended = bool(obj["spec"].get("runPolicy", {}).get("suspend"))
        pods = self._world.owned(obj["metadata"]["uid"], PODS)
        if suspended:
            for pod in pods:
                if "deletionTimestamp" not in pod["metadata"]:
                    self._world.expected_removals.add(pod["metadata"]["uid"])
                    self._kubelet.delete_pod(pod)
        else:
            self._fill(obj, {pod["metadata"]["name"] for pod in pods})
        self._set_conditions(obj, suspended)

    def _fill(self, obj: Json, existing: set[str]) -> None:
        name = obj["metadata"]["name"]
        for role, spec in obj["spec"][self._field].items():
            for index in range(spec["replicas"] if self.makes(role) else 0):
                labels = self.labels(name, role)
                pod = pod_of(obj, role, index, spec["template"], labels)
                if pod["metadata"]["name"] not in existing:
                    self._world.writer.create(PODS, pod, manager=self._operator)

    def _set_conditions(self, obj: Json, suspended: bool) -> None:
        now, name = self._world.timestamp(), obj["metadata"]["name"]
        old = obj.get("status", {})
        conditions = [dict(condition) for condition in old.get("conditions", [])]
        if suspended or job_status.condition_of(obj, "Suspended"):
            type_ = "Suspended" if suspended else "Resumed"
            job_status.set_condition(conditions, _condition(self._kind, name, type_, now))
        if conditions != old.get("conditions", []):
            status = {**old, "conditions": conditions}
            self._world.set_status(self._resource, obj, status, self._operator)


@dataclass(frozen=True, slots=True)
class TrainingKind:
    """A kind of the training operator. These kinds differ only in names."""

    jobs: Resource
    field: str
    """The field with its roles."""

    @property
    def operator(self) -> str:
        """Return the name of its controller, which is a label of its pods."""
        return f"{self.jobs.kind.lower()}-controller"

    def make(self, builder: Builder, gang: Gang) -> list[Json]:
        """Create a job and its pods."""
        meta = {"name": gang.name, "namespace": gang.namespace}
        spec = spec_of(gang, self.field)
        made = builder.create(self.jobs, {"metadata": meta, "spec": spec}, builder.born(gang))
        pods: list[Json] = []
        for role in gang.roles:
            labels = labels_of(gang.name, self.operator, replica_type=role.name.lower())
            pods += make_pods(builder, gang, role, made, labels)
        begin(builder, gang, self.jobs, made, pods)
        return pods

    def controller(self, world: World, kubelet: Kubelet) -> Operator:
        """Return the controller of this kind."""
        return Operator(world, kubelet, self.jobs, self.field, self.operator)


def training_kind(kind: str, field: str) -> TrainingKind:
    """Return a kind of kubeflow.org/v1 with its roles in this field."""
    plural = f"{kind.lower()}s"
    return TrainingKind(Resource("kubeflow.org", ("v1",), plural, kind, custom=True), field)


def _condition(kind: str, name: str, state: str, now: str) -> Json:
    """Return the condition for a state of a job, in the operator's words."""
    type_, status = ("Suspended", "False") if state == "Resumed" else (state, "True")
    text = f"{kind} {name} is {state.lower()}."
    return job_status.plain_condition(type_, status, f"{kind}{state}", text, now)
