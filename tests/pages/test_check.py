"""Checks of manifests on the page and by the API, with a poll worker that answers them."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from gangboard.domain.check import CheckedGang, CheckVerdict, ClusterCheck
from gangboard.domain.objects import ObjectRef
from gangboard.pages.check import api, queries
from gangboard.pages.check.queries import build_result
from gangboard.polling import tasks
from gangboard.polling.checks import runs
from gangboard.polling.checks.loaded_cluster import drop_kept
from gangboard.polling.checks.runs import run_check
from gangboard.polling.retention import clean_up
from gangboard.store import checks
from gangboard.store.access import Scope, Viewer
from gangboard.store.checks import claim_check, due_checks
from gangboard.store.models import CheckRun, Cluster, Gang, Grant
from gangboard.store.secrets import unseal_bytes
from tests.domain_objects import a_job, pods_of
from tests.factories import make_gang, make_history, store_object
from tests.personas import Person, make_owner, make_reader
from tests.polling.checks import fleet
from tests.polling.checks.fleet import gpu_node, job, make_fleet

CHECKS = "/api/v1/checks/"
JSON = "application/json"


@pytest.fixture(autouse=True)
def no_kept_clusters() -> Iterator[None]:
    drop_kept()
    yield
    drop_kept()


@pytest.fixture
def clusters(db: None, monkeypatch: pytest.MonkeyPatch) -> tuple[Cluster, Cluster]:
    """A cluster with free GPUs, and one without."""
    monkeypatch.setattr(fleet, "NOW", timezone.now())
    return make_fleet(gpu_node("n0"), name="east"), make_fleet(gpu_node("m0", 1), name="west")


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer each check while its call sleeps."""

    def answer(_seconds: float) -> None:
        for run_id in due_checks():
            run_check(run_id)

    # Only the clock of this module: other threads sleep too, such as that of the notifier.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=answer)
    monkeypatch.setattr("gangboard.pages.check.api.time", clock)
    monkeypatch.setattr("gangboard.pages.check.api.connection.close", lambda: None)


def post(person: Person, **body: Any) -> Any:
    """Send a request and return the response."""
    return person.client.post(CHECKS, {"manifests": job(), **body}, content_type=JSON)


def answer_all() -> None:
    """Answer all due checks, as poll workers do."""
    for run_id in due_checks():
        assert run_check(run_id)


# API


@pytest.mark.usefixtures("worker", "clusters")
def test_the_best_cluster_comes_first() -> None:
    response = post(make_owner())
    assert response.status_code == 200, response.content
    answer = response.json()
    assert answer["complete"] is True
    assert [(row["cluster"], row["verdict"], row["code"]) for row in answer["results"]] == [
        ("east", "admitted-and-placed", "running"),
        ("west", "would-block", "no-matching-node"),
    ]
    east, west = answer["results"]
    assert east["message"] == "Both pods fit on 1 node now."
    assert (east["advice"], east["typical_wait"], east["behind"]) == ([], None, [])
    assert {"document", "namespace", "name", "kind", "faults", "notes", "fit"} <= east.keys()
    assert west["fit"][0]["waiting"] == 2


@pytest.mark.usefixtures("worker")
def test_a_gang_that_waits_has_the_typical_wait_of_similar_ones(
    clusters: tuple[Cluster, Cluster],
) -> None:
    east, _ = clusters
    born = timezone.now() - timedelta(hours=5)
    for minutes in (34, 10, 50, 20, 90):
        similar = make_gang(
            east, created_at=born, desired=2, requests={"nvidia.com/gpu": "8"}, queue=""
        )
        make_history(similar, born, ("room", minutes), ("runs", 10), gone=True)
        similar.delete()
    busy = a_job("busy", requests={"nvidia.com/gpu": Decimal(4)})
    store_object(east, "jobs.batch", busy)
    for pod in pods_of(busy, 2, on="n0", requests={"nvidia.com/gpu": Decimal(4)}):
        store_object(east, "pods", pod)
    (row,) = post(make_owner(), clusters=["east"]).json()["results"]
    assert (row["verdict"], row["code"]) == ("would-wait", "insufficient-resources")
    assert row["typical_wait"] == {"seconds": 34 * 60, "text": "34 min", "gangs": 5}
    harms = [step["harm"] for step in row["advice"]]
    assert harms[0] == "nothing"
    assert harms == sorted(
        harms, key=["nothing", "nodes", "broken gangs", "own gang", "whole gangs"].index
    )


@pytest.mark.usefixtures("worker", "clusters")
def test_a_request_may_name_clusters_and_a_namespace() -> None:
    text = job().replace(", namespace: team-a", "")
    response = post(make_owner(), manifests=text, clusters=["west"], namespace="team-z")
    rows = response.json()["results"]
    assert [(row["cluster"], row["namespace"]) for row in rows] == [("west", "team-z")]


