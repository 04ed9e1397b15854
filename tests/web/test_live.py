"""The waiting request: silent without news, small with them."""

from __future__ import annotations

import re
import threading
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from gangboard.pages.core.live import throttle
from gangboard.pages.core.live import views as live_views
from gangboard.pages.core.live.notifier import Notifier, TooManyWaiting
from gangboard.pages.core.live.throttle import Throttle
from gangboard.store.models import Cluster, Gang, Grant, Heartbeat
from gangboard.store.people import disable_user
from tests.factories import make_gang, make_gangs
from tests.personas import Person
from tests.web.conftest import World
from tests.web.live_requests import Question, first_question, next_question

SOON = 60.0
"""Seconds that a slow machine may need for one step."""


def pages(world: World) -> tuple[str, ...]:
    return (
        "/",
        "/?group_by=reason&q=run",
        f"/gangs/{world.gang.id}/",
        "/groups/",
        "/clusters/",
        "/clusters/eu-train/",
    )


def test_a_wait_without_changes_ends_in_204(owner: Person, world: World) -> None:
    for path in pages(world):
        question = first_question(owner.client, path)
        started = time.monotonic()
        response = question.ask(owner.client)
        assert response.status_code == 204, path
        assert response.content == b""
        assert time.monotonic() - started >= 0.19, path


def test_age_changes_send_no_update(owner: Person, world: World) -> None:
    questions = [first_question(owner.client, path) for path in pages(world)]
    Cluster.objects.update(contact_at=timezone.now() + timedelta(seconds=5))
    for question in questions:
        assert question.ask(owner.client).status_code == 204, question


def test_a_change_is_answered_with_that_row_only(owner: Person, world: World) -> None:
    question = first_question(owner.client, "/")
    Gang.objects.filter(pk=world.gang.pk).update(message="Now 4 are free.")
    page = question.ask(owner.client).content.decode()
    assert "Now 4 are free." in page
    assert "diffusion-run" not in page
    assert "data-order" not in page, "nothing moved"
    assert "data-part" not in page
    assert "tile-" not in page, "no tile changed"
    assert next_question(page).ask(owner.client).status_code == 204, "now the page has it"


def test_rows_are_added_removed_and_moved(owner: Person, world: World) -> None:
    question = first_question(owner.client, "/")
    new = make_gang(world.cluster, "new-run", now=timezone.now(), health="failed")
    page = question.ask(owner.client).content.decode()
    order = re.search(r'data-order="([^"]*)"', page)
    assert order is not None
    assert order.group(1).split() == [
        f"g-{new.id}",
        f"g-{world.other_gang.id}",
        f"g-{world.gang.id}",
    ]
    assert "new-run" in page
    assert "llama-sft" not in page, "the browser has this row"
    assert re.findall(r'<button id="(tile-[a-z]+)"', page) == ["tile-failed"]
    question = next_question(page)
    Gang.objects.filter(pk=new.pk).update(gone_at=timezone.now())
    page = question.ask(owner.client).content.decode()
    assert f"g-{new.id}" not in page
    assert "<tr" not in page


def test_changes_outside_the_page_send_no_update(owner: Person, world: World) -> None:
    question = first_question(owner.client, "/?cluster=eu-train")
    Gang.objects.filter(pk=world.other_gang.pk).update(message="Another sentence.")
    assert question.ask(owner.client).status_code == 204


def row_ids(page: str) -> list[str]:
    """Return the rows of a page, or of its news, in order."""
    return re.findall(r'<tr id="([^"]+)"', page)


def order_told(page: str) -> list[str]:
    """Return the row order in an update of the Board."""
    matches = re.findall(r'<template data-rows="gangs" data-order="([^"]*)">', page)
    assert len(matches) == 1
    return str(matches[0]).split()


