"""What makes Holds hold in a cluster, as it is installed there: a resource, a policy, its binding.

Observed on 1.37.0, 1.36.3 and 1.35.4: the policy turns every un-suspend of a held Job back, in
whichever way it comes. It suspends nothing by itself.
"""

from __future__ import annotations

from typing import Any, Final

from gangboard.domain.hold import (
    HELD_BY,
    HOLD_GROUP,
    HOLD_VERSION,
    HOLDS,
    LONGEST_BY,
    LONGEST_REASON,
)

Manifest = dict[str, Any]

POLICY_NAME: Final = "gangboard-hold"
"""Name of the policy and of its binding."""
POLICY_VERSIONS: Final = ("v1", "v1beta1")
"""Versions of admissionregistration.k8s.io with mutating policies, the preferred first: v1 since
Kubernetes 1.36, v1beta1 in 1.34 and 1.35 where it is switched on. Their specs are the same."""

_HOLD_SCHEMA: Final[Manifest] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["jobName", "ownerUID"],
            "properties": {
                "jobName": {"type": "string", "minLength": 1, "maxLength": 63},
                "ownerUID": {"type": "string", "maxLength": 64},
                "by": {"type": "string", "maxLength": LONGEST_BY},
                "reason": {"type": "string", "maxLength": LONGEST_REASON},
                "until": {"type": "string", "format": "date-time"},
            },
        }
    },
}

RESOURCE: Final[Manifest] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": HOLDS},
    "spec": {
        "group": HOLD_GROUP,
        "scope": "Namespaced",
        "names": {"plural": "holds", "singular": "hold", "kind": "Hold", "listKind": "HoldList"},
        "versions": [
            {
                "name": HOLD_VERSION,
                "served": True,
                "storage": True,
                "additionalPrinterColumns": [
                    {"name": "Job", "type": "string", "jsonPath": ".spec.jobName"},
                    {"name": "By", "type": "string", "jsonPath": ".spec.by"},
                    # Not type `date`: kubectl prints those as ages, and a time to come as <invalid>.
                    {"name": "Until", "type": "string", "jsonPath": ".spec.until"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {"openAPIV3Schema": _HOLD_SCHEMA},
            }
        ],
    },
}
"""The CustomResourceDefinition of Holds."""

_BEING_RESUMED: Final = "!has(object.spec.suspend) || object.spec.suspend == false"
_HELD: Final = (
    "object.metadata.name == params.spec.jobName && has(object.metadata.ownerReferences) && "
    "object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller && "
    "o.uid == params.spec.ownerUID)"
)
_SUSPENDED_AGAIN: Final = (
    f"Object{{metadata: Object.metadata{{annotations: {{'{HELD_BY}': params.metadata.name}}}}, "
    "spec: Object.spec{suspend: true}}"
)

_JOBS: Final[list[Manifest]] = [
    {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["jobs"],
    }
]
_LABELLED: Final[Manifest] = {
    "matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]
}

POLICY_SPEC: Final[Manifest] = {
    # An API server that has just started has not read the Holds yet. With `Ignore` it lets a resume
    # through in that moment (observed on 1.37.0 when it was killed while JobSet was at work); with
    # `Fail` it refuses writes to Jobs of JobSets until it has, and the controllers try again.
    "failurePolicy": "Fail",
    "reinvocationPolicy": "IfNeeded",
    "paramKind": {"apiVersion": f"{HOLD_GROUP}/{HOLD_VERSION}", "kind": "Hold"},
    # No other Job can be held, so no other is ever refused.
    "matchConstraints": {"resourceRules": _JOBS, "objectSelector": _LABELLED},
    "matchConditions": [
        {"name": "being-resumed", "expression": _BEING_RESUMED},
        {"name": "held", "expression": _HELD},
    ],
    "mutations": [
        {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {"expression": _SUSPENDED_AGAIN},
        }
    ],
}
"""Spec of the MutatingAdmissionPolicy; its parameters are the Holds."""

OPEN_POLICY_SPEC: Final[Manifest] = {
    **POLICY_SPEC,
    "failurePolicy": "Ignore",
    "matchConstraints": {"resourceRules": _JOBS},
}
"""An older form, which holds too, but not in the moment in which an API server starts."""

BINDING_SPEC: Final[Manifest] = {
    "policyName": POLICY_NAME,
    "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
}
"""Spec of its binding: all Holds of the Job's namespace.

To be applied 40 s after the resource. Until the API server knows Holds, which takes up to 30 s, it refuses all that the
policy with a binding matches: what JobSet writes (observed on 1.37.2; docs/decisions.md).
"""


def policy_manifests(version: str = POLICY_VERSIONS[0]) -> tuple[Manifest, Manifest]:
    """Return the policy and its binding in a version of admissionregistration.k8s.io."""
    api_version = f"admissionregistration.k8s.io/{version}"
    metadata = {"name": POLICY_NAME}
    return (
        {
            "apiVersion": api_version,
            "kind": "MutatingAdmissionPolicy",
            "metadata": metadata,
            "spec": POLICY_SPEC,
        },
        {
            "apiVersion": api_version,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": BINDING_SPEC,
        },
    )
