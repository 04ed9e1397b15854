"""Gangs in lists and alone: the keys of the contract and their values."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from gangboard.store.models import Cluster
from tests.api.conftest import SINCE, World, make_gang, names_in
from tests.factories import make_history

GetApi = Callable[..., Any]

# The contract of the design, section 7.
GANG_KEYS = [
    "id",
    "cluster",
    "api_group",
    "api_version",
    "kind",
    "namespace",
    "name",
    "uid",
    "generation",
    "health",
    "last_health",
    "stage",
    "code",
    "title",
    "message",
    "advice",
    "next_steps",
    "members",
    "requests",
    "queue",
    "priority",
    "labels",
    "submitter",
    "submitter_source",
    "use",
    "created_at",
    "since",
    "since_first_seen",
    "observed_at",
    "stale",
]


def test_a_gang_has_exactly_the_keys_of_the_contract(get_api: GetApi, world: World) -> None:
    gang = get_api("reader", "gangs/").json()["results"][0]
    assert list(gang) == GANG_KEYS
    assert gang["id"] == world.gangs["east/team-a"].pk
    observed_at = gang.pop("observed_at")
    assert gang == {
        "id": world.gangs["east/team-a"].pk,
        "cluster": "east",
        "api_group": "jobset.x-k8s.io",
        "api_version": "v1alpha2",
        "kind": "JobSet",
        "namespace": "team-a",
        "name": "train-east-team-a",
        "uid": "uid-east-team-a-train-east-team-a",
        "generation": 2,
        "health": "waiting",
        "last_health": None,
        "stage": "placement",
        "code": "fragmented",
        "title": "Fragmented",
        "message": "train-east-team-a needs 8 GPUs on one node.",
        "advice": ["Drain node a (in cluster east): kubectl drain a", "Or wait."],
        "next_steps": [
            {
                "text": "Drain node a (in cluster east).",
                "kind": "something else",
                "command": ["kubectl", "drain", "a"],
                "objects": [],
                "harm": "own gang",
                "note": None,
                "victims": [],
            },
            {
                "text": "Or wait.",
                "kind": "something else",
                "command": [],
                "objects": [],
                "harm": "own gang",
                "note": None,
                "victims": [],
            },
        ],
        "members": {
            "desired": 8,
            "quorum": 8,
            "created": 8,
            "scheduled": 0,
            "ready": 0,
            "succeeded": 0,
            "failed": 0,
            "held": 0,
        },
        "requests": {"nvidia.com/gpu": "8", "memory": "17179869184"},
        "queue": None,
        "priority": None,
        "labels": {},
        "submitter": None,
        "submitter_source": None,
        "use": None,
        "created_at": "2026-11-01T08:29:00Z",
        "since": "2026-11-01T08:30:00Z",
        "since_first_seen": False,
        "stale": False,
    }
    assert observed_at.endswith("Z")


LOOK_ONLY: list[dict[str, Any]] = [
    {
        "verb": verb,
        "label": verb.capitalize(),
        "meaning": None,
        "allowed": False,
        "lever": None,
        "why_not": "You have only read access to this namespace.",
        "warnings": [],
    }
    for verb in ("suspend", "resume")
]


def test_a_single_gang_adds_its_explanation(get_api: GetApi, world: World) -> None:
    listed = get_api("reader", "gangs/").json()["results"][0]
    gang = get_api("reader", f"gangs/{listed['id']}/").json()
    assert list(gang) == [
        *GANG_KEYS,
        "findings",
        "groups",
        "jobs",
        "actions",
        "fit",
        "timeline",
        "waits",
        "groups_unseen",
        "gang_mode",
        "group_matrix",
        "facts",
        "maker",
        "evictions",
        "queue_waits",
        "queue_page",
        "gone_at",
    ]
    pods = gang["members"].pop("pods")
    extra = {
        key: gang.pop(key)
        for key in (
            *("findings", "groups", "jobs", "actions", "fit", "timeline", "waits"),
            "groups_unseen",
            "gang_mode",
            "group_matrix",
            "facts",
            "maker",
            "evictions",
            "queue_waits",
            "queue_page",
            "gone_at",
        )
    }
    assert {**gang, "observed_at": ""} == {**listed, "observed_at": ""}
    assert pods == [
        {
            "name": "train-workers-0",
            "uid": "pod-0",
            "job": "train-workers",
            "node": None,
            "state": "waiting",
            "label": "waiting",
            "reason": "Unschedulable",
            "group": None,
            "since": None,
            "restarts": 0,
            "container": None,
            "exit_code": None,
            "past": False,
        }
    ]
    assert extra["findings"] == [
        {
            "code": "fragmented",
            "health": "waiting",
            "stage": "placement",
            "title": "Fragmented",
            "message": "It needs 8 GPUs on one node.",
            "unit": None,
            "advice": ["Drain node a."],
            "evidence": [
                {
                    "label": "free",
                    "value": "8 GPUs",
                    "source": {
                        "api_group": "",
                        "kind": "Pod",
                        "namespace": "team-a",
                        "name": "train-workers-0",
                        "uid": "pod-0",
                    },
                }
            ],
            "since": "2026-11-01T08:30:00Z",
        }
    ]
    assert extra["jobs"] == [
        {
            "name": "train-workers",
            "uid": "job-0",
            "generation": 1,
            "suspended": False,
            "held": False,
            "finished": None,
            "nodes": ["node-a"],
            "desired": 8,
            "created": 8,
            "ready": 0,
            "restarts": 0,
            "scheduling": {
                "mode": "gang",
                "label": "As a gang",
                "reason": "its PodGroup asks for 8",
            },
            "hold": None,
            "queue": None,
            "actions": LOOK_ONLY,
            "target": {
                "cluster": "east",
                "api_group": "batch",
                "kind": "Job",
                "namespace": "team-a",
                "name": "train-workers",
                "uid": "job-0",
                "generation": 1,
            },
            "past": False,
        }
    ]
    assert extra["actions"] == LOOK_ONLY
    assert extra["timeline"] == []
    assert extra["waits"] is None
    assert extra["facts"] == [{"label": "Runtime", "text": "ClusterTrainingRuntime plain"}]
    assert extra["groups"] == []
    assert [(item["cluster"], item["state"]) for item in extra["groups_unseen"]] == [
        ("east", "not-looked")
    ]
    assert extra["gone_at"] is None


def test_the_timeline_has_verdicts_actions_and_wait_stages(get_api: GetApi, world: World) -> None:
    gang = world.gangs["east/team-a"]
    born = datetime.fromisoformat("2026-11-01T08:29:00Z")
    make_history(gang, born, ("room", 30), ("images", 12), ("runs", 0))
    answer = get_api("reader", f"gangs/{gang.pk}/").json()
    assert answer["timeline"][1:] == [
        {
            "at": "2026-11-01T08:59:00Z",
            "until": "2026-11-01T09:11:00Z",
            "kind": "verdict",
            "health": "starting",
            "stage": "start",
            "code": "starting",
            "title": "Starting",
            "message": "It was said: images.",
            "actor": None,
            "action": None,
        },
        {
            "at": "2026-11-01T08:29:00Z",
            "until": "2026-11-01T08:59:00Z",
            "kind": "verdict",
            "health": "waiting",
            "stage": "placement",
            "code": "insufficient-resources",
            "title": "Insufficient resources",
            "message": "It was said: room.",
            "actor": None,
            "action": None,
        },
    ]
    newest = answer["timeline"][0]
    assert (newest["at"], newest["until"]) == ("2026-11-01T09:11:00Z", None)
    assert answer["waits"] == {
        "total_seconds": 2520,
        "by_stage": {"placement": 1800, "start": 720},
        "typical": None,
    }


def test_the_typical_wait_has_its_sample_size(get_api: GetApi, world: World) -> None:
    gang = world.gangs["east/team-a"]
    for number, minutes in enumerate((10, 20, 34, 50, 90)):
        case = make_gang("east", "team-a", f"case-{number}")
        assert case.created_at is not None
        make_history(case, case.created_at, ("room", minutes), ("runs", 5), gone=True)
    make_history(gang, SINCE, ("room", 0))
    waits = get_api("reader", f"gangs/{gang.pk}/").json()["waits"]
    assert waits["typical"] == {"median_seconds": 2040, "cases": 5}


def test_a_gang_of_a_silent_cluster_is_unknown_with_its_last_health(get_api: GetApi) -> None:
    Cluster.objects.filter(name="east").update(contact_at=timezone.now() - timedelta(minutes=3))
    gang = get_api("reader", "gangs/").json()["results"][0]
    assert (gang["health"], gang["last_health"], gang["code"]) == (
        "unknown",
        "waiting",
        "not-observed",
    )
    assert gang["stale"] is True
    assert names_in(get_api("reader", "gangs/", health="unknown")) == ["train-east-team-a"]
    assert names_in(get_api("reader", "gangs/", health="waiting")) == []


def test_findings_and_pods_of_a_silent_cluster_are_not_current(
    get_api: GetApi, world: World
) -> None:
    Cluster.objects.filter(name="east").update(contact_at=timezone.now() - timedelta(minutes=10))
    gang = get_api("reader", f"gangs/{world.gangs['east/team-a'].pk}/").json()
    assert gang["findings"]
    for finding in gang["findings"]:
        assert (finding["health"], finding["advice"], finding["since"]) == ("unknown", [], None)
        assert finding["message"].startswith("Last known: ")
    assert gang["members"]["pods"]
    assert {pod["state"] for pod in gang["members"]["pods"]} == {"unknown"}
