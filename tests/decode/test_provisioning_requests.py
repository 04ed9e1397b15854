"""ProvisioningRequests of cluster-autoscaler, and the pods that consume one."""

import pytest

from gangboard.decode.pods import POD
from gangboard.decode.provisioning_requests import PROVISIONING_REQUEST
from tests.decode.reading import Json, model, read, with_identity

NEW = "autoscaling.x-k8s.io/consume-provisioning-request"
OLD = "cluster-autoscaler.kubernetes.io/consume-provisioning-request"
REQUEST: Json = {
    "spec": {
        "provisioningClassName": "queued-provisioning.gke.io",
        "podSets": [{"count": 4, "podTemplateRef": {"name": "trainer"}}],
        "parameters": {"maxRunDurationSeconds": "3600"},
    },
    "status": {
        "conditions": [
            {"type": "Accepted", "status": "True", "reason": "SuccessfullyQueued"},
            {"type": "Failed", "status": "True", "reason": "OutOfQuota", "message": "no quota"},
        ],
        "provisioningClassDetails": {"x": "y"},
    },
}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_failed_provisioning_request(version: str) -> None:
    obj = model(PROVISIONING_REQUEST, with_identity(REQUEST, "big"), version)
    ref = obj.meta.ref
    assert (ref.group, ref.kind, ref.namespace, ref.name) == (
        "autoscaling.x-k8s.io",
        "ProvisioningRequest",
        "team-a",
        "big",
    )
    assert obj.class_name == "queued-provisioning.gke.io"
    assert obj.accepted.is_true
    assert (obj.failed.is_true, obj.failed.message) == (True, "no quota")
    assert (obj.provisioned, obj.revoked) == (None, None)


@pytest.mark.parametrize("rest", [{}, {"spec": None, "status": None}])
def test_provisioning_request_without_a_status(rest: Json) -> None:
    item = model(PROVISIONING_REQUEST, with_identity(rest))
    assert (item.class_name, item.accepted, item.failed) == ("", None, None)


@pytest.mark.parametrize(
    ("annotations", "name"),
    [
        (None, ""),
        ({"other": "x"}, ""),
        ({NEW: "big"}, "big"),
        ({OLD: "big"}, "big"),
        ({OLD: "old", NEW: "new"}, "new"),
    ],
)
def test_a_pod_names_the_request_that_it_consumes(annotations: Json | None, name: str) -> None:
    pod = model(POD, with_identity({"metadata": {"annotations": annotations}}))
    assert pod.provisioning_request == name
    # Annotations of pods are not acted on.
    assert not pod.meta.annotated


def test_malformed_annotations_are_reported_and_the_pod_is_stored() -> None:
    pod, problem = read(POD, with_identity({"metadata": {"annotations": ["odd"]}}))
    assert (pod.meta.ref.name, pod.provisioning_request) == ("x", "")
    assert problem is not None
    assert not problem.lost


def test_provisioning_requests_are_optional() -> None:
    assert PROVISIONING_REQUEST.key == "provisioningrequests.autoscaling.x-k8s.io"
    assert not PROVISIONING_REQUEST.needed
