"""Buttons of Jobs: their labels, and their absence where they have no effect."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from gangboard.domain.owner import Finish, Outcome, Owner
from gangboard.store.gangs import pack_detail, unpack_detail
from gangboard.store.models import Action, AuditEntry, Cluster, Gang, WatchedObject
from gangboard.store.objects import pack, unpack
from tests.personas import Person
from tests.recorded_actions import make_action
from tests.stored_jobsets import JOBSETS
from tests.web.acting import (
    REASON,
    confirm_query,
    hold_job,
    job_targets,
    suspend_stored,
    text_of,
)

pytestmark = pytest.mark.django_db

HOLD = "Keep this Job suspended when the JobSet resumes."
RELEASE = "Remove the Hold; the Job resumes with its JobSet."
LOOK_ONLY = "You have only read access to this namespace."
DIALOG = {"HX-Request": "true", "HX-Target": "act-body"}
FAILED = "has failed: there is nothing left to suspend or resume."


def page_of(person: Person, gang: Gang) -> str:
    return text_of(person.client.get(f"/gangs/{gang.pk}/"))


def submitted(person: Person, *targets: str, verb: str = "suspend") -> str:
    return text_of(person.client.get("/actions/confirm/", confirm_query(*targets, verb=verb)))


def press(person: Person, *targets: str, verb: str = "suspend") -> str:
    """Submit the dialog and return its text."""
    form = {**confirm_query(*targets, verb=verb), "reason": REASON}
    return text_of(person.client.post("/actions/confirm/", form, headers=DIALOG))


def heading(page: str) -> str:
    (matches,) = re.findall(r"<h1[^>]*>([^<]+)</h1>", page)
    return str(matches)


def buttons(page: str) -> list[str]:
    """Return labels and targets of the buttons of single objects, enabled or disabled."""
    matches = re.findall(
        r'(\w+)<span class="unseen"> (Job|JobSet) ([\w-]+)</span></(?:a|button)>', page
    )
    return [" ".join(item) for item in matches]


def bar(page: str) -> list[str]:
    """Return the words below the Jobs that act on the selected ones."""
    return re.findall(r"<button[^>]*>(\w+) selected", page)


def change_owner(gang: Gang, **fields: Any) -> None:
    row = WatchedObject.objects.get(cluster=gang.cluster, resource=JOBSETS, name=gang.name)
    row.data = pack(replace(unpack(bytes(row.data), Owner), **fields))
    row.save()


def suspend_all(gang: Gang) -> None:
    """Suspend the whole JobSet: the JobSet and each of its Jobs."""
    change_owner(gang, suspended=True)
    detail = unpack_detail(bytes(gang.detail))
    for job in detail.jobs:
        suspend_stored(gang, job.ref.name)
    jobs = tuple(replace(job, suspended=True, created=0, ready=0, nodes=()) for job in detail.jobs)
    Gang.objects.filter(pk=gang.pk).update(
        detail=pack_detail(replace(detail, jobs=jobs)),
        health="suspended",
        stage="admission",
        code="suspended",
    )
    gang.refresh_from_db()


def stop_in_page(gang: Gang, *indexes: int) -> None:
    """Let the page say that these Jobs are suspended."""
    detail = unpack_detail(bytes(gang.detail))
    jobs = tuple(
        replace(job, suspended=True) if index in indexes else job
        for index, job in enumerate(detail.jobs)
    )
    Gang.objects.filter(pk=gang.pk).update(detail=pack_detail(replace(detail, jobs=jobs)))


class TestSuspendedWhole:
    def test_a_job_is_held_and_the_jobset_resumed(self, operator: Person, gang: Gang) -> None:
        suspend_all(gang)
        page = page_of(operator, gang)
        jobs = [f"Hold Job llama-workers-{index}" for index in range(3)]
        assert sorted(buttons(page)) == sorted(["Resume JobSet llama", *jobs])
        assert bar(page) == ["Hold"]
        assert page.count(f"<b>Hold</b>: {HOLD}") == 1
        assert page.count(f'title="{HOLD}"') == 3
        assert "The others keep running." not in page

    def test_a_held_job_is_released(self, operator: Person, cluster: Cluster, gang: Gang) -> None:
        suspend_all(gang)
        hold_job(cluster, gang, 0, now=timezone.now())
        page = page_of(operator, gang)
        assert "Release Job llama-workers-0" in buttons(page)
        assert bar(page) == ["Hold", "Release"]
        assert f"<b>Release</b>: {RELEASE}" in page

    def test_the_dialog_has_the_same_verb(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        suspend_all(gang)
        page = submitted(operator, *job_targets(gang, 1))
        assert re.findall(r"<h1[^>]*>([^<]+)</h1>", page) == ["Hold Job llama-workers-1"]
        assert ">Hold Job llama-workers-1</button>" in page
        assert page.count(HOLD) == 1
        page = submitted(operator, *job_targets(gang, 0, 1))
        assert ">Hold 2 Jobs</button>" in page
        hold_job(cluster, gang, 0, now=timezone.now())
        page = submitted(operator, *job_targets(gang, 0), verb="resume")
        assert ">Release Job llama-workers-0</button>" in page
        assert page.count(RELEASE) == 1

    def test_the_api_has_the_same_words(self, operator: Person, gang: Gang) -> None:
        suspend_all(gang)
        (job, *_) = operator.client.get(f"/api/v1/gangs/{gang.pk}/").json()["jobs"]
        assert [
            (action["verb"], action["label"], action["meaning"]) for action in job["actions"]
        ] == [
            ("suspend", "Hold", HOLD),
            ("resume", "Resume", None),
            ("relocate", "Relocate", None),
        ]


class TestRecord:
    """An action keeps its button's label in the dialog, on all pages, in the audit and in the API."""

    def test_a_hold_keeps_its_verb(self, operator: Person, gang: Gang) -> None:
        suspend_all(gang)
        subject = "Hold Job llama-workers-1"
        assert heading(press(operator, *job_targets(gang, 1))) == subject
        (action,) = Action.objects.all()
        assert (action.verb, action.button) == ("suspend", "Hold")
        for address in ("/actions/", f"/actions/{action.pk}/", f"/gangs/{gang.pk}/"):
            page = text_of(operator.client.get(address))
            assert "Hold llama-workers-1" in page or subject in page, address
            assert "Suspend llama-workers-1" not in page, address
            assert "Suspend Job llama-workers-1" not in page, address
        answer = operator.client.get(f"/api/v1/actions/{action.pk}/").json()
        assert (answer["verb"], answer["button"]) == ("suspend", "Hold")
        assert "oda asked to hold Job" in AuditEntry.objects.get(event="requested").sentence

    def test_a_release_and_its_undo_keep_their_verbs(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        suspend_all(gang)
        hold_job(cluster, gang, 0, now=timezone.now())
        page = press(operator, *job_targets(gang, 0), verb="resume")
        assert heading(page) == "Release Job llama-workers-0"
        Action.objects.update(
            state="verified", lever="hold", finished_at=timezone.now(), message="Done."
        )
        page = text_of(operator.client.get(f"/actions/{Action.objects.get().pk}/"))
        assert re.findall(r"Undo: (\w+)", page) == ["Hold"]

    def test_a_whole_gang_and_a_job_that_runs_are_suspended(
        self, operator: Person, gang: Gang
    ) -> None:
        assert heading(press(operator, *job_targets(gang, 1))) == "Suspend Job llama-workers-1"
        assert Action.objects.get().button == "Suspend"

    def test_an_action_of_an_older_release_has_its_verb(self, cluster: Cluster) -> None:
        assert make_action(cluster, verb="resume", context={}).button == "Resume"


class TestPartlySuspended:
    def test_a_job_that_runs_is_suspended_and_a_held_one_resumed(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        hold_job(cluster, gang, 0, now=timezone.now())
        page = page_of(operator, gang)
        assert {"Resume Job llama-workers-0", "Suspend Job llama-workers-1"} <= set(buttons(page))
        assert bar(page) == ["Suspend", "Resume"]

    def test_differing_suspend_states_set_the_verb(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        suspend_stored(gang, "llama-workers-0")
        stop_in_page(gang, 0)
        page = page_of(operator, gang)
        assert {"Resume Job llama-workers-0", "Suspend Job llama-workers-1"} <= set(buttons(page))
        assert bar(page) == ["Suspend", "Resume"]
        page = submitted(operator, *job_targets(gang, 0, 1))
        assert ">Suspend 2 Jobs</button>" in page
        assert page.count("Keep this Job suspended.") == 1

    @pytest.mark.parametrize(("stopped", "remaining"), [((), 1), ((0,), 1), ((0, 1), 0)])
    def test_the_note_on_other_jobs_needs_two_running_jobs(
        self, operator: Person, gang: Gang, stopped: tuple[int, ...], remaining: int
    ) -> None:
        stop_in_page(gang, *stopped)
        for index in stopped:
            suspend_stored(gang, f"llama-workers-{index}")
        assert page_of(operator, gang).count("The others keep running.") == remaining


class TestNothingCanBeSuspended:
    def test_jobs_of_a_failed_jobset_have_no_button(self, operator: Person, gang: Gang) -> None:
        change_owner(gang, finish=Finish(Outcome.FAILED))
        Gang.objects.filter(pk=gang.pk).update(health="failed", stage="run", code="failed")
        page = page_of(operator, gang)
        assert buttons(page) == []
        assert bar(page) == []
        assert page.count(FAILED) <= 1, "no sentence for each Job"

    def test_a_reason_is_shown_once_and_on_demand(self, viewer: Person, gang: Gang) -> None:
        page = page_of(viewer, gang)
        assert buttons(page) == []
        assert page.count(LOOK_ONLY) == 1
        (inside,) = re.findall(r"<details class=\"why-off\".*?</details>", page, re.S)
        assert LOOK_ONLY in inside
        assert 'Cannot suspend<span class="unseen"> JobSet llama</span></summary>' in inside
