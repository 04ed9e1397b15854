"""The lines of `audit/` and of the Audit page."""

from __future__ import annotations

from django.test import Client
from django.utils import timezone

from gangboard.store import authentication, people
from gangboard.store.audit import audit
from gangboard.store.models import Cluster
from tests.personas import Person


def lines(client: Client, query: str = "") -> list[dict[str, object]]:
    response = client.get(f"/api/v1/audit/{query}")
    assert response.status_code == 200, response.content
    rows: list[dict[str, object]] = response.json()["results"]
    return rows


def write_lines(cluster: Cluster) -> None:
    """Write a line about a namespace, one about another, one about the cluster, one about a person."""
    for namespace in ("research", "billing", ""):
        sentence = f"It was asked for in {namespace}."
        place = {"cluster": cluster, "namespace": namespace}
        audit("requested", sentence, at=timezone.now(), actor="ada", **place)  # type: ignore[arg-type]
    people.create_user(name="vera", role="viewer", by="olga")


def test_a_line_has_the_fields_of_the_page(owner: Person, reader: Person) -> None:
    write_lines(Cluster.objects.get())
    (line,) = lines(owner.client, "?namespace=billing")
    assert {key: line[key] for key in line if key not in ("at", "digest")} == {
        "number": 2,
        "event": "requested",
        "sentence": "It was asked for in billing.",
        "object": None,
        "actor": "ada",
        "cluster": "eu-train",
        "namespace": "billing",
        "action_id": None,
        "source": None,
    }
    assert [line["number"] for line in lines(reader.client)] == [1]


def test_only_admins_see_lines_about_users(owner: Person, reader: Person) -> None:
    write_lines(Cluster.objects.get())
    assert [line["event"] for line in lines(owner.client, "?q=vera")] == ["role-given", "user-made"]
    assert lines(reader.client, "?q=vera") == []
    token = authentication.issue_token(user=reader.user)
    robot = Client(headers={"Authorization": f"Bearer {token}"})
    assert [line["number"] for line in lines(robot)] == [1]


def test_the_audit_is_filtered_and_paged(owner: Person, reader: Person) -> None:
    write_lines(Cluster.objects.get())
    assert len(lines(owner.client, "?actor=olga&within=1h")) == 2
    assert len(lines(owner.client, "?event=requested&cluster=eu-train")) == 3
    assert owner.client.get("/api/v1/audit/?within=1y").status_code == 400
    assert owner.client.get("/api/v1/audit/?cursor=x").status_code == 400
    walked: list[object] = []
    following = "/api/v1/audit/?limit=2"
    while following:
        answer = owner.client.get(following).json()
        walked += [row["number"] for row in answer["results"]]
        following = (answer["next"] or "").removeprefix("http://testserver")
    assert walked == [5, 4, 3, 2, 1]
