"""The waiting request: silent without news, small with them."""

from __future__ import annotations

import base64
import gc
import html
import json
import random
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from types import FunctionType, ModuleType
from typing import Any, cast

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from gangboard.readmodels.data_versions import DataVersions, position_in
from gangboard.readmodels.freshness import Level
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang, Grant, Heartbeat
from gangboard.store.people import disable_user
from gangboard.web.live import fragments, throttle
from gangboard.web.live import views as live_views
from gangboard.web.live.cache import MOST_PAGES, CachedPage, Page, PageCache
from gangboard.web.live.notifier import Notifier, TooManyWaiting
from gangboard.web.live.throttle import Throttle
from tests.factories import make_gang, make_gangs
from tests.personas import Person
from tests.web.conftest import World

SOON = 60.0
"""Seconds in which a slow machine has done what a test waits for."""
LONG = 10 * SOON
"""Seconds that a request waits when nobody wakes it."""


@dataclass(frozen=True)
class Question:
    """What the waiting request of an open page asks."""

    address: str
    version: str

    def ask(self, client: Client, **headers: str) -> HttpResponse:
        """Return the answer."""
        given = {"X-Live-Version": self.version, **headers}
        return cast("HttpResponse", client.get(self.address, headers=given))


def first_question(client: Client, path: str) -> Question:
    """Return what the page asks when it is open."""
    return next_question(client.get(path).content.decode())


def next_question(page: str) -> Question:
    """Return what the page, or its news, has the browser ask next."""
    address = re.search(r'hx-get="(/live/[^"]+)"', page)
    headers = re.search(r"hx-headers='([^']+)'", page)
    assert address is not None
    assert headers is not None
    version = json.loads(html.unescape(headers.group(1)))["X-Live-Version"]
    return Question(html.unescape(address.group(1)), version)


def pages(world: World) -> tuple[str, ...]:
    return (
        "/",
        "/?group_by=reason&q=run",
        f"/gangs/{world.gang.id}/",
        "/groups/",
        "/clusters/",
        "/clusters/eu-train/",
    )


def test_without_news_204_after_the_wait(owner: Person, world: World) -> None:
    for path in pages(world):
        question = first_question(owner.client, path)
        began = time.monotonic()
        response = question.ask(owner.client)
        assert response.status_code == 204, path
        assert response.content == b""
        assert time.monotonic() - began >= 0.19, path


def test_ages_are_no_news(owner: Person, world: World) -> None:
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


def test_rows_that_come_go_and_move(owner: Person, world: World) -> None:
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


def test_what_a_page_does_not_show_is_no_news(owner: Person, world: World) -> None:
    question = first_question(owner.client, "/?cluster=eu-train")
    Gang.objects.filter(pk=world.other_gang.pk).update(message="Another sentence.")
    assert question.ask(owner.client).status_code == 204


def row_ids(page: str) -> list[str]:
    """Return the rows of a page, or of its news, in order."""
    return re.findall(r'<tr id="([^"]+)"', page)


def order_told(page: str) -> list[str]:
    """Return what the news of the Board say of the order of its rows."""
    told = re.findall(r'<template data-rows="gangs" data-order="([^"]*)">', page)
    assert len(told) == 1
    return str(told[0]).split()


