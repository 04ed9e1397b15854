"""The waiting request: silent without news, small with them."""

from __future__ import annotations

import html
import re
import threading
import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.readmodels.freshness import Level
from gangboard.readmodels.news import Moment
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang, Grant, Heartbeat
from gangboard.store.people import disable_user
from gangboard.web import live, parts, shared, waiting
from gangboard.web import turns as turns_module
from gangboard.web.turns import Turns
from tests.factories import make_gang, make_gangs
from tests.personas import Person
from tests.web.conftest import World

pytestmark = pytest.mark.usefixtures("own_notifier")


def live_address(client: Client, path: str) -> str:
    """Return what the page's waiting request asks for."""
    return next_address(client.get(path).content.decode())


def next_address(page: str) -> str:
    found = re.search(r'hx-get="(/live/[^"]+)"', page)
    assert found is not None
    return html.unescape(found.group(1))


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
        address = live_address(owner.client, path)
        began = time.monotonic()
        response = owner.client.get(address)
        assert response.status_code == 204, path
        assert response.content == b""
        assert time.monotonic() - began >= 0.19, path


def test_ages_are_no_news(owner: Person, world: World) -> None:
    addresses = [live_address(owner.client, path) for path in pages(world)]
    Cluster.objects.update(contact_at=timezone.now() + timedelta(seconds=5))
    for address in addresses:
        assert owner.client.get(address).status_code == 204, address


def test_a_change_is_answered_with_that_row_only(owner: Person, world: World) -> None:
    address = live_address(owner.client, "/")
    Gang.objects.filter(pk=world.gang.pk).update(message="Now 4 are free.")
    page = owner.client.get(address).content.decode()
    assert "Now 4 are free." in page
    assert "diffusion-run" not in page
    assert "data-order" not in page, "nothing moved"
    assert "data-part" not in page, "no tile changed"
    assert owner.client.get(next_address(page)).status_code == 204, "now the page has it"


def test_rows_that_come_go_and_move(owner: Person, world: World) -> None:
    address = live_address(owner.client, "/")
    new = make_gang(world.cluster, "new-run", now=timezone.now(), health="failed")
    page = owner.client.get(address).content.decode()
    order = re.search(r'data-order="([^"]*)"', page)
    assert order is not None
    assert order.group(1).split() == [
        f"g-{new.id}",
        f"g-{world.other_gang.id}",
        f"g-{world.gang.id}",
    ]
    assert "new-run" in page
    assert "llama-sft" not in page, "the browser has this row"
    assert 'data-part="tiles"' in page
    address = next_address(page)
    Gang.objects.filter(pk=new.pk).update(gone_at=timezone.now())
    page = owner.client.get(address).content.decode()
    assert f"g-{new.id}" not in page
    assert "<tr" not in page


def test_what_a_page_does_not_show_is_no_news(owner: Person, world: World) -> None:
    address = live_address(owner.client, "/?cluster=eu-train")
    Gang.objects.filter(pk=world.other_gang.pk).update(message="Another sentence.")
    assert owner.client.get(address).status_code == 204


def test_one_change_among_1000_gangs_is_at_most_10_kb(owner: Person, world: World) -> None:
    make_gangs(world.cluster, 1000, now=timezone.now())
    address = live_address(owner.client, "/")
    gang = Gang.objects.exclude(health__in=("succeeded", "failed")).order_by("severity")[0]
    # The dearest single change: it moves, and two tiles change with it.
    Gang.objects.filter(pk=gang.pk).update(health="failed", severity=0, message="x" * 200)
    size = len(owner.client.get(address).content)
    assert 1_000 < size <= 10_000


def test_a_change_of_a_gang_reaches_its_page_in_parts(owner: Person, world: World) -> None:
    address = live_address(owner.client, f"/gangs/{world.gang.id}/")
    Gang.objects.filter(pk=world.gang.pk).update(message="Now 4 are free.")
    page = owner.client.get(address).content.decode()
    assert re.findall(r'data-part="([^"]*)"', page) == ["verdict", "facts"]
    assert "Now 4 are free." in page


def test_silence_and_dead_workers_are_news(owner: Person, world: World) -> None:
    address = live_address(owner.client, "/clusters/")
    Cluster.objects.filter(name="us-train").update(contact_at=timezone.now() - timedelta(minutes=3))
    page = owner.client.get(address).content.decode()
    assert set(re.findall(r'data-part="([^"]*)"', page)) == {"freshness"}
    assert 'id="c-us-train"' in page
    assert 'id="c-eu-train"' not in page
    address = next_address(page)
    Heartbeat.objects.update(beat_at=timezone.now() - timedelta(minutes=3))
    page = owner.client.get(address).content.decode()
    assert 'data-part="banners"' in page
    assert "No poll worker is alive" in page


