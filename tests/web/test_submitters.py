"""Labels and submitters on the Board: filters, columns, the CSV file, and the gangs of the viewer."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from gangboard.store.models import BoardColumns, Identity
from gangboard.store.models.people import PROXY
from gangboard.store.submitters import MOST_NAMES, declared_names, names_of, save_declared_names
from tests.factories import make_gang
from tests.personas import Person, make_owner
from tests.web.conftest import World

pytestmark = pytest.mark.django_db
NAMES = ("of-ada", "of-helm", "of-vision")


@pytest.fixture(autouse=True)
def gangs(world: World) -> None:
    rows = (
        ({"team": "nlp", "example.com/app": "<b>"}, "Ada", "label"),
        ({"team": "nlp"}, "helm", "field-manager"),
        ({"team": "vision"}, "", ""),
    )
    for name, (labels, submitter, source) in zip(NAMES, rows, strict=True):
        make_gang(
            world.cluster,
            name,
            now=timezone.now(),
            labels=labels,
            submitter=submitter,
            submitter_source=source,
        )


def _shown(person: Person, query: str) -> set[str]:
    page = person.client.get(f"/?{query}").content.decode()
    rows = page.partition('id="gangs"')[2].partition("</tbody>")[0]
    return {name for name in NAMES if name in rows}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("label=team%3Dnlp", {"of-ada", "of-helm"}),
        ("label=team%3Dnlp,example.com/app", {"of-ada"}),
        ("label=team", set(NAMES)),
        ("label=tea", set()),
        ("label=%3Dnlp", set(NAMES)),  # no key, so no filter
        ("submitter=ada", {"of-ada"}),
        ("submitter=ad", set()),
        ("q=team%3Dnl+helm", {"of-helm"}),
    ],
)
def test_the_board_filters_by_label_and_submitter(
    owner: Person, query: str, expected: set[str]
) -> None:
    assert _shown(owner, query) == expected


def test_each_filter_by_link_is_a_chip_that_removes_it(owner: Person) -> None:
    page = owner.client.get("/?label=team%3Dnlp,app&submitter=ada&q=x").content.decode()
    chips = dict(re.findall(r'<a class="chip" href="([^"]*)">([^<]*?) <', page))
    assert chips == {
        "/?q=x&amp;label=team%3Dnlp%2Capp": "Submitter: ada",
        "/?q=x&amp;label=app&amp;submitter=ada": "Label: team=nlp",
        "/?q=x&amp;label=team%3Dnlp&amp;submitter=ada": "Label: app",
    }
    assert '<input type="hidden" form="filters" name="label" value="team=nlp,app">' in page
    assert '<input type="hidden" form="filters" name="submitter" value="ada">' in page


def test_a_label_is_a_column_for_who_chose_it(owner: Person, reader: Person) -> None:
    keys = {
        "column": ["queue", "label:team"],
        "label": "example.com/app",
        "query": "group_by=namespace",
    }
    assert owner.client.post("/board/columns/", keys)["Location"] == "/?group_by=namespace"
    page = owner.client.get("/?group_by=namespace").content.decode()
    assert re.findall(r'<th scope="col" class="column-label">([^<]*)<', page) == ["team", "app"]
    row = page.partition(">of-ada</a>")[2].partition("</tr>")[0]
    assert re.findall(r'<td class="column-label given" data-label="(\w+)">([^<]*)</td>', row) == [
        ("team", "nlp"),
        ("app", "&lt;b&gt;"),
    ]
    # A title spans all columns that are not optional, so its row is as wide as the others.
    heading = re.search(r'class="heading"><th colspan="(\d+)".*?</tr>', page)
    assert heading
    cells = row.count("<td") + 2  # with the box before the name and the name itself
    assert int(heading[1]) + heading[0].count("<td") == page.count('<th scope="col"') == cells + 1
    assert (
        "columns=label%3Ateam%2Clabel%3Aexample.com%2Fapp" in page.partition("live/board/")[2][:300]
    )
    assert "column-label" not in reader.client.get("/").content.decode()


def test_the_waiting_request_prints_the_columns_in_its_address(owner: Person) -> None:
    address = "/live/board/?columns=label:team"
    answer = owner.client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert '<td class="column-label given" data-label="team">nlp</td>' in answer


def test_the_installation_offers_labels_as_columns(owner: Person, settings: Settings) -> None:
    settings.LABEL_COLUMNS = ("team",)
    page = owner.client.get("/").content.decode()
    assert '<input type="checkbox" name="column" value="label:team"> Label team' in page


@pytest.mark.parametrize("key", ["", "a,b", "a\nb", "x" * 318])
def test_an_impossible_label_is_no_column(owner: Person, key: str) -> None:
    owner.client.post("/board/columns/", {"column": ["queue"], "label": key})
    assert BoardColumns.objects.get(user=owner.user).names == ["queue"]


def test_the_submitter_is_a_column(owner: Person) -> None:
    page = owner.client.get("/?columns=submitter").content.decode()
    assert '<td class="column-submitter given">Ada</td>' in page


def test_the_file_has_labels_and_submitters(owner: Person) -> None:
    sent = owner.client.post("/export.csv?label=example.com/app")
    lines = b"".join(sent.streaming_content).decode()  # type: ignore[attr-defined]
    (row,) = csv.DictReader(io.StringIO(lines))
    found = (row["submitter"], row["submitter_source"], row["labels"])
    assert found == ("Ada", "label", "team=nlp,example.com/app=<b>")


class TestMine:
    def test_a_name_of_the_account_is_mine(self, owner: Person) -> None:
        assert _shown(owner, "mine=1") == set()
        User.objects.filter(pk=owner.user.pk).update(email="ada@example.com")
        assert _shown(owner, "mine=1") == {"of-ada"}

    def test_a_declared_name_is_mine(self, owner: Person, reader: Person) -> None:
        answer = owner.client.post("/account/names/", {"names": " helm \n\nHELM\nada"})
        assert answer["Location"] == "/account/#names"
        assert _shown(owner, "mine=1") == {"of-ada", "of-helm"}
        assert _shown(reader, "mine=1") == set()
        page = owner.client.get("/account/").content.decode()
        assert ">helm\nHELM\nada</textarea>" in page
        assert "helm" in owner.client.get("/api/v1/me/").json()["submitter_names"]

    def test_the_api_has_the_filter(self, owner: Person) -> None:
        owner.client.post("/account/names/", {"names": "ada"})
        rows = owner.client.get("/api/v1/gangs/?mine=true").json()["results"]
        assert [row["name"] for row in rows] == ["of-ada"]

    def test_a_new_name_changes_the_entity_tag(self, owner: Person) -> None:
        first = owner.client.get("/api/v1/gangs/?mine=true")
        known = {"If-None-Match": first["ETag"]}
        assert owner.client.get("/api/v1/gangs/?mine=true", headers=known).status_code == 304
        owner.client.post("/account/names/", {"names": "ada"})
        assert owner.client.get("/api/v1/gangs/?mine=true", headers=known).status_code == 200

    def test_names_give_no_right(self, stranger: Person) -> None:
        stranger.client.post("/account/names/", {"names": "ada\nhelm"})
        assert _shown(stranger, "mine=1") == set()
        assert stranger.client.get("/api/v1/gangs/?mine=true").json()["results"] == []

    def test_waiting_requests_of_two_people_are_answered_apart(self, owner: Person) -> None:
        """Both have the same rights, so other filters share the answer."""
        other = make_owner("bea")
        owner.client.post("/account/names/", {"names": "ada"})
        other.client.post("/account/names/", {"names": "helm"})
        for person, name in ((owner, "of-ada"), (other, "of-helm")):
            message = person.client.get("/live/board/?mine=1", headers={"HX-Request": "true"})
            assert {each for each in NAMES if each in message.content.decode()} == {name}


def test_the_names_of_an_account_are_these() -> None:
    user = User.objects.create(username="ada@corp.example", email="a.lovelace@example.com")
    Identity.objects.create(user=user, issuer=PROXY, subject="lovelace@proxy")
    save_declared_names(user.pk, ["argocd", "argocd", "", "x" * 129, "two\nlines"])
    assert names_of(user.pk) == (
        *("a.lovelace", "a.lovelace@example.com", "ada", "ada@corp.example"),
        *("argocd", "lovelace", "lovelace@proxy"),
    )
    Identity.objects.filter(user=user).update(issuer="https://id.example.com")
    assert "lovelace" not in names_of(user.pk)
    assert names_of(0) == ()


def test_declared_names_are_bounded() -> None:
    user = User.objects.create(username="ada")
    save_declared_names(user.pk, [f"name-{number}" for number in range(MOST_NAMES + 5)])
    assert len(declared_names(user.pk)) == MOST_NAMES
