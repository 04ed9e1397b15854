"""Each address by everybody: the owner, a reader of one namespace, a stranger, an anonymous."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern
from django.utils import timezone

from gangboard.pages.core.urls import urlpatterns
from gangboard.pages.urls import urlpatterns as page_patterns
from gangboard.store import authentication, people
from gangboard.store.models import AccessToken
from tests.api.conftest import API, World, token_of

GetApi = Callable[..., Any]

LISTS = ["gangs/", "groups/", "clusters/", "actions/", "holds/", "capacity/", "queues/"]
OTHERS = ["summary/", "reasons/", "schema/", "trends/", "waits/", "usage/", "evictions/"]
NODE = "nodes/east/n1/"
TRIED_ELSEWHERE = {
    *(
        "audit",
        "checks",
        "events",
        "group-roles",
        "me",
        "notifications",
        "people",
        "sessions",
        "tokens",
    ),
}
"""Addresses that `tests/pages` and the access matrix try."""


def object_paths(world: World, place: str) -> list[str]:
    group = world.groups[place]
    return [
        f"gangs/{world.gangs[place].pk}/",
        f"groups/{group.cluster.name}~{group.uid}/",
        f"clusters/{place.partition('/')[0]}/",
    ]


def names(response: Any) -> list[str]:
    return sorted(row["name"] for row in response.json()["results"])


def test_every_api_address_is_covered(world: World) -> None:
    tried = {path.partition("/")[0] for path in [*LISTS, *OTHERS, NODE]}
    known = {
        str(pattern.pattern).removeprefix("api/v1/").partition("/")[0]
        for pattern in [*urlpatterns, *page_patterns]
        if isinstance(pattern, URLPattern) and str(pattern.pattern).startswith("api/v1/")
    }
    # The root is tried in test_root.
    assert known == tried | TRIED_ELSEWHERE | {"<path:rest>", ""}


@pytest.mark.parametrize(
    "path", [*LISTS, *OTHERS, NODE, "gangs/x/", "groups/x/", "clusters/x/", "actions/x/", "x/"]
)
def test_an_anonymous_request_gets_401(get_api: GetApi, path: str) -> None:
    response = get_api("anonymous", path)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert response["Content-Type"] == "application/problem+json"
    assert response.json() == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "code": "not-signed-in",
        "detail": "Sign in, or send a token: Authorization: Bearer gb_<id>_<secret>.",
    }


def test_an_anonymous_request_reveals_no_objects(get_api: GetApi, world: World) -> None:
    answers = {get_api("anonymous", path).content for path in object_paths(world, "east/team-a")}
    assert answers == {get_api("anonymous", "gangs/none/").content}


def test_the_admin_sees_all(get_api: GetApi, world: World) -> None:
    assert names(get_api("admin", "gangs/")) == [
        "train-east-team-a",
        "train-east-team-b",
        "train-west-team-a",
    ]
    assert len(names(get_api("admin", "groups/"))) == 3
    assert names(get_api("admin", "clusters/")) == ["east", "west"]
    assert get_api("admin", "summary/").json()["gangs"] == 3
    for place in world.gangs:
        for path in object_paths(world, place):
            assert get_api("admin", path).status_code == 200


def test_a_reader_sees_its_namespace_only(get_api: GetApi, world: World) -> None:
    assert names(get_api("reader", "gangs/")) == ["train-east-team-a"]
    assert names(get_api("reader", "groups/")) == ["group-east-team-a"]
    assert names(get_api("reader", "clusters/")) == ["east"]
    summary = get_api("reader", "summary/").json()
    assert summary["gangs"] == 1
    assert list(summary["by_cluster"]) == ["east"]
    for path in object_paths(world, "east/team-a"):
        assert get_api("reader", path).status_code == 200


def test_a_filter_does_not_widen_what_a_reader_sees(get_api: GetApi) -> None:
    assert names(get_api("reader", "gangs/", namespace="team-b")) == []
    west = get_api("reader", "gangs/", cluster="west")
    assert (west.status_code, west.json()["errors"]) == (
        400,
        {"cluster": ["There is no cluster “west” that you may see. Known are: east."]},
    )
    assert names(get_api("reader", "groups/", cluster="west")) == []


def test_a_namespace_reader_gets_no_cluster_wide_texts(get_api: GetApi) -> None:
    cluster = get_api("reader", "clusters/east/").json()
    assert cluster["server"] is None
    assert all(row["objects"] is None for row in cluster["resources"])
    assert get_api("admin", "clusters/east/").json()["server"] == "https://east.example"


def test_a_stranger_sees_nothing(get_api: GetApi, world: World) -> None:
    for path in LISTS:
        answer = get_api("stranger", path).json()
        for extra in ("unseen", "lost_aliases", "serving"):
            assert answer.pop(extra, []) == []
        assert answer == {"next": None, "results": []}
    summary = get_api("stranger", "summary/").json()
    assert summary["gangs"] == 0
    assert summary["by_cluster"] == {}
    assert summary["observed_at"] is None
    for path in object_paths(world, "east/team-a"):
        assert get_api("stranger", path).status_code == 404


def test_missing_and_forbidden_look_the_same(get_api: GetApi, world: World) -> None:
    hidden = object_paths(world, "east/team-b")[:2] + object_paths(world, "west/team-a")
    missing = ["gangs/0000000000000000/", "groups/east~none/", "clusters/north/", "nothing/at/all/"]
    missing.append("actions/00000000000000000000000000000000/")
    answers = {
        (get_api("reader", path).status_code, get_api("reader", path).content) for path in hidden
    }
    answers |= {
        (get_api("reader", path).status_code, get_api("reader", path).content) for path in missing
    }
    assert [status for status, _ in answers] == [404]
    assert get_api("reader", missing[0]).json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "code": "not-found",
        "detail": "The object does not exist, or you may not see it.",
    }


@pytest.mark.parametrize(
    "path", ["gangs/%00/", "groups/east~%00/", "clusters/%00/", "actions/%00/"]
)
def test_a_nul_in_an_address_is_a_404(get_api: GetApi, path: str) -> None:
    assert get_api("admin", path).status_code == 404


def test_revoked_rights_end_at_once(get_api: GetApi) -> None:
    assert names(get_api("reader", "gangs/")) == ["train-east-team-a"]
    User.objects.get(username="reader").grants.all().delete()
    assert names(get_api("reader", "gangs/")) == []


def test_only_action_requests_can_be_written(world: World) -> None:
    client = Client(headers={"authorization": f"Bearer {token_of('admin')}"})
    for path in [*LISTS, *OTHERS, "actions/x/", *object_paths(world, "east/team-a")]:
        for method in (client.post, client.put, client.patch, client.delete, client.options):
            if path == "actions/" and method == client.post:
                continue
            response = method(API + path)
            changed = {"clusters/": ["post"], "clusters/east/": ["patch", "delete"]}
            # Cluster changes need a session (tests/pages/test_add_cluster.py).
            expected = 403 if method.__name__ in changed.get(path, ()) else 405
            assert response.status_code == expected
            assert response.json()["status"] == expected


# --- tokens and sessions


def bearer(header: str) -> Any:
    return Client(headers={"authorization": header}).get(API + "gangs/")


@pytest.mark.usefixtures("world")
def test_invalid_tokens_get_the_same_401() -> None:
    good = token_of("admin")
    prefix, token_id, secret = good.split("_")
    expired, revoked = token_of("admin"), token_of("admin")
    AccessToken.objects.filter(pk=expired.split("_")[1]).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    authentication.revoke_token(revoked)
    wrong = f"{prefix}_{token_id}_{'0' * len(secret)}"
    answers = [bearer(f"Bearer {token}") for token in (expired, revoked, wrong, "gb_x_y", "x", "")]
    assert {answer.status_code for answer in answers} == {401}
    assert {answer["WWW-Authenticate"] for answer in answers} == {"Bearer"}
    assert len({answer.content for answer in answers}) == 1
    assert bearer(f"Bearer {good}").status_code == 200
    assert bearer(f"bearer {good}").status_code == 200


@pytest.mark.usefixtures("world")
def test_another_scheme_is_refused() -> None:
    response = bearer("Basic YTpi")
    assert response.status_code == 401
    assert "Bearer gb_<id>_<secret>" in response.json()["detail"]


@pytest.mark.usefixtures("world")
def test_a_disabled_user_is_refused() -> None:
    token, client = token_of("admin"), Client()
    client.force_login(User.objects.get(username="admin"))
    assert client.get(API + "gangs/").status_code == 200
    people.disable_user(name="admin")
    assert bearer(f"Bearer {token}").status_code == 401
    assert client.get(API + "gangs/").status_code == 401
    people.create_user(name="admin", role="viewer")
    assert client.get(API + "gangs/").status_code == 401, "an old session does not come back"


def test_a_session_reads_and_cannot_write_by_csrf(get_api: GetApi) -> None:
    get_api("reader", "gangs/")
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="reader"))
    assert names(client.get(API + "gangs/")) == ["train-east-team-a"]
    response = client.post(API + "gangs/")
    assert response.status_code == 403
    assert response["Content-Type"] == "application/problem+json"


def test_a_wrong_token_is_refused_despite_a_session(get_api: GetApi) -> None:
    get_api("reader", "gangs/")
    client = Client()
    client.force_login(User.objects.get(username="reader"))
    assert client.get(API + "gangs/", headers={"authorization": "Bearer gb_x_y"}).status_code == 401


def test_answers_are_not_cached(get_api: GetApi) -> None:
    assert get_api("admin", "gangs/")["Cache-Control"] == "no-store"
