"""JobSet's own gang modes, which no release has: a CRD that serves them, and a simulated controller.

The fields are those of the merged KEP (keys of `spec.scheduling` in keps/969-WAS-integration of kubernetes-
sigs/jobset#1253) and of the draft before it (`spec.gangPolicy`, #1111). The controller's objects for
`spec.scheduling` follow the KEP as well: a Workload and its PodGroups, all owned by the JobSet; the
annotation `scheduling.k8s.io/group-template-name` on child Jobs and `schedulingGroup` in their templates.
The controller of JobSet 0.12 runs and makes the Jobs; a mutating policy adds the fields it does not know.
Names here are without the hashes of the KEP: nobody may compute them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.objects import job, podgroup, workload

CRD = "apiextensions.k8s.io/v1", "CustomResourceDefinition", "jobsets.jobset.x-k8s.io"
_MAP = "admissionregistration.k8s.io/v1"
_GROUP, _PER_JOB = "test.gangboard.dev/podgroup", "test.gangboard.dev/podgroup-per-job"
_NAME = "test-jobset-gangs"


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


_COUNT = {"type": "integer", "format": "int32", "minimum": 1}
_POLICY = _object(basic=_object(), gang=_object(minCount=_COUNT))
_LEVEL: dict[str, Json] = {
    "schedulingPolicy": _POLICY,
    "schedulingConstraints": _object(
        topology={"type": "array", "items": _object(key={"type": "string"})}
    ),
    "disruptionMode": _object(single=_object(), all=_object()),
}
_CLAIMS = {
    "type": "array",
    "maxItems": 4,
    "items": _object(
        name={"type": "string"},
        resourceClaimName={"type": "string"},
        resourceClaimTemplateName={"type": "string"},
    ),
}
_TARGETS = {"type": "array", "minItems": 1, "maxItems": 50, "items": {"type": "string"}}
_ENTRY = _object(
    targetReplicatedJobs=_TARGETS,
    job=_object(**_LEVEL, resourceClaims=_CLAIMS),
    resourceClaims=_CLAIMS,
    **_LEVEL,
)
FIELDS: Mapping[str, Json] = {
    "scheduling": _object(
        replicatedJobs={"type": "array", "maxItems": 50, "items": _ENTRY}, **_LEVEL
    ),
    "gangPolicy": _object(
        gangPolicyOption={
            "type": "string",
            "enum": ["JobSetAsGang", "JobSetGangPerReplicatedJob", "JobSetWorkloadTemplate"],
        },
        workload={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        workloadTemplate={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ),
}
"""Field of `spec` of a JobSet → its schema."""


@contextmanager
def served(client: Client) -> Iterator[None]:
    """Have the API server serve the fields, and give child Jobs their groups."""
    before = client.get(*CRD)
    changed = copy.deepcopy(before["spec"])
    for version in changed["versions"]:
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] |= FIELDS
    client.patch(*CRD, {"spec": {"versions": changed["versions"]}})
    client.create_all(_policy())
    try:
        wait(lambda: _is_in_force(client), what="the policy that plays JobSet", timeout=60)
        yield
    finally:
        for kind in ("MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"):
            client.delete(_MAP, kind, _NAME)
        client.patch(*CRD, {"spec": {"versions": before["spec"]["versions"]}})


def _policy() -> list[Json]:
    name = f"object.metadata.labels['{_GROUP}']"
    index = "object.metadata.labels['jobset.sigs.k8s.io/job-index']"
    of_job = f"'{_PER_JOB}' in object.metadata.labels"
    group = f"({of_job} ? {name} + '-' + {index} : {name})"
    annotations = (
        f"Object.metadata{{annotations: {{'scheduling.k8s.io/group-template-name': {group}}}}}"
    )
    template = (
        "Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{schedulingGroup: "
        f"Object.spec.template.spec.schedulingGroup{{podGroupName: {group}}}}}}}}}"
    )
    rule = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["jobs"],
    }
    exists = {"matchExpressions": [{"key": _GROUP, "operator": "Exists"}]}
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [rule], "objectSelector": exists},
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": f"Object{{metadata: {annotations}, spec: {template}}}"
                },
            }
        ],
    }
    meta = {"name": _NAME}
    return [
        {"apiVersion": _MAP, "kind": "MutatingAdmissionPolicy", "metadata": meta, "spec": spec},
        {
            "apiVersion": _MAP,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": meta,
            "spec": {"policyName": _NAME},
        },
    ]


def _is_in_force(client: Client) -> bool:
    created = job("probe", job_labels={_GROUP: "ring"})
    answer = client.create(created, dry_run=True)
    result: Json = answer["spec"]["template"]["spec"]
    return result.get("schedulingGroup") == {"podGroupName": "ring"}


@dataclass(frozen=True)
class Item:
    """A PodGroup as the controller makes it, or with `per_job` one for each Job of its ReplicatedJob."""

    roles: tuple[str, ...]
    gang: int | None
    """`minCount`; None for a basic one."""
    per_job: int = 0
    """Jobs, each with a group of its own."""
    options: tuple[tuple[str, Any], ...] = ()
    """Of `podgroup`."""


def item(*roles: str, gang: int | None, per_job: int = 0, **options: Any) -> Item:
    """Return one; without roles it is for the whole JobSet."""
    return Item(roles, gang, per_job, tuple(options.items()))


def labelled(jobset: Json, *items: Item) -> Json:
    """Return a JobSet whose Jobs the policy gives their groups."""
    name = jobset["metadata"]["name"]
    for element in items:
        for role in jobset["spec"]["replicatedJobs"]:
            if not element.roles or role["name"] in element.roles:
                labels = {_GROUP: _group_name(name, element)}
                if element.per_job:
                    labels[_PER_JOB] = "true"
                role["template"].setdefault("metadata", {})["labels"] = labels
    return jobset


def make_groups(client: Client, jobset: Json, *items: Item) -> None:
    """Make the Workload and PodGroups of a JobSet that was created, as its controller does."""
    meta = jobset["metadata"]
    names = [name for element in items for name in _group_names(meta["name"], element)]
    gangs = [element.gang for element in items for _ in range(element.per_job or 1)]
    owned = {
        "ownerReferences": [
            {
                "apiVersion": jobset["apiVersion"],
                "kind": "JobSet",
                "name": meta["name"],
                "uid": meta["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    }
    created = workload(
        meta["name"],
        meta["namespace"],
        templates=dict(zip(names, gangs, strict=True)),
        controller=("jobset.x-k8s.io", "JobSet", meta["name"]),
    )
    created["metadata"] |= owned
    client.create(created)
    for element in items:
        for name in _group_names(meta["name"], element):
            group = podgroup(
                name,
                meta["namespace"],
                gang=element.gang,
                workload=(meta["name"], name),
                **dict(element.options),
            )
            group["metadata"] |= owned
            client.create(group)


def _group_name(jobset: str, element: Item) -> str:
    return "-".join((jobset, *element.roles))


def _group_names(jobset: str, element: Item) -> list[str]:
    name = _group_name(jobset, element)
    return [f"{name}-{index}" for index in range(element.per_job)] if element.per_job else [name]
