"""A deleted gang: unchanged for an hour, then its history, for users who could see it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs are installed
import pytest
from django.utils import timezone

from gangboard.store.gangs import Detail, pack_detail
from gangboard.store.models import Cluster, Gang
from tests.api.conftest import NOT_FOUND, World, detail_of, make_gang
from tests.factories import make_history

GetApi = Callable[..., Any]

BORN = datetime.fromisoformat("2026-11-01T08:29:00Z")


@pytest.fixture
def deleted_gang(world: World) -> Gang:
    """It waited half an hour and was deleted; its row went an hour later."""
    gang = make_gang("east", "team-a", "whisper", queue="gpu")
    finding = detail_of("team-a").findings[0]
    make_history(
        gang, BORN, ("quota", 10), ("room", 20), gone=True, findings=pack_detail(Detail((finding,)))
    )
    Gang.objects.filter(pk=gang.pk).delete()
    return gang


def test_a_recently_deleted_gang_keeps_its_fields(get_api: GetApi, world: World) -> None:
    gang = world.gangs["east/team-a"]
    alive = get_api("reader", f"gangs/{gang.pk}/").json()
    gone_at = timezone.now().replace(microsecond=0) - timedelta(minutes=5)
    Gang.objects.filter(pk=gang.pk).update(gone_at=gone_at)
    answer = get_api("reader", f"gangs/{gang.pk}/").json()
    deleted_at = gone_at.isoformat().replace("+00:00", "Z")
    # A deleted gang takes no action, and no step about it is advised.
    assert answer == {
        **alive,
        "advice": [],
        "next_steps": [],
        "findings": [{**finding, "advice": []} for finding in alive["findings"]],
        "gone_at": deleted_at,
        "observed_at": deleted_at,
        "actions": [],
        "jobs": [{**job, "actions": [], "past": True} for job in alive["jobs"]],
        "members": {
            **alive["members"],
            "pods": [
                {**pod, "label": f"last seen {pod['label']}", "past": True}
                for pod in alive["members"]["pods"]
            ],
        },
    }


def test_a_deleted_gang_keeps_its_health_in_a_silent_cluster(get_api: GetApi, world: World) -> None:
    gone_at = timezone.now() - timedelta(minutes=20)
    Gang.objects.filter(pk=world.gangs["east/team-a"].pk).update(gone_at=gone_at)
    Cluster.objects.filter(name="east").update(contact_at=timezone.now() - timedelta(minutes=10))
    answer = get_api("reader", f"gangs/{world.gangs['east/team-a'].pk}/").json()
    assert (answer["health"], answer["code"]) == ("waiting", "fragmented")
    assert (answer["last_health"], answer["stale"]) == (None, False)


def test_an_old_deleted_gang_has_only_its_history(get_api: GetApi, deleted_gang: Gang) -> None:
    answer = get_api("reader", f"gangs/{deleted_gang.pk}/").json()
    assert list(answer) == list(get_api("reader", f"gangs/{_living(get_api)}/").json())
    timeline, findings = answer.pop("timeline"), answer.pop("findings")
    assert answer == {
        "id": deleted_gang.pk,
        "cluster": "east",
        "api_group": "jobset.x-k8s.io",
        "api_version": None,
        "kind": "JobSet",
        "namespace": "team-a",
        "name": "whisper",
        "uid": deleted_gang.uid,
        "generation": None,
        "health": "waiting",
        "since_first_seen": None,
        "last_health": None,
        "stage": "placement",
        "code": "insufficient-resources",
        "title": "Insufficient resources",
        "message": "It was said: room.",
        "advice": [],
        "next_steps": [],
        "members": None,
        "requests": None,
        "queue": "gpu",
        "priority": None,
        "labels": None,
        "submitter": None,
        "submitter_source": None,
        "use": None,
        "created_at": "2026-11-01T08:29:00Z",
        "since": "2026-11-01T08:39:00Z",
        "observed_at": "2026-11-01T08:59:00Z",
        "stale": False,
        "groups": None,
        "groups_unseen": [],
        "gang_mode": None,
        "group_matrix": None,
        "queue_waits": [],
        "queue_page": None,
        "maker": None,
        "facts": None,
        "jobs": None,
        "actions": [],
        "fit": [],
        "waits": {
            "total_seconds": 1800,
            "by_stage": {"admission": 600, "placement": 1200},
            "typical": None,
        },
        "evictions": {"count": 0, "lately": 0, "sentence": None, "last": []},
        "gone_at": "2026-11-01T08:59:00Z",
    }
    assert [(line["code"], line["until"]) for line in timeline] == [
        ("insufficient-resources", "2026-11-01T08:59:00Z"),
        ("waiting-for-quota", "2026-11-01T08:39:00Z"),
    ]
    assert [finding["code"] for finding in findings] == ["fragmented"]


def test_answers_match_the_schema(get_api: GetApi, deleted_gang: Gang) -> None:
    document = get_api("admin", "schema/").json()
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        schema.setdefault("additionalProperties", "properties" not in schema)
    answers = document["paths"]["/api/v1/gangs/{gang_id}/"]["get"]["responses"]
    schema = answers["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(
        get_api("reader", f"gangs/{deleted_gang.pk}/").json(),
        {**schema, "components": {"schemas": schemas}},
        jsonschema.Draft202012Validator,
    )


def test_a_hidden_deleted_gang_looks_missing(get_api: GetApi, deleted_gang: Gang) -> None:
    elsewhere = make_gang("east", "team-b", "hum")
    make_history(elsewhere, BORN, ("room", 20), gone=True)
    Gang.objects.filter(pk=elsewhere.pk).delete()
    forbidden = [
        get_api("stranger", f"gangs/{deleted_gang.pk}/"),
        get_api("reader", f"gangs/{elsewhere.pk}/"),
    ]
    assert [(answer.status_code, answer.json()) for answer in forbidden] == [(404, NOT_FOUND)] * 2
    assert get_api("admin", f"gangs/{elsewhere.pk}/").status_code == 200


def test_lists_have_no_deleted_gangs(get_api: GetApi, deleted_gang: Gang) -> None:
    assert deleted_gang.pk not in [
        row["id"] for row in get_api("reader", "gangs/").json()["results"]
    ]


def _living(get_api: GetApi) -> str:
    listed: str = get_api("reader", "gangs/").json()["results"][0]["id"]
    return listed
