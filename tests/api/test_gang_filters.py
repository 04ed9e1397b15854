"""Filters by label, name and time; `fields`; ETag and 304; where a gang's labels and submitter come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.decode.fingerprints import decoder_fingerprint
from gangboard.decode.list_watch_decoder import build_model, read_object
from gangboard.domain.api_resource import SubmitterMarks
from gangboard.plugins import registry
from gangboard.store.models import Cluster, Gang
from tests.api.conftest import World, make_gang, names_in, token_of

GetApi = Callable[..., Any]


@pytest.fixture
def labelled(world: World) -> None:
    Gang.objects.all().delete()
    make_gang("east", "team-a", "one", labels={"team": "nlp", "a.example/tier": "Gold"})
    make_gang("east", "team-a", "two", labels={"team": "vision"}, submitter="kubectl-create")
    make_gang("east", "team-b", "three", labels={"team": "nlp"}, submitter="Grace")


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"label": "team=nlp"}, ["one", "three"]),
        ({"label": "a.example/tier"}, ["one"]),
        ({"label": "a.example/tier=gold"}, []),  # values have upper and lower case
        ({"label": "team=nlp,a.example/tier=Gold"}, ["one"]),
        ({"label": 'team"=x'}, []),
        ({"q": "label:team=vision"}, ["two"]),
        ({"q": "label:team=nlp three"}, ["three"]),
        ({"q": "team=nl"}, ["one", "three"]),
        ({"q": "grace"}, ["three"]),
        ({"submitter": "grace"}, ["three"]),
        ({"submitter": "grac"}, []),
        ({"name": "two"}, ["two"]),
        ({"name": "tw"}, []),
    ],
)
def test_gangs_are_found_by_label_and_name(
    get_api: GetApi, query: dict[str, str], expected: list[str]
) -> None:
    assert sorted(names_in(get_api("admin", "gangs/", **query))) == sorted(expected)


@pytest.mark.usefixtures("labelled")
def test_labels_and_submitter_are_returned(get_api: GetApi) -> None:
    two = get_api("admin", "gangs/", name="two").json()["results"][0]
    assert (two["labels"], two["submitter"]) == ({"team": "vision"}, "kubectl-create")


@pytest.mark.usefixtures("labelled")
def test_the_fields_parameter_limits_the_answer(get_api: GetApi) -> None:
    rows = get_api("admin", "gangs/", name="one", fields="name,code").json()["results"]
    assert rows == [{"name": "one", "code": "fragmented"}]
    id_ = get_api("admin", "gangs/", name="one", fields="id").json()["results"][0]["id"]
    assert list(get_api("admin", f"gangs/{id_}/", fields="jobs").json()) == ["jobs"]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"fields": "nope"}, "fields"),
        ({"label": "=x"}, "label"),
        ({"blocked_for": "10"}, "blocked_for"),
        ({"blocked_for": "10m", "health": "failed"}, "blocked_for"),
        ({"since_before": "x"}, "since_before"),
        ({"cluster": "nope"}, "cluster"),
        ({"code": "nope"}, "code"),
    ],
)
def test_invalid_filters_are_refused(
    get_api: GetApi, query: dict[str, str], parameter: str
) -> None:
    response = get_api("admin", "gangs/", **query)
    assert (response.status_code, list(response.json()["errors"])) == (400, [parameter])


def test_a_code_of_a_newer_release_is_accepted(get_api: GetApi, world: World) -> None:
    make_gang("east", "team-a", "new", code="of-tomorrow")
    assert names_in(get_api("admin", "gangs/", code="of-tomorrow")) == ["new"]


def test_blocked_for_counts_from_the_beginning_of_the_verdict(
    get_api: GetApi, world: World
) -> None:
    Gang.objects.all().delete()
    now = timezone.now()
    for minutes, health in ((9, "blocked"), (11, "blocked"), (12, "waiting")):
        since = now - timedelta(minutes=minutes)
        make_gang("east", "team-a", f"{health}-{minutes}", health=health, since=since)
    assert names_in(get_api("admin", "gangs/", blocked_for="10m")) == ["blocked-11"]
    before = (now - timedelta(minutes=10)).isoformat()
    assert len(names_in(get_api("admin", "gangs/", since_before=before))) == 2


class TestEntityTags:
    @pytest.fixture(autouse=True)
    def one_minute(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = timezone.now()
        monkeypatch.setattr("gangboard.pages.core.api.views.ReadView.now", lambda _: now)

    @staticmethod
    def get(address: str, tag: str = "", persona: str = "admin") -> Any:
        client = Client(headers={"Authorization": f"Bearer {token_of(persona)}"})
        return client.get(address, headers={"If-None-Match": tag} if tag else {})

    def test_an_unchanged_list_is_a_304(self, world: World) -> None:
        for address in ("/api/v1/gangs/", f"/api/v1/gangs/{world.gangs['east/team-a'].pk}/"):
            tag = self.get(address)["ETag"]
            repeated = self.get(address, tag)
            assert (repeated.status_code, repeated.content, repeated["ETag"]) == (304, b"", tag)

    def test_a_change_another_query_or_another_user_is_a_200(self, world: World) -> None:
        tag = self.get("/api/v1/gangs/")["ETag"]
        assert self.get("/api/v1/gangs/?limit=1", tag).status_code == 200
        assert self.get("/api/v1/gangs/", tag, "reader").status_code == 200
        Cluster.objects.filter(name="east").update(data_version=99)
        assert self.get("/api/v1/gangs/", tag).status_code == 200

    def test_the_entity_tag_covers_ages(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = timezone.now()
        Gang.objects.update(health="blocked", since=now - timedelta(seconds=90))
        address = "/api/v1/gangs/?blocked_for=2m"
        none = self.get(address)
        assert none.json()["results"] == []
        assert self.get(address, none["ETag"]).status_code == 304
        later = now + timedelta(seconds=40)
        monkeypatch.setattr("gangboard.pages.core.api.views.ReadView.now", lambda _: later)
        assert len(self.get(address, none["ETag"]).json()["results"]) == 3


CREATED = "2026-11-01T08:00:00Z"
NO_MARKS = SubmitterMarks()


def owner(
    labels: Any,
    entries: list[dict[str, Any]],
    annotations: Any = None,
    marks: SubmitterMarks = NO_MARKS,
) -> Any:
    """A Job as it is decoded."""
    kind = registry.owner_kind("batch", "Job")
    assert kind is not None
    metadata = {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": CREATED}
    texts = {"labels": labels, "annotations": annotations, "managedFields": entries}
    wire = read_object(
        json.dumps({"metadata": metadata | texts, "spec": {}}).encode(), kind.resource
    )
    return build_model(replace(kind.resource, submitter=marks), wire, "v1")


def entry(manager: str, time: str = CREATED, **options: Any) -> dict[str, Any]:
    return {"manager": manager, "time": time, "fieldsV1": {"f:spec": {}}, **options}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry("kubectl-create")], "kubectl-create"),
        ([entry("kubectl-create"), entry("c", fieldsV1={"f:metadata": {}})], "kubectl-create"),
        ([entry("argocd"), entry("job-controller", subresource="status")], "argocd"),
        ([entry("a"), entry("b")], ""),
        ([entry("a", "2026-11-01T08:00:05Z")], ""),
        ([], ""),
    ],
)
def test_the_submitter_is_returned_only_if_certain(
    entries: list[dict[str, Any]], expected: str
) -> None:
    model, problem = owner({"team": "nlp"}, entries)
    assert (model.submitter, model.labels, problem) == (expected, (("team", "nlp"),), None)


@pytest.mark.parametrize(
    ("labels", "annotations", "expected"),
    [
        ({"who": "ada"}, {"who": "bob"}, ("ada", "label")),
        ({"who": ""}, {"who": " bob@example.com "}, ("bob@example.com", "annotation")),
        (None, {"who": "bob"}, ("bob", "annotation")),
        (None, {"who": "two\nlines"}, ("helm", "field-manager")),
        (None, {"who": "x" * 129}, ("helm", "field-manager")),
        ({"whom": "ada"}, {"whom": "bob"}, ("helm", "field-manager")),
        (None, None, ("helm", "field-manager")),
    ],
)
def test_the_submitter_is_the_label_then_the_annotation_then_the_manager(
    labels: Any, annotations: Any, expected: tuple[str, str]
) -> None:
    marks = SubmitterMarks(label="who", annotation="who")
    model, problem = owner(labels, [entry("helm")], annotations, marks)
    assert (model.submitter, model.submitter_source, problem) == (*expected, None)


def test_a_submitter_beyond_the_stored_labels_is_read() -> None:
    many = {f"a-{number:03}": "x" for number in range(64)} | {"who": "ada"}
    model, _ = owner(many, [], marks=SubmitterMarks(label="who"))
    assert (model.submitter, len(model.labels)) == ("ada", 64)


def test_annotations_that_are_no_text_are_a_problem() -> None:
    marks = SubmitterMarks(annotation="who")
    assert owner(None, [], {"who": 1}, marks)[1] is not None
    assert owner(None, [], {"other": 1}, marks)[1] is None


def test_the_setting_invalidates_stored_owners() -> None:
    kind = registry.owner_kind("batch", "Job")
    assert kind is not None
    marked = replace(kind.resource, submitter=SubmitterMarks(label="who"))
    assert decoder_fingerprint(marked) != decoder_fingerprint(kind.resource)


def test_labels_are_bounded_and_have_to_be_text() -> None:
    model, _ = owner({f"key-{number:03}": "x" * 100 for number in range(100)}, [])
    assert (len(model.labels), model.labels[0]) == (64, ("key-000", "x" * 63))
    assert owner(None, [])[0].labels == ()
    assert owner({"a": 1}, [])[1] is not None
