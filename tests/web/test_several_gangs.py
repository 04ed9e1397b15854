"""Several gangs that are selected on the Board: said first as a whole, then one action for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from gangboard.actions.requests import MOST_AT_ONCE
from gangboard.domain.action import ActionTarget
from gangboard.domain.owner import Owner
from gangboard.pages.core.forms import element_key, write_target
from gangboard.store.models import Action, AuditEntry, Cluster, Gang, Grant, WatchedObject
from gangboard.store.objects import pack, unpack
from tests.personas import Person, make_stranger
from tests.stored_jobsets import GENERATION, JOBSETS
from tests.web.acting import REASON, confirm_query, make_run, text_of
from tests.web.test_acting import form_of

pytestmark = pytest.mark.django_db
CONFIRM = "/actions/confirm/"
DIALOG = {"HX-Request": "true", "HX-Target": "act-body"}


@pytest.fixture
def second_gang(cluster: Cluster) -> Gang:
    """A second JobSet of the same namespace."""
    return make_run(cluster, "qwen", now=timezone.now())


@pytest.fixture
def foreign(cluster: Cluster) -> Gang:
    """A JobSet of a namespace in which the operator has another role, or none."""
    return make_run(cluster, "whisper", now=timezone.now(), namespace="vision")


def owner_target(gang: Gang, generation: int = GENERATION) -> str:
    """Return a gang's owner as a form names it."""
    return write_target(
        ActionTarget(
            cluster=gang.cluster.name,
            api_group=gang.api_group,
            kind=gang.kind,
            namespace=gang.namespace,
            name=gang.name,
            uid=gang.uid,
            generation=generation,
        )
    )


def confirm(person: Person, gangs: Iterable[Gang], verb: str = "suspend") -> Any:
    query = confirm_query(*(owner_target(gang) for gang in gangs), verb=verb)
    return person.client.get(CONFIRM, query)


def suspend_stored_owner(gang: Gang) -> None:
    row = WatchedObject.objects.get(cluster=gang.cluster, resource=JOBSETS, name=gang.name)
    row.data = pack(replace(unpack(bytes(row.data), Owner), suspended=True))
    row.save()


class TestBoard:
    def test_a_row_has_the_verb_for_the_state_of_its_owner(
        self, operator: Person, gang: Gang, second_gang: Gang
    ) -> None:
        """The keys `s` and `r` act on it. One Job of `llama` is deactivated, `qwen` is suspended itself."""
        stopped = {"health": "suspended", "code": "deactivated"}
        Gang.objects.filter(pk=gang.pk).update(**stopped, stage="run")
        Gang.objects.filter(pk=second_gang.pk).update(**stopped, stage="admission")
        suspend_stored_owner(second_gang)
        page = text_of(operator.client.get("/"))
        for each, verb in ((gang, "suspend"), (second_gang, "resume")):
            assert f'value="{owner_target(each)}" data-verb="{verb}"' in page

    def test_an_operator_can_select_rows_and_act(
        self, operator: Person, gang: Gang, foreign: Gang
    ) -> None:
        Grant.objects.create(
            user=operator.user, role="viewer", cluster=gang.cluster, namespace="vision"
        )
        page = text_of(operator.client.get("/"))
        box = f'id="pick-{element_key(gang.uid)}" form="pick" name="target" value="{owner_target(gang)}"'
        assert f'{box} data-verb="suspend"' in page, (
            "the words of the buttons follow what is ticked"
        )
        assert f'id="pick-{element_key(foreign.uid)}"' not in page, "its menu says why"
        assert '<form id="pick" class="gangs-pick" method="get" action="/actions/confirm/"' in page
        assert f'data-most="{MOST_AT_ONCE}"' in page

    def test_a_viewer_cannot_select_rows(self, viewer: Person, gang: Gang) -> None:
        page = text_of(viewer.client.get("/"))
        assert 'name="target"' not in page
        assert 'form="pick"' not in page
        assert 'id="pick"' not in page


