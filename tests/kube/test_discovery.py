"""Discovery: served, not served, and unknown resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.discovery import ServedVersion, discover, path_for
from gangboard.kube.errors import KubeError
from tests.kube.server import Request, Server, Wire

Serve = Callable[..., Server]
Connect = Callable[..., Connection]
LIST_WATCH = ["get", "list", "watch"]
SCHEDULING = "scheduling.k8s.io"
AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def answering(answers: dict[str, Any]) -> Callable[[Request, Wire], None]:
    """A server that knows these paths. A number is a status; lists of kind …DiscoveryList are typed."""

    def script(request: Request, wire: Wire) -> None:
        answer = answers.get(request.path, 404)
        if isinstance(answer, int):
            wire.json({"kind": "Status", "message": f"status {answer}"}, answer)
        elif answer.get("kind") == "APIGroupDiscoveryList":
            wire.json(answer, Content_Type=AGGREGATED_TYPE)
        else:
            wire.json(answer)

    return script


def aggregated(*groups: tuple[str, list[dict[str, Any]]]) -> dict[str, Any]:
    items = [{"metadata": {"name": name}, "versions": versions} for name, versions in groups]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}


def version(name: str, *resources: str, freshness: str = "Current") -> dict[str, Any]:
    listed = [
        {
            "resource": resource,
            "responseKind": {"group": "", "version": name, "kind": resource.title()[:-1]},
            "scope": "Namespaced",
            "verbs": LIST_WATCH,
            "subresources": [{"subresource": "status", "verbs": ["get"]}],
        }
        for resource in resources
    ]
    return {"version": name, "freshness": freshness, "resources": listed}


def plain(*names: str) -> dict[str, Any]:
    resources = [
        {"name": name, "kind": name.title(), "namespaced": True, "verbs": LIST_WATCH}
        for name in (*names, f"{names[0]}/status")
    ]
    return {"kind": "APIResourceList", "resources": resources}


def group_list(**groups: list[str]) -> dict[str, Any]:
    """Dots in names are written as two underscores."""
    return {
        "kind": "APIGroupList",
        "groups": [
            {"name": name.replace("__", "."), "versions": [{"version": v} for v in versions]}
            for name, versions in groups.items()
        ],
    }


PLAIN: dict[str, Any] = {
    "/version": {"gitVersion": "v1.29.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": plain("pods"),
    "/apis": group_list(batch=["v1"], scheduling__k8s__io=["v1", "v1beta1"], apps=["v1"]),
    "/apis/batch/v1": plain("jobs"),
    f"/apis/{SCHEDULING}/v1": plain("priorityclasses"),
    f"/apis/{SCHEDULING}/v1beta1": plain("podgroups", "workloads"),
    "/apis/apps/v1": plain("deployments"),
}
AGGREGATED: dict[str, Any] = {
    "/version": {"gitVersion": "v1.37.0+vendor", "major": "1"},
    "/api": aggregated(("", [version("v1", "pods", "nodes")])),
    "/apis": aggregated(
        ("batch", [version("v1", "jobs", "cronjobs")]),
        (SCHEDULING, [version("v1", "priorityclasses"), version("v1beta1", "podgroups")]),
        ("metrics.k8s.io", [version("v1beta1", freshness="Stale")]),
    ),
}


def test_aggregated_discovery_needs_four_requests(serve: Serve, connect: Connect) -> None:
    server = serve(answering(AGGREGATED))
    discovery = discover(connect(server))
    assert discovery.server_version == "v1.37.0+vendor"
    assert discovery.resources["batch", "jobs"] == (
        ServedVersion("v1", "Job", namespaced=True, verbs=frozenset(LIST_WATCH)),
    )
    assert discovery.resources["", "pods"][0].kind == "Pod"
    assert [item.version for item in discovery.resources[SCHEDULING, "podgroups"]] == ["v1beta1"]
    assert [request.target for request in server.requests] == [
        "/version",
        "/api",
        "/apis",
        "/api/v1/namespaces/kube-system",
    ]
    assert "as=APIGroupDiscoveryList" in server.requests[2].headers["Accept"]
    assert discovery.cluster_uid == "", "one that does not tell its uid is read all the same"


def test_versions_of_a_resource_keep_the_order_of_the_server(
    serve: Serve, connect: Connect
) -> None:
    apis = aggregated(
        (SCHEDULING, [version("v1beta1", "podgroups"), version("v1alpha3", "podgroups")])
    )
    discovery = discover(connect(serve(answering({**AGGREGATED, "/apis": apis}))))
    versions = [item.version for item in discovery.resources[SCHEDULING, "podgroups"]]
    assert versions == ["v1beta1", "v1alpha3"]


def test_a_stale_group_is_failed_and_not_absent(serve: Serve, connect: Connect) -> None:
    discovery = discover(connect(serve(answering(AGGREGATED))))
    assert set(discovery.failed) == {"metrics.k8s.io/v1beta1"}
    failure = discovery.failure_of("metrics.k8s.io")
    assert failure is not None
    assert (failure.code, failure.permanent) == ("server-error", False)
    assert "metrics.k8s.io/v1beta1" in failure.sentence
    assert discovery.failure_of("batch") is None
    assert discovery.failure_of("k8s.io") is None


def test_the_result_contains_only_the_requested_groups(serve: Serve, connect: Connect) -> None:
    discovery = discover(connect(serve(answering(AGGREGATED))), groups={"batch"})
    assert {group for group, _ in discovery.resources} == {"batch"}
    assert discovery.failed == {}


def test_an_older_server_is_queried_group_by_group(serve: Serve, connect: Connect) -> None:
    server = serve(answering(PLAIN))
    discovery = discover(connect(server), groups=["", "batch", SCHEDULING])
    assert set(discovery.resources) == {
        ("", "pods"),
        ("batch", "jobs"),
        (SCHEDULING, "priorityclasses"),
        (SCHEDULING, "podgroups"),
        (SCHEDULING, "workloads"),
    }
    assert discovery.failed == {}
    assert "/apis/apps/v1" not in {request.path for request in server.requests}


@pytest.mark.parametrize(("status", "code"), [(503, "server-error"), (403, "forbidden")])
def test_a_failing_group_version_leaves_the_rest_known(
    serve: Serve, connect: Connect, status: int, code: str
) -> None:
    answers = {**PLAIN, f"/apis/{SCHEDULING}/v1beta1": status}
    discovery = discover(connect(serve(answering(answers))))
    assert discovery.failed[f"{SCHEDULING}/v1beta1"].code == code
    assert discovery.failure_of(SCHEDULING) is not None
    assert ("batch", "jobs") in discovery.resources
    assert (SCHEDULING, "podgroups") not in discovery.resources


def test_a_core_group_that_fails_is_failed(serve: Serve, connect: Connect) -> None:
    discovery = discover(connect(serve(answering({**AGGREGATED, "/api": 503}))))
    assert discovery.failure_of("") is discovery.failed["v1"]
    assert ("batch", "jobs") in discovery.resources


@pytest.mark.parametrize(
    ("path", "status"), [("/apis", 503), ("/apis", 403), ("/apis", 404), ("/version", 401)]
)
def test_a_complete_discovery_failure_is_an_error(
    serve: Serve, connect: Connect, path: str, status: int
) -> None:
    with pytest.raises(KubeError) as caught:
        discover(connect(serve(answering({**PLAIN, path: status}))))
    assert caught.value.status == status


@pytest.mark.parametrize("status", [401, 429])
def test_a_failure_of_the_whole_server_is_not_blamed_on_one_group(
    serve: Serve, connect: Connect, status: int
) -> None:
    with pytest.raises(KubeError) as caught:
        discover(connect(serve(answering({**PLAIN, "/apis/batch/v1": status}))))
    assert caught.value.status == status


def test_a_hidden_version_is_no_obstacle(serve: Serve, connect: Connect) -> None:
    discovery = discover(connect(serve(answering({**PLAIN, "/version": 403}))))
    assert discovery.server_version == ""
    assert discovery.resources


@pytest.mark.parametrize(
    "apis",
    [{"kind": 5}, {"kind": "APIGroupList", "groups": [7]}, {"a": "["}, {}, {"kind": "APIVersions"}],
)
def test_unrelated_json_is_an_error_and_not_an_empty_discovery(
    serve: Serve, connect: Connect, apis: dict[str, Any]
) -> None:
    with pytest.raises(KubeError) as caught:
        discover(connect(serve(answering({**PLAIN, "/apis": apis}))))
    assert caught.value.code == "not-json"


@pytest.mark.parametrize("path", ["/api/v1", "/apis/batch/v1"])
def test_an_invalid_version_list_is_failed_and_not_empty(
    serve: Serve, connect: Connect, path: str
) -> None:
    discovery = discover(connect(serve(answering({**PLAIN, path: {}}))))
    title = path.removeprefix("/apis/").removeprefix("/api/")
    assert {name: error.code for name, error in discovery.failed.items()} == {title: "not-json"}
    assert (SCHEDULING, "podgroups") in discovery.resources


def test_null_is_accepted_as_an_empty_list(serve: Serve, connect: Connect) -> None:
    null = {"kind": "APIResourceList", "resources": None}
    answers = {**PLAIN, "/apis": group_list(batch=["v1"]), "/apis/batch/v1": null}
    assert set(discover(connect(serve(answering(answers)))).resources) == {("", "pods")}


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("", "v1", "pods"), "/api/v1/pods"),
        (("", "v1", "pods", "team a"), "/api/v1/namespaces/team%20a/pods"),
        (("batch", "v1", "jobs"), "/apis/batch/v1/jobs"),
        (("batch", "v1", "jobs", "../x"), "/apis/batch/v1/namespaces/..%2Fx/jobs"),
    ],
)
def test_resources_have_their_paths(arguments: tuple[str, ...], path: str) -> None:
    assert path_for(*arguments) == path
