"""The installation of the Hold in a cluster. A proof is still needed to show that it works."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.decode.admission_policies import POLICY, policy_digest
from gangboard.domain.action import PolicyState
from gangboard.domain.api_resource import WatchState
from gangboard.domain.hold import HOLDS, AdmissionPolicy
from gangboard.domain.hold_manifest import (
    BINDING_SPEC,
    OPEN_POLICY_SPEC,
    POLICY_NAME,
    POLICY_SPEC,
)

_POLICY_DIGEST = policy_digest(POLICY_SPEC)
_OPEN_POLICY_DIGEST = policy_digest(OPEN_POLICY_SPEC)
_BINDING_DIGEST = policy_digest(BINDING_SPEC)

OPEN = (
    f"the policy {POLICY_NAME} is of an older form (failurePolicy Ignore): while an API server starts, "
    "a controller can resume a held Job; apply what manage.py print_rbac prints again"
)
NEEDS_POLICIES = (
    "this cluster does not serve MutatingAdmissionPolicy, which the Hold needs: Kubernetes 1.36 "
    "does, 1.34 and 1.35 do with the feature gate MutatingAdmissionPolicy and "
    "admissionregistration.k8s.io/v1beta1 switched on"
)


def installation(
    policies: Iterable[AdmissionPolicy],
    bindings: Iterable[AdmissionPolicy],
    hold_state: str,
    policy_state: str,
) -> tuple[PolicyState, str]:
    """Return the state of the installation and its problem: half a sentence, or empty.

    An older policy that works counts as installed, and the text names its weakness. `hold_state` and
    `policy_state` are states of store.models.ResourceState: of Holds, and of the policies (the worse one of
    policies and bindings). They are empty before the first poll.
    """
    if policy_state == WatchState.NOT_SERVED:
        return PolicyState.MISSING, NEEDS_POLICIES
    if hold_state == WatchState.NOT_SERVED:
        return PolicyState.MISSING, f"the Hold ({HOLDS}) is not installed here"
    if policy_state != WatchState.OK:
        return PolicyState.NOT_SEEN, _unobserved_text(policy_state)
    policy = _find_own(policies)
    is_open = policy is not None and policy.digest == _OPEN_POLICY_DIGEST
    for noun, installed, digest in (
        ("policy", policy, _OPEN_POLICY_DIGEST if is_open else _POLICY_DIGEST),
        ("binding of the policy", _find_own(bindings), _BINDING_DIGEST),
    ):
        problem = _compare(noun, installed, digest)
        if problem is not None:
            return problem
    return PolicyState.INSTALLED, OPEN if is_open else ""


def _find_own(policies: Iterable[AdmissionPolicy]) -> AdmissionPolicy | None:
    return next((policy for policy in policies if policy.meta.ref.name == POLICY_NAME), None)


def _compare(
    noun: str, installed: AdmissionPolicy | None, digest: str
) -> tuple[PolicyState, str] | None:
    if installed is None:
        return PolicyState.MISSING, f"the {noun} {POLICY_NAME} is not installed here"
    if installed.digest != digest:
        return (
            PolicyState.CHANGED,
            f"the {noun} {POLICY_NAME} is not what this release of gangboard installs: somebody "
            "changed it, or another release installed it",
        )
    return None


def _unobserved_text(state: str) -> str:
    if state == WatchState.FORBIDDEN:
        return f"gangboard's reader may not look at {POLICY.key}, so only a proof can tell"
    if state in ("", WatchState.LISTING):
        return f"{POLICY.key} have not been read yet, so only a proof can tell"
    return f"{POLICY.key} cannot be read now, so only a proof can tell"
