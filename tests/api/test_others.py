"""`groups/`, `clusters/`, `summary/`, `schema/`, what fails, and the health checks."""

from collections.abc import Callable
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs are installed
import pytest
from django.db import OperationalError, ProgrammingError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema

from gangboard.domain.cluster_plan import ClusterPlan, PlanGain, PlanStep, PlanStepKind
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.pages.core.api.views import read_document
from gangboard.plugins import registry
from gangboard.store.cluster_plans import save_plan
from gangboard.store.models import Cluster, Gang, ResourceState
from tests.api.conftest import World, make_gang, make_group, token_of
from tests.domain_objects import a_node, a_queue
from tests.factories import PODGROUPS, make_eviction, make_resource, make_usage, store_object
from tests.readmodels.room import make_capacity, make_node
from tests.recorded_actions import make_action
from tests.stored_queues import store

OF_A_CHECK = "/api/v1/checks/{check_id}/"
"""An answer to one person: tests/pages/test_check.py."""
GetApi = Callable[..., Any]
OF_A_SESSION = "/api/v1/clusters/trials/{trial_id}/"
"""Not for tokens, with which these tests ask: tests/pages/test_add_cluster.py."""
OF_A_POD = "/api/v1/gangs/{gang_id}/logs/"
"""It needs a cluster that answers: tests/actions/test_container_logs.py."""


