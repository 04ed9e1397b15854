"""Discovery, lists and watches: the same on the simulator and on the real API server."""

from __future__ import annotations

import itertools
import re
import time

import pytest

from tests.contract.site import Site
from tests.controlplane.client import ApiError, Json, wait
from tests.controlplane.objects import pod

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def _pods(site: Site, count: int) -> list[Json]:
    """Make pods that no scheduler touches."""
    return [
        site.client.create(pod(f"p-{number}", site.namespace, scheduler="nobody"))
        for number in range(count)
    ]


def _names(page: Json) -> list[str]:
    return [item["metadata"]["name"] for item in page["items"]]


def test_both_forms_of_discovery_name_the_gang_resources(site: Site) -> None:
    plain = site.client.request("GET", "/apis/scheduling.k8s.io/v1beta1")
    named = {row["name"]: row for row in plain["resources"]}
    assert {"podgroups", "podgroups/status", "workloads"} <= named.keys()
    assert "workloads/status" not in named
    assert {"list", "watch", "get", "patch"} <= set(named["podgroups"]["verbs"])
    group = site.client.request("GET", "/apis/scheduling.k8s.io")
    assert [entry["version"] for entry in group["versions"]] == ["v1", "v1beta1", "v1alpha3"]
    code, document, headers = site.raw("GET", "/apis", Accept=_AGGREGATED)
    assert code == 200
    assert document["kind"] == "APIGroupDiscoveryList"
    assert "apidiscovery.k8s.io" in headers["Content-Type"]
    groups = {item["metadata"]["name"]: item for item in document["items"]}
    served = {
        (version["version"], resource["resource"])
        for version in groups["scheduling.k8s.io"]["versions"]
        for resource in version["resources"]
    }
    assert ("v1alpha3", "compositepodgroups") in served
    assert ("v1beta1", "compositepodgroups") not in served
    jobsets = groups["jobset.x-k8s.io"]["versions"][0]["resources"][0]
    assert jobsets["responseKind"]["kind"] == "JobSet"
    assert jobsets["scope"] == "Namespaced"


def test_the_schema_of_each_group_version_has_a_hash(site: Site) -> None:
    paths = site.client.request("GET", "/openapi/v3")["paths"]
    for path in ("api/v1", "apis/batch/v1", "apis/jobset.x-k8s.io/v1alpha2"):
        url, _, digest = paths[path]["serverRelativeURL"].partition("?hash=")
        assert url == f"/openapi/v3/{path}"
        assert re.fullmatch("[0-9A-F]{128}", digest)
    assert site.client.request("GET", "/openapi/v3")["paths"] == paths


