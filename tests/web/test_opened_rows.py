"""Rows of the Board that are opened in place: content and permissions."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from gangboard.domain.health import Health
from gangboard.domain.verdict import Evidence
from gangboard.pages.core.forms import element_key
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang
from tests.factories import make_cluster, make_finding, make_gang, make_job, make_members
from tests.personas import Person, make_reader, make_stranger
from tests.recorded_actions import make_action
from tests.web.acting import hold_job, text_of
from tests.web.conftest import World

pytestmark = pytest.mark.django_db


def opened(person: Person, gang: Gang) -> str:
    """Return the visible text below the row."""
    return text_of(person.client.get(f"/gangs/{gang.pk}/row/"))


def button_of(gang: Gang, index: int, verb: str = "suspend") -> str:
    return f'id="row-{verb}-{element_key(f"{gang.uid}-job-{index}")}"'


def test_the_board_links_rows_without_reading_their_details(owner: Person, world: World) -> None:
    page = owner.client.get("/").content.decode()
    assert f'data-opens="/gangs/{world.gang.id}/row/" aria-expanded="false"' in page
    assert "opened-parts" not in page
    # The queries of the Board are counted in test_pages.py.


def test_an_opened_row_has_evidence_steps_and_jobs(owner: Person, world: World) -> None:
    finding = make_finding(
        "node-lost", health=Health.DEGRADED, evidence=(Evidence("lost node", "gpu-07"),)
    )
    gang = make_gang(
        world.cluster,
        "asr-pre",
        now=timezone.now(),
        health="degraded",
        code="node-lost",
        advice=[
            {"text": "Read it.", "command": ["kubectl", "logs", "-n", "research", "asr-0"]},
            {"text": "Wait for gpu-07."},
        ],
        detail=Detail(
            findings=(finding,),
            jobs=(make_job("asr-pre-whole", ready=8), make_job("asr-pre-broken", finding=finding)),
            members=make_members("asr-pre-broken", 2, Health.FAILED),
        ),
    )
    page = opened(owner, gang)
    assert "<dt>lost node</dt><dd>gpu-07</dd>" in page
    assert 'data-copy="kubectl logs -n research asr-0"' in page
    assert "Wait for gpu-07." in page
    # Items that need attention come first.
    assert re.findall(r'class="opened-name">([^<]*)<', page) == ["asr-pre-broken", "asr-pre-whole"]
    assert page.count('class="opened-pod"') == 1
    assert f'<a href="/gangs/{gang.pk}/">Open asr-pre</a>' in page


def test_surplus_jobs_are_counted(owner: Person, world: World) -> None:
    jobs = tuple(make_job(f"sweep-{number}") for number in range(11))
    gang = make_gang(world.cluster, "sweep", now=timezone.now(), detail=Detail(jobs=jobs))
    page = opened(owner, gang)
    assert page.count('class="opened-name"') == 8
    assert "3 more: open sweep</a>" in page


class TestButtons:
    def test_buttons_match_the_states_of_the_jobs(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        hold_job(cluster, gang, 0, now=timezone.now())
        page = opened(operator, gang)
        assert button_of(gang, 0, "resume") in page
        assert button_of(gang, 1) in page
        assert "Held by olga" in page
        assert "csrf" not in page, "what a dialog asks for has the token"

    def test_buttons_are_absent_during_an_action(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        make_action(
            cluster,
            gang_id=gang.pk,
            name=f"{gang.name}-workers-1",
            uid=f"{gang.uid}-job-1",
            state="applied",
            finished_at=None,
        )
        page = opened(operator, gang)
        assert button_of(gang, 0) in page
        assert button_of(gang, 1) not in page
        assert "An action on it is not over yet." in page

    def test_buttons_are_absent_for_viewers(self, viewer: Person, gang: Gang) -> None:
        page = opened(viewer, gang)
        assert "data-act" not in page
        assert page.count("You have only read access to this namespace.") == 1


def test_missing_and_hidden_gangs_look_the_same(gang: Gang) -> None:
    path = f"/gangs/{gang.pk}/row/"
    for person in (make_stranger(), make_reader(make_cluster("us-train"), name="rosa")):
        answers = [person.client.get(index) for index in (path, "/gangs/0123456789abcdef/row/")]
        assert [answer.status_code for answer in answers] == [404, 404]
    assert make_reader(gang.cluster, name="rita").client.post(path).status_code == 405
