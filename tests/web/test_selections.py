"""The summary of a selection in the confirmation, one note per gang."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from django.utils import timezone

from gangboard.domain.action import Verb
from gangboard.domain.owner import Owner
from gangboard.pages.confirm.queries import preview_selections
from gangboard.pages.core.forms import read_target
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Action, Cluster, Gang, WatchedObject
from gangboard.store.objects import pack, unpack
from tests.personas import Person, make_owner, make_reader
from tests.recorded_actions import make_action
from tests.stored_jobsets import JOBS
from tests.web.acting import confirm_query, hold_job, job_targets, make_run, text_of

pytestmark = pytest.mark.django_db
NOTHING_RUNS = "Nothing of JobSet {} will run any more, and the JobSet does not count as suspended."
INSTEAD = "Suspend JobSet {} instead</a>"


def confirm(person: Person, *targets: str, verb: str = "suspend", **headers: str) -> str:
    query = confirm_query(*targets, verb=verb)
    return text_of(person.client.get("/actions/confirm/", query, headers=headers))


def test_all_jobs_of_a_gang_offer_the_owner(operator: Person, gang: Gang) -> None:
    page = confirm(operator, *job_targets(gang, 0, 1, 2))
    assert page.count(NOTHING_RUNS.format("llama")) == 1
    assert page.index(NOTHING_RUNS.format("llama")) < page.index('class="act-object"'), "first"
    assert INSTEAD.format("llama") in page


def test_all_jobs_but_one_offer_the_owner(operator: Person, gang: Gang) -> None:
    page = confirm(operator, *job_targets(gang, 0, 2))
    assert "will run any more" not in page
    assert "instead</a>" not in page


def test_a_held_job_does_not_count_as_running(
    operator: Person, cluster: Cluster, gang: Gang
) -> None:
    hold_job(cluster, gang, 1, now=timezone.now())
    page = confirm(operator, *job_targets(gang, 0, 2))
    assert NOTHING_RUNS.format("llama") in page
    page = confirm(operator, *job_targets(gang, 0))
    assert "will run" not in page


def test_the_last_running_job_has_one_note(operator: Person, cluster: Cluster, gang: Gang) -> None:
    for index in (0, 1):
        hold_job(cluster, gang, index, now=timezone.now())
    page = confirm(operator, *job_targets(gang, 2))
    assert page.count("nothing of it will run") == 1
    assert INSTEAD.format("llama") in page


def test_the_offer_leads_to_the_owners_confirmation(operator: Person, gang: Gang) -> None:
    for headers in ({}, {"HX-Request": "true", "HX-Target": "act-body"}):
        page = confirm(operator, *job_targets(gang, 0, 1, 2), **headers)
        link = re.search(r'<a class="button" href="([^"]+)"([^>]*)>Suspend JobSet llama inst', page)
        assert link is not None
        assert ("hx-get" in link.group(2)) is bool(headers), "in the dialog it stays there"
        owner = text_of(operator.client.get(link.group(1)))
        assert "Suspend JobSet llama</h1>" in owner
        assert '<button type="submit" class="primary">' in owner


def test_a_forced_action_is_assessed_and_offers_its_owner(cluster: Cluster, gang: Gang) -> None:
    admin = make_owner()
    WatchedObject.objects.filter(resource__contains="mutatingadmission").delete()
    query = {"verb": "suspend", "target": job_targets(gang, 0, 1, 2), "forced": "1"}
    page = text_of(admin.client.get("/actions/confirm/", query))
    assert page.count(NOTHING_RUNS.format("llama")) == 1
    first = page.index("Forced: jobset will likely undo each within a second")
    assert first < page.index(NOTHING_RUNS.format("llama"))
    assert INSTEAD.format("llama") in page


def test_each_gang_is_assessed(operator: Person, cluster: Cluster, gang: Gang) -> None:
    another = make_run(cluster, "mamba", now=timezone.now())
    page = confirm(operator, *job_targets(gang, 0, 1, 2), *job_targets(another, 0, 1))
    assert NOTHING_RUNS.format("llama") in page
    assert NOTHING_RUNS.format("mamba") not in page
    page = confirm(operator, *job_targets(gang, 0, 1, 2), *job_targets(another, 0, 1, 2))
    for name in ("llama", "mamba"):
        assert page.count(NOTHING_RUNS.format(name)) == 1
        assert INSTEAD.format(name) in page


def test_a_selection_on_a_node_is_assessed(operator: Person, cluster: Cluster, gang: Gang) -> None:
    """Two of three Jobs have pods on gpu-01; the third one is held."""
    hold_job(cluster, gang, 2, now=timezone.now())
    node = text_of(operator.client.get("/actions/node/?cluster=eu-train&node=gpu-01"))
    targets = re.findall(r'name="target" value="([^"]+)"', node)
    assert len(targets) == 2
    assert NOTHING_RUNS.format("llama") in confirm(operator, *targets)


def test_a_note_on_a_job_ignores_jobs_of_the_same_selection(
    operator: Person, cluster: Cluster, gang: Gang
) -> None:
    """All that name a group are chosen, and one runs on that names none: no sibling is lost."""
    for index in (0, 1):
        row = WatchedObject.objects.get(resource=JOBS, name=f"llama-workers-{index}")
        row.data = pack(replace(unpack(bytes(row.data), Owner), group_name="ring"))
        row.save()
    assert "shares PodGroup ring with 1 other Job" in confirm(operator, *job_targets(gang, 0))
    assert "PodGroup ring" not in confirm(operator, *job_targets(gang, 0, 1))


def test_a_resume_has_no_note_on_stopped_jobs(
    operator: Person, cluster: Cluster, gang: Gang
) -> None:
    for index in range(3):
        hold_job(cluster, gang, index, now=timezone.now())
    assert "will run" not in confirm(operator, *job_targets(gang, 0, 1, 2), verb="resume")


def test_an_owner_with_an_open_action_is_not_offered(
    operator: Person, cluster: Cluster, gang: Gang
) -> None:
    make_action(
        cluster, gang_id=gang.pk, uid=gang.uid, name="llama", state="requested", finished_at=None
    )
    assert Action.objects.filter(finished_at=None).count() == 1
    page = confirm(operator, *job_targets(gang, 0, 1, 2))
    assert NOTHING_RUNS.format("llama") in page
    assert "instead</a>" not in page


def test_a_viewer_sees_no_assessment(cluster: Cluster, gang: Gang) -> None:
    page = confirm(make_reader(cluster), *job_targets(gang, 0, 1, 2))
    assert "will run any more" not in page
    assert "instead</a>" not in page


@pytest.mark.parametrize(
    ("role", "namespace", "may_act", "judged"),
    [
        ("operator", "research", True, 1),
        ("operator", "research", False, 0),
        ("viewer", "research", True, 0),
        ("operator", "vision", True, 0),
    ],
)
def test_an_operator_sees_the_assessment(
    role: str, namespace: str, may_act: bool, judged: int, cluster: Cluster, gang: Gang
) -> None:
    viewer = Viewer(1, "ann", (Scope(cluster.pk, namespace, role),), may_act=may_act)
    targets = [read_target(job_target) for job_target in job_targets(gang, 0, 1, 2)]
    rows = preview_selections(
        viewer=viewer,
        verb=Verb.SUSPEND,
        targets=[target for target in targets if target is not None],
        forced=False,
        now=timezone.now(),
    )
    assert len(rows) == judged
