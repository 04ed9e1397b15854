"""Creating, patching and deleting: the same on the simulator and on the real API server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.site import Site
from tests.controlplane.client import ApiError, Json
from tests.controlplane.objects import job, pod, podgroup

BATCH = "batch/v1"


def _job(site: Site, name: str = "quiet") -> Json:
    """Make a suspended Job, which no controller has much to do with, and let it come to rest."""
    site.client.create(job(name, site.namespace, parallelism=2, suspend=True))
    return site.client.wait_for(
        BATCH, "Job", name, site.namespace, until=lambda result: result["status"].get("conditions")
    )


def _refused(site: Site, body: Any, **options: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        site.client.patch(BATCH, "Job", "quiet", body, site.namespace, **options)
    return caught.value


def test_a_new_object_gets_the_server_fields(site: Site) -> None:
    made = site.client.create(pod("p", site.namespace, scheduler="nobody"))
    meta = made["metadata"]
    assert {"uid", "resourceVersion", "creationTimestamp"} <= meta.keys()
    assert meta["generation"] == 1
    assert made["status"] == {"phase": "Pending", "qosClass": "Burstable"}
    assert made["spec"]["schedulerName"] == "nobody"
    assert {t["key"] for t in made["spec"]["tolerations"]} == {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    }
    group = site.client.create(podgroup("ring", site.namespace, gang=2))
    assert group["spec"]["disruptionMode"] == {"single": {}}
    assert group["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
    assert group["status"] == {}
    assert "generation" not in group["metadata"]


def test_the_same_name_twice_is_a_conflict(site: Site) -> None:
    site.client.create(pod("p", site.namespace, scheduler="nobody"))
    with pytest.raises(ApiError) as caught:
        site.client.create(pod("p", site.namespace, scheduler="nobody"))
    assert (caught.value.status, caught.value.reason) == (409, "AlreadyExists")
    assert caught.value.message == 'pods "p" already exists'


def test_a_namespace_must_exist(site: Site) -> None:
    with pytest.raises(ApiError) as caught:
        site.client.create(pod("p", "no-such-namespace", scheduler="nobody"))
    assert caught.value.status == 404
    assert caught.value.message == 'namespaces "no-such-namespace" not found'


def test_generation_counts_changes_of_the_spec_only(site: Site) -> None:
    before = _job(site)
    labelled = site.client.patch(
        BATCH, "Job", "quiet", {"metadata": {"labels": {"a": "b"}}}, site.namespace
    )
    assert labelled["metadata"]["generation"] == before["metadata"]["generation"]
    assert labelled["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    changed = site.client.patch(BATCH, "Job", "quiet", {"spec": {"parallelism": 1}}, site.namespace)
    assert changed["metadata"]["generation"] == before["metadata"]["generation"] + 1
    repeated = site.client.patch(
        BATCH, "Job", "quiet", {"spec": {"parallelism": 1}}, site.namespace
    )
    assert repeated["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]


def test_null_in_a_merge_patch_removes(site: Site) -> None:
    _job(site)
    both = {"metadata": {"annotations": {"a": "1", "b": "2"}}}
    site.client.patch(BATCH, "Job", "quiet", both, site.namespace)
    item = {"metadata": {"annotations": {"a": None}}}
    created = site.client.patch(BATCH, "Job", "quiet", item, site.namespace)
    assert created["metadata"]["annotations"] == {"b": "2"}


def test_a_json_patch_acts_when_its_tests_hold(site: Site) -> None:
    result = _job(site)
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": result["metadata"]["uid"]},
        {"op": "test", "path": "/metadata/generation", "value": result["metadata"]["generation"]},
        {"op": "replace", "path": "/spec/parallelism", "value": 1},
        {"op": "add", "path": "/metadata/annotations", "value": {"example.com~x": "y"}},
    ]
    patch[3]["value"] = {"x": "y"}
    created = site.client.patch(BATCH, "Job", "quiet", patch, site.namespace, type="json")
    assert created["spec"]["parallelism"] == 1
    assert created["metadata"]["annotations"]["x"] == "y"


def test_a_json_patch_with_a_failed_test_changes_nothing(site: Site) -> None:
    before = _job(site)
    error = _refused(
        site,
        [
            {"op": "replace", "path": "/spec/parallelism", "value": 1},
            {"op": "test", "path": "/metadata/uid", "value": "another"},
        ],
        type="json",
    )
    assert (error.status, error.reason) == (422, "Invalid")
    assert error.message == "the server rejected our request due to an error in our request"
    after = site.client.get(BATCH, "Job", "quiet", site.namespace)
    assert after["spec"]["parallelism"] == before["spec"]["parallelism"]


def test_a_missing_field_equals_null_in_a_test(site: Site) -> None:
    """So a JSON patch can bring the first annotation without wiping out another's."""
    result = _job(site)
    assert "annotations" not in result["metadata"]
    patch = [
        {"op": "test", "path": "/metadata/annotations", "value": None},
        {"op": "add", "path": "/metadata/annotations", "value": {"x": "y"}},
    ]
    created = site.client.patch(BATCH, "Job", "quiet", patch, site.namespace, type="json")
    assert created["metadata"]["annotations"] == {"x": "y"}
    repeated = _refused(site, patch, type="json")
    assert (repeated.status, repeated.reason) == (422, "Invalid")


