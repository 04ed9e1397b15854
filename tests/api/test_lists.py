"""Every list has `limit`, `cursor`, `fields`, `next` and an ETag, and each error a code."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.store import authentication, group_roles, people
from gangboard.store.models import Channel, Cluster, Gang, Rule
from tests.api.conftest import API, SINCE, World, make_gang, make_site, token_of
from tests.domain_objects import a_queue
from tests.factories import make_eviction, make_usage
from tests.readmodels.room import make_capacity
from tests.recorded_actions import make_action
from tests.stored_queues import store

GetApi = Callable[..., Any]
LISTS = (
    *("actions", "audit", "capacity", "clusters", "evictions", "gangs", "group-roles", "groups"),
    *("holds", "me/sessions", "me/tokens", "notifications/channels", "notifications/deliveries"),
    *("notifications/rules", "people", "queues", "reasons", "sessions", "tokens", "usage", "waits"),
)
EMPTY = {"holds", "me/sessions", "notifications/deliveries", "sessions", "waits"}
"""Lists that have no row in these tests."""


@pytest.fixture
def filled(world: World) -> None:
    """Three rows in each list, and more in some."""
    make_site("south")
    for name in ("east", "west", "south"):
        cluster = Cluster.objects.get(name=name)
        make_capacity(cluster)
        store(cluster, a_queue("gpu"))
        make_action(cluster)
        make_usage(cluster, namespace=f"team-{name}")
        make_eviction(make_gang(name, "team-a", f"evicted-{name}"))
    for number, code in enumerate(("image-pull", "crash-loop")):
        changes: dict[str, Any] = {"health": "degraded", "stage": "start", "code": code}
        make_gang("east", "team-a", f"g{number}", **changes, accelerators=float(number))
    admin = people.find_user(name="admin") or _admin()
    for name in ("a", "b", "c"):
        people.create_user(name=name, role="viewer", namespace="nowhere")
        channel = Channel.objects.create(
            name=name, kind="webhook", service="https://a.example", address=b"", created_at=SINCE
        )
        rule = Rule.objects.create(
            name=name, trigger="verdict", owner=admin, created_at=SINCE + timedelta(minutes=1)
        )
        rule.channels.add(channel)
        group_roles.grant_group(group=name, role="viewer", namespace="x")
        authentication.issue_token(user=admin, may_act=False)


def _admin() -> Any:
    token_of("admin")
    return people.find_user(name="admin")


def walk(client: Client, path: str) -> list[dict[str, Any]]:
    """Return the rows of all pages with one row each."""
    result: list[dict[str, Any]] = []
    following: str | None = f"{API}{path}{'&' if '?' in path else '?'}limit=1"
    while following:
        answer = client.get(following.removeprefix("http://testserver"))
        assert answer.status_code == 200, answer.content
        page = answer.json()
        assert len(page["results"]) <= 1
        result += page["results"]
        following = page["next"]
        assert len(result) < 100
    return result


@pytest.fixture(autouse=True)
def one_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    monkeypatch.setattr("gangboard.pages.core.api.views.ReadView.now", lambda _: now)


@pytest.fixture
def admin(world: World) -> Client:
    return Client(headers={"authorization": f"Bearer {token_of('admin')}"})


def test_the_table_has_all_lists(get_api: GetApi) -> None:
    paths = get_api("admin", "schema/").json()["paths"]
    lists = {
        path
        for path, methods in paths.items()
        for parameter in methods.get("get", {}).get("parameters", ())
        if parameter["name"] == "limit"
    }
    assert lists == {f"{API}{name}/" for name in LISTS} | {f"{API}events/"}
    for path in lists:
        names = {parameter["name"] for parameter in paths[path]["get"]["parameters"]}
        assert names >= {"limit", "cursor", "fields", "If-None-Match"}, path
        assert "304" in paths[path]["get"]["responses"], path


@pytest.mark.usefixtures("filled")
def test_single_row_pages_return_all_rows_in_order(admin: Client) -> None:
    for name in LISTS:
        data = admin.get(f"{API}{name}/").json()
        assert data["next"] is None, name
        assert walk(admin, f"{name}/") == data["results"], name
        assert len(data["results"]) >= (0 if name in EMPTY else 3), name


@pytest.mark.usefixtures("filled")
def test_foreign_and_forged_cursors_are_refused(admin: Client) -> None:
    following = admin.get(f"{API}audit/?limit=1").json()["next"]
    cursor = following.rpartition("cursor=")[2]
    for name in (*LISTS, "events"):
        for wrong in ("x", "WyJ0ZXh0cyIsWzFdXQ") + ((cursor,) if name != "audit" else ()):
            answer = admin.get(f"{API}{name}/?cursor={wrong}")
            if answer.status_code == 200:
                assert name in EMPTY, (name, wrong)  # no value to compare with
                continue
            assert answer.status_code == 400, (name, wrong)
            assert answer.json()["code"] == "invalid-cursor", (name, wrong)


@pytest.mark.usefixtures("filled")
def test_the_fields_parameter_limits_every_list(admin: Client) -> None:
    for name in LISTS:
        rows = admin.get(f"{API}{name}/").json()["results"]
        if not rows:
            continue
        field = list(rows[0])[1]
        partial_results = admin.get(f"{API}{name}/?fields={field}").json()["results"]
        assert partial_results == [{field: row[field]} for row in rows], name
        assert admin.get(f"{API}{name}/?fields=nope").status_code == 400, name


@pytest.mark.usefixtures("filled")
def test_an_unchanged_answer_is_a_304(admin: Client) -> None:
    for name in (*LISTS, "me", "summary", "trends", "clusters/east"):
        first = admin.get(f"{API}{name}/")
        repeated = admin.get(f"{API}{name}/", headers={"if-none-match": first["ETag"]})
        assert (repeated.status_code, repeated.content) == (304, b""), name
        assert repeated["ETag"] == first["ETag"], name
        another = admin.get(f"{API}{name}/", headers={"if-none-match": 'W/"other"'})
        assert (another.status_code, another.content) == (200, first.content), name


@pytest.mark.usefixtures("filled")
def test_a_changed_answer_is_a_200(admin: Client) -> None:
    tags = {name: admin.get(f"{API}{name}/")["ETag"] for name in LISTS}
    authentication.issue_token(user=_admin(), may_act=True)
    people.create_user(name="new", role="viewer", namespace="nowhere")
    group_roles.grant_group(group="d", role="viewer", namespace="x")
    Channel.objects.filter(name="a").update(failures=1)
    Rule.objects.filter(name="a").update(muted_until=timezone.now() + timedelta(hours=1))
    for name in (
        *("group-roles", "me/tokens", "tokens", "people", "audit"),
        *("notifications/channels", "notifications/rules"),
    ):
        answer = admin.get(f"{API}{name}/", headers={"if-none-match": tags[name]})
        assert answer.status_code == 200, name
        assert answer["ETag"] != tags[name], name


# --- reasons


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("ordering", "expected"),
    [
        ("stage", ["fragmented", "crash-loop", "image-pull"]),
        ("accelerators", ["image-pull", "crash-loop", "fragmented"]),
        ("-accelerators", ["fragmented", "crash-loop", "image-pull"]),
        ("gangs", ["crash-loop", "image-pull", "fragmented"]),
        ("-gangs", ["fragmented", "crash-loop", "image-pull"]),
        ("since", ["crash-loop", "image-pull", "fragmented"]),
        ("-since", ["fragmented", "crash-loop", "image-pull"]),
    ],
)
def test_reasons_have_orders(admin: Client, ordering: str, expected: list[str]) -> None:
    Gang.objects.filter(code="fragmented").update(since=SINCE + timedelta(hours=1))
    path = f"reasons/?ordering={ordering}"
    assert [row["code"] for row in admin.get(f"{API}{path}").json()["results"]] == expected
    assert [row["code"] for row in walk(admin, path)] == expected


@pytest.mark.usefixtures("filled")
def test_a_cursor_of_another_order_is_refused(admin: Client) -> None:
    following = admin.get(f"{API}reasons/?ordering=since&limit=1").json()["next"]
    assert admin.get(following.replace("ordering=since", "ordering=gangs")).status_code == 400


# --- codes of errors


def test_every_error_has_a_code(get_api: GetApi, admin: Client, world: World) -> None:
    reader = Client(headers={"authorization": f"Bearer {token_of('reader')}"})
    wrong = Client(headers={"authorization": "Bearer gb_x_y"})

    def post(path: str, body: Any = None, kind: str = "application/json") -> Any:
        return admin.post(f"{API}{path}", data=body or {}, content_type=kind)

    answers = [
        (get_api("anonymous", "gangs/"), 401, "not-signed-in"),
        (wrong.get(f"{API}gangs/"), 401, "invalid-token"),
        (reader.get(f"{API}gangs/?nope=1"), 400, "invalid-request"),
        (reader.get(f"{API}gangs/?cursor=x"), 400, "invalid-cursor"),
        (reader.get(f"{API}gangs/x/"), 404, "not-found"),
        (reader.get(f"{API}people/"), 404, "not-found"),
        (reader.put(f"{API}gangs/"), 405, "method-not-allowed"),
        (reader.get(f"{API}gangs/", headers={"accept": "text/html"}), 406, "not-acceptable"),
        (post("me/tokens/"), 403, "session-required"),
        (post("notifications/channels/"), 403, "forbidden"),
        (post("actions/", "x", "text/plain"), 415, "unsupported-media-type"),
        (post("actions/", '{"a": "' + "x" * 20_000 + '"}'), 413, "too-large"),
    ]
    for answer, status, code in answers:
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.json()["status"] == status
    schemas = get_api("admin", "schema/").json()["components"]["schemas"]
    assert {code for _, _, code in answers} <= set(schemas["ProblemCode"]["enum"])
    assert "code" in schemas["Problem"]["required"]
