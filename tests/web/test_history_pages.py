"""The past on the Gang page, the page of a gang that is gone, and who may see either."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from gangboard.store.models import Gang
from tests.factories import make_gang, make_history
from tests.personas import Person
from tests.web.conftest import World
from tests.web.live_requests import first_question

MINUTE = timedelta(minutes=1)


def text_of(client: Client, gang: Gang, status: int = 200) -> str:
    response = client.get(f"/gangs/{gang.id}/")
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def a_past(world: World, *verdicts: tuple[str, float], gone: bool = False, **columns: Any) -> Gang:
    """A gang of eu-train/research, created two hours ago, with its verdicts."""
    begin = timezone.now() - timedelta(hours=2)
    gang = make_gang(world.cluster, "whisper", now=timezone.now(), created_at=begin)
    make_history(gang, begin, *verdicts, gone=gone, **columns)
    if gone:
        Gang.objects.filter(pk=gang.pk).delete()
    return gang


class TestHistory:
    def test_the_page_shows_the_wait_by_stage(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, a_past(world, ("room", 30), ("images", 12), ("runs", 0)))
        assert (
            "Waited <b>42 min</b> before it ran: 30 min for capacity, 12 min for images and containers."
        ) in page
        assert "Typical wait: unknown, no similar gang has run yet." in page

    def test_a_current_wait_keeps_counting(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, a_past(world, ("forming", 20), ("room", 0)))
        assert "Has waited <b><time" in page
        assert ">2 h</time></b> so far: 20 min for its pods to be created, <time" in page
        assert ">1 h 40 min</time> for capacity." in page

    def test_a_deliberate_suspension_is_shown_separately(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, a_past(world, ("held", 60), ("room", 10), ("runs", 0)))
        assert "Waited <b>10 min</b> before it ran: 10 min for capacity." in page
        assert "It was also suspended for 1 h." in page

    def test_the_page_shows_the_typical_wait(self, owner: Person, world: World) -> None:
        begin = timezone.now() - timedelta(hours=9)
        for minutes in (10, 20, 34, 50, 90):
            gang = make_gang(world.cluster, now=timezone.now(), created_at=begin)
            make_history(gang, begin, ("room", minutes), ("runs", 5), gone=True)
        page = text_of(owner.client, a_past(world, ("room", 0)))
        assert "Typical wait: <b>34 min</b>, the median of 5 similar gangs that ran" in page

    def test_a_gang_without_a_wait_has_no_wait_section(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, a_past(world, ("runs", 0)))
        assert 'class="strip"' in page
        assert "Typical wait" not in page

    def test_a_gang_without_history_shows_no_empty_frame(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, world.gang)
        assert 'class="strip"' not in page
        assert "Timeline" not in page

    def test_hostile_sentences_are_only_printed(self, owner: Person, world: World) -> None:
        gang = a_past(
            world, ("quota", 5), ("room", 0), message="<script>alert(1)</script>", title="<b>x</b>"
        )
        page = text_of(owner.client, gang)
        assert "<script>alert" not in page
        assert "<b>x</b>" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


class TestDeletedGang:
    def test_a_deleted_gang_shows_its_last_verdict_and_history(
        self, owner: Person, world: World
    ) -> None:
        page = text_of(owner.client, a_past(world, ("quota", 20), ("room", 40), gone=True))
        assert "<title>whisper" in page
        assert "It was said: room." in page
        assert "The text below is from the start of that state." in page
        assert (
            "Waited <b>1 h</b> until it was deleted: 20 min for quota, 40 min for capacity." in page
        )
        assert "then it was deleted" in page
        # Expired information is not shown as zero.
        for absent in ('id="members', 'id="groups', 'id="facts', "of 8", "kubectl", "Suspend"):
            assert absent not in page

    def test_a_hidden_deleted_gang_looks_missing(
        self, owner: Person, reader: Person, stranger: Person, anonymous: Client, world: World
    ) -> None:
        gang = a_past(world, ("room", 40), gone=True)
        missing = stranger.client.get("/gangs/0000000000000000/")
        forbidden = stranger.client.get(f"/gangs/{gang.id}/")
        assert (missing.status_code, forbidden.status_code) == (404, 404)
        assert "whisper" not in forbidden.content.decode()
        text_of(reader.client, gang)
        text_of(anonymous, gang, 302)

    def test_other_namespaces_of_the_same_cluster_stay_hidden(
        self, reader: Person, world: World
    ) -> None:
        gang = a_past(world, ("room", 40), gone=True, namespace="vision")
        text_of(reader.client, gang, 404)

    def test_a_deleted_gangs_page_is_live_without_age_updates(
        self, owner: Person, world: World
    ) -> None:
        gang = a_past(world, ("room", 40), gone=True)
        question = first_question(owner.client, f"/gangs/{gang.id}/")
        assert question.ask(owner.client).status_code == 204

    def test_a_recreated_gang_is_shown_as_new(self, owner: Person, world: World) -> None:
        gang = a_past(world, ("room", 40), gone=True)
        question = first_question(owner.client, f"/gangs/{gang.id}/")
        gang.save(force_insert=True)
        assert question.ask(owner.client).headers["HX-Refresh"] == "true"

    def test_an_open_page_updates_when_the_row_is_deleted(
        self, owner: Person, world: World
    ) -> None:
        gang = a_past(world, ("room", 40))
        question = first_question(owner.client, f"/gangs/{gang.id}/")
        Gang.objects.filter(pk=gang.pk).delete()
        assert question.ask(owner.client).headers["HX-Refresh"] == "true"


def test_a_continuing_wait_sends_no_update(owner: Person, world: World) -> None:
    gang = a_past(world, ("forming", 20), ("room", 0))
    question = first_question(owner.client, f"/gangs/{gang.id}/")
    assert question.ask(owner.client).status_code == 204
