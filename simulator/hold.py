"""The Hold: a custom resource of gangboard, and the policy that reverts every resume of a held Job."""

from __future__ import annotations

from simulator import refusals
from simulator.resources import HOLDS, JOBS, Resource
from simulator.store import Json, Store

_NAME = "gangboard-hold"
_POLICY = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
_RESUMED = "!has(object.spec.suspend) || object.spec.suspend == false"
_HELD = (
    "object.metadata.name == params.spec.jobName && has(object.metadata.ownerReferences) && "
    "object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && "
    "o.uid == params.spec.ownerUID)"
)
_MUTATION = (
    "Object{metadata: Object.metadata{annotations: {'gangboard.dev/held-by': "
    "params.metadata.name}}, spec: Object.spec{suspend: true}}"
)
_TEXT = {"type": "string"}
_SCHEMA: Json = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["jobName", "ownerUID"],
            "properties": {
                "jobName": {**_TEXT, "minLength": 1, "maxLength": 63},
                "ownerUID": {**_TEXT, "maxLength": 64},
                "by": {**_TEXT, "maxLength": 256},
                "reason": {**_TEXT, "maxLength": 1024},
                "until": {**_TEXT, "format": "date-time"},
            },
        }
    },
}

INSTALLATION: tuple[Json, ...] = (
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "holds.gangboard.dev"},
        "spec": {
            "group": "gangboard.dev",
            "scope": "Namespaced",
            "names": {
                "plural": "holds",
                "singular": "hold",
                "kind": "Hold",
                "listKind": "HoldList",
            },
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [
                        {"name": "Job", "type": "string", "jsonPath": ".spec.jobName"},
                        {"name": "By", "type": "string", "jsonPath": ".spec.by"},
                        {"name": "Until", "type": "string", "jsonPath": ".spec.until"},
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    ],
                    "schema": {"openAPIV3Schema": _SCHEMA},
                }
            ],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": _NAME},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "IfNeeded",
            "paramKind": {"apiVersion": "gangboard.dev/v1alpha1", "kind": "Hold"},
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["batch"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["jobs"],
                    }
                ],
                "objectSelector": {
                    "matchExpressions": [
                        {"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}
                    ]
                },
            },
            "matchConditions": [
                {"name": "being-resumed", "expression": _RESUMED},
                {"name": "held", "expression": _HELD},
            ],
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": _MUTATION},
                }
            ],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": _NAME},
        "spec": {
            "policyName": _NAME,
            "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
        },
    },
)
"""The objects that `kubectl apply` would install. A real server accepts the same objects."""


class HoldPolicy:
    """Admission of Jobs while the Hold's policy and its binding exist."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables = [
            store.table(resource) for resource in store.resources() if resource.plural in _POLICY
        ]

    def __call__(self, resource: Resource, _old: Json | None, new: Json) -> Json:
        """Return `new`, suspended again if it resumes a held Job. Raises for an invalid Hold."""
        if resource == HOLDS:
            _check(new)
        if resource != JOBS or new.get("spec", {}).get("suspend") or not self._is_installed():
            return new
        held_by = self._hold_of(new)
        if held_by is not None:
            new["spec"]["suspend"] = True
            new["metadata"].setdefault("annotations", {})["gangboard.dev/held-by"] = held_by
        return new

    def _is_installed(self) -> bool:
        return all(("", _NAME) in table.objects for table in self._tables)

    def _hold_of(self, job: Json) -> str | None:
        meta = job["metadata"]
        owners = {ref["uid"] for ref in meta.get("ownerReferences", []) if ref.get("controller")}
        for namespace, name in self._store.table(HOLDS).objects if owners else ():
            if namespace != meta.get("namespace"):
                continue
            spec = (self._store.find(HOLDS, (namespace, name)) or {}).get("spec", {})
            if spec.get("jobName") == meta["name"] and spec.get("ownerUID") in owners:
                return name
        return None


def _check(hold: Json) -> None:
    """Refuse a Hold that violates the schema of its CRD."""
    name, spec = hold["metadata"]["name"], hold.get("spec")
    if spec is None:
        raise refusals.invalid(HOLDS, name, "spec", "Required value", "FieldValueRequired")
    for field in ("jobName", "ownerUID"):
        if field not in spec:
            path = f"spec.{field}"
            raise refusals.invalid(HOLDS, name, path, "Required value", "FieldValueRequired")
    if not spec["jobName"]:
        reason = 'Invalid value: "": spec.jobName in body should be at least 1 chars long'
        raise refusals.invalid(HOLDS, name, "spec.jobName", reason, "FieldValueInvalid")
