"""Installation of the Hold, as a poll observes it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gangboard.decode.admission_policies import policy_digest
from gangboard.domain.action import PolicyState
from gangboard.domain.hold import AdmissionPolicy
from gangboard.domain.hold_manifest import BINDING_SPEC, POLICY_SPEC
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.levers.hold.installation import installation


def seen(spec: dict[str, Any], name: str = "gangboard-hold") -> AdmissionPolicy:
    ref = ObjectRef("admissionregistration.k8s.io", "Policy", "", name, f"uid-{name}")
    return AdmissionPolicy(Meta("v1", ref, "1", 1, None), policy_digest(spec))


POLICY, BINDING = seen(POLICY_SPEC), seen(BINDING_SPEC)


def test_installed_as_gangboard_installs_it() -> None:
    assert installation([POLICY], [BINDING], "ok", "ok") == (PolicyState.INSTALLED, "")


def test_a_manifest_returned_by_an_api_server_is_unchanged() -> None:
    served = copy.deepcopy(POLICY_SPEC)
    served["matchConstraints"] |= {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
    }
    served["matchConstraints"]["resourceRules"][0]["scope"] = "*"
    assert installation([seen(served)], [BINDING], "ok", "ok")[0] is PolicyState.INSTALLED


@pytest.mark.parametrize(
    ("policies", "bindings", "words"),
    [
        ([], [BINDING], "the policy gangboard-hold is not installed here"),
        ([seen(POLICY_SPEC, "other")], [BINDING], "the policy gangboard-hold is not installed"),
        ([POLICY], [], "the binding of the policy gangboard-hold is not installed here"),
    ],
)
def test_a_part_of_it_is_missing(
    policies: list[AdmissionPolicy], bindings: list[AdmissionPolicy], words: str
) -> None:
    state, sentence = installation(policies, bindings, "ok", "ok")
    assert state is PolicyState.MISSING
    assert words in sentence


@pytest.mark.parametrize(
    "change",
    [
        {"failurePolicy": "Ignore"},
        {"matchConditions": POLICY_SPEC["matchConditions"][:1]},
        {"mutations": []},
        {"somethingNew": True},
    ],
)
def test_a_changed_policy_is_reported(change: dict[str, Any]) -> None:
    state, sentence = installation([seen({**POLICY_SPEC, **change})], [BINDING], "ok", "ok")
    assert state is PolicyState.CHANGED
    assert "the policy gangboard-hold is not what this release of gangboard installs" in sentence


def test_an_older_policy_is_installed_and_its_gap_is_mentioned() -> None:
    """As the first manifest had it: everywhere `Ignore`, for all Jobs."""
    older = copy.deepcopy(POLICY_SPEC) | {"failurePolicy": "Ignore"}
    del older["matchConstraints"]["objectSelector"]
    state, sentence = installation([seen(older)], [BINDING], "ok", "ok")
    assert state is PolicyState.INSTALLED
    assert "while an API server starts, a controller can resume a held Job" in sentence


def test_a_narrowed_binding_is_reported() -> None:
    only = {**BINDING_SPEC, "matchResources": {"namespaceSelector": {"matchLabels": {"a": "b"}}}}
    state, sentence = installation([POLICY], [seen(only)], "ok", "ok")
    assert state is PolicyState.CHANGED
    assert "the binding of the policy gangboard-hold" in sentence


def test_a_cluster_without_admission_policies_gets_its_requirements() -> None:
    state, sentence = installation([], [], "not-served", "not-served")
    assert state is PolicyState.MISSING
    assert "does not serve MutatingAdmissionPolicy" in sentence
    for needed in ("1.36", "1.35", "feature gate", "v1beta1"):
        assert needed in sentence


def test_no_job_can_be_held_without_the_resource() -> None:
    state, sentence = installation([], [], "not-served", "ok")
    assert (state, sentence) == (
        PolicyState.MISSING,
        "the Hold (holds.gangboard.dev) is not installed here",
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("forbidden", "reader may not look at mutatingadmissionpolicies"),
        ("", "have not been read yet"),
        ("listing", "have not been read yet"),
        ("failing", "cannot be read now"),
        ("unknown-version", "cannot be read now"),
        ("undecodable", "cannot be read now"),
    ],
)
def test_unobserved_objects_are_not_called_missing(state: str, words: str) -> None:
    result, sentence = installation([], [], "ok", state)
    assert result is PolicyState.NOT_SEEN
    assert words in sentence
    assert "only a proof can tell" in sentence
