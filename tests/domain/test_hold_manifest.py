"""The manifests of Holds in the product, the simulator and the captures are the same."""

from pathlib import Path

import yaml

from gangboard.decode import admission_policies
from gangboard.decode.admission_policies import policy_digest
from gangboard.domain.hold_manifest import POLICY_NAME, POLICY_VERSIONS, RESOURCE, policy_manifests
from simulator.hold import INSTALLATION

PROVEN = Path(__file__).parents[1] / "scenarios" / "hold.yaml"
"""Tried by hand on real control planes before this code was written."""


def test_the_manifest_equals_the_proven_manifest() -> None:
    proven = list(yaml.safe_load_all(PROVEN.read_text()))
    assert [RESOURCE, *policy_manifests("v1")] == proven


def test_simulator_installs_the_same_manifest() -> None:
    assert [RESOURCE, *policy_manifests("v1")] == list(INSTALLATION)


def test_v1beta1_differs_in_its_version_only() -> None:
    assert POLICY_VERSIONS == ("v1", "v1beta1")
    for new, old in zip(policy_manifests("v1"), policy_manifests("v1beta1"), strict=True):
        assert old == {**new, "apiVersion": "admissionregistration.k8s.io/v1beta1"}


def test_policy_and_binding_have_the_name_that_the_decoder_expects() -> None:
    policy, binding = policy_manifests()
    assert policy["metadata"]["name"] == binding["metadata"]["name"] == POLICY_NAME
    assert binding["spec"]["policyName"] == admission_policies.POLICY_NAME == POLICY_NAME
    assert policy_digest(policy["spec"]) != policy_digest(binding["spec"])


def test_kubectl_get_holds_shows_job_author_end_and_age() -> None:
    (version,) = RESOURCE["spec"]["versions"]
    columns = {c["name"]: c["type"] for c in version["additionalPrinterColumns"]}
    # A column of type `date` is printed as an age: a time to come would be <invalid>.
    assert columns == {"Job": "string", "By": "string", "Until": "string", "Age": "date"}
