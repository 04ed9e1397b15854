"""Labels and submitter on the Gang page."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from tests.factories import make_gang
from tests.personas import Person
from tests.web.conftest import World

pytestmark = pytest.mark.django_db


def facts_of(person: Person, path: str) -> str:
    response = person.client.get(path)
    assert response.status_code == 200
    match = re.search(r'<section id="facts".*?</section>', response.content.decode(), re.DOTALL)
    assert match
    return match[0]


def test_the_page_has_labels_that_lead_to_their_gangs(owner: Person, world: World) -> None:
    labels = {"team": "nlp", "evil": "<b>&x</b>"}
    gang = make_gang(
        world.cluster,
        "run",
        now=timezone.now(),
        labels=labels,
        submitter="kubectl-create",
        submitter_source="field-manager",
    )
    other_gang = make_gang(world.cluster, "other", now=timezone.now(), labels={"team": "vision"})
    facts = facts_of(owner, f"/gangs/{gang.pk}/")
    assert re.search("<dt>Submitted with</dt><dd><a href=[^>]*>kubectl-create</a> <span", facts)
    assert ">team=nlp</a>" in facts
    assert "evil=&lt;b&gt;&amp;x&lt;/b&gt;" in facts
    assert "<details>" not in facts
    address = re.search(r'href="([^"]+)"[^>]*>team=nlp<', facts)
    assert address
    assert address[1] == "/?label=team%3Dnlp"
    board = owner.client.get(address[1]).content.decode()
    assert f"/gangs/{gang.pk}/" in board
    assert f"/gangs/{other_gang.pk}/" not in board


def test_many_labels_are_folded(owner: Person, world: World) -> None:
    labels = {f"l{number:02}": "x" for number in range(20)}
    gang = make_gang(world.cluster, "run", now=timezone.now(), labels=labels)
    facts = facts_of(owner, f"/gangs/{gang.pk}/")
    assert facts.count("=x</a>") == 20
    visible, _, folded = facts.partition("<summary>12 more</summary>")
    assert (visible.count("=x</a>"), folded.count("=x</a>")) == (8, 12)


def test_a_gang_without_labels_has_no_label_section(owner: Person, world: World) -> None:
    gang = make_gang(world.cluster, "run", now=timezone.now())
    facts = facts_of(owner, f"/gangs/{gang.pk}/")
    assert "Labels" not in facts
    assert "Submitted" not in facts


def test_a_user_without_access_sees_no_label(stranger: Person, world: World) -> None:
    gang = make_gang(world.cluster, "run", now=timezone.now(), labels={"canary": "yes"})
    for path in (f"/gangs/{gang.pk}/", "/?label=canary%3Dyes"):
        assert "canary</a>" not in stranger.client.get(path).content.decode()
    assert stranger.client.get(f"/gangs/{gang.pk}/").status_code == 404
