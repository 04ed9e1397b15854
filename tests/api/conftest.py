"""A small world for the API: two clusters, two teams, and everybody who may ask."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.domain.group import Group, Policy
from gangboard.domain.health import Health
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.verdict import Evidence, MemberState, Scheduling
from gangboard.store import authentication, people
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang, WatchedObject
from tests import factories
from tests.factories import PODGROUPS, make_finding, make_job, make_resource, store_object
from tests.stored_jobsets import GENERATION, HOLDS, JOBSETS, make_jobset

API = "/api/v1/"
SINCE = datetime(2026, 11, 1, 8, 30, tzinfo=UTC)

NOT_FOUND = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "code": "not-found",
    "detail": "The object does not exist, or you may not see it.",
}

PERSONAS: dict[str, list[tuple[str, str | None, str]]] = {
    "admin": [("admin", None, "")],
    "operator": [("operator", "east", "team-a")],
    "reader": [("viewer", "east", "team-a")],
    "stranger": [],
}


def make_site(name: str) -> Cluster:
    """A cluster that has answered just now and lets us see Jobs, but not nodes."""
    cluster = factories.make_cluster(name, now=timezone.now(), server=f"https://{name}.example")
    for resource, state in (
        ("jobs.batch", "ok"),
        ("nodes", "forbidden"),
        ("workloads.kueue.x-k8s.io", "not-served"),
    ):
        make_resource(cluster, resource, state=state, objects_count=3)
    return cluster


def make_gang(
    cluster: str, namespace: str, name: str, detail: Detail | None = None, **changes: Any
) -> Gang:
    """A JobSet whose eight pods with a GPU each do not fit; `changes` are columns."""
    columns: dict[str, Any] = {
        "generation": 2,
        "code": "fragmented",
        "title": "Fragmented",
        "message": f"{name} needs 8 GPUs on one node.",
        "advice": [
            {"text": "Drain node a.", "command": ["kubectl", "drain", "a"]},
            "Or wait.",
        ],
        "requests": {"nvidia.com/gpu": "8", "memory": "17179869184"},
        "queue": "",
        "priority": "",
        "created_at": SINCE - timedelta(minutes=1),
        "since": SINCE,
        "observed_at": SINCE,
        "first_seen_at": SINCE,
        **changes,
    }
    return factories.make_gang(
        Cluster.objects.get(name=cluster),
        name,
        namespace=namespace,
        uid=f"uid-{cluster}-{namespace}-{name}",
        detail=detail or Detail(),
        **columns,
    )


def make_group(cluster: str, namespace: str, name: str) -> WatchedObject:
    """A core PodGroup of eight."""
    ref = ObjectRef("scheduling.k8s.io", "PodGroup", namespace, name, f"uid-{cluster}-pg-{name}")
    group = Group(
        Meta("v1beta1", ref, "1", 1, SINCE), policy=Policy.GANG, quorum=8, workload_name="w"
    )
    return store_object(Cluster.objects.get(name=cluster), PODGROUPS, group)


def detail_of(namespace: str) -> Detail:
    """One finding, one Job, one pod."""
    pod = ObjectRef("", "Pod", namespace, "train-workers-0", "pod-0")
    finding = make_finding(
        "fragmented",
        title="Fragmented",
        message="It needs 8 GPUs on one node.",
        advice=("Drain node a.",),
        evidence=(Evidence("free", "8 GPUs", pod),),
        since=SINCE,
    )
    job = make_job(
        "train-workers",
        ref=ObjectRef("batch", "Job", namespace, "train-workers", "job-0"),
        nodes=("node-a",),
        scheduling=Scheduling("gang", "As a gang", "its PodGroup asks for 8"),
    )
    member = MemberState(pod, "train-workers", "", Health.WAITING, "waiting", "Unschedulable")
    facts = {"Runtime": "ClusterTrainingRuntime plain"}
    return Detail((finding,), (job,), (member,), facts=facts)


@dataclass(frozen=True)
class World:
    """Gangs and groups by cluster and namespace."""

    gangs: dict[str, Gang]
    groups: dict[str, WatchedObject]


@pytest.fixture
def world(db: None) -> World:
    """East with team-a and team-b, west with team-a: one gang and one group in each."""
    places = [("east", "team-a"), ("east", "team-b"), ("west", "team-a")]
    for name in ("east", "west"):
        make_site(name)
    return World(
        {f"{c}/{n}": make_gang(c, n, f"train-{c}-{n}", detail_of(n)) for c, n in places},
        {f"{c}/{n}": make_group(c, n, f"group-{c}-{n}") for c, n in places},
    )


def token_of(persona: str, *, may_act: bool = False) -> str:
    """A token of a user, who is created if missing. Read-only by default."""
    user = people.find_user(name=persona)
    if user is None:
        user, _ = people.create_user(name=persona, role="viewer", namespace="nowhere")
        user.grants.all().delete()
        for role, cluster, namespace in PERSONAS[persona]:
            people.grant_role(user=user, role=role, cluster_name=cluster, namespace=namespace)
    return authentication.issue_token(user=user, may_act=may_act)


@dataclass(frozen=True)
class Run:
    """A running JobSet `run` of three Jobs whose objects are stored, to be acted on."""

    gang: Gang

    def target(self, index: int = 0, **changes: Any) -> dict[str, Any]:
        """The target of a request about one of its Jobs."""
        return {
            "cluster": self.gang.cluster.name,
            "api_group": "batch",
            "kind": "Job",
            "namespace": self.gang.namespace,
            "name": f"run-workers-{index}",
            "uid": f"{self.gang.uid}-job-{index}",
            "generation": GENERATION,
            **changes,
        }

    def body(self, index: int = 0, **changes: Any) -> dict[str, Any]:
        """A request to suspend one of its Jobs."""
        body = {"verb": "suspend", "target": self.target(index), "reason": "gpu-07 is broken"}
        return {**body, **changes}


@pytest.fixture
def runs(world: World) -> dict[str, Run]:
    """A run in each namespace of the world, in clusters that have an actor."""
    Cluster.objects.update(actor_credentials=b"sealed")
    for resource, state in ((JOBSETS, "ok"), (HOLDS, "not-served")):
        make_resource(Cluster.objects.get(name="east"), resource, state=state, version="v1alpha2")
    return {
        place: Run(
            make_jobset(
                Cluster.objects.get(name=place.partition("/")[0]),
                "run",
                namespace=place.partition("/")[2],
                now=timezone.now(),
            )
        )
        for place in world.gangs
    }


@pytest.fixture
def post(world: World) -> Callable[..., Any]:
    """Send a body with a token that may act: post("operator", body, key="k") → response."""

    def send(
        persona: str, body: Any, *, key: str = "", query: str = "", may_act: bool = True
    ) -> Any:
        headers = {"authorization": f"Bearer {token_of(persona, may_act=may_act)}"}
        if key:
            headers["idempotency-key"] = key
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        return Client(headers=headers).post(
            f"{API}actions/{query}", text, content_type="application/json"
        )

    return send


@pytest.fixture
def get_api(world: World) -> Callable[..., Any]:
    """Send a GET request as a persona: get_api("reader", "gangs/", q="x") → response."""
    clients: dict[str, Client] = {"anonymous": Client()}

    def get(persona: str, path: str, **query: Any) -> Any:
        if persona not in clients:
            clients[persona] = Client(headers={"authorization": f"Bearer {token_of(persona)}"})
        address = path if path.startswith(("/", "http")) else API + path
        return clients[persona].get(address, query or None)

    return get


def names_in(response: Any) -> list[str]:
    """The names in a list that was answered."""
    assert response.status_code == 200, response.content
    return [row["name"] for row in response.json()["results"]]