class TestOrderOfManyRows:
    """The update lists the changed part of the order. An unchanged run of rows is one `…`."""

    @pytest.fixture
    def rows(self, owner: Person, world: World) -> list[str]:
        make_gangs(world.cluster, 60, now=timezone.now())
        return row_ids(owner.client.get("/?ordering=name").content.decode())

    def move(self, row: str, name: str) -> None:
        Gang.objects.filter(pk=row.removeprefix("g-")).update(name=name)

    def test_a_moved_row_is_sent(self, owner: Person, rows: list[str]) -> None:
        question = first_question(owner.client, "/?ordering=name")
        self.move(rows[30], "a-first")
        page = question.ask(owner.client).content.decode()
        order = [rows[30], rows[0], "…", rows[29], rows[31], "…", rows[-1]]
        assert order_told(page) == order
        assert row_ids(page) == [rows[30]]

    def test_a_new_row_is_sent(self, owner: Person, world: World, rows: list[str]) -> None:
        question = first_question(owner.client, "/?ordering=name")
        new = f"g-{make_gang(world.cluster, 'zzz', now=timezone.now()).id}"
        page = question.ask(owner.client).content.decode()
        assert order_told(page) == [rows[0], "…", rows[-1], new]
        assert row_ids(page) == [new]

    def test_a_removed_row_is_sent(self, owner: Person, rows: list[str]) -> None:
        question = first_question(owner.client, "/?ordering=name")
        Gang.objects.filter(pk=rows[30].removeprefix("g-")).update(gone_at=timezone.now())
        page = question.ask(owner.client).content.decode()
        assert order_told(page) == [rows[0], "…", rows[29], rows[31], "…", rows[-1]]
        assert row_ids(page) == []

    def test_a_changed_row_is_sent_without_the_order(self, owner: Person, rows: list[str]) -> None:
        question = first_question(owner.client, "/?ordering=name")
        Gang.objects.filter(pk=rows[30].removeprefix("g-")).update(message="Another sentence.")
        page = question.ask(owner.client).content.decode()
        assert row_ids(page) == [rows[30]]
        assert "data-order" not in page
        assert "…" not in page

    def test_a_page_that_missed_changes_gets_all_of_them(
        self, owner: Person, rows: list[str]
    ) -> None:
        missed = first_question(owner.client, "/?ordering=name")
        self.move(rows[30], "a-first")
        current = next_question(missed.ask(owner.client).content.decode())
        self.move(rows[50], "a-second")
        page = current.ask(owner.client).content.decode()
        assert row_ids(page) == [rows[50]]
        page = missed.ask(owner.client).content.decode()
        assert sorted(row_ids(page)) == sorted([rows[30], rows[50]])
        order = [rows[30], rows[50], rows[0], "…", rows[29], rows[31], "…", rows[49], rows[51]]
        assert order_told(page) == [*order, "…", rows[-1]]

    @pytest.mark.parametrize("version", ["", "AAAAAAAA" * 20])
    def test_a_page_of_an_unknown_version_gets_all_rows(
        self, owner: Person, rows: list[str], version: str
    ) -> None:
        question = first_question(owner.client, "/?ordering=name")
        page = Question(question.address, version).ask(owner.client).content.decode()
        assert order_told(page) == row_ids(page) == rows
        assert len(re.findall(r'<button id="tile-', page)) == 9

    def test_pages_with_different_orders_get_different_updates(
        self, owner: Person, rows: list[str]
    ) -> None:
        """Both pages miss the same row, but the update of one would misorder the other."""
        first = first_question(owner.client, "/?ordering=name")
        Gang.objects.filter(pk=rows[30].removeprefix("g-")).update(gone_at=timezone.now())
        second = next_question(first.ask(owner.client).content.decode())
        Gang.objects.filter(pk=rows[40].removeprefix("g-")).update(gone_at=timezone.now())
        gone_one = [rows[0], "…", rows[39], rows[41], "…", rows[-1]]
        gone_both = [rows[0], "…", rows[29], rows[31], "…", rows[39], rows[41], "…", rows[-1]]
        assert order_told(second.ask(owner.client).content.decode()) == gone_one
        assert order_told(first.ask(owner.client).content.decode()) == gone_both


def test_one_change_among_1000_gangs_is_at_most_6_kb(owner: Person, world: World) -> None:
    make_gangs(world.cluster, 1000, now=timezone.now())
    question = first_question(owner.client, "/")
    gang = Gang.objects.exclude(health__in=("succeeded", "failed")).order_by("severity")[0]
    # The dearest single change: it moves to the top, and two tiles change with it.
    long_ago = timezone.now() - timedelta(days=1_000)
    changed = {"health": "failed", "severity": 0, "since": long_ago, "message": "x" * 200}
    Gang.objects.filter(pk=gang.pk).update(**changed)
    answer = question.ask(owner.client).content
    page = answer.decode()
    assert row_ids(page) == [f"g-{gang.pk}"] == order_told(page)[:1]
    assert re.findall(r'<button id="(tile-[a-z]+)"', page) == ["tile-failed", "tile-blocked"]
    assert len(answer) <= 6_000


def test_a_change_of_a_gang_reaches_its_page_in_fragments(owner: Person, world: World) -> None:
    question = first_question(owner.client, f"/gangs/{world.gang.id}/")
    Gang.objects.filter(pk=world.gang.pk).update(message="Now 4 are free.")
    page = question.ask(owner.client).content.decode()
    assert re.findall(r'data-part="([^"]*)"', page) == ["verdict", "facts"]
    assert "Now 4 are free." in page