def test_a_role_that_is_taken_empties_the_page(reader: Person, world: World) -> None:
    address = live_address(reader.client, "/")
    gang_address = live_address(reader.client, f"/gangs/{world.gang.id}/")
    Grant.objects.all().delete()
    page = reader.client.get(address).content.decode()
    assert 'data-order=""' in page
    assert "No cluster is watched that you may see." in page
    response = reader.client.get(gang_address)
    assert (response.status_code, response["HX-Refresh"]) == (204, "true")


def test_an_open_page_of_somebody_who_is_disabled_goes_to_sign_in(
    owner: Person, world: World
) -> None:
    addresses = [live_address(owner.client, path) for path in pages(world)]
    disable_user(name=owner.user.username)
    for address in addresses:
        response = owner.client.get(address, headers={"HX-Request": "true"})
        assert response["HX-Redirect"].startswith("/sign-in/"), address
        assert response.content == b"", address


@pytest.mark.parametrize("version", ["", "x", "AAAA", "💥", "A" * 70_000, "AAAAAAAA" * 20, "%00"])
def test_a_forged_version_gets_the_whole_page(owner: Person, world: World, version: str) -> None:
    response = owner.client.get("/live/board/", {"version": version})
    assert response.status_code == 200
    page = response.content.decode()
    assert "llama-sft" in page
    assert "diffusion-run" in page


def test_above_the_bound_pages_are_told_to_ask_again(
    owner: Person, world: World, settings: object
) -> None:
    settings.WAITERS = 0  # type: ignore[attr-defined]
    address = live_address(owner.client, "/")
    began = time.monotonic()
    response = owner.client.get(address)
    assert (response.status_code, response["X-Live-Again"]) == (204, "2")
    assert time.monotonic() - began < 0.19
    Gang.objects.filter(pk=world.gang.pk).update(message="Now 4 are free.")
    assert "Now 4 are free." in owner.client.get(address).content.decode()