def test_a_json_patch_of_a_missing_field_is_invalid(site: Site) -> None:
    _job(site)
    remove = [{"op": "remove", "path": "/metadata/annotations/nothing"}]
    assert _refused(site, remove, type="json").status == 422
    replace = [{"op": "replace", "path": "/spec/nothing/deeper", "value": 1}]
    assert _refused(site, replace, type="json").status == 422


def test_uid_and_version_in_a_patch_are_preconditions(site: Site) -> None:
    _job(site)
    error = _refused(site, {"metadata": {"uid": "another"}, "spec": {"suspend": False}})
    # Not 409: the server takes it for an attempt to change the uid.
    assert (error.status, error.reason) == (422, "Invalid")
    assert error.message == (
        'Job.batch "quiet" is invalid: metadata.uid: Invalid value: "another": field is immutable'
    )
    error = _refused(site, {"metadata": {"resourceVersion": "1"}, "spec": {"suspend": False}})
    assert (error.status, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on jobs.batch "quiet": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_a_patch_of_the_main_resource_leaves_the_status_and_the_other_way_round(
    site: Site,
) -> None:
    site.client.create(pod("p", site.namespace, scheduler="nobody"))
    body = {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}}
    created = site.client.patch("v1", "Pod", "p", body, site.namespace)
    assert created["status"]["phase"] == "Pending"
    body = {"spec": {"nodeName": "n0"}, "status": {"phase": "Running"}}
    created = site.client.patch("v1", "Pod", "p", body, site.namespace, subresource="status")
    assert created["status"]["phase"] == "Running"
    assert "nodeName" not in created["spec"]


def test_a_patch_in_an_unknown_language_is_refused(site: Site) -> None:
    _job(site)
    path = f"/apis/batch/v1/namespaces/{site.namespace}/jobs/quiet"
    code, status, _ = site.raw("PATCH", path, {}, Content_Type="application/json")
    assert code == 415
    assert status["reason"] == "UnsupportedMediaType"


def test_a_dry_run_answers_and_stores_nothing(site: Site) -> None:
    before = _job(site)
    created = site.client.patch(
        BATCH, "Job", "quiet", {"spec": {"suspend": False}}, site.namespace, dry_run=True
    )
    assert created["spec"]["suspend"] is False
    assert created["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert site.client.get(BATCH, "Job", "quiet", site.namespace)["spec"]["suspend"] is True
    site.client.create(pod("never", site.namespace, scheduler="nobody"), dry_run=True)
    assert site.client.find("v1", "Pod", "never", site.namespace) is None


def test_a_deletion_can_ask_for_the_uid(site: Site) -> None:
    existing = site.client.create(pod("p", site.namespace, scheduler="nobody"))
    options: Json = {"preconditions": {"uid": "another"}, "gracePeriodSeconds": 0}
    with pytest.raises(ApiError) as caught:
        site.client.request("DELETE", f"{site.pods}/p", options)
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")
    assert caught.value.message == (
        'Operation cannot be fulfilled on Pod "p": the UID in the precondition (another) does not '
        f"match the UID in record ({existing['metadata']['uid']}). The object might have been deleted "
        "and then recreated"
    )
    options["preconditions"]["uid"] = existing["metadata"]["uid"]
    site.client.request("DELETE", f"{site.pods}/p", options)
    assert site.client.find("v1", "Pod", "p", site.namespace) is None


def test_managed_fields_name_the_writer_of_a_field(site: Site) -> None:
    _job(site)
    created = site.client.patch(
        BATCH, "Job", "quiet", {"spec": {"suspend": False}}, site.namespace, field_manager="someone"
    )
    owners = [
        entry["manager"]
        for entry in created["metadata"]["managedFields"]
        if "f:suspend" in entry["fieldsV1"].get("f:spec", {})
    ]
    assert owners == ["someone"]
