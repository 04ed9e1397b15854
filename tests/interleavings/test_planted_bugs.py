"""Bugs that are planted on purpose: the interleavings must find them, by the right name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction

from gangboard.actions import actor_client, finishing, hold_expiry, hold_removal, rollback, service
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit
from gangboard.actions.requests import AcceptedRequest
from gangboard.domain.action import ActionState
from gangboard.domain.hold import HOLDS, Hold
from gangboard.kube.errors import KubeError, WriteOutcome
from gangboard.kube.write_client import Answer
from gangboard.store import suspend_records
from gangboard.store.models import Action, WatchedObject
from gangboard.store.objects import unpack
from tests.interleavings.play import Result, play
from tests.interleavings.test_interleavings import FIRST, RUNS

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def _find(invariant: str, seed: int) -> Result:
    """Return a run of `make test` in which the invariant is broken.

    `seed` is the run that broke it before. After a change of the code another run may do so.
    """
    for number in sorted(range(FIRST, FIRST + RUNS), key=lambda number: number != seed):
        result = play(number)
        if invariant in result.broken:
            return result
    pytest.fail(f"{invariant} was broken in none of {RUNS} runs")


def test_a_request_that_is_sent_again_when_its_answer_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send = actor_client.send

    def send_stubbornly(
        client: actor_client.ActorClient, step: Any, *, dry_run: bool = False
    ) -> Answer:
        try:
            return send(client, step, dry_run=dry_run)
        except KubeError as error:
            if error.write_outcome is not WriteOutcome.UNKNOWN:
                raise
            return send(client, step, dry_run=dry_run)

    monkeypatch.setattr(actor_client, "send", send_stubbornly)
    found = _find("no_step_is_sent_twice", seed=9)
    assert "2 times" in found.text()
    assert f"GANGBOARD_SEED={found.seed}" in found.text()


def test_an_action_that_is_not_due(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(taken: AcceptedRequest) -> None:
        Action.objects.filter(pk=taken.action_id).update(due_at=None)

    _spoil_requests(monkeypatch, forget)
    _find("every_accepted_request_ends", seed=1)


def test_an_action_whose_transaction_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    _spoil_requests(monkeypatch, lambda _taken: transaction.set_rollback(True))
    assert "is nowhere" in _find("every_accepted_request_ends", seed=1).text()


def _spoil_requests(
    monkeypatch: pytest.MonkeyPatch, spoil: Callable[[AcceptedRequest], None]
) -> None:
    """Have `spoil` run in the transaction of every request, before its end."""
    request = service.request

    def spoilt(*arguments: Any, **options: Any) -> AcceptedRequest:
        with transaction.atomic():
            taken = request(*arguments, **options)
            spoil(taken)
        return taken

    monkeypatch.setattr(service, "request", spoilt)


def test_an_end_that_is_believed_whoever_wrote_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each Hold with an end that is past, as the cluster has it, gangboard asks for the removal."""

    def believe(
        clusters: dict[int, Any], _named: Any, _now: Any
    ) -> Iterator[suspend_records.HoldRecord]:
        for cluster in clusters:
            rows = WatchedObject.objects.filter(cluster=cluster, resource=HOLDS)
            for data in rows.values_list("data", flat=True):
                hold = unpack(bytes(data), Hold)
                yield suspend_records.HoldRecord(
                    key=(cluster, hold.meta.ref.uid),
                    namespace=hold.meta.ref.namespace,
                    job=hold.job_name,
                    owner_uid=hold.owner_uid,
                    job_uid="",
                    ends_at=hold.until or datetime.max.replace(tzinfo=UTC),
                    is_guarded=False,
                )

    monkeypatch.setattr(hold_expiry, "expired_hold_records", believe)
    _find("no_hold_goes_before_its_end", seed=10)


def test_a_hold_that_is_left_armed(monkeypatch: pytest.MonkeyPatch) -> None:
    def end_only(execution: ActionExecution) -> float:
        exit_ = execution.context["exit"]
        if execution.action.finished_at is None:
            finishing.finish(execution, ActionExit(ActionState(exit_["state"]), exit_["sentence"]))
        else:
            execution.write(due_at=None)
        return 0.0

    monkeypatch.setattr(hold_removal, "remove_hold", end_only)
    _find("no_hold_is_left_that_nobody_asked_for", seed=6)


def test_a_relocated_job_that_is_left_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollback, "roll_back", lambda _execution: "")
    assert "no_relocated_job_stays_suspended" in play(70, relocates=True).broken
