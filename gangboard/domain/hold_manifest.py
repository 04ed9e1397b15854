"""Manifests that enforce Holds in a cluster: the CRD, the admission policy and its binding.

The policy reverts every un-suspend of a held Job, whatever the client. It suspends no Job by itself
(observed on 1.37.0, 1.36.3 and 1.35.4).
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
"""Versions of admissionregistration.k8s.io with mutating policies, the preferred first.

Kubernetes has v1 since 1.36, and v1beta1 in 1.34 and 1.35 if enabled. Their specs are the same."""

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
                    # kubectl prints the type `date` as an age, and a future time as <invalid>.
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
    # A starting API server has not read the Holds yet. With `Ignore` it admits a resume in that moment
    # (observed on 1.37.0 when it was killed while JobSet worked). With `Fail` it rejects writes to Jobs of
    # JobSets until it has read them, and the controllers retry.
    "failurePolicy": "Fail",
    "reinvocationPolicy": "IfNeeded",
    "paramKind": {"apiVersion": f"{HOLD_GROUP}/{HOLD_VERSION}", "kind": "Hold"},
    # Only Jobs of a JobSet can be held, so the policy must not reject writes to other Jobs.
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
"""Spec of the MutatingAdmissionPolicy. Its parameters are the Holds."""

OPEN_POLICY_SPEC: Final[Manifest] = {
    **POLICY_SPEC,
    "failurePolicy": "Ignore",
    "matchConstraints": {"resourceRules": _JOBS},
}
"""Former spec of the policy. It enforces Holds except while an API server starts."""

BINDING_SPEC: Final[Manifest] = {
    "policyName": POLICY_NAME,
    "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
}
"""Spec of its binding, with all Holds of the Job's namespace.

Apply it 40 s after the CRD. The API server needs up to 30 s to serve Holds, and until then it rejects all writes
that the policy matches, such as those of JobSet (observed on 1.37.2; docs/decisions.md).
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
