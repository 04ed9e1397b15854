"""The Board for its person: as a file, with the columns and the views that it has chosen."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gangboard.domain.verdict import Evidence
from gangboard.store.board_preferences import MOST_VIEWS
from gangboard.store.gangs import Detail
from gangboard.store.models import AuditEntry, Cluster, Gang, SavedView, TrendPoint
from gangboard.store.trends import QUARTER, quarter_of
from tests.factories import make_finding, make_gang, make_gangs, make_ref
from tests.personas import Person
from tests.web.conftest import World
from tests.web.live_requests import first_question

pytestmark = pytest.mark.django_db


def exported(person: Person, query: str = "") -> list[dict[str, str]]:
    """Return the rows of the file."""
    answer: Any = person.client.post(f"/export.csv{query}")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert "gangboard-board-" in answer["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode())))


class TestBoardExport:
    def test_an_export_has_the_filtered_rows_in_order(self, owner: Person, world: World) -> None:
        make_gang(world.cluster, "llama-done", health="succeeded", now=timezone.now())
        since = timezone.now() - timedelta(days=1)
        make_gang(world.cluster, "llama-old", since=since, now=timezone.now())
        rows = exported(owner, "?q=llama&cursor=nonsense")
        assert [row["name"] for row in rows] == ["llama-old", "llama-sft"]
        assert (
            rows[1].items()
            >= {
                "cluster": "eu-train",
                "namespace": "research",
                "kind": "JobSet",
                "health": "waiting",
                "code": "insufficient-resources",
                "next_step": "It goes when 5 GPUs become free.",
                "desired": "8",
                "ready": "0",
                "accelerators": "8",
                "queue": "gpu-prod",
            }.items()
        )
        assert [row["name"] for row in exported(owner, "?health=succeeded")] == ["llama-done"]

    def test_an_export_has_all_pages(self, owner: Person, world: World) -> None:
        new_gangs = make_gangs(world.cluster, 520, now=timezone.now())
        rows = exported(owner, "?show_finished=1&cluster=eu-train")
        assert len(rows) == len({row["id"] for row in rows}) == len(new_gangs) + 1

    def test_an_export_has_no_hidden_gangs(self, reader: Person, world: World) -> None:
        other_ref = make_ref("JobSet", "secret", namespace="team-b")
        make_gang(
            world.cluster,
            "taken",
            now=timezone.now(),
            message="taken was preempted by team-b/secret.",
            detail=Detail(
                findings=(make_finding(evidence=(Evidence("preempted by", "secret", other_ref),)),)
            ),
        )
        rows = exported(reader)
        assert {row["name"]: row["message"] for row in rows}["taken"] == (
            "taken was preempted by a gang you may not see."
        )
        assert {row["name"] for row in rows} == {"taken", "llama-sft"}

    def test_an_export_has_no_spreadsheet_formula(self, owner: Person, world: World) -> None:
        world.gang.message, world.gang.advice = "=HYPERLINK(1)", ["+1"]
        world.gang.save()
        (row,) = exported(owner, "?cluster=eu-train")
        assert (row["message"], row["next_step"]) == ("'=HYPERLINK(1)", "'+1")

    def test_an_export_is_a_post_and_is_audited(self, owner: Person, world: World) -> None:
        exported(owner, "?cluster=eu-train")
        entry = AuditEntry.objects.get(event="export")
        assert entry.sentence == "The board was exported as csv: cluster=eu-train."
        assert owner.client.get("/export.csv").status_code == 405
        assert owner.client.post("/export.xml").status_code == 404
        page = owner.client.get("/?cluster=eu-train").content.decode()
        assert 'formaction="/export.csv?cluster=eu-train"' in page


def record_waiting(cluster: Cluster, *numbers: int | None) -> None:
    """Write the number of waiting gangs for the last quarter hours. None is an outage.

    The first of several values is also written for a day ago.
    """
    newest = quarter_of(timezone.now())
    first = [(95, numbers[0])] if len(numbers) > 1 else []
    for back, number in [*enumerate(reversed(numbers)), *first]:
        gangs = None if number is None else {"waiting": number}
        TrendPoint.objects.create(
            cluster=cluster, at=newest - back * QUARTER, is_lasting=True, gangs=gangs
        )


TILE = r'<button id="(tile-[a-z]+)"'
SHAPE = r'<path id="curve-waiting" d="([^"]*)"/>'


class TestTileCurves:
    def test_curves_are_sums_with_a_gap_for_unreachable_clusters(
        self, owner: Person, world: World
    ) -> None:
        record_waiting(world.cluster, 3, 3, 3, 4)
        record_waiting(world.other_cluster, 1, None, 1, 0)
        page = owner.client.get("/").content.decode()
        # The points are 4, a gap, 4 and 4, all at the maximum.
        assert re.findall(SHAPE, page) == ["M0 24V0H1V24 M92 24V0H93V24 M94 24V0H96V24"]
        assert page.count('<use href="#curve-waiting"/>') == 1
        assert '<span class="unseen">4, last 24 h</span>' in page
        assert "0, last 24 h" in page
        assert "<caption>last 24 h</caption>" in page

    def test_curves_of_one_cluster_count_only_that_cluster(
        self, owner: Person, world: World
    ) -> None:
        record_waiting(world.cluster, 3, 6)
        record_waiting(world.other_cluster, 1, 1)
        page = owner.client.get("/?cluster=eu-train&health=waiting").content.decode()
        assert re.findall(SHAPE, page) == ["M0 24V12H1V24 M94 24V12H95V0H96V24"]
        assert '<span class="unseen">3 to 6, last 24 h</span>' in page

    def test_curves_leave_out_a_silent_cluster_and_name_it(
        self, owner: Person, world: World
    ) -> None:
        record_waiting(world.cluster, 3, 6)
        long_ago = timezone.now() - timedelta(minutes=4)
        Cluster.objects.filter(name="us-train").update(contact_at=long_ago)
        page = owner.client.get("/").content.decode()
        assert "Curves without us-train, which cannot be read now." in page

    @pytest.mark.parametrize(
        "query",
        [
            "namespace=research",
            "kind=JobSet",
            "queue=gpu-prod",
            "code=x",
            "q=llama",
            "mine=1",
            "label=x",
        ],
    )
    def test_filtered_tiles_have_no_curves(self, owner: Person, world: World, query: str) -> None:
        record_waiting(world.cluster, 3, 6)
        page = owner.client.get(f"/?{query}").content.decode()
        assert "#curve-" not in page
        assert "last 24 h" not in page

    def test_users_of_one_namespace_get_no_curves(self, reader: Person, world: World) -> None:
        record_waiting(world.cluster, 3, 6)
        assert "curve-waiting" not in reader.client.get("/").content.decode()

    def test_curves_of_one_point_are_not_drawn(self, owner: Person, world: World) -> None:
        record_waiting(world.cluster, 3)
        page = owner.client.get("/").content.decode()
        assert "curve-waiting" not in page

    def test_curves_are_not_resent_when_a_number_changes(self, owner: Person, world: World) -> None:
        record_waiting(world.cluster, 3, 6)
        question = first_question(owner.client, "/")
        Gang.objects.filter(pk=world.gang.pk).update(health="failed", severity=0)
        page = question.ask(owner.client).content.decode()
        assert "data-part" not in page
        assert re.findall(TILE, page) == ["tile-failed", "tile-waiting"]

    def test_curves_are_sent_with_tiles_whose_range_changed(
        self, owner: Person, world: World
    ) -> None:
        record_waiting(world.cluster, 3, 6)
        question = first_question(owner.client, "/")
        TrendPoint.objects.update(gangs={"waiting": 9})
        page = question.ask(owner.client).content.decode()
        assert re.findall(r'data-part="([^"]*)"', page) == ["curves"]
        assert re.findall(TILE, page) == ["tile-waiting"]
        assert '<span class="unseen">9, last 24 h</span>' in page


def hidden_columns(person: Person, path: str = "/") -> set[str]:
    """Return the columns that the page leaves out."""
    classes = re.search(r'<table class="gangs ([^"]*)"', person.client.get(path).content.decode())
    assert classes is not None
    return {name.removeprefix("without-") for name in classes.group(1).split()}


class TestColumns:
    def test_columns_stay_as_the_user_chose_them(self, owner: Person, reader: Person) -> None:
        assert hidden_columns(owner) == {"priority", "queue", "restarts", "created", "submitter"}
        answer = owner.client.post(
            "/board/columns/",
            {"column": ["restarts", "queue", "nonsense"], "query": "q=llama&columns=created"},
        )
        assert (answer.status_code, answer["Location"]) == (303, "/?q=llama")
        assert hidden_columns(owner) == {"priority", "accelerators", "created", "submitter"}
        assert hidden_columns(reader) == {"priority", "queue", "restarts", "created", "submitter"}

    def test_columns_can_all_be_hidden(self, owner: Person) -> None:
        owner.client.post("/board/columns/", {"query": ""})
        every = {"priority", "accelerators", "queue", "restarts", "created", "submitter"}
        assert hidden_columns(owner) == every
        assert hidden_columns(owner, "/?columns=none") == every

    @pytest.mark.parametrize("query", ["columns=nonsense", "columns=", "columns=%00"])
    def test_invalid_columns_in_the_address_are_ignored(self, owner: Person, query: str) -> None:
        assert hidden_columns(owner, f"/?{query}") == {
            "priority",
            "queue",
            "restarts",
            "created",
            "submitter",
        }

    def test_columns_of_the_address_win_and_stay_in_its_links(self, owner: Person) -> None:
        assert hidden_columns(owner, "/?columns=queue") == {
            "priority",
            "accelerators",
            "restarts",
            "created",
            "submitter",
        }
        page = owner.client.get("/?columns=queue").content.decode()
        assert "/?columns=queue&amp;ordering=name" in page
        assert '<input type="hidden" form="filters" name="columns" value="queue">' in page


class TestViews:
    def test_views_link_to_their_filters(self, owner: Person, reader: Person) -> None:
        query = "health=blocked,junk&q=llama&cursor=xyz&unknown=1&columns=queue"
        answer = owner.client.post("/board/views/", {"name": " Own <b> ", "query": query})
        link = "/?q=llama&health=blocked%2Cjunk&columns=queue"
        assert (answer.status_code, answer["Location"]) == (303, link)
        page = owner.client.get("/").content.decode()
        assert f'<a href="{link.replace("&", "&amp;")}">Own &lt;b&gt;</a>' in page
        assert f'<a href="{link.replace("&", "&amp;")}" aria-current="true">' in (
            owner.client.get(link).content.decode()
        )
        # Views are private, but their links work for every user.
        assert "Own &lt;b&gt;" not in reader.client.get("/").content.decode()
        assert reader.client.get(link).status_code == 200

    def test_views_keep_their_columns(self, owner: Person) -> None:
        owner.client.post("/board/columns/", {"column": ["created"]})
        page = owner.client.get("/?q=a").content.decode()
        assert '<input type="hidden" name="query" value="q=a&amp;columns=created">' in page

    def test_views_of_the_same_name_are_replaced(self, owner: Person) -> None:
        for query in ("q=a", "q=b"):
            owner.client.post("/board/views/", {"name": "mine", "query": query})
        assert list(SavedView.objects.values_list("name", "query")) == [("mine", "q=b")]

    def test_views_are_removed_only_by_their_owner(self, owner: Person, reader: Person) -> None:
        owner.client.post("/board/views/", {"name": "mine", "query": "q=a"})
        view = SavedView.objects.get()
        reader.client.post(f"/board/views/{view.pk}/remove/")
        assert SavedView.objects.exists()
        answer = owner.client.post(f"/board/views/{view.pk}/remove/", {"query": "q=b"})
        assert (answer.status_code, answer["Location"]) == (303, "/?q=b")
        assert not SavedView.objects.exists()

    def test_unnamed_and_surplus_views_are_refused(self, owner: Person) -> None:
        owner.client.post("/board/views/", {"name": " \x00 ", "query": ""})
        assert not SavedView.objects.exists()
        for number in range(MOST_VIEWS):
            owner.client.post("/board/views/", {"name": f"view {number}", "query": ""})
        answer = owner.client.post("/board/views/", {"name": "one more", "query": ""})
        assert answer.status_code == 409
        assert SavedView.objects.count() == MOST_VIEWS