def test_pages_of_a_list_are_a_snapshot(site: Site) -> None:
    _pods(site, 7)
    first = site.client.request("GET", site.pods, query={"limit": 3})
    site.client.create(pod("p-later", site.namespace, scheduler="nobody"))
    site.client.delete("v1", "Pod", "p-6", site.namespace, grace=0)
    token = first["metadata"]["continue"]
    second = site.client.request("GET", site.pods, query={"limit": 3, "continue": token})
    token = second["metadata"]["continue"]
    third = site.client.request("GET", site.pods, query={"limit": 3, "continue": token})
    observed = [_names(page) for page in (first, second, third)]
    assert list(itertools.chain(*observed)) == [f"p-{number}" for number in range(7)]
    assert [len(names) for names in observed] == [3, 3, 1]
    assert len({page["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1
    assert first["metadata"]["remainingItemCount"] == 4
    assert second["metadata"]["remainingItemCount"] == 1
    assert "continue" not in third["metadata"]
    assert first["kind"] == "PodList"
    assert "kind" not in first["items"][0]


def test_a_selector_hides_how_many_remain(site: Site) -> None:
    for number in range(3):
        created = pod(f"p-{number}", site.namespace, scheduler="nobody", labels={"side": "left"})
        site.client.create(created)
    site.client.create(pod("other", site.namespace, scheduler="nobody"))
    page = site.client.request("GET", site.pods, query={"limit": 2, "labelSelector": "side=left"})
    assert _names(page) == ["p-0", "p-1"]
    assert "remainingItemCount" not in page["metadata"]
    assert site.client.list("v1", "Pod", site.namespace, labels="side in (right)") == []
    only = site.client.list("v1", "Pod", site.namespace, fields="metadata.name=other")
    assert [item["metadata"]["name"] for item in only] == ["other"]


def test_items_of_custom_resources_carry_their_kind(site: Site) -> None:
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{site.namespace}/jobsets"
    page = site.client.request("GET", path)
    assert page["kind"] == "JobSetList"
    assert page["items"] == []


def test_a_watch_reports_every_change_after_its_version(site: Site) -> None:
    _pods(site, 1)
    version = site.client.request("GET", site.pods)["metadata"]["resourceVersion"]
    with site.watch(site.pods, resourceVersion=version, timeoutSeconds=15) as events:
        site.client.create(pod("new", site.namespace, scheduler="nobody"))
        patch = {"metadata": {"labels": {"seen": "yes"}}}
        site.client.patch("v1", "Pod", "p-0", patch, site.namespace)
        site.client.delete("v1", "Pod", "new", site.namespace, grace=0)
        result = list(itertools.islice(events, 4))
    # Every deletion of a pod is seen twice: it is marked, then it goes.
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in result] == [
        ("ADDED", "new"),
        ("MODIFIED", "p-0"),
        ("MODIFIED", "new"),
        ("DELETED", "new"),
    ]
    assert result[2]["object"]["metadata"]["deletionGracePeriodSeconds"] == 0
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in result]
    assert versions == sorted(versions)
    assert versions[0] > int(version)
    assert all(event["object"]["kind"] == "Pod" for event in result)


def test_a_watch_without_a_version_starts_with_existing_objects(site: Site) -> None:
    _pods(site, 2)
    with site.watch(site.pods, timeoutSeconds=10) as events:
        received = list(itertools.islice(events, 2))
    assert {event["type"] for event in received} == {"ADDED"}
    assert {event["object"]["metadata"]["name"] for event in received} == {"p-0", "p-1"}


def test_a_watch_can_send_the_list_first_and_mark_its_end(site: Site) -> None:
    _pods(site, 2)
    query: dict[str, str | int] = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": 10,
    }
    with site.watch(site.pods, **query) as events:
        received = list(itertools.islice(events, 3))
    assert [event["type"] for event in received] == ["ADDED", "ADDED", "BOOKMARK"]
    annotations = received[2]["object"]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}


def test_bookmarks_move_a_quiet_watch_on_and_its_end_is_no_error(site: Site) -> None:
    version = site.client.request("GET", site.pods)["metadata"]["resourceVersion"]
    query = {"resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": 4}

    elsewhere = site.client.create(pod("elsewhere", "default", scheduler="nobody"))["metadata"]

    def watch() -> list[Json]:
        with site.watch(site.pods, **query) as events:
            # A watch is moved on only where something has happened that it does not see.
            stamp = {"metadata": {"labels": {"at": str(time.time())}}}
            site.client.patch("v1", "Pod", elsewhere["name"], stamp, "default")
            return list(events)

    try:
        # The bookmark is due two seconds before the end: a server that is held up then sends none.
        received = wait(watch, what="a watch with a bookmark")
    finally:
        site.client.delete("v1", "Pod", elsewhere["name"], "default")
    assert {event["type"] for event in received} == {"BOOKMARK"}
    assert int(received[-1]["object"]["metadata"]["resourceVersion"]) >= int(version)
    assert received[-1]["object"]["kind"] == "Pod"
    assert received[-1]["object"].get("status", {}) in ({}, None)


def test_a_watch_of_a_label_reports_pods_that_gain_and_lose_it(site: Site) -> None:
    _pods(site, 1)
    version = site.client.request("GET", site.pods)["metadata"]["resourceVersion"]
    query = {"resourceVersion": version, "labelSelector": "side=left", "timeoutSeconds": 15}
    with site.watch(site.pods, **query) as events:
        for side in ("left", "right"):
            patch = {"metadata": {"labels": {"side": side}}}
            site.client.patch("v1", "Pod", "p-0", patch, site.namespace)
        received = list(itertools.islice(events, 2))
    assert [event["type"] for event in received] == ["ADDED", "DELETED"]


