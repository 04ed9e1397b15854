"""Lists of `actions/` and `holds/`: filters, pages, who sees what, and that the schema is true."""

import json
from collections.abc import Callable
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs are installed

from gangboard.pages.actions.views import json_lines
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.actions import action_row
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import (
    Cluster,
    HoldCheck,
    ResourceState,
)
from tests.api.conftest import NOT_FOUND, Run
from tests.factories import NOW as CHECKED
from tests.recorded_actions import make_action
from tests.stored_jobsets import HOLDS, make_hold

GetApi = Callable[..., Any]
Post = Callable[..., Any]
Runs = dict[str, Run]


def document(row: ActionRow) -> dict[str, Any]:
    """Return an action as the record in JSON lines has it."""
    (line,) = json_lines([row])
    result: dict[str, Any] = json.loads(line)
    return result


# --- lists


def test_a_list_is_filtered_and_paged(get_api: GetApi, runs: Runs) -> None:
    east = Cluster.objects.get(name="east")
    for number in range(5):
        make_action(east, name=f"a{number}", namespace="team-a")
    make_action(east, name="open", namespace="team-a", state="sent", finished_at=None)
    make_action(east, name="canary", namespace="team-b")
    walked: list[str] = []
    following: str | None = "actions/?limit=2"
    while following:
        page = get_api("reader", following).json()
        walked += [row["target"]["name"] for row in page["results"]]
        following = page["next"]
    assert walked == ["open", "a4", "a3", "a2", "a1", "a0"]

    def names(**query: str) -> list[str]:
        answer = get_api("reader", "actions/", **query).json()
        return [row["target"]["name"] for row in answer["results"]]

    assert names(open="true") == ["open"]
    assert names(state="sent") == ["open"]
    assert names(q="a3") == ["a3"]
    assert names(q="canary") == []
    assert names(namespace="team-b") == []
    assert get_api("reader", "actions/", state="done").status_code == 400
    assert get_api("reader", "actions/", cursor="x").status_code == 400


def test_answers_contain_no_other_tenants(get_api: GetApi, runs: Runs) -> None:
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
            assert b"canary" not in get_api(persona, path).content
        assert get_api(persona, f"actions/{action.pk}/").json() == NOT_FOUND


def test_the_export_matches_the_answer(get_api: GetApi, runs: Runs) -> None:
    east = Cluster.objects.get(name="east")
    action = make_action(
        east,
        reverted_by="jobset",
        held_seconds=0.5,
        warnings=["w"],
        before={"spec.suspend": "false"},
        steps=(("patch", "Suspend the Job", "done", ""),),
    )
    held = make_action(east, uid="held")
    resume = make_action(east, uid="held", verb="resume", actor_name="admin")
    anybody = Viewer(1, "x", (Scope(None, "", "viewer"),))
    ended = get_api("admin", f"actions/{held.pk}/").json()["ended"]
    assert (ended["by"], ended["action_id"]) == ("admin", resume.pk)
    row = action_row(viewer=anybody, action_id=held.pk)
    assert row is not None
    assert document(row)["ended"] == ended
    row = action_row(viewer=anybody, action_id=action.pk)
    assert row is not None
    assert get_api("admin", f"actions/{action.pk}/").json() == document(row)


def test_action_answers_match_the_schema(get_api: GetApi, post: Post, runs: Runs) -> None:
    document = get_api("admin", "schema/").json()
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


def test_holds_are_listed_with_their_status(get_api: GetApi, runs: Runs) -> None:
    gang = runs["east/team-a"].gang
    hold = make_hold(gang.cluster, gang, "run-workers-1")
    make_hold(gang.cluster, runs["east/team-b"].gang, "canary")
    HoldCheck.objects.create(
        cluster=gang.cluster, hold_uid=hold.meta.ref.uid, in_force=True, checked_at=CHECKED
    )
    ResourceState.objects.filter(cluster=gang.cluster, resource=HOLDS).update(
        state="ok", listed_at=CHECKED
    )
    answer = get_api("reader", "holds/").json()
    (results,) = answer["results"]
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
    assert {key: results[key] for key in expected} == expected
    assert results["since"].endswith("Z")
    assert answer["unseen"] == []
    assert b"canary" not in get_api("reader", "holds/").content
    assert get_api("reader", "holds/", wrong="1").status_code == 400
    assert get_api("reader", "holds/", cursor="x").status_code == 400


def test_unreadable_holds_are_not_an_empty_list(get_api: GetApi, runs: Runs) -> None:
    answer = get_api("reader", "holds/").json()
    assert answer["results"] == []
    assert answer["unseen"] == [
        {
            "cluster": "east",
            "state": "not-served",
            "message": "The Hold is not installed in cluster east.",
        }
    ]
