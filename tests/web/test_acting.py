"""Actions without script: permissions, confirmation and result."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import MemberState
from gangboard.pages.core.live.notifier import Notifier
from gangboard.store.gangs import pack_detail, unpack_detail
from gangboard.store.models import Action, AuditEntry, Cluster, Gang, Grant, WatchedObject
from tests.personas import Person, make_operator, make_owner, make_stranger
from tests.stored_jobsets import GENERATION
from tests.web.acting import (
    REASON,
    confirm_query,
    hold_job,
    job_target,
    job_targets,
    text_of,
    without_token,
)

pytestmark = pytest.mark.django_db
Answer = Any
"""The type of Django's test responses is private."""


def confirm_jobs(gang: Gang, *indexes: int) -> dict[str, Any]:
    return confirm_query(*job_targets(gang, *indexes))


def form_of(response: Answer) -> dict[str, Any]:
    """Return the fields of the unchanged form, without a reason."""
    page = response.content.decode()
    fields: dict[str, Any] = {}
    form = page[page.index('class="act-form"') :]
    for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form):
        fields.setdefault(name, []).append(html.unescape(value))
    return fields


def submit(person: Person, gang: Gang, *indexes: int, **options: Any) -> Answer:
    """Go the whole way: open the confirmation, give a reason, send."""
    form = form_of(person.client.get("/actions/confirm/", confirm_jobs(gang, *indexes)))
    return person.client.post("/actions/confirm/", {**form, "reason": REASON, **options})


