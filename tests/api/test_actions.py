"""`actions/`: accepted requests, idempotency and offered actions."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.store.models import (
    AccessToken,
    Action,
    AuditEntry,
    Cluster,
)
from tests.api.conftest import API, Run, token_of

GetApi = Callable[..., Any]
Post = Callable[..., Any]
Runs = dict[str, Run]


# --- taken


def test_an_operator_gets_the_location_of_the_action(
    get_api: GetApi, post: Post, runs: Runs
) -> None:
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
        "ended": None,
        "finished_at": None,
    }
    assert {key: action[key] for key in expected} == expected
    assert get_api("operator", response["Location"]).json() == action
    assert get_api("reader", f"actions/{action['id']}/").json() == action
    assert get_api("reader", "actions/").json()["results"] == [action]
    (line,) = AuditEntry.objects.filter(actor_name="operator")
    assert (line.event, line.actor_name, line.action_id) == ("requested", "operator", action["id"])


def test_an_action_records_its_token(post: Post, runs: Runs) -> None:
    assert post("operator", runs["east/team-a"].body()).status_code == 202
    action = Action.objects.get()
    (token,) = AccessToken.objects.filter(user__username="operator", may_act=True)
    assert action.token == token.pk
    assert token.secret_hash not in str(Action.objects.values())


def test_a_repeated_key_returns_the_same_action(post: Post, runs: Runs) -> None:
    run = runs["east/team-a"]
    first = post("operator", run.body(), key="k-1")
    second = post("operator", run.body(), key="k-1")
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["id"] == second.json()["id"]
    assert Action.objects.count() == 1
    another = post("operator", run.body(index=1), key="k-1")
    assert another.status_code == 422
    assert another["Content-Type"] == "application/problem+json"
    assert another.json()["action_id"] == first.json()["id"]
    assert another.json()["code"] == "key-reused"
    # A key is a person's own.
    assert post("admin", run.body(index=1), key="k-1").status_code == 202


@pytest.mark.parametrize(
    ("hours", "finished", "is_same"),
    [(23.9, True, True), (24.1, False, True), (24.1, True, False)],
)
def test_a_key_is_valid_for_24_hours_and_until_the_action_ends(
    post: Post, runs: Runs, hours: float, finished: bool, is_same: bool
) -> None:
    run = runs["east/team-a"]
    first = post("operator", run.body(), key="k-1").json()["id"]
    asked_at = timezone.now() - timedelta(hours=hours)
    over = {"finished_at": timezone.now(), "state": "refused"} if finished else {}
    Action.objects.update(requested_at=asked_at, **over)
    repeated = post("operator", run.body(), key="k-1")
    assert repeated.status_code == 202
    assert (repeated.json()["id"] == first) is is_same
    assert Action.objects.count() == (1 if is_same else 2)
    # From now on the key is that of the newer action.
    assert post("operator", run.body(), key="k-1").json()["id"] == repeated.json()["id"]
    another = post("operator", run.body(index=1), key="k-1")
    assert (another.status_code, another.json()["action_id"]) == (422, repeated.json()["id"])


def test_two_concurrent_users_get_one_action(post: Post, runs: Runs) -> None:
    run = runs["east/team-a"]
    first = post("operator", run.body())
    second = post("admin", run.body())
    assert second.status_code == 409
    assert second.json()["action_id"] == first.json()["id"]
    assert "operator" in second.json()["detail"]


def test_a_whole_owner_can_be_suspended(post: Post, runs: Runs) -> None:
    gang = runs["east/team-a"].gang
    target = runs["east/team-a"].target(
        api_group="jobset.x-k8s.io", kind="JobSet", name="run", uid=gang.uid
    )
    assert post("operator", runs["east/team-a"].body(target=target)).status_code == 202


def test_the_end_of_a_hold_is_in_utc(post: Post, runs: Runs) -> None:
    end = timezone.now() + timedelta(hours=2)
    body = runs["east/team-a"].body(until=end.isoformat())
    assert post("operator", body).json()["until"] == end.isoformat().replace("+00:00", "Z")


# --- dry run


def test_a_dry_run_returns_the_plan_and_writes_no_action(post: Post, runs: Runs) -> None:
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
    assert not AuditEntry.objects.filter(actor_name="operator").exists()


def test_a_dry_run_without_a_lever_returns_the_reason_and_requirement(
    post: Post, runs: Runs
) -> None:
    plan = post("operator", runs["east/team-a"].body(), query="?dry_run=true").json()
    assert (plan["allowed"], plan["lever"], plan["steps"]) == (False, None, [])
    assert plan["why_not"]
    assert "print_rbac" in plan["needs"]
    # The request itself is taken: a lever's refusal is the action's own end.
    assert post("operator", runs["east/team-a"].body()).status_code == 202


@pytest.mark.parametrize(("problem", "verb"), [("timeout", "answered"), ("", "been read")])
def test_a_dry_run_in_a_silent_cluster_matches_its_buttons(
    post: Post, runs: Runs, problem: str, verb: str
) -> None:
    run = runs["east/team-a"]
    silent_since = timezone.now() - timedelta(minutes=3)
    Cluster.objects.filter(name="east").update(contact_at=silent_since, problem=problem)
    owner = run.target(api_group="jobset.x-k8s.io", kind="JobSet", name="run", uid=run.gang.uid)
    body = {"verb": "suspend", "target": owner}
    plan = post("operator", body, query="?dry_run=true").json()
    why = f"Cluster east has not {verb} since {silent_since:%Y-%m-%d %H:%M} UTC."
    assert (plan["allowed"], plan["why_not"]) == (False, why)
    assert (plan["lever"], plan["steps"], plan["warnings"], plan["after"]) == (None, [], [], {})
    client = Client(headers={"authorization": f"Bearer {token_of('operator', may_act=True)}"})
    gang = client.get(f"{API}gangs/{run.gang.pk}/").json()
    assert {offer["why_not"] for offer in gang["actions"]} == {why}
    # The request itself is valid. A worker checks later whether the cluster answers.
    assert post("operator", {**body, "reason": "gpu-07 is broken"}).status_code == 202


# --- relocations


def test_a_relocation_stores_the_place_that_it_leaves(
    get_api: GetApi, post: Post, runs: Runs
) -> None:
    run = runs["east/team-a"]
    body = run.body(verb="relocate", avoid={"nodes": ["gpu-07", "gpu-07", "gpu-08"]})
    response = post("operator", body, key="k-1")
    assert response.status_code == 202
    action = response.json()
    assert (action["verb"], action["avoid"]) == ("relocate", "nodes gpu-07, gpu-08")
    again = post("operator", body, key="k-1").json()
    assert again["id"] == action["id"]
    other = run.body(verb="relocate", avoid={"nodes": ["gpu-07"]})
    assert post("operator", other, key="k-1").status_code == 422
    assert get_api("operator", "actions/?verb=relocate").json()["results"] == [action]


@pytest.mark.parametrize(
    "avoid",
    [
        None,
        {"nodes": "gpu-07"},
        {"nodes": [f"n{number}" for number in range(21)]},
        {"topology": {}},
        {"topology": {"rack": "r1", "zone": "z1"}},
        {"nodes": ["n1"], "topology": {"rack": "r1"}},
        {"racks": ["r1"]},
        {"nodes": [""]},
    ],
)
def test_a_relocation_without_a_clear_place_is_invalid(post: Post, runs: Runs, avoid: Any) -> None:
    response = post("operator", runs["east/team-a"].body(verb="relocate", avoid=avoid))
    assert response.status_code == 400, response.content
    assert Action.objects.count() == 0


def test_only_a_relocation_has_a_place(post: Post, runs: Runs) -> None:
    response = post("operator", runs["east/team-a"].body(avoid={"nodes": ["n1"]}))
    assert response.status_code == 400


def test_a_dry_run_of_a_relocation_says_what_is_unknown(post: Post, runs: Runs) -> None:
    body = runs["east/team-a"].body(verb="relocate", avoid={"nodes": ["n1"]})
    response = post("operator", body, query="?dry_run=true")
    assert response.status_code == 200, response.content
    plan = response.json()
    assert (plan["verb"], plan["allowed"], plan["steps"]) == ("relocate", False, [])
    assert plan["why_not"]
    assert Action.objects.count() == 0


# --- offered actions


def test_a_gang_lists_its_possible_actions(get_api: GetApi, runs: Runs) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('operator', may_act=True)}"})
    gang = client.get(f"{API}gangs/{runs['east/team-a'].gang.pk}/").json()
    owner = {offer["verb"]: offer for offer in gang["actions"]}
    assert (owner["suspend"]["allowed"], owner["suspend"]["lever"]) == (True, "suspend")
    assert owner["resume"]["allowed"] is False
    assert owner["resume"]["why_not"]
    assert len(gang["jobs"]) == 3
    for job in gang["jobs"]:
        verbs = [offer["verb"] for offer in job["actions"]]
        assert verbs == ["suspend", "resume", "relocate"]
        assert not any(offer["allowed"] for offer in job["actions"])
    read_only = get_api("operator", f"gangs/{runs['east/team-a'].gang.pk}/").json()
    assert {offer["why_not"] for offer in read_only["actions"]} == {
        "This token is read-only; create one with create_token --act."
    }