class TestConfirmation:
    def test_the_confirmation_lists_skipped_gangs_with_reasons(
        self, operator: Person, gang: Gang, second_gang: Gang, foreign: Gang
    ) -> None:
        suspend_stored_owner(second_gang)
        Grant.objects.create(
            user=operator.user, role="viewer", cluster=gang.cluster, namespace="vision"
        )
        response = confirm(operator, (gang, second_gang, foreign))
        page = text_of(response)
        assert "JobSet qwen is suspended already" in page
        assert "oda is not an operator of namespace vision of cluster eu-train." in page
        assert form_of(response)["target"] == [owner_target(gang)]

    def test_a_selection_without_possible_actions_has_no_button(
        self, viewer: Person, gang: Gang, second_gang: Gang
    ) -> None:
        page = text_of(confirm(viewer, (gang, second_gang)))
        assert 'name="reason"' not in page

    def test_a_stranger_gets_404(self, gang: Gang, second_gang: Gang) -> None:
        assert confirm(make_stranger(), (gang, second_gang)).status_code == 404

    def test_a_selection_above_the_limit_is_refused(self, operator: Person, gang: Gang) -> None:
        names = [
            owner_target(gang).replace(gang.uid, f"uid-{number}")
            for number in range(MOST_AT_ONCE + 1)
        ]
        response = operator.client.get(CONFIRM, confirm_query(*names), headers=DIALOG)
        assert response.status_code == 400
        assert response["X-Act"] == "yes", "shown where it was asked"
        assert "51 objects are too many for one confirmation; the maximum is 50." in text_of(
            response
        )

    def test_the_queries_per_gang_are_bounded(
        self, operator: Person, cluster: Cluster, django_assert_max_num_queries: Any
    ) -> None:
        gangs = [make_run(cluster, f"run-{number}", now=timezone.now()) for number in range(10)]
        with django_assert_max_num_queries(30 + 14 * len(gangs)):
            assert "Suspend 10 JobSets" in text_of(confirm(operator, gangs))


class TestRequest:
    def test_a_repeated_form_makes_one_action_for_each_gang(
        self, operator: Person, gang: Gang, second_gang: Gang
    ) -> None:
        form = form_of(confirm(operator, (gang, second_gang)))
        answers = [operator.client.post(CONFIRM, {**form, "reason": REASON}) for _ in range(2)]
        (batch,) = {action.batch for action in Action.objects.all()}
        assert {answer["Location"] for answer in answers} == {f"/actions/batches/{batch}/"}
        assert {(action.uid, action.verb, action.reason) for action in Action.objects.all()} == {
            (gang.uid, "suspend", REASON),
            (second_gang.uid, "suspend", REASON),
        }
        assert AuditEntry.objects.filter(event="requested").count() == 2

    def test_changed_gangs_are_skipped_and_listed(
        self, operator: Person, gang: Gang, second_gang: Gang
    ) -> None:
        form = form_of(confirm(operator, (gang, second_gang)))
        stale = [
            name.replace(f"/{GENERATION}", f"/{GENERATION - 1}") if "qwen" in name else name
            for name in form["target"]
        ]
        response = operator.client.post(CONFIRM, {**form, "target": stale, "reason": REASON})
        assert response.status_code == 200
        page = text_of(response)
        assert "JobSet qwen has changed since you looked" in page
        assert [action.uid for action in Action.objects.all()] == [gang.uid]

    def test_a_partly_forbidden_selection_is_refused_and_audited(
        self, operator: Person, gang: Gang, foreign: Gang
    ) -> None:
        Grant.objects.create(
            user=operator.user, role="viewer", cluster=gang.cluster, namespace="vision"
        )
        form = form_of(confirm(operator, (gang,)))
        both = [owner_target(gang), owner_target(foreign)]
        response = operator.client.post(CONFIRM, {**form, "target": both, "reason": REASON})
        assert "oda is not an operator of namespace vision" in text_of(response)
        assert [action.uid for action in Action.objects.all()] == [gang.uid]
        assert AuditEntry.objects.filter(event="denied").count() == 1

    def test_too_many_gangs_are_refused(self, operator: Person, gang: Gang) -> None:
        form = form_of(confirm(operator, (gang,)))
        names = [
            owner_target(gang).replace(gang.uid, f"uid-{number}")
            for number in range(MOST_AT_ONCE + 1)
        ]
        response = operator.client.post(CONFIRM, {**form, "target": names, "reason": REASON})
        assert response.status_code == 400
        assert not Action.objects.exists()