class TestConfirmation:
    def test_the_confirmation_shows_lever_steps_reactions_and_requests(
        self, operator: Person, gang: Gang
    ) -> None:
        response = operator.client.get("/actions/confirm/", confirm_jobs(gang, 1))
        page = text_of(response)
        assert response.status_code == 200
        for fragment in (
            "Suspend Job llama-workers-1",
            "research · eu-train",
            " · Hold</span>",
            "spec.suspend",
            "/apis/batch/v1/namespaces/research/jobs/llama-workers-1",
            "/apis/gangboard.dev/v1alpha1/namespaces/research/holds",
            "What will happen",
            "tested on this Job first",
            'name="until"',
            'name="reason"',
            "required",
        ):
            assert fragment in page, fragment
        assert response["Cache-Control"] == "no-store"

    def test_the_confirmation_begins_with_ended_pods_and_freed_resources(
        self, operator: Person, gang: Gang
    ) -> None:
        ref = ObjectRef("", "Pod", "research", "p", "pod-uid")
        pod = MemberState(ref, "llama-workers-1", "", Health.WAITING, "waiting")
        gang.detail = pack_detail(replace(unpack_detail(bytes(gang.detail)), members=(pod,)))
        gang.save()
        sentence = "1 pod ends; no accelerator becomes free."
        for job, expected in ((0, False), (1, True)):
            page = text_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, job)))
            assert (sentence in page) == expected

    def test_the_confirmation_writes_no_rows(
        self, operator: Person, gang: Gang, viewer: Person
    ) -> None:
        versions = list(Cluster.objects.values_list("data_version", flat=True))
        for person in (operator, viewer):
            person.client.get("/actions/confirm/", confirm_jobs(gang, 0, 1, 2))
        assert Action.objects.count() == 0
        assert AuditEntry.objects.count() == 0
        assert list(Cluster.objects.values_list("data_version", flat=True)) == versions

    def test_a_form_has_a_key_of_its_own(self, operator: Person, gang: Gang) -> None:
        keys = {
            form_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 1)))["key"][0]
            for _ in range(2)
        }
        assert len(keys) == 2

    def test_a_refusal_says_why_and_what_it_needs(self, operator: Person, gang: Gang) -> None:
        Cluster.objects.update(actor_credentials=None)
        page = text_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 1)))
        assert "Cluster eu-train has no actor: gangboard may only read it." in page
        assert "manage.py set_actor eu-train --kubeconfig FILE" in page
        assert 'type="submit" class="primary"' not in page

    def test_a_silent_cluster_has_a_reason_and_no_button(
        self, operator: Person, gang: Gang
    ) -> None:
        silent_since = timezone.now() - timedelta(minutes=3)
        Cluster.objects.update(contact_at=silent_since, problem="timeout")
        page = text_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 1)))
        since = f"{silent_since:%Y-%m-%d %H:%M} UTC"
        assert f"Cluster eu-train has not answered since {since}." in page
        assert 'type="submit" class="primary"' not in page

    @pytest.mark.parametrize(
        "query",
        [
            "",
            "verb=explode&target=a/b/c/d/e/f/1",
            "verb=suspend",
            "verb=suspend&target=nonsense",
            "verb=suspend&target=a/b/c/d/e/f/-1",
            "verb=suspend&target=a/b/c/d/e/f/" + "9" * 30,
            "verb=suspend&target=%00/b/c/d/e/f/1",
            "verb=suspend&" + "&".join(f"target=c/batch/Job/n/j{i}/u{i}/1" for i in range(51)),
        ],
    )
    def test_an_address_without_targets_is_a_400(self, operator: Person, query: str) -> None:
        assert operator.client.get(f"/actions/confirm/?{query}").status_code == 400

    @pytest.mark.parametrize(
        ("role", "namespace", "offered"),
        [
            ("admin", "", True),
            ("admin", "research", True),
            ("admin", "vision", False),
            ("operator", "", False),
        ],
    )
    def test_a_namespace_admin_gets_the_actions_of_the_api(
        self, role: str, namespace: str, offered: bool, cluster: Cluster, gang: Gang
    ) -> None:
        WatchedObject.objects.filter(resource__contains="mutatingadmission").delete()
        person = make_operator(cluster, namespace="", name="cara")
        Grant.objects.get_or_create(
            user=person.user, role=role, cluster=cluster, namespace=namespace
        )
        page = text_of(person.client.get("/actions/confirm/", confirm_jobs(gang, 1)))
        assert ("As an admin you can try" in page) is offered
        forced = {**confirm_jobs(gang, 1), "forced": "1"}
        answer = person.client.get("/actions/confirm/", forced)
        assert (answer.status_code == 200) is offered, "as the service says to the API"

    def test_an_admin_may_use_an_unproved_lever(self, gang: Gang) -> None:
        admin = make_owner()
        WatchedObject.objects.filter(resource__contains="mutatingadmission").delete()
        page = text_of(admin.client.get("/actions/confirm/", confirm_jobs(gang, 1)))
        assert "Not possible" in page
        assert "Show what would be sent" in page
        forced = {**confirm_jobs(gang, 1), "forced": "1"}
        page = text_of(admin.client.get("/actions/confirm/", forced))
        assert "This lever is not tested here" in page
        assert 'name="forced" value="1"' in page

    def test_an_operator_may_not_use_an_unproved_lever(self, operator: Person, gang: Gang) -> None:
        WatchedObject.objects.filter(resource__contains="mutatingadmission").delete()
        page = text_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 1)))
        assert "Not possible" in page
        assert "Show what would be sent" not in page


