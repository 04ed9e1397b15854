"""`queues/`, `queues/{cluster}/{name}/`, and what `gangs/{id}/` says of a queue."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs are installed
import pytest

from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.quota import FairShare, FlavorAmount, Quota, QuotaTerm
from gangboard.store.models import Cluster, ResourceState
from tests.api.conftest import NOT_FOUND, World
from tests.domain_objects import a_queue, an_alias, shared_quota
from tests.stored_queues import (
    GPU,
    KAI,
    KEYS,
    gang_of,
    gpus,
    has,
    in_queue,
    scheduler_queue,
    serve,
    serve_scheduler,
    store,
    waits,
)

GetApi = Callable[..., Any]
LACKS = QueueMessage(
    QueueCode.WAITING_FOR_QUOTA, "2 more", lacks=(FlavorAmount("h100", GPU, Decimal(2)),)
)


def answer(get_api: GetApi, persona: str, path: str, **query: str) -> Any:
    response = get_api(persona, path, **query)
    assert response.status_code == 200, response.content
    return response.json()


@pytest.fixture
def queues(world: World) -> str:
    """Queue `gpu` of east, reached from both teams: `mine` waits behind `theirs`; id of the gang of `mine`."""
    east = Cluster.objects.get(name="east")
    ResourceState.objects.filter(resource__contains="kueue").delete()
    serve(east)
    serve(Cluster.objects.get(name="west"), **dict.fromkeys(KEYS, "not-served"))
    mine, theirs = waits("mine", message=LACKS), waits("theirs", "team-b", priority=5)
    store(
        east,
        a_queue("gpu", cohort="all", quotas=(gpus("8", "6"),), pending=2),
        a_queue("secret", cohort="all", quotas=(gpus("0", "1", "1"),)),
        shared_quota("all"),
        an_alias("gpu-lq", to="gpu"),
        an_alias("gpu-lq", to="gpu", namespace="team-b", uid="uid-b"),
        an_alias("lost-lq", to="nowhere"),
        has("holder", "6", "team-b"),
        *(mine, theirs),
    )
    gang_of(east, theirs)
    return gang_of(east, mine).pk


def test_a_queue_has_its_numbers(get_api: GetApi, queues: str) -> None:
    result = answer(get_api, "admin", "queues/")
    assert (result["next"], result["serving"], result["unseen"]) == (None, ["east"], [])
    gpu, secret = result["results"]
    assert (gpu["kind"], gpu["system"], gpu["state"], gpu["shared"]) == (
        "ClusterQueue", "Kueue", "active", ["all"],
    )  # fmt: skip
    (quota,) = gpu["quotas"]
    assert (quota["flavor"], quota["resource"], quota["nominal"], quota["used"]) == (
        "h100", GPU, "8", "6",
    )  # fmt: skip
    assert quota["lent"] == {"at_least": "1", "at_most": "1"}
    assert (quota["borrowing_limit"], quota["flavor_known"]) == (None, False)
    assert secret["quotas"][0]["borrowed"] == "1"
    first, second = gpu["line"]
    assert (first["position"], first["name"], first["gang"]["name"], first["priority"]) == (
        1, "theirs", "theirs", 5,
    )  # fmt: skip
    assert first["why"] == "Its priority is the highest: 5, the next has 0."
    assert second["amounts"] == [{"flavor": None, "resource": GPU, "amount": "3"}]
    (lost,) = result["lost_aliases"]
    assert (lost["namespace"], lost["name"], lost["target"]) == ("team-a", "lost-lq", "nowhere")


def test_fair_shares_name_only_visible_queues(get_api: GetApi, world: World) -> None:
    east = Cluster.objects.get(name="east")
    ResourceState.objects.filter(resource__contains="kueue").delete()
    serve(east)
    mine = waits("mine")
    store(
        east,
        a_queue("gpu", cohort="all", share=FairShare(340)),
        a_queue("secret", cohort="all", share=FairShare(120)),
        an_alias("gpu-lq", to="gpu"),
        an_alias("secret-lq", to="secret", namespace="team-b", uid="uid-b"),
        mine,
        waits("theirs", "team-b", queue="secret-lq"),
    )
    gang = gang_of(east, mine).pk
    for path in ("queues/", f"gangs/{gang}/"):
        shares = {}
        for persona in ("admin", "reader"):
            result = answer(get_api, persona, path)
            (row, *_) = result["results"] if "results" in result else result["queue_waits"]
            shares[persona] = row["fair_share"]
        assert shares["admin"] == {
            "kind": "ClusterQueue", "name": "gpu", "share": 340, "weight": "1", "shared": [],
            "before": [{"kind": "ClusterQueue", "name": "secret", "share": 120, "weight": "1"}],
            "before_hidden": 0,
            "message": "The fair share of gpu is 340. secret (120) goes first, because its share is lower.",
        }  # fmt: skip
        assert shares["reader"] == {
            **shares["admin"], "before": [], "before_hidden": 1,
            "message": "The fair share of gpu is 340. 1 queue goes first, because its share is lower.",
        }  # fmt: skip


def test_a_queue_without_a_share_has_none(get_api: GetApi, queues: str) -> None:
    assert answer(get_api, "admin", "queues/")["results"][0]["fair_share"] is None


def test_queues_are_paged_and_filtered(get_api: GetApi, queues: str) -> None:
    first = answer(get_api, "admin", "queues/", limit="1")
    cursor = first["next"].partition("cursor=")[2]
    second = answer(get_api, "admin", "queues/", limit="1", cursor=cursor)
    assert [item["results"][0]["name"] for item in (first, second)] == ["gpu", "secret"]
    assert second["next"] is None
    assert answer(get_api, "admin", "queues/", state="stopped")["results"] == []
    assert get_api("admin", "queues/", state="wrong").status_code == 400
    assert get_api("admin", "queues/", cursor="wrong").status_code == 400
    assert get_api("admin", "queues/", colour="red").status_code == 400


def test_a_queue_lists_its_quota_holders(get_api: GetApi, queues: str) -> None:
    result = answer(get_api, "admin", "queues/east/gpu/")
    (holder,) = result["holders"]
    assert {"flavor": "h100", "resource": GPU, "amount": "6"} in holder["amounts"]
    assert len(result["line"]) == 2


def test_a_reader_gets_numbers_without_names(get_api: GetApi, queues: str) -> None:
    result = answer(get_api, "reader", "queues/")
    (gpu,) = result["results"]
    assert gpu["quotas"][0]["used"] == "6"
    assert gpu["line"][0] | {"since": ""} == {
        "position": 1, "gang": None, "name": "a gang you may not see", "namespace": None, "priority": 5,
        "since": "", "amounts": gpu["line"][0]["amounts"], "message": None, "priority_class": None,
        "why": "Its priority is the highest: 5, the next has 0.",
    }  # fmt: skip
    for hidden in (result, answer(get_api, "reader", "queues/east/gpu/")):
        assert "team-b" not in str(hidden)
        assert "theirs" not in str(hidden)
        assert "secret" not in str(hidden)


@pytest.mark.parametrize(
    ("persona", "path"),
    [
        ("reader", "queues/east/secret/"),
        ("stranger", "queues/east/gpu/"),
        ("admin", "queues/west/gpu/"),
        ("admin", "queues/nowhere/gpu/"),
        ("admin", "queues/east/all/"),
    ],
)
def test_missing_and_hidden_queues_get_404(
    get_api: GetApi, queues: str, persona: str, path: str
) -> None:
    response = get_api(persona, path)
    assert (response.status_code, response.json()) == (404, NOT_FOUND)


def test_a_waiting_gang_lists_the_queue_ahead(get_api: GetApi, queues: str) -> None:
    (wait,) = answer(get_api, "admin", f"gangs/{queues}/")["queue_waits"]
    assert (wait["queue"], wait["position"], wait["in_line"]) == ("gpu", 2, 2)
    assert [item["name"] for item in wait["ahead"]] == ["theirs"]
    (lack,) = wait["lacks"]
    assert (lack["amount"], lack["queue"], lack["shared"]) == (
        "2", {"reserved": "6", "quota": "8"}, {"reserved": "7", "quota": "8"},
    )  # fmt: skip
    assert (len(lack["holders"]), lack["hidden"]) == (1, 0)
    (mine,) = answer(get_api, "reader", f"gangs/{queues}/")["queue_waits"]
    assert mine["ahead"][0]["name"] == "a gang you may not see"
    assert (mine["lacks"][0]["holders"], mine["lacks"][0]["hidden_amount"]) == ([], "6")


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("queues/", "queues/"),
        ("queues/east/gpu/", "queues/{cluster}/{name}/"),
        ("gangs/{}/", "gangs/{gang_id}/"),
    ],
)
def test_answers_match_the_schema(get_api: GetApi, queues: str, path: str, operation: str) -> None:
    document = answer(get_api, "admin", "schema/", format="json")
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
    message = document["paths"][f"/api/v1/{operation}"]["get"]["responses"]["200"]["content"]
    schema = {**message["application/json"]["schema"], "components": {"schemas": schemas}}
    result = answer(get_api, "admin", path.format(queues))
    jsonschema.validate(result, schema, jsonschema.Draft202012Validator)


def test_a_scheduler_queue_has_no_positions_and_its_own_terms(
    get_api: GetApi, world: World
) -> None:
    east = Cluster.objects.get(name="east")
    ResourceState.objects.filter(cluster=east).exclude(resource="pods").delete()
    serve_scheduler(east, KAI)
    quota = Quota("", GPU, Decimal(4), terms=(QuotaTerm("limit", None),))
    scheduler_queue(
        east, KAI, "research", quota, terms=(QuotaTerm("priority", Decimal(9), is_share=True),)
    )
    gang = in_queue(east, KAI, "research", "mine", priority_class="train")
    in_queue(east, KAI, "research", "theirs", namespace="team-b", age=900)
    result = answer(get_api, "reader", "queues/east/research/")
    assert (result["waiting"], result["placed"], result["pending"], result["tells_places"]) == (
        2, 0, None, False,
    )  # fmt: skip
    first, second = result["line"]
    assert (first["position"], first["name"]) == (None, "a gang you may not see")
    assert (second["name"], second["priority"], second["priority_class"]) == ("mine", None, "train")
    assert result["quotas"][0]["terms"] == [{"name": "limit", "amount": None}]
    assert result["terms"] == [{"name": "priority", "amount": "9"}]
    assert (result["namespaces"], result["namespaces_hidden"]) == (
        [{"name": "team-a", "gangs": 1}], 1,
    )  # fmt: skip
    assert result["reached_by"]
    detail = answer(get_api, "reader", f"gangs/{gang.pk}/")
    assert detail["queue_page"] == "research"
    (wait,) = detail["queue_waits"]
    assert (wait["position"], wait["eligible"], wait["tells_places"]) == (None, True, False)
    assert (wait["in_line"], wait["unknown"], wait["priority"]) == (2, 0, None)
    assert [other["name"] for other in wait["others"]] == ["a gang you may not see"]
    assert "team-b" not in f"{result}{wait}"