def names(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [row["name"] for row in response.json()["results"]]


# --- groups


@pytest.fixture
def groups_are_seen(world: World) -> None:
    """East serves PodGroups, which are read, and no other kind of groups."""
    for api in registry.grouping_apis():
        for resource in api.resources:
            state = "ok" if resource.key == PODGROUPS else "not-served"
            make_resource(Cluster.objects.get(name="east"), resource.key, state=state)


@pytest.mark.usefixtures("groups_are_seen")
def test_a_group_is_shown_as_it_is_stored(get_api: GetApi) -> None:
    group = get_api("reader", "groups/").json()["results"][0]
    assert group == get_api("reader", f"groups/{group['id']}/").json()
    expected = {
        "id": "east~uid-east-pg-group-east-team-a",
        "cluster": "east",
        "api_group": "scheduling.k8s.io",
        "api_version": "v1beta1",
        "kind": "PodGroup",
        "namespace": "team-a",
        "name": "group-east-team-a",
        "uid": "uid-east-pg-group-east-team-a",
        "generation": 1,
        "policy": "gang",
        "quorum": 8,
        "workload": "w",
        "template": None,
        "placed": None,
        "gang": None,
        "created_at": "2026-11-01T08:30:00Z",
        "stale": False,
    }
    assert {key: group[key] for key in expected} == expected


def test_groups_are_filtered_and_paged(get_api: GetApi) -> None:
    for number in range(5):
        make_group("west", "team-b", f"g{number}")
    assert names(get_api("admin", "groups/", cluster="east", namespace="team-b")) == [
        "group-east-team-b"
    ]
    assert len(names(get_api("admin", "groups/", kind="PodGroup"))) == 8
    assert names(get_api("admin", "groups/", kind="Workload")) == []
    assert names(get_api("admin", "groups/", q="g3")) == ["g3"]
    walked: list[str] = []
    following: str | None = "groups/?limit=3"
    while following:
        page = get_api("admin", following)
        walked += names(page)
        following = page.json()["next"]
    assert sorted(walked) == sorted(names(get_api("admin", "groups/")))
    assert len(walked) == 8
    assert get_api("admin", "groups/", health="failed").status_code == 400


@pytest.mark.usefixtures("groups_are_seen")
def test_unreadable_groups_are_not_an_empty_list(get_api: GetApi) -> None:
    assert get_api("reader", "groups/").json()["unseen"] == []
    ResourceState.objects.filter(resource=PODGROUPS).update(state="forbidden")
    answer = get_api("reader", "groups/").json()
    assert [row["stale"] for row in answer["results"]] == [True]
    assert answer["unseen"] == [
        {
            "cluster": "east",
            "state": "forbidden",
            "kinds": ["PodGroup"],
            "message": "The reader may not list PodGroups in cluster east: the current ones are unknown.",
        }
    ]


# --- clusters


def test_a_cluster_lists_served_and_forbidden_resources(get_api: GetApi) -> None:
    Cluster.objects.filter(name="east").update(answer_ms=12, events_a_minute=340)
    cluster = get_api("admin", "clusters/east/").json()
    assert cluster == get_api("admin", "clusters/").json()["results"][0]
    assert cluster["reachable"] is True
    assert cluster["freshness"] == "live"
    assert cluster["served"] == ["jobs.batch", "nodes"]
    assert cluster["not_served"] == ["workloads.kueue.x-k8s.io"]
    assert cluster["forbidden"] == ["nodes"]
    assert cluster["credentials_expire_at"] is None
    assert (cluster["answer_ms"], cluster["events_a_minute"]) == (12, 340)
    assert {row["resource"]: row["objects"] for row in cluster["resources"]} == {
        "jobs.batch": 3,
        "nodes": None,
        "workloads.kueue.x-k8s.io": None,
    }


def test_an_unreachable_cluster_has_a_cause(get_api: GetApi) -> None:
    Cluster.objects.filter(name="east").update(
        contact_at=None, problem="unauthorized", sentence="https://east refused the token."
    )
    cluster = get_api("admin", "clusters/east/").json()
    assert (cluster["reachable"], cluster["freshness"], cluster["problem"], cluster["message"]) == (
        False,
        "never",
        "unauthorized",
        "https://east refused the token.",
    )


# --- summary


def test_the_summary_adds_up(get_api: GetApi) -> None:
    make_gang("east", "team-a", "bad", health="failed", code="failed", accelerators=0.5)
    summary = get_api("admin", "summary/").json()
    assert (summary["gangs"], summary["accelerators"]) == (4, "24.5")
    assert summary["by_health"]["failed"] == {"gangs": 1, "accelerators": "0.5"}
    assert summary["by_health"]["waiting"] == {"gangs": 3, "accelerators": "24"}
    assert summary["by_health"]["running"] == {"gangs": 0, "accelerators": "0"}
    assert len(summary["by_health"]) == 9
    assert {code: line["gangs"] for code, line in summary["by_code"].items()} == {
        "fragmented": 3,
        "failed": 1,
    }
    assert {name: line["gangs"] for name, line in summary["by_cluster"].items()} == {
        "east": 3,
        "west": 1,
    }
    assert summary["observed_at"].endswith("Z")
    assert summary["unseen"] == []


def test_a_summary_lists_unreadable_resources(get_api: GetApi) -> None:
    Cluster.objects.filter(name="east").update(listed_at=None)
    assert get_api("reader", "summary/").json()["unseen"] == [
        {
            "cluster": "east",
            "message": "Cluster east is being read for the first time: gangs may be missing here.",
        }
    ]
    Cluster.objects.filter(name="west").update(listed_at=None)
    assert [item["cluster"] for item in get_api("reader", "summary/").json()["unseen"]] == ["east"]


# --- schema


def test_the_schema_is_valid_openapi_without_warnings(get_api: GetApi) -> None:
    GENERATOR_STATS.reset()
    read_document.cache_clear()
    response = get_api("stranger", "schema/")
    assert not GENERATOR_STATS
    document = response.json()
    assert document["openapi"].startswith("3.1")
    validate_schema(document)  # type: ignore[no-untyped-call]
    assert sorted(document["paths"]) == [
        "/api/v1/actions/",
        "/api/v1/actions/{action_id}/",
        "/api/v1/audit/",
        "/api/v1/capacity/",
        "/api/v1/checks/",
        "/api/v1/checks/{check_id}/",
        "/api/v1/clusters/",
        "/api/v1/clusters/trials/",
        "/api/v1/clusters/trials/{trial_id}/",
        "/api/v1/clusters/{name}/",
        "/api/v1/events/",
        "/api/v1/evictions/",
        "/api/v1/gangs/",
        "/api/v1/gangs/{gang_id}/",
        "/api/v1/gangs/{gang_id}/bundle/",
        "/api/v1/gangs/{gang_id}/logs/",
        "/api/v1/group-roles/",
        "/api/v1/group-roles/{role_id}/",
        "/api/v1/groups/",
        "/api/v1/groups/{group_id}/",
        "/api/v1/holds/",
        "/api/v1/me/",
        "/api/v1/me/sessions/",
        "/api/v1/me/sessions/{session_id}/",
        "/api/v1/me/tokens/",
        "/api/v1/me/tokens/{token_id}/",
        "/api/v1/nodes/{cluster}/{name}/",
        "/api/v1/notifications/channels/",
        "/api/v1/notifications/channels/{channel_id}/",
        "/api/v1/notifications/channels/{channel_id}/test/",
        "/api/v1/notifications/deliveries/",
        "/api/v1/notifications/rules/",
        "/api/v1/notifications/rules/{rule_id}/",
        "/api/v1/notifications/rules/{rule_id}/mute/",
        "/api/v1/people/",
        "/api/v1/people/{name}/",
        "/api/v1/people/{name}/links/",
        "/api/v1/people/{name}/roles/",
        "/api/v1/queues/",
        "/api/v1/queues/{cluster}/{name}/",
        "/api/v1/reasons/",
        "/api/v1/sessions/",
        "/api/v1/sessions/{session_id}/",
        "/api/v1/summary/",
        "/api/v1/tokens/",
        "/api/v1/tokens/{token_id}/",
        "/api/v1/trends/",
        "/api/v1/usage/",
        "/api/v1/waits/",
    ]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def _store_plan(gang: Gang) -> None:
    """Store a plan with every kind of part: gains, a gang to suspend, and a pod to move."""
    ref = ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)
    pod = ObjectRef("", "Pod", gang.namespace, "web-0", "uid-web-0")
    gains = (PlanGain((ref,), 2, 1, 8),)
    move = PlanStep(PlanStepKind.MOVE_PODS, gains, 8, (node_ref("h100-09"),), pods=(pod,))
    end = PlanStep(PlanStepKind.END_INCOMPLETE, gains, 8, gangs=(ref,))
    save_plan(gang.cluster_id, ClusterPlan((move, end), gains, 2, 16), at=timezone.now())


