"""Pages without a watched cluster show one welcome card instead of empty tables."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.store.models import Heartbeat
from tests import personas
from tests.factories import make_cluster

PAGES = ("/", "/reasons/", "/queues/", "/capacity/", "/groups/", "/clusters/", "/holds/")


def _html(client: Client, path: str) -> str:
    return client.get(path).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("path", PAGES)
def test_an_admin_gets_commands_to_copy(path: str) -> None:
    page = _html(personas.make_owner().client, path)
    card = re.search(r'<section id="welcome".*?</section>', page, re.S)
    assert card is not None
    commands = re.findall(r'data-copy="([^"]+)"', card[0])
    assert [command.split()[0] for command in commands] == [
        "manage.py",
        "kubectl",
        *["manage.py"] * 2,
    ]
    assert sum("add_cluster" in command for command in commands) == 1
    assert commands[-1] == "manage.py up"
    assert "<table" not in page
    assert "<h1" in page


@pytest.mark.django_db
def test_each_process_is_shown_once_outside_the_bar() -> None:
    now = timezone.now()
    Heartbeat.objects.create(name="poll-1", kind="poll", beat_at=now, began_at=now, slots=8)
    page = _html(personas.make_owner().client, "/")
    states = dict(re.findall(r'data-process="([a-z]+)">.*?<b>([a-z ]+)</b>', page, re.S))
    assert states == {
        "poll": "runs",
        "act": "does not run",
        "prove": "does not run",
        "notify": "does not run",
        "beat": "does not run",
    }
    assert 'class="banner tone-blocked"' not in page


@pytest.mark.django_db
def test_a_user_without_roles_reads_the_contact_and_no_command() -> None:
    make_cluster("eu-train", now=timezone.now())
    page = _html(personas.make_stranger().client, "/")
    assert 'id="welcome"' in page
    assert "data-copy" not in page
    assert "data-process" not in page
    assert "eu-train" not in page


@pytest.mark.django_db
def test_an_open_page_reloads_when_a_cluster_is_added() -> None:
    owner = personas.make_owner().client
    match = re.search(r'hx-get="(/live/[^"]+)"', _html(owner, "/"))
    assert match is not None
    make_cluster("eu-train", now=timezone.now())
    assert owner.get(match[1]).headers.get("HX-Refresh") == "true"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/actions/", "/actions/audit/"])
def test_the_audit_is_readable_without_clusters(path: str) -> None:
    assert 'id="welcome"' not in _html(personas.make_owner().client, path)