class TestOrderOfManyRows:
    """Told is where it differs from that of the page: what goes on as before is one `…`."""

    @pytest.fixture
    def rows(self, owner: Person, world: World) -> list[str]:
        make_gangs(world.cluster, 60, now=timezone.now())
        return row_ids(owner.client.get("/?ordering=name").content.decode())

    def move(self, row: str, name: str) -> None:
        Gang.objects.filter(pk=row.removeprefix("g-")).update(name=name)

    def test_one_that_moves(self, owner: Person, rows: list[str]) -> None:
        question = first_question(owner.client, "/?ordering=name")
        self.move(rows[30], "a-first")
        page = question.ask(owner.client).content.decode()
        told = [rows[30], rows[0], "…", rows[29], rows[31], "…", rows[-1]]
        assert order_told(page) == told
        assert row_ids(page) == [rows[30]]

    def test_one_that_is_new(self, owner: Person, world: World, rows: list[str]) -> None:
        question = first_question(owner.client, "/?ordering=name")
        new = f"g-{make_gang(world.cluster, 'zzz', now=timezone.now()).id}"
        page = question.ask(owner.client).content.decode()
        assert order_told(page) == [rows[0], "…", rows[-1], new]
        assert row_ids(page) == [new]

    def test_one_that_is_gone(self, owner: Person, rows: list[str]) -> None:
        question = first_question(owner.client, "/?ordering=name")
        Gang.objects.filter(pk=rows[30].removeprefix("g-")).update(gone_at=timezone.now())
        page = question.ask(owner.client).content.decode()
        assert order_told(page) == [rows[0], "…", rows[29], rows[31], "…", rows[-1]]
        assert row_ids(page) == []

    def test_one_of_which_only_the_text_changes(self, owner: Person, rows: list[str]) -> None:
        question = first_question(owner.client, "/?ordering=name")
        Gang.objects.filter(pk=rows[30].removeprefix("g-")).update(message="Another sentence.")
        page = question.ask(owner.client).content.decode()
        assert row_ids(page) == [rows[30]]
        assert "data-order" not in page
        assert "…" not in page

    def test_a_page_that_has_missed_changes_is_told_all_of_them(
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
        told = [rows[30], rows[50], rows[0], "…", rows[29], rows[31], "…", rows[49], rows[51]]
        assert order_told(page) == [*told, "…", rows[-1]]

    @pytest.mark.parametrize("version", ["", "AAAAAAAA" * 20])
    def test_a_page_of_an_unknown_version_is_told_all_of_it(
        self, owner: Person, rows: list[str], version: str
    ) -> None:
        question = first_question(owner.client, "/?ordering=name")
        page = Question(question.address, version).ask(owner.client).content.decode()
        assert order_told(page) == row_ids(page) == rows
        assert len(re.findall(r'<button id="tile-', page)) == 9

    def test_pages_that_show_another_order_are_told_another(
        self, owner: Person, rows: list[str]
    ) -> None:
        """They lack the same, and what one of them is told would leave the other one out of order."""
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


def test_silence_and_dead_workers_are_news(owner: Person, world: World) -> None:
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
    assert "No poll worker is alive" in page


def test_a_role_that_is_taken_empties_the_page(reader: Person, world: World) -> None:
    question = first_question(reader.client, "/")
    gang_question = first_question(reader.client, f"/gangs/{world.gang.id}/")
    Grant.objects.all().delete()
    page = question.ask(reader.client).content.decode()
    assert 'data-order=""' in page
    assert "No cluster is watched that you may see." in page
    response = gang_question.ask(reader.client)
    assert (response.status_code, response["HX-Refresh"]) == (204, "true")


def test_an_open_page_of_somebody_who_is_disabled_goes_to_sign_in(
    owner: Person, world: World
) -> None:
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


def test_above_the_bound_pages_are_told_to_ask_again(
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


def test_who_has_too_many_pages_open_asks_again_and_nobody_else_does(
    owner: Person, reader: Person, world: World, own_notifier: Notifier
) -> None:
    for number in range(300):
        try:
            own_notifier.enter(reader.user.pk, f"tab {number}", most=300)
        except TooManyWaiting:
            break
    again = first_question(reader.client, "/").ask(reader.client)
    assert (again.status_code, again["X-Live-Again"]) == (204, "2")
    waited = first_question(owner.client, "/").ask(owner.client)
    assert waited.status_code == 204
    assert "X-Live-Again" not in waited


def test_a_page_that_waits_lets_others_work(
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


def test_a_crash_while_reading_gives_the_place_back(
    owner: Person, world: World, own_notifier: Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = first_question(owner.client, "/")

    def fail(**_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("gangboard.web.board.read_board", fail)
    with pytest.raises(RuntimeError):
        question.ask(owner.client)
    assert own_notifier.waiting == 0


class TestNotifier:
    """Without a database: what it reads is made up here."""

    OWNER = Viewer(1, "olga", (Scope(None, "", "admin"),))
    READER = Viewer(2, "rene", (Scope(1, "research", "viewer"),))

    def make(self) -> tuple[Notifier, dict[int, tuple[int, Level]]]:
        clusters = {1: (1, Level.LIVE), 2: (1, Level.LIVE)}
        return Notifier(lambda: DataVersions(dict(clusters), ())), clusters

    def wait_in_thread(
        self, notifier: Notifier, viewer: Viewer, page: str, timeout: float
    ) -> tuple[threading.Thread, list[bool]]:
        answers: list[bool] = []
        ticket = notifier.enter(1, page, most=10)
        notifier.wait(ticket, viewer, "", SOON)  # until the first look
        seen = notifier.position(viewer)

        def run() -> None:
            answers.append(notifier.wait(ticket, viewer, seen, timeout))
            notifier.leave(ticket)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread, answers

    def test_wakes_whom_it_concerns_and_nobody_else(self) -> None:
        notifier, clusters = self.make()
        first, first_answers = self.wait_in_thread(notifier, self.OWNER, "a", LONG)
        second, second_answers = self.wait_in_thread(notifier, self.READER, "b", 1)
        clusters[2] = (2, Level.LIVE)
        first.join(SOON)
        assert first_answers == [True]
        second.join(SOON)
        assert second_answers == [False]
        assert notifier.waiting == 0

    def test_freshness_wakes(self) -> None:
        notifier, clusters = self.make()
        thread, answers = self.wait_in_thread(notifier, self.READER, "a", LONG)
        clusters[1] = (1, Level.SILENT)
        thread.join(SOON)
        assert answers == [True]

    def test_a_newer_request_of_the_same_page_takes_the_place(self) -> None:
        notifier, _ = self.make()
        thread, answers = self.wait_in_thread(notifier, self.OWNER, "same", LONG)
        newer = notifier.enter(1, "same", most=1)
        thread.join(SOON)
        assert answers == [False]
        assert notifier.waiting == 1, "the older one did not take the newer one with it"
        notifier.leave(newer)

    def test_who_joins_wakes_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        notifier, clusters = self.make()
        woken = threading.Semaphore(0)

        def look(*given: Any, **options: Any) -> str:
            if threading.current_thread() is not threading.main_thread():
                woken.release()
            return position_in(*given, **options)

        monkeypatch.setattr("gangboard.web.live.notifier.position_in", look)
        thread, answers = self.wait_in_thread(notifier, self.OWNER, "first", LONG)
        assert woken.acquire(timeout=SOON)  # it looks with the lock that who joins needs: it waits
        tickets = [notifier.enter(1, f"other {number}", most=10) for number in range(8)]
        assert not woken.acquire(timeout=0.3)
        for ticket in tickets:
            notifier.leave(ticket)
        clusters[1] = (2, Level.LIVE)
        thread.join(SOON)
        assert answers == [True], "and it still waits for what concerns it"

    def test_nobody_takes_more_than_twenty_places(self) -> None:
        notifier, _ = self.make()
        for number in range(20):
            notifier.enter(1, f"tab {number}", most=300)
        for number in range(20, 300):
            with pytest.raises(TooManyWaiting):
                notifier.enter(1, f"tab {number}", most=300)
        assert notifier.waiting == 20
        notifier.enter(1, "tab 3", most=300)
        assert notifier.waiting == 20, "a page that asks anew keeps its place"
        others = [notifier.enter(2, f"tab {number}", most=300) for number in range(20)]
        assert not any(ticket.superseded for ticket in others)
        assert notifier.waiting == 40

    def test_the_bound_holds(self) -> None:
        notifier, _ = self.make()
        notifier.enter(1, "a", most=1)
        with pytest.raises(TooManyWaiting):
            notifier.enter(2, "b", most=1)


class TestVersion:
    def test_a_version_knows_its_own_page(self) -> None:
        page = (
            fragments.Fragment("a", "x.html", {}, ("shown",)),
            fragments.FragmentList(
                "b",
                (
                    fragments.Fragment("c", "x.html", {}, 1),
                    fragments.Fragment("d", "x.html", {}, 1),
                ),
            ),
        )
        known = fragments.read_version(fragments.write_version(page, 1_793_000_000_123))
        assert not fragments.diff_page(page, known)
        assert known.read_at == 1_793_000_000_123
        assert len(known.marks) == 4, "equal contents of different elements differ"


def written(told: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Return the order that news tell a browser that shows an order."""
    ids: list[str] = []
    for at, word in enumerate(told):
        if word == fragments.AS_BEFORE:
            ids += shown[shown.index(told[at - 1]) + 1 : shown.index(told[at + 1])]
        else:
            ids.append(word)
    return ids


class TestManyFragments:
    """Whatever a page shows, its version is short, and a browser comes to show the same."""

    @staticmethod
    def page(shown: Mapping[str, object], top: object = "top") -> Page:
        rows = tuple(fragments.Fragment(name, "x.html", {}, value) for name, value in shown.items())
        return (fragments.Fragment("top", "x.html", {}, top), fragments.FragmentList("rows", rows))

    @pytest.mark.parametrize("number", [100, 478, 479, 1_000, 20_000])
    def test_any_page_fits(self, number: int) -> None:
        page = self.page({f"block-{n}": n for n in range(number)})
        text = fragments.write_version(page, 1_793_000_000_123)
        assert len(text) <= fragments.LONGEST_VERSION
        assert not fragments.diff_page(page, fragments.read_version(text))

    def test_one_change_among_1000_is_sent_with_a_few_others(self) -> None:
        page = self.page({f"block-{n}": n for n in range(1_000)})
        known = fragments.read_version(fragments.write_version(page, 1))
        top, rows = page
        assert isinstance(rows, fragments.FragmentList)
        # What is the same is made once: a thousand pages of a thousand fragments took a minute.
        for at, old in enumerate(rows.fragments):
            new = replace(old, shown="new")
            changed = (*rows.fragments[:at], new, *rows.fragments[at + 1 :])
            diff = fragments.diff_page((top, fragments.FragmentList("rows", changed)), known)
            sent = [fragment.id for rows_ in diff.lists for fragment in rows_.fragments]
            assert new.id in sent
            assert len(sent) <= 12, "about two of a thousand are in one bucket of 480"

    @pytest.mark.parametrize("most", [1, 7, 480])
    def test_a_browser_comes_to_show_the_page(
        self, monkeypatch: pytest.MonkeyPatch, most: int
    ) -> None:
        monkeypatch.setattr(fragments, "MOST_MARKS", most)
        rest = random.Random(most)
        browser: dict[str, object] = {}
        order: list[str] = []
        version = ""
        for _ in range(300):
            names = rest.sample([f"r{n}" for n in range(30)], rest.randint(0, 25))
            # Most of the time few of them move, as on a Board.
            names = sorted(names) if rest.random() < 0.8 else names
            page = self.page({name: rest.randint(0, 2) for name in names}, rest.randint(0, 2))
            diff = fragments.diff_page(page, fragments.read_version(version))
            browser |= {fragment.id: fragment.shown for fragment in diff.fragments}
            for rows in diff.lists:
                browser |= {fragment.id: fragment.shown for fragment in rows.fragments}
                order = written(rows.order, order) if rows.order is not None else order
            top, rows_ = page
            assert isinstance(top, fragments.Fragment)
            assert isinstance(rows_, fragments.FragmentList)
            assert browser["top"] == top.shown
            assert [(name, browser[name]) for name in order] == [
                (fragment.id, fragment.shown) for fragment in rows_.fragments
            ]
            # What has left is no longer there to be shown again.
            browser = {name: browser[name] for name in ["top", *order]}
            version = fragments.write_version(page, 1)


def kept_bytes(root: object) -> int:
    """Return what an object and everything that it alone leads to take in memory."""
    seen: set[int] = set()
    todo, total = [root], 0
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, type | ModuleType | FunctionType):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        todo += gc.get_referents(one)
    return total


def test_what_a_browser_sends_is_not_kept(
    owner: Person, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    page_cache = PageCache()
    monkeypatch.setattr(live_views, "page_cache", page_cache)
    rest = random.Random(5)

    def ask(length: int) -> None:
        version = base64.urlsafe_b64encode(rest.randbytes(length * 3 // 4)).decode()
        address = f"/live/board/?version={version}"
        assert Question(address, version).ask(owner.client).status_code == 200

    ask(4_000)
    before = kept_bytes(page_cache)
    for _ in range(20):
        ask(60_000)
        ask(4_000)
    assert kept_bytes(page_cache) - before < 100_000


class TestPageCache:
    """Readings are shared, and never older than what the browser has."""

    PAGE = (
        fragments.Fragment("a", "x.html", {}, "shown"),
        fragments.FragmentList(
            "b", tuple(fragments.Fragment(f"b-{n}", "x.html", {}, n) for n in range(40))
        ),
    )

    def get(
        self, page_cache: PageCache, position: str, read_at: int = 0, key: str = "page"
    ) -> tuple[CachedPage, bool]:
        """Return the reading, and whether the page was read for it."""
        read: list[bool] = []

        def read_page() -> Page:
            read.append(True)
            return self.PAGE

        version = fragments.Version(frozenset(), read_at)
        return page_cache.get(key, position, version, read_page), bool(read)

    def test_one_reading_for_all_at_the_same_position(self) -> None:
        page_cache = PageCache()
        first, read = self.get(page_cache, "p1")
        assert read
        assert self.get(page_cache, "p1") == (first, False)

    def test_read_again_when_the_position_moved(self) -> None:
        page_cache = PageCache()
        self.get(page_cache, "p1")
        assert self.get(page_cache, "p2")[1]

    def test_read_again_for_a_browser_that_has_seen_more(self) -> None:
        page_cache = PageCache()
        first, _ = self.get(page_cache, "p1")
        assert self.get(page_cache, "p1", read_at=first.read_at + 1)[1]

    def test_nothing_is_shared_before_the_first_look(self) -> None:
        page_cache = PageCache()
        self.get(page_cache, "")
        assert self.get(page_cache, "")[1]

    def test_pages_do_not_mix(self) -> None:
        page_cache = PageCache()
        self.get(page_cache, "p1", key="one")
        assert self.get(page_cache, "p1", key="other")[1]

    def test_the_same_news_are_rendered_once(self) -> None:
        cached, _ = self.get(PageCache(), "p1")
        rendered: list[int] = []

        def render() -> bytes:
            rendered.append(1)
            return b"news"

        old, new = fragments.Version(), fragments.Version(frozenset({self.PAGE[0].fingerprint}))
        assert [cached.answer(version, render) for version in (old, old, new)] == [b"news"] * 3
        assert len(rendered) == 2

    def test_what_is_unknown_in_a_version_makes_no_other_answer(self) -> None:
        cached, _ = self.get(PageCache(), "p1")
        for number in range(100):
            junk = frozenset({number.to_bytes(6, "big")})
            assert cached.answer(fragments.Version(junk), lambda: b"all of it") == b"all of it"
        assert kept_bytes(cached) - kept_bytes(self.PAGE) < 10_000

    def test_who_knows_everything_and_more_is_told_nothing(self) -> None:
        cached, _ = self.get(PageCache(), "p1")
        known = fragments.Version(cached.marks | {b"others"})
        assert cached.answer(known, lambda: b"news") is None

    def test_all_pages_and_answers_have_one_bound_in_bytes(self) -> None:
        """Each of 20,000 browsers knows another part of one of many pages: 40 MB in all."""
        bound = 1_000_000
        page_cache = PageCache(bound)
        rest = random.Random(5)
        marks = sorted(fragments.marks_of(self.PAGE).values())
        for number in range(20_000):
            cached, _ = self.get(page_cache, "p1", key=f"page {number // 500}")
            version = fragments.Version(frozenset(rest.sample(marks, 20)))
            page_cache.answer(cached, version, lambda: b"x" * 2_000)
        assert kept_bytes(page_cache) - kept_bytes(self.PAGE) < bound * 1.2
        cached, read = self.get(page_cache, "p1", key="page 39")
        assert not read, "the latest one stays"

    def test_one_answer_larger_than_all_that_may_be_kept(self) -> None:
        page_cache = PageCache(100_000)
        cached, _ = self.get(page_cache, "p1")
        for _ in range(2):
            answer = page_cache.answer(cached, fragments.Version(), lambda: b"x" * 1_000_000)
            assert answer is not None
            assert len(answer) == 1_000_000
        assert kept_bytes(page_cache) < 100_000

    def test_a_page_that_cannot_be_read_leaves_no_more_than_others(self) -> None:
        page_cache = PageCache()

        def fail() -> Page:
            raise LookupError

        for number in range(1_000):
            with pytest.raises(LookupError):
                page_cache.get(f"{number}{'x' * 1_000}", "p1", fragments.Version(), fail)
        assert kept_bytes(page_cache) < 1_000_000

    def test_old_pages_are_forgotten(self) -> None:
        page_cache = PageCache()
        for number in range(MOST_PAGES + 1):
            self.get(page_cache, "p1", key=f"page {number}")
        assert self.get(page_cache, "p1", key="page 0")[1]


def test_people_with_other_roles_never_share(
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


def test_the_wait_is_shorter_than_what_proxies_allow() -> None:
    assert throttle.FALL_BACK == "2"
