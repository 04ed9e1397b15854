"""Decoder of the policy `gangboard-hold` and its binding, with a digest to detect changes.

A field selector limits the list to objects with that name. So the reader's role can use `resourceNames`, and gangboard
reads no other policy of the cluster.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from gangboard.decode.wire import Wire, WireMeta, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.hold import AdmissionPolicy

POLICY_NAME = "gangboard-hold"
"""Name of the MutatingAdmissionPolicy and of its binding."""

_GROUP = "admissionregistration.k8s.io"
_SPEC_DEFAULTS = {"failurePolicy": "Fail"}
_MATCH_DEFAULTS: dict[str, Any] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
}
_RULE_DEFAULTS = {"scope": "*"}


class WirePolicy(Wire):
    """A MutatingAdmissionPolicy or its binding. The complete spec is decoded, because it is compared."""

    metadata: WireMeta
    spec: dict[str, Any] | None = None


def policy_digest(spec: dict[str, Any]) -> str:
    """Return a digest of the spec of a MutatingAdmissionPolicy or of its binding.

    The function adds the defaults of the API server (SetDefaults_* of pkg/apis/admissionregistration v1 and v1beta1, the
    same in 1.35 and 1.37) and omits nulls and empty lists, as Go does. So a manifest and the object that a server
    created from it have the same digest. Any other difference, even in an unknown field, gives another digest.
    """
    canonical = json.dumps(_filled(spec), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _filled(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec with the defaults of the API server."""
    filled: dict[str, Any] = _without_empty(spec)
    if "policyName" not in filled:  # a binding names its policy and has no such default
        filled = {**_SPEC_DEFAULTS, **filled}
    for field in ("matchConstraints", "matchResources"):
        if isinstance(filled.get(field), dict):
            filled[field] = _filled_match(filled[field])
    return filled


def _filled_match(match: dict[str, Any]) -> dict[str, Any]:
    filled = {**_MATCH_DEFAULTS, **match}
    for field in ("resourceRules", "excludeResourceRules"):
        rules = filled.get(field)
        if isinstance(rules, list):
            filled[field] = [
                {**_RULE_DEFAULTS, **rule} if isinstance(rule, dict) else rule for rule in rules
            ]
    return filled


def _without_empty(value: Any) -> Any:
    """Return the value without nulls and empty lists. An empty selector stays, because it matches all."""
    if isinstance(value, dict):
        members = {key: _without_empty(member) for key, member in value.items()}
        return {
            key: member for key, member in members.items() if member is not None and member != []
        }
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value


def _resource(plural: str, kind: str) -> Resource:
    def build(wire: WirePolicy, version: str) -> AdmissionPolicy | None:
        if wire.metadata.name != POLICY_NAME:
            return None
        return AdmissionPolicy(
            meta=read_meta(wire.metadata, _GROUP, kind, version),
            digest=policy_digest(wire.spec or {}),
        )

    return Resource(
        group=_GROUP,
        plural=plural,
        kind=kind,
        versions=("v1", "v1beta1"),
        wire=WirePolicy,
        model=AdmissionPolicy,
        build=build,
        query=(("fieldSelector", f"metadata.name={POLICY_NAME}"),),
    )


POLICY = _resource("mutatingadmissionpolicies", "MutatingAdmissionPolicy")
BINDING = _resource("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding")