def test_a_page_that_waits_lets_others_work(
    owner: Person, world: World, own_notifier: waiting.Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = Turns(1, 5.0)
    monkeypatch.setattr(live, "turns", only)
    monkeypatch.setattr(turns_module, "turns", only)
    worked = threading.Event()

    def work() -> None:
        with only.taken():
            worked.set()

    def wait(*_: object) -> bool:
        threading.Thread(target=work).start()
        assert worked.wait(2), "the waiting request keeps its turn"
        return False

    monkeypatch.setattr(own_notifier, "wait", wait)
    assert owner.client.get(live_address(owner.client, "/")).status_code == 204
    assert worked.is_set()


def test_a_crash_while_reading_gives_the_place_back(
    owner: Person, world: World, own_notifier: waiting.Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = live_address(owner.client, "/")

    def fail(**_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("gangboard.web.board.read_board", fail)
    with pytest.raises(RuntimeError):
        owner.client.get(address)
    assert own_notifier.waiting == 0


class TestNotifier:
    """Without a database: what it reads is made up here."""

    OWNER = Viewer(1, "olga", (Scope(None, "", "admin"),))
    READER = Viewer(2, "rene", (Scope(1, "research", "viewer"),))

    def make(self) -> tuple[waiting.Notifier, dict[int, tuple[int, Level]]]:
        clusters = {1: (1, Level.LIVE), 2: (1, Level.LIVE)}
        return waiting.Notifier(lambda: Moment(dict(clusters), ())), clusters

    def wait_in_thread(
        self, notifier: waiting.Notifier, viewer: Viewer, page: str, timeout: float
    ) -> tuple[threading.Thread, list[bool]]:
        answers: list[bool] = []
        ticket = notifier.enter(page, most=10)
        notifier.wait(ticket, viewer, "", 5)  # until the first look
        seen = notifier.position(viewer)

        def run() -> None:
            answers.append(notifier.wait(ticket, viewer, seen, timeout))
            notifier.leave(ticket)

        thread = threading.Thread(target=run)
        thread.start()
        return thread, answers

    def test_wakes_whom_it_concerns_and_nobody_else(self) -> None:
        notifier, clusters = self.make()
        first, first_answers = self.wait_in_thread(notifier, self.OWNER, "a", 5)
        second, second_answers = self.wait_in_thread(notifier, self.READER, "b", 1)
        clusters[2] = (2, Level.LIVE)
        began = time.monotonic()
        first.join(5)
        assert first_answers == [True]
        assert time.monotonic() - began < 1
        second.join(5)
        assert second_answers == [False]
        assert notifier.waiting == 0

    def test_freshness_wakes(self) -> None:
        notifier, clusters = self.make()
        thread, answers = self.wait_in_thread(notifier, self.READER, "a", 5)
        clusters[1] = (1, Level.SILENT)
        thread.join(5)
        assert answers == [True]

    def test_a_newer_request_of_the_same_page_takes_the_place(self) -> None:
        notifier, _ = self.make()
        thread, answers = self.wait_in_thread(notifier, self.OWNER, "same", 20)
        began = time.monotonic()
        newer = notifier.enter("same", most=1)
        thread.join(5)
        assert answers == [False]
        assert time.monotonic() - began < 2
        assert notifier.waiting == 1, "the older one did not take the newer one with it"
        notifier.leave(newer)

    def test_who_joins_wakes_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        notifier, clusters = self.make()
        thread, answers = self.wait_in_thread(notifier, self.OWNER, "first", 20)
        time.sleep(0.2)  # until it waits
        woken: list[str] = []

        def look(*_: object, **__: object) -> str:
            woken.append(threading.current_thread().name)
            return ""

        monkeypatch.setattr(waiting, "position_in", look)
        tickets = [notifier.enter(f"other {number}", most=10) for number in range(8)]
        time.sleep(0.3)
        assert woken == []
        monkeypatch.undo()
        for ticket in tickets:
            notifier.leave(ticket)
        clusters[1] = (2, Level.LIVE)
        thread.join(5)
        assert answers == [True], "and it still waits for what concerns it"

    def test_the_bound_holds(self) -> None:
        notifier, _ = self.make()
        notifier.enter("a", most=1)
        with pytest.raises(waiting.TooManyWaiting):
            notifier.enter("b", most=1)


class TestVersion:
    def test_a_version_knows_its_own_page(self) -> None:
        page = (
            parts.Part("a", "x.html", {}, ("shown",)),
            parts.Rows("b", (parts.Part("c", "x.html", {}, 1), parts.Part("d", "x.html", {}, 1))),
        )
        known = parts.read_version(parts.write_version(page, 1_793_000_000_123))
        assert not parts.find_news(page, known)
        assert known.read_at == 1_793_000_000_123
        assert len(known.fingerprints) == 4, "equal contents of different elements differ"


class TestReadings:
    """Readings are shared, and never older than what the browser has."""

    PAGE = (parts.Part("a", "x.html", {}, "shown"),)

    def get(
        self, readings: shared.Readings, position: str, read_at: int = 0, key: str = "page"
    ) -> tuple[shared.Reading, bool]:
        """Return the reading, and whether the page was read for it."""
        read: list[bool] = []

        def read_page() -> shared.Page:
            read.append(True)
            return self.PAGE

        version = parts.Version(frozenset(), read_at)
        return readings.get(key, position, version, read_page), bool(read)

    def test_one_reading_for_all_at_the_same_position(self) -> None:
        readings = shared.Readings()
        first, read = self.get(readings, "p1")
        assert read
        assert self.get(readings, "p1") == (first, False)

    def test_read_again_when_the_position_moved(self) -> None:
        readings = shared.Readings()
        self.get(readings, "p1")
        assert self.get(readings, "p2")[1]

    def test_read_again_for_a_browser_that_has_seen_more(self) -> None:
        readings = shared.Readings()
        first, _ = self.get(readings, "p1")
        assert self.get(readings, "p1", read_at=first.read_at + 1)[1]

    def test_nothing_is_shared_before_the_first_look(self) -> None:
        readings = shared.Readings()
        self.get(readings, "")
        assert self.get(readings, "")[1]

    def test_pages_do_not_mix(self) -> None:
        readings = shared.Readings()
        self.get(readings, "p1", key="one")
        assert self.get(readings, "p1", key="other")[1]

    def test_the_same_news_are_rendered_once(self) -> None:
        reading, _ = self.get(shared.Readings(), "p1")
        rendered: list[int] = []

        def render() -> bytes:
            rendered.append(1)
            return b"news"

        old, new = parts.Version(frozenset({b"1"})), parts.Version(frozenset({b"2"}))
        assert [reading.answer(version, render) for version in (old, old, new)] == [b"news"] * 3
        assert len(rendered) == 2

    def test_old_pages_are_forgotten(self) -> None:
        readings = shared.Readings()
        for number in range(shared.MOST_PAGES + 1):
            self.get(readings, "p1", key=f"page {number}")
        assert self.get(readings, "p1", key="page 0")[1]


def test_people_with_other_roles_never_share(
    owner: Person,
    reader: Person,
    world: World,
    own_notifier: waiting.Notifier,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_notifier, "position", lambda viewer: "the same for both")
    for person, sees in ((owner, True), (reader, False), (owner, True)):
        page = person.client.get("/live/board/").content.decode()
        assert ("diffusion-run" in page) is sees


def test_the_wait_is_shorter_than_what_proxies_allow() -> None:
    assert live.FALL_BACK == "2"