def test_stale_clusters_and_dead_workers_send_updates(owner: Person, world: World) -> None:
    question = first_question(owner.client, "/clusters/")
    Cluster.objects.filter(name="us-train").update(contact_at=timezone.now() - timedelta(minutes=3))
    page = question.ask(owner.client).content.decode()
    assert set(re.findall(r'data-part="([^"]*)"', page)) == {"freshness"}
    assert 'id="c-us-train"' in page
    assert 'id="c-eu-train"' not in page
    question = next_question(page)
    Heartbeat.objects.update(beat_at=timezone.now() - timedelta(minutes=3))
    page = question.ask(owner.client).content.decode()
    assert 'data-part="banners"' in page
    assert "workers and the beat process are down" in page


def test_a_revoked_role_empties_the_page(reader: Person, world: World) -> None:
    question = first_question(reader.client, "/")
    gang_question = first_question(reader.client, f"/gangs/{world.gang.id}/")
    Grant.objects.all().delete()
    for item in (question, gang_question):
        response = item.ask(reader.client)
        assert (response.status_code, response["HX-Refresh"]) == (204, "true")
    page = reader.client.get("/").content.decode()
    assert "You have no role yet, so there is nothing to see." in page


def test_an_open_page_of_a_disabled_user_goes_to_sign_in(owner: Person, world: World) -> None:
    questions = [first_question(owner.client, path) for path in pages(world)]
    disable_user(name=owner.user.username)
    for question in questions:
        response = question.ask(owner.client, **{"HX-Request": "true"})
        assert response["HX-Redirect"].startswith("/sign-in/"), question
        assert response.content == b"", question


@pytest.mark.parametrize(
    "version", ["", "x", "AAAA", "💥", "A" * 4_008, "A" * 70_000, "AAAAAAAA" * 20, "%00"]
)
def test_a_forged_version_gets_the_whole_page(owner: Person, world: World, version: str) -> None:
    response = Question("/live/board/", version).ask(owner.client)
    assert response.status_code == 200
    page = response.content.decode()
    assert "llama-sft" in page
    assert "diffusion-run" in page


def test_pages_above_the_limit_must_retry(
    owner: Person,
    world: World,
    settings: object,
    own_notifier: Notifier,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wait(*_: object) -> bool:
        raise AssertionError("it waits")

    monkeypatch.setattr(own_notifier, "wait", wait)
    settings.WAITERS = 0  # type: ignore[attr-defined]
    question = first_question(owner.client, "/")
    response = question.ask(owner.client)
    assert (response.status_code, response["X-Live-Again"]) == (204, "2")
    Gang.objects.filter(pk=world.gang.pk).update(message="Now 4 are free.")
    assert "Now 4 are free." in question.ask(owner.client).content.decode()


def test_only_the_user_with_too_many_pages_must_retry(
    owner: Person, reader: Person, world: World, own_notifier: Notifier
) -> None:
    for number in range(300):
        try:
            own_notifier.enter(reader.user.pk, f"tab {number}", most=300)
        except TooManyWaiting:
            break
    repeated = first_question(reader.client, "/").ask(reader.client)
    assert (repeated.status_code, repeated["X-Live-Again"]) == (204, "2")
    waited = first_question(owner.client, "/").ask(owner.client)
    assert waited.status_code == 204
    assert "X-Live-Again" not in waited


def test_a_waiting_page_blocks_no_other_request(
    owner: Person, world: World, own_notifier: Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = Throttle(1, 2 * SOON)
    monkeypatch.setattr(live_views, "live_throttle", only)
    monkeypatch.setattr(throttle, "live_throttle", only)
    worked = threading.Event()

    def work() -> None:
        with only.acquired():
            worked.set()

    def wait(*_: object) -> bool:
        threading.Thread(target=work).start()
        assert worked.wait(SOON), "the waiting request keeps its slot"
        return False

    monkeypatch.setattr(own_notifier, "wait", wait)
    assert first_question(owner.client, "/").ask(owner.client).status_code == 204
    assert worked.is_set()


def test_a_failed_read_releases_its_slot(
    owner: Person, world: World, own_notifier: Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = first_question(owner.client, "/")

    def fail(**_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("gangboard.pages.board.views.read_board", fail)
    with pytest.raises(RuntimeError):
        question.ask(owner.client)
    assert own_notifier.waiting == 0


def test_users_with_different_roles_share_no_answer(
    owner: Person,
    reader: Person,
    world: World,
    own_notifier: Notifier,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_notifier, "position", lambda viewer: "the same for both")
    for person, sees in ((owner, True), (reader, False), (owner, True)):
        page = person.client.get("/live/board/").content.decode()
        assert ("diffusion-run" in page) is sees


def test_the_wait_is_shorter_than_proxy_timeouts() -> None:
    assert throttle.FALL_BACK == "2"
