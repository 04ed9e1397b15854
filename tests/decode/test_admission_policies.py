"""The manifest of the policy and the object of an API server have the same digest."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from gangboard.decode.admission_policies import BINDING, POLICY, policy_digest
from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.decode.reading import Json, model, with_identity
from tests.scenarios.holds import MANIFEST

_, MANIFEST_POLICY, MANIFEST_BINDING = yaml.safe_load_all(MANIFEST.read_text())
SPEC: Json = MANIFEST_POLICY["spec"]
BINDING_SPEC: Json = MANIFEST_BINDING["spec"]

# SetDefaults_MatchResources and SetDefaults_Rule of Kubernetes 1.37 (v1) and 1.35 (v1beta1).
MATCH_DEFAULTS = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}


def as_served() -> Json:
    """The spec of the policy as an API server gives it back, by those two functions."""
    spec = copy.deepcopy(SPEC)
    spec["matchConstraints"] = MATCH_DEFAULTS | spec["matchConstraints"]
    spec["matchConstraints"]["resourceRules"][0]["scope"] = "*"
    return spec


def changed(path: str, value: Any) -> Json:
    """The spec as served with one thing set; None takes it away."""
    spec = as_served()
    *way, last = path.split(".")
    place: Any = spec
    for step in way:
        place = place[int(step)] if step.isdecimal() else place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return spec


def test_server_defaults_do_not_change_the_digest() -> None:
    assert policy_digest(as_served()) == policy_digest(SPEC)
    served = as_served()
    del served["failurePolicy"]  # the API's default is the word that is written there
    assert policy_digest(served) == policy_digest(SPEC)
    assert policy_digest(
        {**as_served(), "variables": None, "auditAnnotations": []}
    ) == policy_digest(SPEC)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("failurePolicy", "Ignore"),
        ("reinvocationPolicy", "Never"),
        ("paramKind.kind", "ConfigMap"),
        ("matchConditions", None),
        ("matchConditions.0.expression", "false"),
        ("matchConstraints.matchPolicy", "Exact"),
        ("matchConstraints.namespaceSelector", {"matchLabels": {"team": "a"}}),
        ("matchConstraints.objectSelector", {"matchLabels": {"held": "yes"}}),
        ("matchConstraints.objectSelector", {}),
        ("matchConstraints.resourceRules.0.operations", ["UPDATE"]),
        ("matchConstraints.resourceRules.0.scope", "Cluster"),
        ("matchConstraints.excludeResourceRules", [{"resources": ["jobs"]}]),
        ("mutations.0.applyConfiguration.expression", "Object{}"),
        ("mutations", None),
        ("variables", [{"name": "x", "expression": "1"}]),
        ("aFieldOfTomorrow", "Off"),
    ],
)
def test_changed_policy_has_another_digest(path: str, value: Any) -> None:
    assert policy_digest(changed(path, value)) != policy_digest(SPEC)


@pytest.mark.parametrize(
    "other",
    [
        {"policyName": "another"},
        {"paramRef": None},
        {"paramRef": {"selector": {"matchLabels": {"a": "b"}}, "parameterNotFoundAction": "Allow"}},
        {"paramRef": {"selector": {}, "parameterNotFoundAction": "Deny"}},
        {"matchResources": {"namespaceSelector": {"matchLabels": {"team": "a"}}}},
    ],
)
def test_changed_binding_has_another_digest(other: Json) -> None:
    assert policy_digest({**BINDING_SPEC, **other}) != policy_digest(BINDING_SPEC)


def test_only_our_objects_are_listed_and_stored() -> None:
    for resource, spec in ((POLICY, SPEC), (BINDING, BINDING_SPEC)):
        assert resource.versions == ("v1", "v1beta1")
        assert resource.query == (("fieldSelector", "metadata.name=gangboard-hold"),)
        assert not resource.needed
        ours = with_identity({"spec": spec}, "gangboard-hold", namespace="")
        assert model(resource, ours).digest == policy_digest(spec)
        assert model(resource, with_identity({"spec": spec}, "of-another", namespace="")) is None
        empty = model(resource, with_identity({"spec": None}, "gangboard-hold", namespace=""))
        assert empty.digest != policy_digest(spec)


@pytest.fixture
def serve() -> Iterator[Callable[[Client, Json, str], Json]]:
    """`serve(client, manifest, version)` gives the spec that the server made of it.

    Under another name: tests of the Hold itself may have installed it for the whole session.
    """
    created: list[tuple[Client, str]] = []

    def give(client: Client, manifest: Json, version: str) -> Json:
        plural = POLICY.plural if manifest["kind"] == POLICY.kind else BINDING.plural
        path = f"/apis/{POLICY.group}/{version}/{plural}"
        sent = {
            **manifest,
            "apiVersion": f"{POLICY.group}/{version}",
            "metadata": {"name": "digest-of-gangboard-hold"},
        }
        client.request("POST", path, sent)
        created.append((client, f"{path}/{sent['metadata']['name']}"))
        spec: Json = client.request("GET", created[-1][1])["spec"]
        return spec

    yield give
    for client, path in created:
        client.request("DELETE", path)


def test_manifest_from_a_real_server_has_the_same_digest(
    controlplane_137: ControlPlane, serve: Callable[..., Json]
) -> None:
    served = serve(controlplane_137.client, MANIFEST_POLICY, "v1")
    assert served == as_served() != SPEC
    assert policy_digest(served) == policy_digest(SPEC)
    assert policy_digest(serve(controlplane_137.client, MANIFEST_BINDING, "v1")) == policy_digest(
        BINDING_SPEC
    )


def test_v1beta1_manifest_from_a_real_1_35_has_the_same_digest(
    controlplane_135_map: ControlPlane, serve: Callable[..., Json]
) -> None:
    served = serve(controlplane_135_map.client, MANIFEST_POLICY, "v1beta1")
    assert served == as_served()
    assert policy_digest(served) == policy_digest(SPEC)
    assert policy_digest(
        serve(controlplane_135_map.client, MANIFEST_BINDING, "v1beta1")
    ) == policy_digest(BINDING_SPEC)
