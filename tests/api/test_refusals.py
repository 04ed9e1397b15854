"""`actions/`: forbidden and invalid requests."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gangboard.actions import service
from gangboard.store.models import (
    AccessToken,
    Action,
    AuditEntry,
)
from tests.api.conftest import API, NOT_FOUND, Run, token_of

GetApi = Callable[..., Any]
Post = Callable[..., Any]
Runs = dict[str, Run]


# --- not taken: who


def test_a_stale_generation_is_a_conflict_with_both_generations(post: Post, runs: Runs) -> None:
    run = runs["east/team-a"]
    response = post("operator", run.body(target=run.target(generation=2)))
    assert response.status_code == 409
    assert "generation 3" in response.json()["detail"]
    assert "you saw 2" in response.json()["detail"]
    made_anew = post("operator", run.body(target=run.target(uid="another")))
    assert made_anew.status_code == 409
    assert Action.objects.count() == 0


@pytest.mark.parametrize(("persona", "may_act"), [("reader", True), ("operator", False)])
def test_a_viewer_is_refused_and_audited(
    post: Post, runs: Runs, persona: str, may_act: bool
) -> None:
    response = post(persona, runs["east/team-a"].body(), may_act=may_act)
    assert response.status_code == 403
    assert response["Content-Type"] == "application/problem+json"
    assert Action.objects.count() == 0
    (line,) = AuditEntry.objects.filter(actor_name=persona)
    assert (line.event, line.actor_name, line.namespace) == ("denied", persona, "team-a")


def test_a_throttled_user_gets_retry_after(
    post: Post, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_A_MINUTE", 1)
    body = runs["east/team-a"].body()
    assert post("operator", body).status_code == 202
    response = post("operator", body)
    assert response.status_code == 429
    assert response["Content-Type"] == "application/problem+json"
    assert 0 < int(response["Retry-After"]) <= 60
    assert "actions a minute" in response.json()["detail"]


def test_force_is_for_admins(post: Post, runs: Runs) -> None:
    body = runs["east/team-a"].body(force=True)
    assert post("operator", body).status_code == 403
    taken = post("admin", body)
    assert taken.status_code == 202
    assert taken.json()["forced"] is True


def test_hidden_objects_get_404(post: Post, runs: Runs) -> None:
    own = runs["east/team-a"]
    bodies = [
        runs["east/team-b"].body(),
        runs["west/team-a"].body(),
        own.body(target=own.target(name="no-such", uid="none")),
        own.body(target=own.target(cluster="north")),
        own.body(target=own.target(namespace="none")),
    ]
    answers = [post("operator", body) for body in bodies]
    answers += [post("operator", body, query="?dry_run=true") for body in bodies]
    answers += [post("stranger", own.body()), post("reader", runs["east/team-b"].body())]
    answers.append(post("operator", bodies[0], may_act=False))
    assert [(answer.status_code, answer.json()) for answer in answers] == [(404, NOT_FOUND)] * len(
        answers
    )
    assert Action.objects.count() == 0


def test_an_anonymous_and_an_expired_token_get_401(post: Post, runs: Runs) -> None:
    body = json.dumps(runs["east/team-a"].body())
    anonymous = Client().post(f"{API}actions/", body, content_type="application/json")
    token = token_of("operator", may_act=True)
    AccessToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    expired = Client(headers={"authorization": f"Bearer {token}"}).post(
        f"{API}actions/", body, content_type="application/json"
    )
    assert (anonymous.status_code, expired.status_code) == (401, 401)
    assert Action.objects.count() == 0


def test_a_session_needs_the_csrf_token(runs: Runs) -> None:
    token_of("operator")
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="operator"))
    body = json.dumps(runs["east/team-a"].body())
    response = client.post(f"{API}actions/", body, content_type="application/json")
    assert response.status_code == 403
    assert Action.objects.count() == 0


def test_a_key_needs_the_right_to_view(post: Post, runs: Runs) -> None:
    assert post("operator", runs["east/team-a"].body(), key="k-1").status_code == 202
    User.objects.get(username="operator").grants.all().delete()
    response = post("operator", runs["east/team-a"].body(), key="k-1")
    assert (response.status_code, response.json()) == (404, NOT_FOUND)


# --- not taken: what


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"verb": "delete"}, "verb"),
        ({"verb": None}, "verb"),
        ({"reason": 5}, "reason"),
        ({"reason": "x" * 1025}, "reason"),
        ({"until": "2027-01-01T10:00:00"}, "until"),
        ({"until": "tomorrow"}, "until"),
        ({"until": "0001-01-01T00:00:00+14:00"}, "until"),
        ({"until": "9999-12-31T23:59:59-14:00"}, "until"),
        ({"force": "yes"}, "force"),
        ({"forced": True}, "forced"),
        ({"target": {}}, "target.uid"),
        ({"target": "run"}, "target"),
        ({"target": None}, "target"),
    ],
)
def test_an_invalid_body_is_refused(
    post: Post, runs: Runs, change: dict[str, Any], field: str
) -> None:
    response = post("operator", runs["east/team-a"].body(**change))
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    if field == "target":
        assert any(name.startswith("target") for name in response.json()["errors"])
    else:
        assert field in response.json()["errors"]
    assert Action.objects.count() == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"generation": "3"}, "target.generation"),
        ({"generation": True}, "target.generation"),
        ({"generation": 2**63}, "target.generation"),
        ({"uid": 7}, "target.uid"),
        ({"uid": "a\x00b"}, "target.uid"),
        ({"cluster": ""}, "target.cluster"),
        ({"node": "x"}, "target.node"),
    ],
)
def test_an_invalid_target_is_refused(
    post: Post, runs: Runs, change: dict[str, Any], field: str
) -> None:
    run = runs["east/team-a"]
    response = post("operator", run.body(target=run.target(**change)))
    assert response.status_code == 400
    assert field in response.json()["errors"]


@pytest.mark.parametrize(
    "change", [{"reason": ""}, {"reason": "  "}, {"until": "2020-01-01T00:00:00Z"}]
)
def test_errors_of_the_service_are_a_400(post: Post, runs: Runs, change: dict[str, Any]) -> None:
    response = post("operator", runs["east/team-a"].body(**change))
    assert response.status_code == 400
    assert response.json()["detail"]


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"x"', "[" * 2000, b"\xff"])
def test_a_body_that_is_no_json_object_is_refused(
    post: Post, runs: Runs, body: str | bytes
) -> None:
    response = post("operator", body)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"


def test_an_oversized_body_is_refused(post: Post, runs: Runs) -> None:
    response = post("operator", runs["east/team-a"].body(reason="x" * 20_000))
    assert response.status_code == 413
    assert response["Content-Type"] == "application/problem+json"


def test_other_media_types_and_parameters_are_refused(post: Post, runs: Runs) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('operator', may_act=True)}"})
    assert client.post(f"{API}actions/", {"verb": "suspend"}).status_code == 415
    assert post("operator", runs["east/team-a"].body(), query="?dryrun=true").status_code == 400
    assert post("operator", runs["east/team-a"].body(), query="?dry_run=si").status_code == 400
    assert post("operator", runs["east/team-a"].body(), key="k" * 201).status_code == 400
    assert Action.objects.count() == 0
