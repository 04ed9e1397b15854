"""`actions/`: who may ask for what, how often, and what the answers tell."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs are installed
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gangboard.readmodels.action_export import action_document
from gangboard.readmodels.actions import action_row
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import (
    AccessToken,
    Action,
    AuditEntry,
    Cluster,
    HoldCheck,
    ResourceState,
)
from tests.api.conftest import API, Run, token_of
from tests.factories import NOW as CHECKED
from tests.readmodels.jobsets import HOLDS, make_hold
from tests.readmodels.recorded import make_action

Ask = Callable[..., Any]
Post = Callable[..., Any]
Runs = dict[str, Run]

NOT_FOUND = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "detail": "There is no such object, or you may not see it.",
}


# --- taken


def test_an_operator_asks_and_learns_where_to_look(ask: Ask, post: Post, runs: Runs) -> None:
    run = runs["east/team-a"]
    response = post("operator", run.body(), key="k-1")
    assert response.status_code == 202
    action = response.json()
    assert response["Location"] == f"http://testserver/api/v1/actions/{action['id']}/"
    assert action["target"] == run.target()
    expected = {
        "verb": "suspend",
        "state": "requested",
        "final": False,
        "lever": None,
        "reason": "gpu-07 is broken",
        "actor": "operator",
        "via": "api",
        "gang_id": run.gang.pk,
        "warnings": [],
        "steps": [],
        "reverted_by": None,
        "held_seconds": None,
        "finished_at": None,
    }
    assert {key: action[key] for key in expected} == expected
    assert ask("operator", response["Location"]).json() == action
    assert ask("reader", f"actions/{action['id']}/").json() == action
    assert ask("reader", "actions/").json()["results"] == [action]
    (line,) = AuditEntry.objects.all()
    assert (line.event, line.actor_name, line.action_id) == ("requested", "operator", action["id"])


def test_the_same_key_is_the_same_action(post: Post, runs: Runs) -> None:
    run = runs["east/team-a"]
    first = post("operator", run.body(), key="k-1")
    second = post("operator", run.body(), key="k-1")
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["id"] == second.json()["id"]
    assert Action.objects.count() == 1
    other = post("operator", run.body(index=1), key="k-1")
    assert other.status_code == 422
    assert other["Content-Type"] == "application/problem+json"
    assert other.json()["action_id"] == first.json()["id"]
    # A key is a person's own.
    assert post("admin", run.body(index=1), key="k-1").status_code == 202


def test_two_people_at_once_get_one_action(post: Post, runs: Runs) -> None:
    run = runs["east/team-a"]
    first = post("operator", run.body())
    second = post("admin", run.body())
    assert second.status_code == 409
    assert second.json()["action_id"] == first.json()["id"]
    assert "operator" in second.json()["detail"]


def test_the_owner_as_a_whole_can_be_asked_for(post: Post, runs: Runs) -> None:
    gang = runs["east/team-a"].gang
    target = runs["east/team-a"].target(
        api_group="jobset.x-k8s.io", kind="JobSet", name="run", uid=gang.uid
    )
    assert post("operator", runs["east/team-a"].body(target=target)).status_code == 202


def test_an_end_of_the_hold_is_taken_in_utc(post: Post, runs: Runs) -> None:
    end = timezone.now() + timedelta(hours=2)
    body = runs["east/team-a"].body(until=end.isoformat())
    assert post("operator", body).json()["until"] == end.isoformat().replace("+00:00", "Z")


# --- not taken: who


def test_a_stale_look_is_a_conflict_that_names_both_generations(post: Post, runs: Runs) -> None:
    run = runs["east/team-a"]
    response = post("operator", run.body(target=run.target(generation=2)))
    assert response.status_code == 409
    assert "generation 3" in response.json()["detail"]
    assert "you saw 2" in response.json()["detail"]
    made_anew = post("operator", run.body(target=run.target(uid="another")))
    assert made_anew.status_code == 409
    assert Action.objects.count() == 0


@pytest.mark.parametrize(("persona", "may_act"), [("reader", True), ("operator", False)])
def test_who_may_only_look_is_refused_and_that_is_audited(
    post: Post, runs: Runs, persona: str, may_act: bool
) -> None:
    response = post(persona, runs["east/team-a"].body(), may_act=may_act)
    assert response.status_code == 403
    assert response["Content-Type"] == "application/problem+json"
    assert Action.objects.count() == 0
    (line,) = AuditEntry.objects.all()
    assert (line.event, line.actor_name, line.namespace) == ("denied", persona, "team-a")


def test_force_is_for_admins(post: Post, runs: Runs) -> None:
    body = runs["east/team-a"].body(force=True)
    assert post("operator", body).status_code == 403
    taken = post("admin", body)
    assert taken.status_code == 202
    assert taken.json()["forced"] is True


def test_what_may_not_be_seen_is_not_there(post: Post, runs: Runs) -> None:
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


def test_a_key_does_not_outlive_the_right_to_see(post: Post, runs: Runs) -> None:
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
        ({"force": "yes"}, "force"),
        ({"forced": True}, "forced"),
        ({"target": {}}, "target.uid"),
        ({"target": "run"}, "target"),
        ({"target": None}, "target"),
    ],
)
def test_a_body_that_makes_no_sense(
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
def test_a_target_that_makes_no_sense(
    post: Post, runs: Runs, change: dict[str, Any], field: str
) -> None:
    run = runs["east/team-a"]
    response = post("operator", run.body(target=run.target(**change)))
    assert response.status_code == 400
    assert field in response.json()["errors"]


@pytest.mark.parametrize(
    "change", [{"reason": ""}, {"reason": "  "}, {"until": "2020-01-01T00:00:00Z"}]
)
def test_what_the_service_finds_wrong(post: Post, runs: Runs, change: dict[str, Any]) -> None:
    response = post("operator", runs["east/team-a"].body(**change))
    assert response.status_code == 400
    assert response.json()["detail"]


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"x"', "[" * 2000, b"\xff"])
def test_what_is_no_json_object(post: Post, runs: Runs, body: str | bytes) -> None:
    response = post("operator", body)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"


def test_a_body_that_is_too_large(post: Post, runs: Runs) -> None:
    response = post("operator", runs["east/team-a"].body(reason="x" * 20_000))
    assert response.status_code == 413
    assert response["Content-Type"] == "application/problem+json"


def test_other_media_and_parameters_are_refused(post: Post, runs: Runs) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('operator', may_act=True)}"})
    assert client.post(f"{API}actions/", {"verb": "suspend"}).status_code == 415
    assert post("operator", runs["east/team-a"].body(), query="?dryrun=true").status_code == 400
    assert post("operator", runs["east/team-a"].body(), query="?dry_run=si").status_code == 400
    assert post("operator", runs["east/team-a"].body(), key="k" * 201).status_code == 400
    assert Action.objects.count() == 0


# --- dry run


def test_a_dry_run_says_what_would_be_done_and_does_nothing(post: Post, runs: Runs) -> None:
    gang = runs["east/team-a"].gang
    target = runs["east/team-a"].target(
        api_group="jobset.x-k8s.io", kind="JobSet", name="run", uid=gang.uid
    )
    body = {"verb": "suspend", "target": target}
    response = post("operator", body, query="?dry_run=true")
    assert response.status_code == 200
    plan = response.json()
    assert (plan["allowed"], plan["why_not"], plan["lever"]) == (True, None, "suspend")
    assert (plan["before"], plan["after"]) == ({"spec.suspend": "false"}, {"spec.suspend": "true"})
    assert [step["method"] for step in plan["steps"]] == ["PATCH"]
    assert "/spec/suspend" in plan["steps"][0]["patch"]
    assert plan["generation"] == 3
    assert Action.objects.count() == 0
    assert AuditEntry.objects.count() == 0


def test_a_dry_run_of_what_the_cluster_cannot_hold_says_why_and_what_it_needs(
    post: Post, runs: Runs
) -> None:
    plan = post("operator", runs["east/team-a"].body(), query="?dry_run=true").json()
    assert (plan["allowed"], plan["lever"], plan["steps"]) == (False, None, [])
    assert plan["why_not"]
    assert "print_rbac" in plan["needs"]
    # The request itself is taken: a lever's refusal is the action's own end.
    assert post("operator", runs["east/team-a"].body()).status_code == 202


# --- what is on offer


def test_a_gang_says_what_may_be_done(ask: Ask, runs: Runs) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('operator', may_act=True)}"})
    gang = client.get(f"{API}gangs/{runs['east/team-a'].gang.pk}/").json()
    owner = {offer["verb"]: offer for offer in gang["actions"]}
    assert (owner["suspend"]["allowed"], owner["suspend"]["lever"]) == (True, "suspend")
    assert owner["resume"]["allowed"] is False
    assert owner["resume"]["why_not"]
    assert len(gang["jobs"]) == 3
    for job in gang["jobs"]:
        assert [offer["verb"] for offer in job["actions"]] == ["suspend", "resume"]
        assert not any(offer["allowed"] for offer in job["actions"])
    read_only = ask("operator", f"gangs/{runs['east/team-a'].gang.pk}/").json()
    assert {offer["why_not"] for offer in read_only["actions"]} == {
        "This token may look but not act; make one with create_token --act."
    }


# --- lists


def test_a_list_is_filtered_and_paged(ask: Ask, runs: Runs) -> None:
    east = Cluster.objects.get(name="east")
    for number in range(5):
        make_action(east, name=f"a{number}", namespace="team-a")
    make_action(east, name="open", namespace="team-a", state="sent", finished_at=None)
    make_action(east, name="canary", namespace="team-b")
    walked: list[str] = []
    following: str | None = "actions/?limit=2"
    while following:
        page = ask("reader", following).json()
        walked += [row["target"]["name"] for row in page["results"]]
        following = page["next"]
    assert walked == ["open", "a4", "a3", "a2", "a1", "a0"]

    def names(**query: str) -> list[str]:
        answer = ask("reader", "actions/", **query).json()
        return [row["target"]["name"] for row in answer["results"]]

    assert names(open="true") == ["open"]
    assert names(state="sent") == ["open"]
    assert names(q="a3") == ["a3"]
    assert names(q="canary") == []
    assert names(namespace="team-b") == []
    assert ask("reader", "actions/", state="done").status_code == 400
    assert ask("reader", "actions/", cursor="x").status_code == 400


def test_nothing_of_other_tenants_is_in_any_answer(ask: Ask, runs: Runs) -> None:
    action = make_action(
        Cluster.objects.get(name="east"),
        name="canary",
        namespace="team-b",
        reason="canary",
        message="canary",
        actor_name="canary",
        gang_id=runs["east/team-a"].gang.pk,
    )
    for persona in ("reader", "operator", "stranger"):
        for path in (
            "actions/",
            "actions/?q=canary",
            f"actions/{action.pk}/",
            f"gangs/{runs['east/team-a'].gang.pk}/",
            "holds/",
        ):
            assert b"canary" not in ask(persona, path).content
        assert ask(persona, f"actions/{action.pk}/").json() == NOT_FOUND


def test_the_file_and_the_answer_are_the_same(ask: Ask, runs: Runs) -> None:
    east = Cluster.objects.get(name="east")
    action = make_action(
        east,
        reverted_by="jobset",
        held_seconds=0.5,
        warnings=["w"],
        before={"spec.suspend": "false"},
        steps=(("patch", "Suspend the Job", "done", ""),),
    )
    row = action_row(viewer=Viewer(1, "x", (Scope(None, "", "viewer"),)), action_id=action.pk)
    assert row is not None
    assert ask("admin", f"actions/{action.pk}/").json() == action_document(row)


def test_answers_to_requests_are_what_the_schema_says(ask: Ask, post: Post, runs: Runs) -> None:
    document = ask("admin", "schema/").json()
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    answers = document["paths"]["/api/v1/actions/"]["post"]["responses"]
    run = runs["east/team-a"]
    for response in (
        post("operator", run.body(), query="?dry_run=true"),
        post("operator", run.body()),
        post("operator", {}),
        post("reader", run.body()),
        post("stranger", run.body()),
        post("admin", run.body()),
    ):
        answer = answers[str(response.status_code)]["content"][response["Content-Type"]]
        schema = {**answer["schema"], "components": {"schemas": schemas}}
        jsonschema.validate(response.json(), schema, jsonschema.Draft202012Validator)


# --- Holds


def test_holds_are_listed_with_what_is_known_of_them(ask: Ask, runs: Runs) -> None:
    gang = runs["east/team-a"].gang
    hold = make_hold(gang.cluster, gang, "run-workers-1")
    make_hold(gang.cluster, runs["east/team-b"].gang, "canary")
    HoldCheck.objects.create(
        cluster=gang.cluster, hold_uid=hold.meta.ref.uid, in_force=True, checked_at=CHECKED
    )
    ResourceState.objects.filter(cluster=gang.cluster, resource=HOLDS).update(
        state="ok", listed_at=CHECKED
    )
    answer = ask("reader", "holds/").json()
    (found,) = answer["results"]
    expected = {
        "cluster": "east",
        "namespace": "team-a",
        "name": "hold-run-workers-1",
        "job": "run-workers-1",
        "owner": {"kind": "JobSet", "name": "run", "uid": gang.uid},
        "by": "olga",
        "reason": "gpu-07 throws ECC errors",
        "until": None,
        "in_force": True,
        "checked_at": "2026-11-21T10:00:00Z",
        "gang_id": gang.pk,
    }
    assert {key: found[key] for key in expected} == expected
    assert found["since"].endswith("Z")
    assert answer["unseen"] == []
    assert b"canary" not in ask("reader", "holds/").content
    assert ask("reader", "holds/", wrong="1").status_code == 400
    assert ask("reader", "holds/", cursor="x").status_code == 400


def test_holds_that_cannot_be_seen_are_not_none(ask: Ask, runs: Runs) -> None:
    answer = ask("reader", "holds/").json()
    assert answer["results"] == []
    assert answer["unseen"] == [
        {
            "cluster": "east",
            "state": "not-served",
            "message": "The Hold is not installed in cluster east.",
        }
    ]
