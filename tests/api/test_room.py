"""`reasons/` and `capacity/`: the numbers of their pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs are installed
import pytest
from django.utils import timezone

from gangboard.domain.cluster_plan import ClusterPlan, PlanGain, PlanStep, PlanStepKind
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.readmodels import node_pools
from gangboard.store.cluster_plans import save_plan
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, ClusterCapacity, NodeCapacity
from tests.api.conftest import World, make_gang
from tests.readmodels.room import GIB, make_capacity, make_fit, make_node, make_shape

GetApi = Callable[..., Any]
PATHS = ("reasons/", "capacity/")


def answer(get_api: GetApi, persona: str, path: str, **query: str) -> Any:
    response = get_api(persona, path, **query)
    assert response.status_code == 200, response.content
    return response.json()


@pytest.fixture
def nodes(world: World) -> None:
    """Two nodes in east, one of them cordoned; those of west are forbidden."""
    east, west = Cluster.objects.get(name="east"), Cluster.objects.get(name="west")
    shapes = (
        make_shape(where="pool=h100"),
        make_shape(requests={"cpu": "4"}, unsupported=["volume claims"]),
        make_shape(requests={"cpu": "2"}, why="not understood: the toleration operator Gt"),
    )
    make_capacity(east, shapes=shapes, now=timezone.now())
    make_node(east, "h100-1", taints=["spot=true:NoSchedule"])
    make_node(east, "h100-2", cordoned=True)
    make_capacity(west, why="nodes: forbidden", now=timezone.now())


# --- reasons


def test_plans_have_their_steps_and_those_that_stop_gangs_on_request(
    get_api: GetApi, world: World
) -> None:
    gang = world.gangs["east/team-a"]
    ref = ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)
    gains = (PlanGain((ref,), 3, 1, 8),)
    steps = (
        PlanStep(PlanStepKind.UNCORDON, gains, 16, (node_ref("h100-1"),)),
        PlanStep(PlanStepKind.STOP_WHOLE, gains, 8, gangs=(ref,)),
    )
    save_plan(gang.cluster_id, ClusterPlan(steps, (), 3, 24, 1), at=timezone.now())
    (plan,) = answer(get_api, "admin", "reasons/?cluster=east")["plans"]
    (step,) = plan.pop("steps")
    assert plan.pop("made_at")
    assert plan == {
        "cluster": "east",
        "why": None,
        "waiting_gangs": 3,
        "waiting_accelerators": 24,
        "undecided": 1,
        "complete": True,
        "untried": [],
        "outdated": False,
        "without_steps": [],
    }
    (gain,) = step.pop("gains")
    named = {
        "gang": gang.pk,
        "kind": gang.kind,
        "namespace": "team-a",
        "name": gang.name,
    }
    assert gain == {"count": 1, "of": 3, "accelerators": 8, "gangs": [named]}
    assert step == {
        "kind": "uncordon",
        "text": "Uncordon h100-1 (in cluster east).",
        "cost": None,
        "accelerators": 16,
        "commands": ["kubectl uncordon h100-1"],
        "nodes": ["h100-1"],
        "pods": [],
        "victims": [],
        "hidden": 0,
    }
    (plan,) = answer(get_api, "admin", "reasons/?cluster=east&whole_gangs=true")["plans"]
    assert [step["kind"] for step in plan["steps"]] == ["uncordon", "stop-whole"]
    assert answer(get_api, "admin", "reasons/?namespace=team-a")["plans"] == []


def test_reasons_are_counted_like_on_the_page(get_api: GetApi, world: World) -> None:
    make_gang("east", "team-a", "small", accelerators=0.5, desired=1, health="blocked")
    make_gang("west", "team-a", "typo", code="image-pull", stage="start", accelerators=0.0, ready=3)
    for health in ("running", "succeeded", "succeeded"):
        make_gang("east", "team-a", f"x{timezone.now().timestamp()}", health=health, stage="run")
    result = answer(get_api, "admin", "reasons/")
    assert {name: result[name] for name in result if name not in ("results", "plans")} == {
        "next": None,
        "gangs": 5,
        "accelerators": "24.5",
        "not_counted": {"running": 1, "succeeded": 2},
        "unknown": 0,
        "clusters": 2,
        "clusters_looked_at": 2,
        "unseen": [],
    }
    assert [(plan["cluster"], plan["why"]) for plan in result["plans"]] == [
        ("east", "not made yet"),
        ("west", "not made yet"),
    ]
    placement, start = result["results"]
    examples = placement.pop("examples")
    assert placement == {
        "stage": "placement",
        "code": "fragmented",
        "title": "Fragmented",
        "gangs": 4,
        "by_health": {"blocked": 1, "waiting": 3},
        "pods_not_ready": 25,
        "accelerators": "24.5",
        "since": "2026-11-01T08:30:00Z",
        "since_first_seen": False,
        "next_step": "Drain node a (in cluster west): kubectl drain a",
        "limits": [],
    }
    # The three with eight devices each, not the small one.
    assert sorted(example["name"] for example in examples) == sorted(
        gang.name for gang in world.gangs.values()
    )
    first = world.gangs["east/team-a"]
    assert next(example for example in examples if example["id"] == first.id) == {
        "id": first.id,
        "cluster": "east",
        "kind": "JobSet",
        "namespace": "team-a",
        "name": "train-east-team-a",
    }
    assert (start["stage"], start["code"], start["pods_not_ready"]) == ("start", "image-pull", 5)
    assert start["accelerators"] == "0"


def test_reasons_name_the_missing_node_resources(get_api: GetApi) -> None:
    make_gang("west", "team-b", "full", Detail(fit=(make_fit(),)), code="exceeds-capacity")
    result = answer(get_api, "admin", "reasons/", namespace="team-b", cluster="west")
    assert [row["limits"] for row in result["results"]] == [
        [{"text": "too few free GPUs", "gangs": 1}]
    ]
    assert result["clusters"] == 1


def test_a_silent_cluster_is_not_zero(get_api: GetApi) -> None:
    long_ago = timezone.now() - timedelta(minutes=4)
    Cluster.objects.filter(name="west").update(contact_at=long_ago, problem="timeout")
    result = answer(get_api, "admin", "reasons/")
    assert (result["gangs"], result["unknown"]) == (2, 1)
    assert (result["clusters"], result["clusters_looked_at"]) == (2, 1)
    assert result["unseen"] == [
        {
            "cluster": "west",
            "message": "Cluster west has not answered for 4 min: 1 gang of it counts as unknown.",
        }
    ]


def test_a_reader_counts_own_gangs(get_api: GetApi) -> None:
    result = answer(get_api, "reader", "reasons/")
    assert (result["gangs"], result["accelerators"], result["clusters"]) == (1, "8", 1)
    assert [example["name"] for example in result["results"][0]["examples"]] == [
        "train-east-team-a"
    ]
    assert "team-b" not in str(result)
    assert "west" not in str(result)
    assert answer(get_api, "reader", "reasons/", namespace="team-b")["gangs"] == 0
    assert answer(get_api, "reader", "reasons/", cluster="west")["clusters"] == 0


# --- capacity


@pytest.mark.usefixtures("nodes")
def test_capacity_is_in_base_units(get_api: GetApi) -> None:
    east, west = answer(get_api, "admin", "capacity/")["results"]
    assert (east["cluster"], east["freshness"], east["stale"], east["why"], east["nodes"]) == (
        *("east", "live", False),
        *(None, 2),
    )
    assert east["observed_at"].endswith("Z")
    full_nodes = east["all_nodes"]
    assert {name: full_nodes[name] for name in full_nodes if name != "amounts"} == {
        "label": None,
        "value": "",
        "nodes": 2,
        "ready": 1,
        "cordoned": 1,
        "not_ready": 0,
        "taints": [{"taint": "spot=true:NoSchedule", "nodes": 1}],
        "more_taints": 0,
    }
    gpu, cpu, memory, pods = full_nodes["amounts"]
    assert gpu == {
        "resource": "nvidia.com/gpu",
        "accelerator": True,
        "allocatable": "16",
        "used": "12",
        "held": "4",
        "free": "2",
        "away": "2",
        "nodes_unreadable": 0,
    }
    assert (cpu["accelerator"], cpu["allocatable"], cpu["used"], cpu["free"]) == (
        *(False, "384"),
        *("97", "143.5"),
    )
    assert (memory["allocatable"], memory["free"]) == (str(2048 * GIB), str(768 * GIB))
    assert pods["allocatable"] == "220"
    (pool,) = east["pools"]
    assert (pool["label"], pool["value"]) == ("cloud.google.com/gke-nodepool", "h100")
    assert (west["why"], west["nodes"], west["all_nodes"], west["pools"], west["shapes"]) == (
        "The capacity of this cluster is unknown: nodes: forbidden.",
        *(None, None, [], []),
    )


@pytest.mark.usefixtures("nodes")
def test_capacity_has_fitting_shapes(get_api: GetApi) -> None:
    (east,) = answer(get_api, "admin", "capacity/", cluster="east")["results"]
    exact, at_most, unclear = east["shapes"]
    assert exact == {
        "requests": {"cpu": "64", "nvidia.com/gpu": "8"},
        "where": "pool=h100",
        "waiting": 4,
        "fits_now": 3,
        "fits_empty": 7,
        "unsupported": [],
        "why": None,
    }
    assert (at_most["fits_now"], at_most["fits_empty"]) == (3, 7)
    assert (at_most["unsupported"], at_most["why"]) == (["volume claims"], None)
    assert (unclear["fits_now"], unclear["fits_empty"]) == (None, None)
    assert unclear["why"] == "not understood: the toleration operator Gt"


@pytest.mark.usefixtures("nodes")
def test_nodes_are_grouped_by_a_label(get_api: GetApi) -> None:
    NodeCapacity.objects.filter(name="h100-1").update(labels={"rack": "r7"})
    (east,) = answer(get_api, "admin", "capacity/", cluster="east", by="rack")["results"]
    assert [(pool["label"], pool["value"], pool["nodes"]) for pool in east["pools"]] == [
        ("rack", "r7", 1),
        (None, "", 1),
    ]


@pytest.mark.usefixtures("nodes")
def test_empty_and_unread_clusters_differ(get_api: GetApi) -> None:
    NodeCapacity.objects.all().delete()
    ClusterCapacity.objects.filter(cluster__name="west").delete()
    east, west = answer(get_api, "admin", "capacity/")["results"]
    assert (east["nodes"], east["why"], east["all_nodes"]) == (0, None, None)
    assert (west["nodes"], west["why"]) == (
        None,
        "The nodes of this cluster have not been read yet.",
    )


@pytest.mark.usefixtures("nodes")
def test_a_silent_cluster_has_no_capacity(get_api: GetApi) -> None:
    Cluster.objects.update(contact_at=timezone.now() - timedelta(minutes=4))
    east = answer(get_api, "admin", "capacity/")["results"][0]
    assert (east["freshness"], east["nodes"], east["all_nodes"]) == ("silent", None, None)
    assert east["why"] == (
        "This cluster has not been read for 4 min: the free resources of its nodes are unknown."
    )


@pytest.mark.usefixtures("nodes")
def test_a_too_large_cluster_has_no_capacity_in_a_list(
    get_api: GetApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    west = Cluster.objects.get(name="west")
    ClusterCapacity.objects.filter(cluster=west).delete()
    make_capacity(west, now=timezone.now())
    make_node(west, "w")
    monkeypatch.setattr(node_pools, "MOST_NODES", 2)
    row = answer(get_api, "admin", "capacity/")["results"][1]
    assert (row["nodes"], row["why"]) == (
        None,
        "This cluster is too large to be counted with others: select it with cluster=west.",
    )
    assert answer(get_api, "admin", "capacity/", cluster="west")["results"][0]["nodes"] == 1


@pytest.mark.usefixtures("nodes")
def test_a_namespace_reader_gets_node_counts_without_names(get_api: GetApi) -> None:
    result = answer(get_api, "reader", "capacity/", by="cloud.google.com/gke-nodepool")
    (east,) = result["results"]
    (complete, _) = answer(get_api, "admin", "capacity/")["results"]
    (taint,) = complete["all_nodes"]["taints"]
    unnamed = {**complete["all_nodes"], "taints": [], "more_taints": 1}
    assert (east["why"], east["nodes"], east["all_nodes"]) == (None, 2, unnamed)
    assert taint["taint"] not in str(result)
    assert (east["pools"], east["shapes"]) == ([], None)
    assert "h100" not in str(result)
    assert answer(get_api, "reader", "capacity/", cluster="west")["results"] == []


# --- both


@pytest.mark.usefixtures("nodes")
def test_a_stranger_gets_empty_answers(get_api: GetApi) -> None:
    assert answer(get_api, "stranger", "capacity/") == {"next": None, "results": []}
    result = answer(get_api, "stranger", "reasons/")
    assert (result["results"], result["gangs"], result["clusters"]) == ([], 0, 0)
    assert (result["unseen"], result["unknown"], result["not_counted"]) == ([], 0, {})


@pytest.mark.parametrize("path", PATHS)
def test_an_anonymous_request_gets_401(get_api: GetApi, path: str) -> None:
    assert get_api("anonymous", path).status_code == 401


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"clutser": "east"}, "clutser"),
        ({"cluster": "x" * 64}, "cluster"),
        ({"cluster": "a\x00b"}, "cluster"),
        ({"cluster": ""}, "cluster"),
        ({"limit": "0"}, "limit"),
    ],
)
def test_invalid_parameters_are_refused(
    get_api: GetApi, path: str, query: dict[str, str], field: str
) -> None:
    response = get_api("admin", path, **query)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    assert field in response.json()["errors"]


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize("path", PATHS)
def test_full_answers_match_the_schema(get_api: GetApi, path: str) -> None:
    make_gang("east", "team-a", "full", Detail(fit=(make_fit(),)))
    Cluster.objects.filter(name="west").update(contact_at=timezone.now() - timedelta(minutes=4))
    document = get_api("admin", "schema/").json()
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    message = document["paths"][f"/api/v1/{path}"]["get"]["responses"]["200"]["content"]
    schema = {**message["application/json"]["schema"], "components": {"schemas": schemas}}
    jsonschema.validate(answer(get_api, "admin", path), schema, jsonschema.Draft202012Validator)