class TestRequest:
    def test_a_request_redirects_to_its_action(self, operator: Person, gang: Gang) -> None:
        response = submit(operator, gang, 1)
        action = Action.objects.get()
        assert response.status_code == 303
        assert response["Location"] == f"/actions/{action.pk}/"
        assert (action.verb, action.name, action.reason, action.via, action.actor_name) == (
            "suspend",
            "llama-workers-1",
            REASON,
            "page",
            "oda",
        )
        assert action.generation == GENERATION
        page = text_of(operator.client.get(response["Location"]))
        assert "Requested" in page
        assert REASON in page

    def test_a_repeated_form_makes_one_action(self, operator: Person, gang: Gang) -> None:
        form = form_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 1)))
        answers = [
            operator.client.post("/actions/confirm/", {**form, "reason": REASON})["Location"]
            for _ in range(2)
        ]
        assert Action.objects.count() == 1
        assert answers[0] == answers[1]

    def test_an_end_is_entered_in_the_users_time_zone(self, operator: Person, gang: Gang) -> None:
        operator.client.cookies["zone"] = "Asia/Kolkata"
        page = text_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 1)))
        assert "(Asia/Kolkata, optional)" in page
        later = timezone.now().replace(microsecond=0, second=0) + timedelta(hours=4)
        typed = later.astimezone(ZoneInfo("Asia/Kolkata")).strftime("%Y-%m-%dT%H:%M")
        # The zone of the form counts, even if the user has switched to UTC since.
        del operator.client.cookies["zone"]
        submit(operator, gang, 1, until=typed, zone="Asia/Kolkata")
        assert Action.objects.get().until == later

    def test_until_is_read_as_utc(self, operator: Person, gang: Gang) -> None:
        later = timezone.now().replace(microsecond=0, second=0) + timedelta(hours=4)
        submit(operator, gang, 1, until=later.strftime("%Y-%m-%dT%H:%M"))
        assert Action.objects.get().until == later

    @pytest.mark.parametrize(
        ("field", "value", "sentence"),
        [
            ("reason", "", "A reason of at least 3 characters is needed."),
            ("until", "tomorrow", "Until is not a time"),
            ("until", "2020-01-01T00:00", "Until must be in the future"),
            ("until", "0001-01-01T00:00", "Until must be in the future"),
            ("until", "9999-12-31T23:59", "at most 30 days"),
            # In UTC these are after the last and before the first moment of the calendar.
            ("until", "9999-12-31T23:59-14:00", "Until is not a time"),
            ("until", "0001-01-01T00:00+14:00", "Until is not a time"),
        ],
    )
    def test_an_error_stands_beside_the_button_and_the_form_keeps_its_values(
        self, operator: Person, gang: Gang, field: str, value: str, sentence: str
    ) -> None:
        response = submit(operator, gang, 1, **{field: value})
        page = text_of(response)
        assert response.status_code == 400
        assert sentence in page
        assert "Suspend Job llama-workers-1</button>" in page
        if field in ("reason", "until"):
            (marked,) = [tag for tag in page.split("<input ") if 'aria-invalid="true"' in tag]
            assert f'name="{field}"' in marked
            assert "autofocus" in marked.partition(">")[0]
        if field == "until":
            assert f'value="{REASON}"' in page
        assert Action.objects.count() == 0

    def test_a_stale_page_shows_both_generations_and_offers_a_retry(
        self, operator: Person, gang: Gang
    ) -> None:
        old = {"verb": "suspend", "target": job_target(gang, 1, GENERATION - 1), "key": "k-1"}
        first = operator.client.get("/actions/confirm/", old)
        assert first.status_code == 200
        assert "it is at generation 3, you saw 2" in text_of(first)
        sent = operator.client.post("/actions/confirm/", {**old, "reason": REASON})
        assert sent.status_code == 409
        assert "it is at generation 3, you saw 2" in text_of(sent)
        assert Action.objects.count() == 0
        second_answer = operator.client.post(
            "/actions/confirm/", {**form_of(sent), "reason": REASON}
        )
        assert second_answer.status_code == 303
        assert Action.objects.get().generation == GENERATION

    def test_a_recreated_object_of_the_same_name_is_not_offered(
        self, operator: Person, gang: Gang
    ) -> None:
        another = job_target(gang, 1).replace("-job-1", "-job-9")
        response = operator.client.get("/actions/confirm/", {"verb": "suspend", "target": another})
        assert response.status_code == 409
        assert "Another object has the name llama-workers-1 now" in text_of(response)
        assert 'class="primary"' not in text_of(response)

    def test_a_conflicting_action_is_refused(self, operator: Person, gang: Gang) -> None:
        submit(operator, gang, 1)
        response = submit(make_owner(), gang, 1)
        assert response.status_code == 409
        assert "oda already asked to suspend Job llama-workers-1" in text_of(response)
        assert f"/actions/{Action.objects.get().pk}/" in text_of(response)