@pytest.mark.usefixtures("clusters")
def test_bad_requests() -> None:
    owner = make_owner()
    assert post(owner, clusters=["nowhere"]).status_code == 404
    bad = post(owner, manifests="kind: Job")
    assert bad.status_code == 400
    assert bad.json()["errors"] == {"manifests": ["Document 1 has no apiVersion."]}
    assert post(owner, manifests="").status_code == 400
    assert Client().post(CHECKS, {"manifests": job()}, content_type=JSON).status_code == 401


@pytest.mark.usefixtures("clusters")
def test_a_cluster_that_does_not_answer_in_time_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "WAIT_SECONDS", 0.0)
    answer = post(make_owner()).json()
    assert answer["complete"] is False
    assert {row["verdict"] for row in answer["results"]} == {"unknown"}
    assert {row["message"] for row in answer["results"]} == {queries.LATE}


@pytest.mark.usefixtures("worker", "clusters")
def test_an_answer_can_be_read_again_by_its_person_only() -> None:
    owner, other = make_owner(), make_owner("ole")
    check_id = post(owner).json()["id"]
    assert owner.client.get(f"{CHECKS}{check_id}/").json()["complete"] is True
    assert other.client.get(f"{CHECKS}{check_id}/").status_code == 404
    assert owner.client.get(f"/check/{check_id}/").status_code == 200
    assert other.client.get(f"/check/{check_id}/").status_code == 404
    CheckRun.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert owner.client.get(f"{CHECKS}{check_id}/").status_code == 404
    clean_up()
    assert not CheckRun.objects.exists()


@pytest.mark.usefixtures("worker", "clusters")
def test_a_person_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_CHECKS", 2)
    owner = make_owner()
    assert [post(owner).status_code for _ in range(3)] == [200, 200, 429]


# Rights


@pytest.mark.usefixtures("worker")
def test_a_viewer_of_one_namespace(clusters: tuple[Cluster, Cluster]) -> None:
    east, _ = clusters
    reader = make_reader(east, "team-a")
    rows = post(reader).json()["results"]
    assert [(row["cluster"], row["verdict"]) for row in rows] == [("east", "admitted-and-placed")]
    hidden = job("other").replace("team-a", "team-b")
    (row,) = post(reader, manifests=hidden).json()["results"]
    assert (row["verdict"], row["code"]) == ("unknown", "not-observed")
    assert row["message"] == "You may not see namespace team-b of this cluster."
    assert post(reader, clusters=["west"]).status_code == 404


@pytest.mark.usefixtures("worker")
def test_queues_of_a_text_are_for_viewers_of_the_whole_cluster(
    clusters: tuple[Cluster, Cluster],
) -> None:
    east, _ = clusters
    queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: mine, namespace: team-a}\nspec: {clusterQueue: theirs}\n"
    post_form(make_reader(east, "team-a"), manifests=f"{queue}---{job()}")
    (run,) = CheckRun.objects.all()
    assert "theirs" not in zlib.decompress(unseal_bytes(bytes(run.manifests or b""))).decode()
    post_form(make_owner(), manifests=f"{queue}---{job()}", cluster="east")
    run = CheckRun.objects.latest("created_at")
    assert "theirs" in zlib.decompress(unseal_bytes(bytes(run.manifests or b""))).decode()


def test_a_viewer_without_a_cluster(clusters: tuple[Cluster, Cluster]) -> None:
    assert clusters
    stranger = make_owner("sam")
    Grant.objects.all().delete()
    assert post(stranger).status_code == 404


@pytest.mark.usefixtures("worker")
def test_names_of_other_namespaces_and_nodes_are_hidden(clusters: tuple[Cluster, Cluster]) -> None:
    east, _ = clusters
    busy = a_job("secret-run", namespace="team-b", requests={"nvidia.com/gpu": Decimal(4)})
    store_object(east, "jobs.batch", busy)
    for pod in pods_of(
        busy, 2, on="n0", namespace="team-b", requests=busy.pod_requests[0].requests
    ):
        store_object(east, "pods", pod)
    seen = post(make_owner(), clusters=["east"]).content.decode()
    assert "secret-run" in seen
    assert "n0" in seen
    text = post(make_reader(east, "team-a")).content.decode()
    assert "secret-run" not in text
    assert '"n0"' not in text
    assert "node n0" not in text


@pytest.mark.django_db
def test_gangs_before_it_in_the_queue_are_hidden_as_well() -> None:
    cluster = make_fleet(name="east")
    cluster_id = cluster.pk
    behind = tuple(
        ObjectRef("batch", "Job", namespace, "first", namespace) for namespace in ("team-a", "b")
    )
    stored = make_gang(cluster, "mine", namespace="team-a", now=timezone.now())
    row = {field.attname: getattr(stored, field.attname) for field in Gang._meta.concrete_fields}
    Cluster.objects.update(contact_at=timezone.now())
    gang = CheckedGang(
        1,
        "batch",
        "Job",
        "team-a",
        "mine",
        CheckVerdict.WOULD_WAIT,
        "fragmented",
        row=row,
        behind=behind,
    )
    viewer = Viewer(1, "rene", (Scope(cluster_id, "team-a", "viewer"),))
    answer = ClusterCheck(cluster_id, "east", (gang,))
    (result,) = build_result([answer], viewer=viewer, now=timezone.now()).results
    assert [before.text for before in result.behind] == [
        "Job team-a/first",
        "a gang you may not see",
    ]


