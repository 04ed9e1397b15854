"""The write client against a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.errors import KubeError, WriteOutcome
from gangboard.kube.write_client import WriteClient
from tests.controlplane.client import Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces
from tests.controlplane.objects import job


@dataclass
class Place:
    """A suspended Job of two pods in a namespace of its own, and a way to write to it."""

    plane: ControlPlane
    connection: Connection
    namespace: str

    @property
    def jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs"

    @property
    def path(self) -> str:
        return f"{self.jobs}/quiet"

    @property
    def writer(self) -> WriteClient:
        return WriteClient(self.connection, action="42")

    def now(self) -> Any:
        return json.loads(self.connection.get(self.path))


@pytest.fixture
def place(controlplane_137: ControlPlane, namespace: Namespaces) -> Iterator[Place]:
    credentials = read_kubeconfig(controlplane_137.kubeconfig.read_text())
    with Connection(credentials) as connection:
        real_place = Place(controlplane_137, connection, namespace(controlplane_137))
        client = controlplane_137.client
        client.create(job("quiet", real_place.namespace, parallelism=2, suspend=True))
        # Suspended, so its controller has no more writes.
        client.wait_for(
            "batch/v1",
            "Job",
            "quiet",
            real_place.namespace,
            until=lambda one: one["status"].get("conditions"),
        )
        yield real_place


@contextmanager
def refused() -> Iterator[list[KubeError]]:
    errors: list[KubeError] = []
    with pytest.raises(KubeError) as caught:
        yield errors
    errors.append(caught.value)
    assert caught.value.write_outcome is WriteOutcome.ANSWERED
    assert caught.value.audit_id


def test_a_merge_patch_is_stored_under_our_field_manager(place: Place) -> None:
    before = place.now()
    answer = place.writer.merge_patch(place.path, b'{"spec":{"parallelism":1}}')
    job = json.loads(answer.body)
    assert (answer.status, len(answer.audit_id)) == (200, 36)
    assert job["spec"]["parallelism"] == 1
    assert job["metadata"]["generation"] == before["metadata"]["generation"] + 1
    place.writer.merge_patch(
        place.path, b'{"metadata":{"labels":{"a":"b"}}}', field_manager="gangboard-actor"
    )
    fields = {entry["manager"]: entry for entry in place.now()["metadata"]["managedFields"]}
    assert fields["gangboard"]["fieldsV1"]["f:spec"] == {"f:parallelism": {}}
    assert fields["gangboard"]["operation"] == "Update"
    assert "f:a" in fields["gangboard-actor"]["fieldsV1"]["f:metadata"]["f:labels"]


def test_a_json_patch_with_passing_tests_is_applied(place: Place) -> None:
    meta = place.now()["metadata"]
    place.writer.json_patch(
        place.path,
        [
            {"op": "test", "path": "/metadata/uid", "value": meta["uid"]},
            {"op": "test", "path": "/metadata/generation", "value": meta["generation"]},
            {"op": "replace", "path": "/spec/parallelism", "value": 1},
        ],
    )
    assert place.now()["spec"]["parallelism"] == 1


@pytest.mark.parametrize(
    ("field", "value"), [("uid", "another"), ("generation", 999), ("nothing", 1)]
)
def test_a_json_patch_with_a_failing_test_is_refused(
    place: Place, field: str, value: object
) -> None:
    before = place.now()
    with refused() as errors:
        place.writer.json_patch(
            place.path,
            [
                {"op": "test", "path": f"/metadata/{field}", "value": value},
                {"op": "replace", "path": "/spec/parallelism", "value": 1},
            ],
        )
    status = errors[0].api_status
    assert (errors[0].code, errors[0].status, status.reason) == ("invalid", 422, "Invalid")
    assert status.message == "the server rejected our request due to an error in our request"
    assert (status.name, status.causes) == ("", ())
    assert place.now() == before


def test_a_merge_patch_with_another_uid_is_refused(place: Place) -> None:
    with refused() as errors:
        place.writer.merge_patch(
            place.path, b'{"metadata":{"uid":"another"},"spec":{"parallelism":1}}'
        )
    (cause,) = errors[0].api_status.causes
    assert (errors[0].code, cause.field) == ("invalid", "metadata.uid")
    assert cause.message.endswith("field is immutable")


def test_dry_runs_change_nothing(place: Place) -> None:
    before = place.now()
    uid = before["metadata"]["uid"]
    answer = place.writer.merge_patch(place.path, b'{"spec":{"suspend":false}}', dry_run=True)
    assert json.loads(answer.body)["spec"]["suspend"] is False
    operations = [{"op": "replace", "path": "/spec/parallelism", "value": 1}]
    answer = place.writer.json_patch(place.path, operations, dry_run=True)
    assert json.loads(answer.body)["spec"]["parallelism"] == 1
    answer = place.writer.create(place.jobs, _job(place, "never"), dry_run=True)
    assert json.loads(answer.body)["metadata"]["uid"]
    place.writer.delete(place.path, uid=uid, dry_run=True)
    assert place.now() == before
    with pytest.raises(KubeError) as caught:
        place.connection.get(f"{place.jobs}/never")
    assert caught.value.is_object_missing


def test_a_duplicate_name_is_refused(place: Place) -> None:
    assert place.writer.create(place.jobs, _job(place, "second")).status == 201
    with refused() as errors:
        place.writer.create(place.jobs, _job(place, "second"))
    error = errors[0]
    assert (error.code, error.status, error.api_status.reason) == (
        "already-exists",
        409,
        "AlreadyExists",
    )
    assert error.api_status.message == 'jobs.batch "second" already exists'


def test_a_deletion_names_a_uid(place: Place) -> None:
    uid = place.now()["metadata"]["uid"]
    with refused() as errors:
        place.writer.delete(place.path, uid="another")
    assert (errors[0].code, errors[0].api_status.reason) == ("conflict", "Conflict")
    assert "the UID in the precondition (another)" in errors[0].api_status.message
    assert place.now()["metadata"]["uid"] == uid
    assert place.writer.delete(place.path, uid=uid).status == 200
    with refused() as errors:
        place.writer.delete(place.path, uid=uid)
    assert errors[0].is_object_missing


def test_objects_quoted_by_the_server_are_left_out(place: Place) -> None:
    before = place.now()
    with refused() as errors:
        place.writer.merge_patch(place.path, b'{"spec":{"suspended":true}}')
    assert errors[0].api_status.message.endswith('Invalid value: …: unknown field "spec.suspended"')
    template = b'{"spec":{"template":{"spec":{"containers":[{"name":"b","image":"i"}]}}}}'
    with refused() as errors:
        place.writer.merge_patch(place.path, template)
    assert errors[0].api_status.message == (
        'Job.batch "quiet" is invalid: spec.template.spec: Invalid value: …: field is immutable'
    )
    assert errors[0].api_status.causes[0].message == "Invalid value: …: field is immutable"
    assert place.now() == before


def test_a_missing_object_is_reported(place: Place) -> None:
    with refused() as errors:
        place.writer.merge_patch(f"{place.jobs}/nobody", b"{}")
    assert (errors[0].api_status.kind, errors[0].api_status.name) == ("jobs", "nobody")
    assert errors[0].is_object_missing
    for path in ("/apis/nobody.example.com/v1/namespaces/x/things", "/apis/batch/v1/things"):
        with refused() as errors:
            place.writer.create(path, b"{}")
        assert (errors[0].code, errors[0].is_object_missing) == ("not-found", False)


def test_a_forbidden_write_is_reported(place: Place) -> None:
    token = place.plane.service_account_token(place.namespace, "default")
    text = place.plane.kubeconfig_for(token, name=place.namespace).read_text()
    with Connection(read_kubeconfig(text)) as connection, refused() as errors:
        WriteClient(connection).merge_patch(place.path, b"{}")
    assert (errors[0].code, errors[0].api_status.reason) == ("forbidden", "Forbidden")
    assert 'cannot patch resource "jobs" in API group "batch"' in errors[0].api_status.message


def test_an_unreachable_webhook_means_not_stored(place: Place) -> None:
    client = place.plane.client
    client.create(_webhook(place.namespace))
    before = place.now()
    try:
        # Every API server learns of a webhook a moment later.
        wait(lambda: _is_webhook_down(place), what="the webhook to be asked")
        with refused() as errors:
            place.writer.merge_patch(place.path, b'{"spec":{"parallelism":1}}')
        with refused():
            place.writer.create(place.jobs, _job(place, "never"))
        with pytest.raises(KubeError) as caught:
            place.writer.delete(place.path, uid=before["metadata"]["uid"])
    finally:
        client.delete(_ADMISSION, "ValidatingWebhookConfiguration", place.namespace)
    assert (errors[0].status, errors[0].api_status.reason) == (500, "InternalError")
    assert errors[0].api_status.message.startswith(
        "Internal error occurred: failed calling webhook"
    )
    assert caught.value.write_outcome is WriteOutcome.UNKNOWN
    assert place.now() == before


def test_a_silent_store_leaves_the_outcome_unknown(place: Place) -> None:
    place.plane.pause_process("etcd")
    try:
        with pytest.raises(KubeError) as caught:
            place.writer.merge_patch(place.path, b'{"spec":{"parallelism":1}}', deadline=1.0)
    finally:
        place.plane.continue_process("etcd")
    assert (caught.value.code, caught.value.write_outcome) == ("timeout", WriteOutcome.UNKNOWN)
    assert caught.value.sentence.endswith(f"did not complete PATCH {place.path} within 1 s.")
    assert place.writer.merge_patch(place.path, b'{"spec":{"parallelism":2}}').status == 200


_ADMISSION = "admissionregistration.k8s.io/v1"


def _job(place: Place, name: str) -> bytes:
    return json.dumps(job(name, place.namespace, suspend=True)).encode()


def _webhook(namespace: str) -> Json:
    rule = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": ["jobs"],
    }
    return {
        "apiVersion": _ADMISSION,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [
            {
                "name": "down.example.com",
                "clientConfig": {"url": "https://127.0.0.1:9/admit"},
                "rules": [rule],
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            }
        ],
    }


def _is_webhook_down(place: Place) -> bool:
    try:
        place.writer.merge_patch(place.path, b'{"spec":{"parallelism":1}}', dry_run=True)
    except KubeError as error:
        return "failed calling webhook" in error.api_status.message
    return False
