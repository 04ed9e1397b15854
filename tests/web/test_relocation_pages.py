"""The confirmation of a relocation: the choice of the place, its effect, and its request."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from gangboard.domain.action import Avoid
from gangboard.store.actions import read_request
from gangboard.store.models import Action, Cluster, Gang
from tests.personas import Person
from tests.placed_jobs import ZONE, place_job
from tests.recorded_actions import make_action
from tests.stored_jobsets import make_jobset
from tests.web.acting import REASON, confirm_query, job_target, text_of

pytestmark = pytest.mark.django_db

CONFIRM = "/actions/confirm/"
JOB = "llama-workers-0"


@pytest.fixture(autouse=True)
def nodes(cluster: Cluster, gang: Gang) -> None:
    place_job(cluster, gang, JOB, {"n0": 1, "n1": 1}, spare=2, now=timezone.now())


def ask(person: Person, gang: Gang, *avoid: str, status: int = 200) -> str:
    data = {**confirm_query(job_target(gang, 0), verb="relocate"), "avoid": list(avoid)}
    response = person.client.get(CONFIRM, data)
    assert response.status_code == status, response.content.decode()
    return text_of(response)


def test_the_first_step_offers_the_nodes_and_domains_of_its_pods(
    operator: Person, gang: Gang
) -> None:
    page = ask(operator, gang)
    for value in ("node:n0", "node:n1", f"label:{ZONE}=z0", f"label:{ZONE}=z1"):
        assert f'name="avoid" value="{value}"' in page
    assert "spare-0" not in page
    assert 'name="reason"' not in page


def test_the_second_step_shows_where_it_fits(operator: Person, gang: Gang) -> None:
    page = ask(operator, gang, "node:n0")
    assert "It leaves node n0 and restarts elsewhere." in page
    assert "The other 2 Jobs of JobSet llama keep running" in page
    assert "It fits now on" in page
    assert (
        "A restart of JobSet llama creates Job llama-workers-0 again, without the exclusion."
        in page
    )
    assert 'name="avoid" value="node:n0"' in page
    assert Action.objects.count() == 0


def test_a_request_stores_the_place(operator: Person, gang: Gang) -> None:
    data = {
        **confirm_query(job_target(gang, 0), verb="relocate"),
        "avoid": [f"label:{ZONE}=z0"],
        "reason": REASON,
        "key": "k" * 20,
    }
    assert operator.client.post(CONFIRM, data).status_code == 303
    (action,) = Action.objects.all()
    assert read_request(action).avoid == Avoid(topology=(ZONE, "z0"))
    page = text_of(operator.client.get(f"/actions/{action.pk}/"))
    assert "Relocate" in page


def test_nothing_else_fits(operator: Person, gang: Gang, cluster: Cluster) -> None:
    cluster.nodecapacity_set.filter(name__startswith="spare").delete()
    page = ask(operator, gang, "node:n0")
    assert "Nothing else fits: outside node n0 its 2 pods of 6 CPUs find no room together." in page
    assert 'name="reason"' not in page


@pytest.mark.parametrize(
    ("avoid", "sentence"),
    [
        (("node:spare-0",), "There is no node spare-0, or you may not see it."),
        (("node:nowhere",), "There is no node nowhere, or you may not see it."),
        (("label:pool=a",), "pool is not among the node labels whose domains a Job may leave"),
        (("none",), "No relocation has excluded nodes for Job llama-workers-0: nothing to remove."),
    ],
)
def test_places_that_are_refused(
    operator: Person, gang: Gang, avoid: tuple[str, ...], sentence: str
) -> None:
    """An operator of one namespace may name only nodes with its own pods."""
    assert sentence in ask(operator, gang, *avoid)


@pytest.mark.parametrize(
    "avoid", [("node:n0", f"label:{ZONE}=z0"), ("elsewhere",), ("node:n0", "none")]
)
def test_an_address_without_a_place_is_refused(
    operator: Person, gang: Gang, avoid: tuple[str, ...]
) -> None:
    page = ask(operator, gang, *avoid, status=400)
    assert "The place to avoid is not one" in page


def test_several_jobs_are_refused(operator: Person, gang: Gang) -> None:
    query = confirm_query(job_target(gang, 0), job_target(gang, 1), verb="relocate")
    response = operator.client.get(CONFIRM, query)
    assert response.status_code == 400
    assert "Relocate one Job at a time." in text_of(response)


def test_the_button_is_in_the_row_of_the_job(operator: Person, viewer: Person, gang: Gang) -> None:
    page = text_of(operator.client.get(f"/gangs/{gang.pk}/"))
    assert f'Relocate<span class="unseen"> Job {JOB}</span></a>' in page
    assert "Relocate" not in text_of(viewer.client.get(f"/gangs/{gang.pk}/"))


def test_the_page_of_a_node_offers_to_leave_it(operator: Person, cluster: Cluster) -> None:
    gang = make_jobset(cluster, "mixtral", now=timezone.now(), nodes={"mixtral-workers-0": ("n0",)})
    page = text_of(operator.client.get("/actions/node/", {"cluster": cluster.name, "node": "n0"}))
    link = re.search(r'href="([^"]*verb=relocate[^"]*)"', page)
    assert link is not None, page
    assert "avoid=node%3An0" in link.group(1)
    assert gang.pk in link.group(1)


def test_an_ended_relocation_offers_all_nodes_again(
    operator: Person, cluster: Cluster, gang: Gang
) -> None:
    action = make_action(
        cluster,
        verb="relocate",
        state="verified",
        gang_id=gang.pk,
        name=f"{gang.name}-workers-1",
        uid=f"{gang.uid}-job-1",
        avoid={"nodes": ["n0"], "topology": []},
        finished_at=timezone.now(),
    )
    page = text_of(operator.client.get(f"/actions/{action.pk}/"))
    assert "Allow all nodes" in page
    assert "avoid=none" in page
