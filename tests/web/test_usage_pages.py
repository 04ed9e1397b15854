"""The pages of accelerator-hours and evictions, their files, and the line on the Gang page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.store.models import Cluster
from tests.factories import make_eviction, make_history, make_outage, make_usage
from tests.personas import Person
from tests.web.conftest import World

HOURS = 3600.0


def text_of(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status
    return " ".join(response.content.decode().split())


@pytest.fixture
def recorded(world: World) -> World:
    now = timezone.now()
    Cluster.objects.update(usage_since=now - timedelta(days=90))
    make_usage(world.cluster, used=1234 * HOURS, held=1.5 * HOURS, eligible=2 * HOURS)
    make_usage(world.other_cluster, namespace="vision", used=HOURS)
    return world


class TestUsage:
    def test_it_shows_hours_by_namespace(self, owner: Person, recorded: World) -> None:
        page = text_of(owner.client, "/usage/")
        assert '<th scope="row">research</th>' in page
        assert 'data-label="Used">1,234</td>' in page
        assert 'data-label="Held">1.5</td>' in page
        assert "<dt>Used</dt><dd>1,235 h</dd>" in page
        assert "Not all of this period is known" not in page

    def test_it_groups_twice(self, owner: Person, recorded: World) -> None:
        page = text_of(owner.client, "/usage/?by=cluster&then=reason")
        assert '<th scope="col">Cluster</th><th scope="col">Reason</th>' in page
        assert '<th scope="row">eu-train</th><td>Running</td>' in page

    def test_it_names_gaps(self, owner: Person, recorded: World) -> None:
        now = timezone.now()
        make_outage(recorded.cluster, now - timedelta(hours=9), now - timedelta(hours=3))
        page = text_of(owner.client, "/usage/")
        assert "Not all of this period is known: eu-train" in page
        assert "not read: the cluster or gangboard did not answer" in page

    def test_without_any_record_it_shows_no_zero(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, "/usage/")
        assert "Not known: no selected cluster was observed in this period." in page
        assert "<dt>Used</dt>" not in page

    @pytest.mark.parametrize(
        ("query", "sentence"),
        [
            ("begin=soon", "A date is written as YYYY-MM-DD"),
            ("begin=0001-01-01", "in the years 2000 to 2199."),
            ("end=9999-12-31", "in the years 2000 to 2199."),
            ("begin=2026-02-01&end=2026-01-01", "The period ends before it begins."),
        ],
    )
    def test_wrong_dates_are_named(
        self, owner: Person, recorded: World, query: str, sentence: str
    ) -> None:
        assert sentence in text_of(owner.client, f"/usage/?{query}")

    def test_a_reader_gets_its_namespace(self, reader: Person, recorded: World) -> None:
        page = text_of(reader.client, "/usage/?by=cluster")
        assert "eu-train" in page
        assert '<th scope="row">us-train</th>' not in page

    def test_a_file_has_all_columns(self, owner: Person, recorded: World) -> None:
        response = owner.client.post("/usage/export.csv?by=namespace")
        lines = b"".join(response).decode().splitlines()
        assert lines[0].split(",")[3] == '"namespace"'
        assert lines[0].endswith(
            '"used_hours","held_hours","waited_eligible_hours","waited_ineligible_hours",'
            '"not_observed_hours"'
        )
        assert '"research","","","","","1234","1.5","2","0","0"' in lines[1]
        assert owner.client.post("/usage/export.xls").status_code == 404


class TestEvictions:
    def test_it_counts_and_lists(self, owner: Person, world: World) -> None:
        make_eviction(world.gang)
        page = text_of(owner.client, "/evictions/")
        assert f'<a href="/gangs/{world.gang.pk}/">{world.gang.name}</a>' in page
        assert 'data-label="By">urgent/eval</td>' in page
        assert "Got the place" in page

    def test_a_reader_gets_no_foreign_name(self, reader: Person, world: World) -> None:
        make_eviction(world.gang)
        make_eviction(world.other_gang)
        page = text_of(reader.client, "/evictions/")
        assert "a gang you may not see" in page
        assert "urgent" not in page
        assert world.other_gang.name not in page

    def test_without_evictions_it_says_so(self, owner: Person, world: World) -> None:
        page = text_of(owner.client, "/evictions/")
        assert "No stored preemption, eviction or requeue matches these filters." in page

    def test_a_file_has_all_lines(self, owner: Person, world: World) -> None:
        make_eviction(world.gang)
        response = owner.client.post("/evictions/export.csv")
        lines = b"".join(response).decode().splitlines()
        assert len(lines) == 2
        assert '"urgent/eval"' in lines[1]

    def test_the_gang_page_tells_that_it_happens_again_and_again(
        self, owner: Person, world: World
    ) -> None:
        now = timezone.now()
        for minutes in (1, 30, 61):
            make_eviction(world.gang, at=now - timedelta(minutes=minutes))
        page = text_of(owner.client, f"/gangs/{world.gang.pk}/")
        assert "Preempted for the third time in 1 h.</a>" in page
        assert "Lost its place 3 times" in page
        assert "<b>Preempted</b> by urgent/eval" in page

    def test_a_deleted_gang_keeps_them(self, owner: Person, world: World) -> None:
        now = timezone.now()
        make_history(world.gang, now - timedelta(hours=3), ("runs", 60), gone=True)
        make_eviction(world.gang, at=now - timedelta(hours=2.5))
        address = f"/gangs/{world.gang.pk}/"
        world.gang.delete()
        page = text_of(owner.client, address)
        assert "Lost its place 1 time<" in page
        assert "<b>Preempted</b> by urgent/eval" in page

    def test_the_gang_page_of_a_gang_that_kept_its_place(self, owner: Person, world: World) -> None:
        assert "Lost its place" not in text_of(owner.client, f"/gangs/{world.gang.pk}/")