def test_answers_match_the_schema(get_api: GetApi, world: World) -> None:
    document = get_api("admin", "schema/").json()
    gang = world.gangs["east/team-a"]
    group = world.groups["east/team-a"]
    store(group.cluster, a_queue("gpu"))
    node = a_node("h100-09", allocatable={"nvidia.com/gpu": 8})
    store_object(group.cluster, "nodes", node)
    make_node(group.cluster, "h100-09")
    make_capacity(group.cluster)
    make_usage(group.cluster, namespace="team-a")
    make_eviction(gang)
    _store_plan(gang)
    action = make_action(
        Cluster.objects.get(name="east"), steps=(("patch", "Suspend the Job", "done", ""),)
    )
    addresses = {
        "/api/v1/actions/": {},
        "/api/v1/actions/{action_id}/": {"action_id": action.pk},
        "/api/v1/audit/": {},
        "/api/v1/capacity/": {},
        "/api/v1/group-roles/": {},
        "/api/v1/holds/": {},
        "/api/v1/me/": {},
        "/api/v1/me/sessions/": {},
        "/api/v1/me/tokens/": {},
        "/api/v1/sessions/": {},
        "/api/v1/nodes/{cluster}/{name}/": {"cluster": "east", "name": "h100-09"},
        "/api/v1/people/": {},
        "/api/v1/people/{name}/": {"name": "admin"},
        "/api/v1/tokens/": {},
        "/api/v1/queues/": {},
        "/api/v1/queues/{cluster}/{name}/": {"cluster": "east", "name": "gpu"},
        "/api/v1/notifications/channels/": {},
        "/api/v1/notifications/deliveries/": {},
        "/api/v1/notifications/rules/": {},
        "/api/v1/reasons/": {},
        "/api/v1/clusters/": {},
        "/api/v1/clusters/{name}/": {"name": "east"},
        "/api/v1/events/": {},
        "/api/v1/gangs/": {},
        "/api/v1/gangs/{gang_id}/": {"gang_id": gang.pk},
        "/api/v1/gangs/{gang_id}/bundle/": {"gang_id": gang.pk},
        "/api/v1/groups/": {},
        "/api/v1/groups/{group_id}/": {"group_id": f"east~{group.uid}"},
        "/api/v1/summary/": {},
        "/api/v1/evictions/": {},
        "/api/v1/trends/": {},
        "/api/v1/usage/": {},
        "/api/v1/waits/": {},
    }
    assert set(addresses) == {path for path, has in document["paths"].items() if "get" in has} - {
        OF_A_SESSION,
        OF_A_CHECK,
        OF_A_POD,
    }
    for path, fragments in addresses.items():
        answers = document["paths"][path]["get"]["responses"]
        (message,) = answers["200"]["content"]
        for address, status, media in (
            (path.format(**fragments), "200", message),
            (path.format(**fragments) + "?wrong=1", "400", "application/problem+json"),
        ):
            response = get_api("admin", address)
            sent = response["Content-Type"].removesuffix("; charset=utf-8")
            assert (str(response.status_code), sent) == (status, media)
            schema = {**answers[status]["content"][media]["schema"], **_closed(document)}
            is_text = media == "text/markdown"
            body = response.content.decode() if is_text else response.json()
            jsonschema.validate(body, schema, jsonschema.Draft202012Validator)


