"""One search for everything, HEAD, several tiles at once, and deleted gangs on the Board."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from gangboard.polling.retention import clean_up
from gangboard.store.gang_search import index_deleted_gangs
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang, GangSearch, NodeCapacity
from tests.factories import make_gang, make_members
from tests.personas import Person
from tests.web.conftest import World

PAGES = ("/", "/reasons/", "/queues/", "/capacity/", "/groups/", "/clusters/", "/actions/")


def _delete(gang: Gang, minutes: int = 1) -> None:
    Gang.objects.filter(pk=gang.pk).update(gone_at=timezone.now() - timedelta(minutes=minutes))
    index_deleted_gangs([gang.uid], cluster_id=gang.cluster_id)


def _group(page: str, key: str) -> str:
    """Return the hits of one sort."""
    return page.partition(f'id="hits-{key}"')[2].partition("</section>")[0]


def _search(person: Person, text: str, path: str = "/search/") -> str:
    return person.client.get(path, {"q": text, "all": "1"}).content.decode()


@pytest.mark.parametrize("path", [*PAGES, "/holds/", "/actions/audit/", "/sign-in/", "/find/"])
def test_head_answers_like_get_without_a_body(owner: Person, path: str) -> None:
    requested, message = owner.client.head(path), owner.client.get(path)
    assert requested.status_code == message.status_code
    assert requested.status_code in (200, 302)
    assert requested.content == b""


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_the_search(owner: Person, path: str) -> None:
    page = owner.client.get(path).content.decode()
    assert page.count('id="search"') == 1
    assert 'action="/search/"' in page


def test_a_second_tile_is_added_and_taken_out_again(owner: Person) -> None:
    page = owner.client.get("/?health=failed").content.decode()
    tiles = {line.split('"')[1]: line for line in page.split("<button ") if 'class="tile' in line}
    assert 'value="failed,blocked"' in tiles["tile-blocked"]
    assert 'value=""' in tiles["tile-failed"]
    both = owner.client.get("/?health=failed&health=blocked").content.decode()
    assert 'value="blocked"' in both.partition('id="tile-failed"')[2][:200]


def test_the_export_stands_before_the_gangs(owner: Person) -> None:
    page = owner.client.get("/").content.decode()
    assert page.index("export.csv") < page.index('id="gangs"')


class TestDeleted:
    def test_the_board_shows_deleted_gangs_on_request(self, owner: Person, world: World) -> None:
        _delete(world.gang)
        assert "llama-sft" not in owner.client.get("/").content.decode()
        page = owner.client.get("/?gone=1").content.decode()
        assert "llama-sft" in page
        assert "diffusion-run" not in page
        assert "Last state: Waiting." in page
        row = page.partition('id="gangs"')[2]
        for live in ("→", "data-opens", "/actions/confirm/", 'name="target"'):
            assert live not in row.partition("</tbody>")[0], live

    def test_the_api_lists_deleted_gangs(self, owner: Person, world: World) -> None:
        _delete(world.gang)
        rows = owner.client.get("/api/v1/gangs/?gone=true").json()["results"]
        assert [(row["name"], row["advice"]) for row in rows] == [("llama-sft", [])]
        names = [row["name"] for row in owner.client.get("/api/v1/gangs/").json()["results"]]
        assert names == ["diffusion-run"]

    def test_the_export_has_deleted_gangs_without_a_next_step(
        self, owner: Person, world: World
    ) -> None:
        _delete(world.gang)
        sent = owner.client.post("/export.csv?gone=1")
        lines = b"".join(sent.streaming_content).decode()  # type: ignore[attr-defined]
        (row,) = csv.DictReader(io.StringIO(lines))
        assert (row["name"], row["next_step"]) == ("llama-sft", "")
        assert row["gone_at"]

    def test_search_and_find_lead_to_a_deleted_gang(self, owner: Person, world: World) -> None:
        _delete(world.gang)
        page = _search(owner, "llama")
        assert "deleted <time" in page
        for path in (f"/search/?q={world.gang.name}", f"/find/?name={world.gang.name}"):
            assert owner.client.get(path)["Location"] == f"/gangs/{world.gang.pk}/", path

    def test_an_old_deleted_gang_is_found_as_an_outline(self, owner: Person, world: World) -> None:
        world.gang.message = "diffusion-run has what it waits for."
        world.gang.save()
        _delete(world.gang, minutes=90)
        clean_up()
        row = Gang.objects.get(pk=world.gang.pk)
        assert (bytes(row.detail), bytes(row.memory), row.advice) == (b"", b"", [])
        assert "diffusion" not in row.message
        assert "diffusion" not in GangSearch.objects.get(pk=row.pk).sentence
        assert "llama-sft" in owner.client.get("/?gone=1").content.decode()
        answer = owner.client.get(f"/api/v1/gangs/{row.pk}/")
        assert answer.status_code == 404, "no span was written of it"

    def test_a_deleted_gang_expires_with_its_history(self, world: World) -> None:
        _delete(world.gang, minutes=91 * 24 * 60)
        clean_up()
        assert not Gang.objects.filter(pk=world.gang.pk).exists()

    def test_a_deleted_gang_stays_hidden_from_others(
        self, reader: Person, stranger: Person, world: World
    ) -> None:
        _delete(world.other_gang)
        for person in (reader, stranger):
            assert "diffusion-run" not in person.client.get("/?gone=1").content.decode()
            assert not person.client.get("/api/v1/gangs/?gone=true").json()["results"]
            assert "/gangs/" not in _search(person, "diffusion-run")


class TestSearch:
    @pytest.fixture(autouse=True)
    def node(self, world: World) -> None:
        NodeCapacity.objects.create(cluster=world.cluster, name="gpu-01")
        NodeCapacity.objects.create(cluster=world.cluster, name="spare-7")

    def test_a_pod_hit_names_its_node_and_links_its_gang(self, owner: Person, world: World) -> None:
        page = _search(owner, "llama-workers-0-3")
        hits = _group(page, "pods")
        assert (
            f'<a href="/gangs/{world.gang.pk}/?open=llama-workers-0">llama-workers-0-3</a>' in hits
        )
        assert "JobSet llama-sft · research · eu-train" in hits
        assert 'on node <a href="/nodes/eu-train/gpu-01/"' in hits
        assert "hits-gangs" not in page

    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("spare-7", "/nodes/eu-train/spare-7/"),
            ("diffusion-run", "/gangs/{other}/"),
            ("vision", "/?cluster=us-train&namespace=vision"),
        ],
    )
    def test_the_only_hit_opens_at_once(
        self, owner: Person, world: World, text: str, address: str
    ) -> None:
        if text == "vision":
            assert address.replace("&", "&amp;") in _search(owner, text)
            return
        answer = owner.client.get("/search/", {"q": text})
        assert answer["Location"] == address.format(other=world.other_gang.pk)

    def test_several_hits_are_listed(self, owner: Person) -> None:
        answer = owner.client.get("/search/", {"q": "train"})
        assert answer.status_code == 200

    @pytest.mark.parametrize("text", ["diffusion", "vision", "spare-7", "gpu-01", "us-train"])
    def test_a_namespace_viewer_gets_no_hits_elsewhere(
        self, reader: Person, stranger: Person, text: str
    ) -> None:
        for person in (reader, stranger):
            page = _search(person, text).partition("<main")[2]
            for link in ("/nodes/", "namespace=vision", "diffusion-run", "us-train/"):
                assert link not in page, (person.user, link)

    def test_an_operator_finds_own_gangs(self, reader: Person) -> None:
        assert "llama-sft" in _search(reader, "llama-workers-0-3")

    def test_jobs_and_pods_have_their_states(self, owner: Person) -> None:
        page = _search(owner, "workers-0")
        for key in ("jobs", "pods"):
            assert re.search('(?s)class="face[^"]*".*>llama-workers-0', _group(page, key)), key

    def test_the_states_in_a_silent_cluster_are_unknown(self, owner: Person, world: World) -> None:
        long_ago = timezone.now() - timedelta(minutes=4)
        Cluster.objects.filter(pk=world.cluster.pk).update(contact_at=long_ago)
        for text, key in (("workers-0-3", "pods"), ("workers-0", "jobs"), ("spare-7", "nodes")):
            hits = _group(_search(owner, text), key)
            assert "Unknown" in hits, key
            assert "Ready" not in hits, key

    def test_a_node_hit_has_its_state_and_its_pods(self, owner: Person, world: World) -> None:
        NodeCapacity.objects.filter(name="gpu-01").update(cordoned=True)
        NodeCapacity.objects.filter(name="spare-7").update(ready=False)
        page = _search(owner, "gpu-01")
        assert "Cordoned" in _group(page, "nodes")
        assert "llama-workers-0-0" in _group(page, "pods")
        assert "Not ready" in _group(_search(owner, "spare-7"), "nodes")

    def test_an_exact_name_is_a_hit_beside_many_worse_gangs(
        self, owner: Person, world: World
    ) -> None:
        for index in range(30):
            make_gang(world.cluster, f"run-a{index}", now=timezone.now(), health="failed")
        exact = make_gang(world.cluster, "run-a", now=timezone.now(), health="succeeded")
        hits = _group(_search(owner, "run-a"), "gangs")
        assert re.findall('<a href="(/gangs/[^"]*)"', hits)[0] == f"/gangs/{exact.pk}/"
        assert "All on the Board" in hits
        assert hits.count("<li>") == 20

    def test_more_pods_than_shown_lead_to_the_board(self, owner: Person, world: World) -> None:
        detail = Detail(members=make_members("many-pods", 25))
        make_gang(world.cluster, "crowd", now=timezone.now(), detail=detail)
        hits = _group(_search(owner, "many-pods"), "pods")
        assert hits.count("<li>") == 20
        assert '<a href="/?q=many-pods&amp;show_finished=1">All on the Board</a>' in hits

    def test_an_unread_cluster_is_named_beside_no_match(self, owner: Person, world: World) -> None:
        Cluster.objects.filter(pk=world.cluster.pk).update(listed_at=None)
        page = _search(owner, "zzz")
        assert "that could be read" in page
        assert 'href="/clusters/eu-train/"' in page.partition("unseen-clusters")[2][:300]

    def test_empty_and_unmatched_searches_have_no_hits(self, owner: Person) -> None:
        assert "No match for" in _search(owner, "zzz")
        assert owner.client.get("/search/").status_code == 200
        assert owner.client.get("/search/", {"q": "\x00"}).status_code == 200

    def test_search_queries_do_not_grow(
        self, owner: Person, world: World, django_assert_max_num_queries: object
    ) -> None:
        for index in range(60):
            make_gang(world.cluster, f"many-{index}", now=timezone.now(), labels={"many": "x"})
        with django_assert_max_num_queries(24):  # type: ignore[operator]
            owner.client.get("/search/", {"q": "many"})


class TestLabelsAndSubmitters:
    @pytest.fixture(autouse=True)
    def labelled(self, world: World) -> None:
        now = timezone.now()
        for cluster, name, namespace, labels, submitter in (
            (world.cluster, "one", "research", {"team": "Nlp"}, "ada@example.com"),
            (world.cluster, "two", "research", {"team": "Nlp", "evil": "<b>"}, "Ada@example.com"),
            (world.other_cluster, "three", "vision", {"team": "vision"}, "grace"),
        ):
            make_gang(
                cluster, name, now=now, namespace=namespace, labels=labels, submitter=submitter
            )

    def test_labels_are_counted(self, owner: Person) -> None:
        hits = _group(_search(owner, "team"), "labels")
        rows = re.findall(r'<a href="([^"]*)">([^<]*)</a> <span class="soft">([^<]*)<', hits)
        assert rows == [
            ("/?label=team%3DNlp&amp;show_finished=1", "team=Nlp", "2 gangs"),
            ("/?label=team%3Dvision&amp;show_finished=1", "team=vision", "1 gang"),
        ]
        assert "evil=&lt;b&gt;" in _group(_search(owner, "evil"), "labels")

    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("team=nlp", "/?label=team%3DNlp&show_finished=1"),
            ("label:team=Nlp", "/?label=team%3DNlp&show_finished=1"),
            ("grace", "/?submitter=grace&show_finished=1"),
        ],
    )
    def test_the_only_label_or_submitter_opens_its_gangs(
        self, owner: Person, text: str, address: str
    ) -> None:
        assert owner.client.get("/search/", {"q": text})["Location"] == address
        page = _search(owner, text)
        assert 'class="match"' in _group(page, "gangs")
        # What Enter opens stands first.
        assert page.index('id="hits-gangs"') > page.index(f'href="{address.replace("&", "&amp;")}"')

    def test_submitters_are_counted(self, owner: Person) -> None:
        hits = _group(_search(owner, "ada@"), "submitters")
        assert re.findall(r">([^<]*)</a> <span class=\"soft\">([^<]*)<", hits) == [
            ("Ada@example.com", "1 gang"),
            ("ada@example.com", "1 gang"),
        ]

    def test_a_viewer_gets_none_of_other_namespaces(self, reader: Person, stranger: Person) -> None:
        assert _group(_search(reader, "team"), "labels").count("<li>") == 1
        for text in ("vision", "grace"):
            assert "/?" not in _search(reader, text).partition("<main")[2], text
        for text in ("team", "ada", "grace"):
            assert "/?" not in _search(stranger, text).partition("<main")[2], text

    def test_more_gangs_than_counted_are_at_least(
        self, owner: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gangboard.store.gang_search.MOST_COUNTED", 1)
        assert "at least 1 gang" in _group(_search(owner, "team=nlp"), "labels")

    def test_a_deleted_gang_keeps_its_label(self, owner: Person) -> None:
        _delete(Gang.objects.get(name="three"))
        page = _search(owner, "team=vision")
        assert "deleted <time" in _group(page, "deleted")
        assert 'id="hits-labels"' not in page