# Storage and workers


def test_only_the_shape_is_stored_and_deleted_with_the_answer(
    clusters: tuple[Cluster, Cluster],
) -> None:
    assert clusters
    owner = make_owner()
    owner.client.post("/check/", {"manifests": job()})
    sealed = [bytes(run.manifests or b"") for run in CheckRun.objects.all()]
    assert len(sealed) == 2
    for data in sealed:
        assert b"nvidia" not in data
        clear = zlib.decompress(unseal_bytes(data)).decode()
        assert "nvidia.com/gpu" in clear
        assert "secret" not in clear
        assert "python" not in clear
    answer_all()
    assert {run.manifests for run in CheckRun.objects.all()} == {None}
    assert {run.state for run in CheckRun.objects.all()} == {"answered"}


@pytest.mark.usefixtures("clusters")
def test_a_worker_that_died_loses_the_check_to_another() -> None:
    post_form(make_owner())
    (first, second) = due_checks()
    claimed = claim_check(first)
    assert claimed is not None
    assert claim_check(first) is None
    assert due_checks() == [second]
    CheckRun.objects.filter(pk=first).update(claimed_at=timezone.now() - timedelta(seconds=31))
    assert run_check(first)
    stale = ClusterCheck(claimed.cluster.pk, "east", why_unknown="late")
    assert not checks.finish_check(first, claimed.claimed_at, stale)


@pytest.mark.usefixtures("clusters")
def test_a_defect_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(runs, "check_cluster", fail)
    owner = make_owner()
    page = post_form(owner)
    answer_all()
    assert "A defect of gangboard ended the check" in owner.client.get(page.url).content.decode()


@pytest.mark.usefixtures("clusters")
def test_the_seed_task_orders_due_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    post_form(make_owner())
    ordered: list[str] = []
    monkeypatch.setattr(
        tasks.check_manifests, "apply_async", lambda args, **_: ordered.append(args[0])
    )
    monkeypatch.setattr(tasks.poll, "apply_async", lambda *_, **__: None)
    tasks.seed()
    assert sorted(ordered) == sorted(due_checks())
    tasks.check_manifests(ordered[0])
    assert not due_checks(), "one task answers all that is due"


@pytest.mark.usefixtures("clusters")
def test_a_process_answers_one_check_at_a_time() -> None:
    post_form(make_owner())
    run_id, _ = due_checks()
    with runs._slot:
        assert runs.run_checks(run_id) == 0
    assert runs.run_checks(run_id) == 2


# Page


def post_form(person: Person, **fields: Any) -> Any:
    """Send the form and return the redirect."""
    response = person.client.post("/check/", {"manifests": job(), **fields})
    assert response.status_code == 303, response.content
    return response


@pytest.mark.usefixtures("clusters")
def test_the_page_shows_a_form_and_then_the_result() -> None:
    owner = make_owner()
    form = owner.client.get("/check/").content.decode()
    assert 'name="manifests"' in form
    assert ">east</option>" in form
    page = post_form(owner)
    waiting = owner.client.get(page.url).content.decode()
    assert "Some clusters have not answered yet" in waiting
    assert 'http-equiv="refresh"' in waiting
    unchanged = owner.client.get(f"{page.url}?shown=0", headers={"HX-Request": "true"})
    assert unchanged.status_code == 204
    answer_all()
    result = owner.client.get(page.url).content.decode()
    assert "would run now" in result
    assert "Both pods fit on 1 node now." in result
    assert "would be blocked" in result
    assert "http-equiv" not in result
    part = owner.client.get(page.url, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "hx-get" not in part


@pytest.mark.usefixtures("clusters")
def test_a_file_can_be_uploaded() -> None:
    owner = make_owner()
    file = SimpleUploadedFile("job.yaml", job().encode())
    page = post_form(owner, manifests="", file=file, cluster="east")
    answer_all()
    assert "Both pods fit on 1 node now." in owner.client.get(page.url).content.decode()
    file = SimpleUploadedFile("job.yaml", b"\xff\xfe")
    response = owner.client.post("/check/", {"manifests": "", "file": file})
    assert "no text in UTF-8" in response.content.decode()


@pytest.mark.usefixtures("clusters")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"manifests": ""}, "Paste manifests or choose a file."),
        ({"manifests": "kind: Job"}, "Document 1 has no apiVersion."),
        ({"manifests": job(), "cluster": "nowhere"}, "You see no such cluster."),
    ],
)
def test_the_form_says_what_is_wrong(fields: dict[str, str], words: str) -> None:
    response = make_owner().client.post("/check/", fields)
    assert response.status_code == 400
    assert words in response.content.decode()


@pytest.mark.usefixtures("clusters")
def test_hostile_text_is_escaped() -> None:
    owner = make_owner()
    page = post_form(owner, manifests=job('"<script>alert(1)</script>"'))
    answer_all()
    assert "<script>alert(1)" not in owner.client.get(page.url).content.decode()
