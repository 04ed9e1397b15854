"""Finished actions offer an undo. Watched actions show the remaining time."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from gangboard.store.models import Action, Cluster, Gang, WatchedObject
from tests.personas import Person
from tests.recorded_actions import make_action
from tests.web.acting import REASON, confirm_query, hold_job, job_target, job_targets

pytestmark = pytest.mark.django_db


def form_of(page: str) -> dict[str, list[str]]:
    """Return the hidden fields of the confirmation."""
    fields: dict[str, list[str]] = {}
    form = page[page.index('class="act-form"') :]
    for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form):
        fields.setdefault(name, []).append(html.unescape(value))
    return fields


def make_job_action(cluster: Cluster, gang: Gang, index: int, **columns: object) -> Action:
    _, group, kind, namespace, name, uid, _ = job_target(gang, index).split("/")
    names = {"api_group": group, "kind": kind, "namespace": namespace, "name": name, "uid": uid}
    return make_action(cluster, gang_id=gang.pk, **names, **columns)


def undo_links(page: str) -> list[str]:
    return [html.unescape(link) for link in re.findall(r'id="undo"[^>]* href="([^"]+)"', page)]


def page_of(person: Person, action: Action) -> str:
    return person.client.get(f"/actions/{action.pk}/").content.decode()


def test_a_suspend_that_held_has_its_resume(operator: Person, cluster: Cluster, gang: Gang) -> None:
    hold_job(cluster, gang, 1, now=timezone.now())
    (link,) = undo_links(page_of(operator, make_job_action(cluster, gang, 1)))
    form = form_of(operator.client.get(link).content.decode())
    assert form["verb"] == ["resume"]
    # The link has no generation: the action itself has moved it on. The form has the one of now.
    assert f"{urlencode({'target': job_target(gang, 1, generation=None)})}&" in link
    assert form["target"] == [job_target(gang, 1)]


@pytest.mark.parametrize("state", ["refused", "reverted", "failed", "unknown"])
def test_a_failed_action_cannot_be_undone(
    operator: Person, cluster: Cluster, gang: Gang, state: str
) -> None:
    assert undo_links(page_of(operator, make_job_action(cluster, gang, 1, state=state))) == []


def test_an_already_resumed_job_has_no_undo(operator: Person, cluster: Cluster, gang: Gang) -> None:
    suspended = make_job_action(cluster, gang, 1)
    make_job_action(cluster, gang, 1, verb="resume")
    assert undo_links(page_of(operator, suspended)) == []


def test_a_viewer_gets_no_undo(viewer: Person, cluster: Cluster, gang: Gang) -> None:
    action = make_job_action(cluster, gang, 1)
    page = page_of(viewer, action)
    assert action.reason in page
    assert undo_links(page) == []


def delete(gang: Gang) -> None:
    """Let the poll have seen the deletion of the JobSet and its Jobs."""
    WatchedObject.objects.filter(uid__startswith=gang.uid).delete()
    Gang.objects.filter(pk=gang.pk).update(gone_at=timezone.now())


@pytest.mark.parametrize(
    "columns", [{}, {"verb": "relocate", "avoid": {"nodes": ["gpu-01"], "topology": []}}]
)
def test_a_deleted_gang_has_no_undo(
    operator: Person, cluster: Cluster, gang: Gang, columns: dict[str, object]
) -> None:
    """The link led to a confirmation that could only refuse."""
    action = make_job_action(cluster, gang, 1, **columns)
    assert len(undo_links(page_of(operator, action))) == 1
    delete(gang)
    page = page_of(operator, action)
    assert action.reason in page
    assert undo_links(page) == []


def test_a_job_that_a_restart_replaced_has_no_undo(
    operator: Person, cluster: Cluster, gang: Gang
) -> None:
    action = make_job_action(cluster, gang, 1)
    Action.objects.filter(pk=action.pk).update(uid="of-the-first-attempt")
    assert undo_links(page_of(operator, action)) == []


def test_a_deleted_owner_has_no_undo(operator: Person, cluster: Cluster, gang: Gang) -> None:
    names = {"api_group": gang.api_group, "kind": gang.kind, "name": gang.name, "uid": gang.uid}
    action = make_action(cluster, gang_id=gang.pk, lever="suspend", **names)
    assert len(undo_links(page_of(operator, action))) == 1
    delete(gang)
    assert undo_links(page_of(operator, action)) == []


def test_the_undo_of_several_leaves_out_deleted_objects(
    operator: Person, cluster: Cluster, gang: Gang
) -> None:
    batch = "d" * 32
    for index in range(3):
        make_job_action(cluster, gang, index, batch=batch)
    assert len(re.findall("target=", batch_undo(operator, batch))) == 3
    WatchedObject.objects.filter(uid=f"{gang.uid}-job-1").delete()
    assert len(re.findall("target=", batch_undo(operator, batch))) == 2
    delete(gang)
    assert batch_undo(operator, batch) == ""


def batch_undo(person: Person, batch: str) -> str:
    """Return the address of the undo of actions that were confirmed together, or an empty text."""
    page = person.client.get(f"/actions/batches/{batch}/").content.decode()
    return "".join(undo_links(page))


def dialog(person: Person, gang: Gang, *indexes: int) -> str:
    query = confirm_query(*job_targets(gang, *indexes))
    form = form_of(person.client.get("/actions/confirm/", query).content.decode())
    answer = person.client.post(
        "/actions/confirm/",
        {**form, "reason": REASON},
        headers={"HX-Request": "true", "HX-Target": "act-body"},
    )
    return answer.content.decode()


def updates(person: Person, shown: str) -> str:
    (address,) = re.findall(r'hx-get="(/live/asked/[^"]+)"', shown)
    (version,) = re.findall(r'"X-Live-Version": "([^"]+)"', html.unescape(shown))
    answer = person.client.get(html.unescape(address), headers={"X-Live-Version": version})
    return answer.content.decode()


def test_the_dialog_shows_the_watch_time_then_the_end(operator: Person, gang: Gang) -> None:
    visible = dialog(operator, gang, 1)
    assert "gangboard continues until the end" in visible
    now = timezone.now()
    Action.objects.update(state="applied", sent_at=now, context={"watch": 40.0})
    watched = updates(operator, visible)
    assert "Watched at least until" in watched
    (until,) = re.findall(r'<time datetime="([^"]+)" data-due>', watched)
    assert until.startswith(f"{now + timedelta(seconds=40):%Y-%m-%dT%H:%M:%S}")
    Action.objects.update(state="verified", finished_at=now)
    over = updates(operator, visible)
    assert "The action has ended." in over
    assert "goes on" not in over
    assert len(undo_links(over)) == 1


def test_several_actions_are_undone_together_after_all_ended(operator: Person, gang: Gang) -> None:
    visible = dialog(operator, gang, 0, 1, 2)
    first, *rest = Action.objects.order_by("name")
    Action.objects.filter(pk=first.pk).update(state="verified", finished_at=timezone.now())
    assert undo_links(updates(operator, visible)) == []
    Action.objects.filter(pk__in=[item.pk for item in rest]).update(
        state="verified", finished_at=timezone.now()
    )
    (link,) = undo_links(updates(operator, visible))
    assert len(re.findall("target=", link)) == 3