def test_an_old_version_has_expired(site: Site) -> None:
    # A young server remembers every pod from the beginning, but not JobSets: their CRD came later.
    path = "/apis/jobset.x-k8s.io/v1alpha2/jobsets"
    with site.watch(path, resourceVersion="1", timeoutSeconds=5) as events:
        first = next(events)
    assert first["type"] == "ERROR"
    status = first["object"]
    assert (status["code"], status["reason"], status["kind"]) == (410, "Expired", "Status")
    assert status["message"].startswith("too old resource version: 1 (")


def test_a_list_from_the_future_times_out(site: Site) -> None:
    with pytest.raises(ApiError) as caught:
        site.client.request("GET", site.pods, query={"resourceVersion": "99999999"})
    assert caught.value.status == 504
    assert "Too large resource version: 99999999, current: " in caught.value.message


def test_a_token_that_is_none_is_a_bad_request(site: Site) -> None:
    with pytest.raises(ApiError) as caught:
        site.client.request("GET", site.pods, query={"limit": 1, "continue": "nonsense"})
    assert (caught.value.status, caught.value.reason) == (400, "BadRequest")
    assert caught.value.message.startswith("invalid continue token: continue key is not valid: ")


def test_pods_cannot_be_selected_by_their_group(site: Site) -> None:
    with pytest.raises(ApiError) as caught:
        site.client.list("v1", "Pod", site.namespace, fields="spec.schedulingGroup=x")
    assert caught.value.status == 400
    assert caught.value.message == "field label not supported: spec.schedulingGroup"


def test_a_missing_object_has_the_same_message(site: Site) -> None:
    said = {}
    for name, path in (
        ("object", f"{site.pods}/nope"),
        ("custom", f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{site.namespace}/jobsets/nope"),
        ("resource", "/apis/batch/v1/nothings"),
        ("version", "/apis/batch/v7/jobs"),
        ("group", "/apis/nobody.example/v1/things"),
    ):
        with pytest.raises(ApiError) as caught:
            site.client.request("GET", path)
        assert caught.value.status == 404
        said[name] = caught.value.message
    assert said["object"] == 'pods "nope" not found'
    assert said["custom"] == 'jobsets.jobset.x-k8s.io "nope" not found'
    assert said["resource"] == "the server could not find the requested resource"
    assert said["version"] == said["resource"]
    # The answer for an unserved group is not even JSON.
    assert said["group"].strip() == "404 page not found"


def test_an_unknown_token_is_unauthorized(site: Site) -> None:
    code, status, _ = site.raw("GET", site.pods, Authorization="Bearer nobody")
    assert code == 401 or not site.headers
    if code == 401:
        assert status["message"] == "Unauthorized"


def test_events_are_the_same_in_both_forms(site: Site) -> None:
    created = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e.1", "namespace": site.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p-0",
            "namespace": site.namespace,
        },
        "reason": "Testing",
        "message": "said in the old form",
        "type": "Warning",
        "source": {"component": "contract"},
        "count": 3,
        "firstTimestamp": "2026-11-21T09:00:00Z",
        "lastTimestamp": "2026-11-21T09:05:00Z",
    }
    site.client.create(created)
    new = site.client.get("events.k8s.io/v1", "Event", "e.1", site.namespace)
    assert new["note"] == "said in the old form"
    assert new["regarding"]["name"] == "p-0"
    assert new["deprecatedCount"] == 3
    assert new["deprecatedLastTimestamp"] == "2026-11-21T09:05:00Z"
    assert new["deprecatedSource"] == {"component": "contract"}
    old = site.client.get("v1", "Event", "e.1", site.namespace)
    assert old["message"] == "said in the old form"
    assert old["count"] == 3