class TestSeveral:
    def test_three_jobs_share_one_confirmation(self, operator: Person, gang: Gang) -> None:
        page = text_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 0, 1, 2)))
        assert "Suspend 3 Jobs" in page
        response = submit(operator, gang, 0, 1, 2)
        batch = {action.batch for action in Action.objects.all()}
        assert len(batch) == 1
        assert response["Location"] == f"/actions/batches/{batch.pop()}/"
        page = text_of(operator.client.get(response["Location"]))
        for index in range(3):
            assert f"llama-workers-{index}" in page
        assert "3 of 3 not sent yet." in page

    def test_a_repeated_form_leads_to_the_same_actions(self, operator: Person, gang: Gang) -> None:
        form = form_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 0, 1)))
        answers = [
            operator.client.post("/actions/confirm/", {**form, "reason": REASON})["Location"]
            for _ in range(2)
        ]
        assert answers[0] == answers[1]
        assert Action.objects.count() == 2

    def test_each_action_succeeds_or_fails_independently(
        self, operator: Person, gang: Gang
    ) -> None:
        form = form_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 0, 1)))
        submit(operator, gang, 1)
        response = operator.client.post("/actions/confirm/", {**form, "reason": REASON})
        assert response.status_code == 200
        page = text_of(response)
        assert "Not requested" in page
        assert "Job llama-workers-1" in page
        assert "oda already asked to suspend Job llama-workers-1" in page
        assert {action.name for action in Action.objects.all()} == {
            "llama-workers-0",
            "llama-workers-1",
        }

    def test_impossible_actions_are_listed_and_skipped(
        self, operator: Person, cluster: Cluster, gang: Gang
    ) -> None:
        hold_job(cluster, gang, 2, now=timezone.now())
        response = operator.client.get("/actions/confirm/", confirm_jobs(gang, 1, 2))
        assert "Not possible" in text_of(response)
        assert form_of(response)["target"] == [job_target(gang, 1)]

    def test_equal_refusals_are_listed_once(self, operator: Person, gang: Gang) -> None:
        WatchedObject.objects.filter(resource__contains="mutatingadmission").delete()
        page = text_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 0, 1, 2)))
        assert page.count("Not possible") == 1
        folded = page.partition("<summary><b>3 Jobs</b></summary>")[2].partition("</details>")[0]
        for number in range(3):
            assert f"Job llama-workers-{number} " in folded
        single = text_of(operator.client.get("/actions/confirm/", confirm_jobs(gang, 1)))
        assert "<b>Job llama-workers-1</b>" in single
        assert "3 Jobs" not in single

    def test_pending_actions_can_be_stopped(self, operator: Person, gang: Gang) -> None:
        address = submit(operator, gang, 0, 1, 2)["Location"]
        response = operator.client.post(f"{address}stop/")
        assert response.status_code == 303
        assert Action.objects.exclude(stop_asked_by="").count() == 3
        late = operator.client.post(f"{address}stop/")
        assert late.status_code == 409
        assert "Nothing was left to stop: 3 had been stopped before." in text_of(late)

    def test_sent_and_finished_actions_are_distinguished(
        self, operator: Person, gang: Gang
    ) -> None:
        address = submit(operator, gang, 0, 1, 2)["Location"]
        first, second, _ = Action.objects.order_by("requested_at", "id")
        now = timezone.now()
        Action.objects.filter(pk=first.pk).update(sent_at=now)
        Action.objects.filter(pk=second.pk).update(finished_at=now, state="refused")
        done = operator.client.post(f"{address}stop/", headers={"HX-Request": "true"})
        assert "1 was stopped before anything was sent." in text_of(done)
        late = operator.client.post(f"{address}stop/")
        assert (
            "Nothing was left to stop: 1 had been sent already, 1 had ended before, "
            "1 had been stopped before." in text_of(late)
        )

    def test_a_viewer_has_no_stop_button_and_reads_the_reason(
        self, operator: Person, viewer: Person, gang: Gang
    ) -> None:
        address = submit(operator, gang, 0, 1, 2)["Location"]
        page = text_of(viewer.client.get(address))
        assert "3 of 3 not sent yet." in page
        assert "Stop what has not been sent" not in page
        assert "Stop what has not been sent" in text_of(operator.client.get(address))
        refused = viewer.client.post(f"{address}stop/")
        assert refused.status_code == 403
        assert "did not request this and is not an operator of namespace research" in text_of(
            refused
        )
        assert Action.objects.exclude(stop_asked_by="").count() == 0
        (denied,) = AuditEntry.objects.filter(event="denied")
        assert denied.actor_name == viewer.user.username
        assert "may not stop “Suspend Job research/" in denied.sentence
        assert denied.source == "127.0.0.1"

    def test_the_requesters_stop_button_is_hidden_from_others_of_the_same_role(
        self,
        operator: Person,
        viewer: Person,
        gang: Gang,
        own_notifier: Notifier,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The requester may stop the action even as a viewer. Other viewers get no stop button."""
        # People of equal roles share a reading only while the position is known and stays.
        monkeypatch.setattr(own_notifier, "position", lambda viewer: "the same for both")
        address = submit(operator, gang, 0, 1, 2)["Location"]
        Grant.objects.filter(user=operator.user).update(role="viewer")
        live = f"/live/batches/{address.rstrip('/').rpartition('/')[2]}/"
        for person, may in ((operator, True), (viewer, False), (operator, True)):
            news = text_of(person.client.get(live))
            assert ("Stop what has not been sent" in news) is may


class TestRoles:
    def test_a_viewers_request_is_refused_and_audited(self, viewer: Person, gang: Gang) -> None:
        page = viewer.client.get("/actions/confirm/", confirm_jobs(gang, 1))
        assert page.status_code == 403
        assert "not an operator" in text_of(page)
        sent = viewer.client.post("/actions/confirm/", {**confirm_jobs(gang, 1), "reason": REASON})
        assert sent.status_code == 403
        assert Action.objects.count() == 0
        denied = AuditEntry.objects.get()
        assert (denied.event, denied.source) == ("denied", "127.0.0.1")

    def test_a_stranger_gets_404(self, gang: Gang) -> None:
        stranger = make_stranger()
        missing = without_token(stranger.client.get("/no-such-page/").content.decode())
        for index in (1, 9):
            query = confirm_jobs(gang, index)
            assert stranger.client.get("/actions/confirm/", query).status_code == 404
            page = stranger.client.get("/actions/confirm/", query).content.decode()
            assert without_token(page) == missing
            sent = stranger.client.post("/actions/confirm/", {**query, "reason": REASON})
            assert sent.status_code == 404

    def test_an_anonymous_user_is_sent_to_sign_in(self, gang: Gang) -> None:
        for answer in (
            Client().get("/actions/confirm/", confirm_jobs(gang, 1)),
            Client().post("/actions/confirm/", {**confirm_jobs(gang, 1), "reason": REASON}),
            Client().post("/actions/batches/x/stop/"),
        ):
            assert answer.status_code == 302
            assert answer["Location"].startswith("/sign-in/")
        assert Action.objects.count() == 0


def test_a_form_without_the_csrf_token_is_refused(operator: Person, gang: Gang) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(operator.user)
    form = form_of(strict.get("/actions/confirm/", confirm_jobs(gang, 1)))
    token = form.pop("csrfmiddlewaretoken")[0]
    for wrong in ({}, {"csrfmiddlewaretoken": "x" * 64}):
        answer = strict.post("/actions/confirm/", {**form, **wrong, "reason": REASON})
        assert answer.status_code == 403
    assert strict.post("/actions/batches/x/stop/").status_code == 403
    assert Action.objects.count() == 0
    assert (
        strict.post(
            "/actions/confirm/",
            {**form, "csrfmiddlewaretoken": token, "reason": REASON},
        ).status_code
        == 303
    )