def _closed(document: dict[str, Any]) -> dict[str, Any]:
    """The document's components; objects with named properties may have no others."""
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return {"components": {"schemas": schemas}}


# --- failures


@pytest.mark.parametrize(
    ("error", "status", "title", "code", "detail", "retry"),
    [
        (
            ProgrammingError("password=sesame"),
            500,
            "Internal Server Error",
            "internal-error",
            "gangboard failed to answer. Its log has the details.",
            None,
        ),
        (
            OperationalError("password=sesame"),
            503,
            "Service Unavailable",
            "unavailable",
            "The database does not answer. Try again in a few seconds.",
            "2",
        ),
    ],
)
def test_a_server_error_is_a_problem_document_without_details(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    title: str,
    code: str,
    detail: str,
    retry: str | None,
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr("gangboard.pages.summary.api.read_summary", fail)
    client = Client(
        headers={"authorization": f"Bearer {token_of('admin')}"}, raise_request_exception=False
    )
    response = client.get("/api/v1/summary/")
    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    assert response.headers.get("Retry-After") == retry
    assert response.json() == {
        "type": "about:blank",
        "title": title,
        "status": status,
        "code": code,
        "detail": detail,
    }


# --- health checks


def test_healthz_answers_without_the_database() -> None:
    # No database is allowed in this test: pytest-django would refuse.
    response = Client().get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "alive"})


@pytest.mark.django_db
def test_readyz_needs_the_database_and_no_worker() -> None:
    response = Client().get("/readyz")
    assert response.status_code == 200
    checks = {"database": True, "migrations": True}
    assert response.json() == {"status": "ready", "checks": checks}


@pytest.mark.django_db(transaction=True)
def test_readyz_without_all_migrations_is_not_ready() -> None:
    newest = MigrationRecorder.Migration.objects.filter(app="store").latest("name")
    newest.delete()
    try:
        response = Client().get("/readyz")
    finally:
        newest.save(force_insert=True)
    assert response.status_code == 503
    assert response.json()["checks"] == {"database": True, "migrations": False}


@pytest.mark.django_db
def test_readyz_with_an_unreadable_table_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr(Cluster.objects, "exists", fail)
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"] == {"database": False, "migrations": True}


@pytest.mark.django_db
def test_readyz_without_a_database_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OperationalError("connection to server at 10.0.0.1 refused")

    monkeypatch.setattr(connection, "ensure_connection", fail)
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert not any(response.json()["checks"].values())
    assert b"10.0.0.1" not in response.content
