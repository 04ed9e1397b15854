"""Entry points for pages and API: preview, request, stop. The act worker does everything else."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction

from gangboard.actions import requests
from gangboard.actions.dispatch import wake
from gangboard.actions.previews import button_labels, preview_many
from gangboard.actions.requests import (
    MOST_AT_ONCE,
    AcceptedRequest,
    RequestError,
    RequestErrorCode,
    RequestResult,
    Subject,
)
from gangboard.domain.action import ActionRequest, Plan
from gangboard.store import actions, rate_limits
from gangboard.store.access import Viewer
from gangboard.store.audit import audit
from gangboard.store.models import Action, Cluster
from gangboard.store.row_leases import DatabaseClock, RealDatabaseClock

MINUTE = timedelta(minutes=1)
MOST_A_MINUTE = 2 * MOST_AT_ONCE + 20
"""Requests per person: two confirmations of the largest size and some single ones."""
LONGEST_EXPORT = timedelta(minutes=10)
DATABASE = RealDatabaseClock()


def preview(
    viewer: Viewer,
    action_request: ActionRequest,
    *,
    now: datetime,
    chosen: frozenset[str] = frozenset(),
) -> Plan:
    """Return the plan of a request: lever, steps, reactions, warnings. Sends and stores nothing.

    `chosen` are the uids of the selection that the target belongs to; other code evaluates the
    selection as a whole. Raises RequestError. A Plan with `why_not` means that the levers refuse, or
    that the cluster is silent and the outcome unknown. A request is still accepted then, because the
    act worker reads the cluster itself.
    """
    selections = {action_request.target.uid: chosen}
    (planned,) = preview_many(viewer, [action_request], now=now, selections=selections)
    if isinstance(planned, RequestError):
        raise planned
    return planned


def request(
    viewer: Viewer, action_request: ActionRequest, *, now: datetime, clock: DatabaseClock = DATABASE
) -> AcceptedRequest:
    """Write an action and its audit entry in one transaction, then wake a worker.

    Raises RequestError; a denial (FORBIDDEN) is audited. If the levers refuse, the action is accepted
    and ends as refused. `clock` is the database's, so that a web server with a wrong clock makes no
    action late.
    """
    _count_requests(viewer, 1)
    (result,) = _accept_each(viewer, [action_request], batch="", now=now, clock=clock)
    if isinstance(result, RequestError):
        raise result
    return result


def _accept_each(
    viewer: Viewer,
    action_requests: Sequence[ActionRequest],
    *,
    batch: str,
    now: datetime,
    clock: DatabaseClock,
) -> Iterator[AcceptedRequest | RequestError]:
    """Yield the result of each request in order. The stored objects are read once for all requests."""
    checked = requests.check_each(action_requests, now=now)
    valid = [item for item in checked if isinstance(item, ActionRequest)]
    earlier = requests.find_by_idempotency_key(viewer, valid, now=now)
    new = [item for item in valid if item.idempotency_key not in earlier]
    requests.release_expired_keys(viewer, new, now=now)
    subjects = requests.find_subjects(viewer, new)
    labels = button_labels(viewer, subjects, now=now)
    for item in checked:
        try:
            if isinstance(item, RequestError):
                raise item
            action = earlier.get(item.idempotency_key)
            if action is not None:
                yield requests.accept_repeated(action, item)
            else:
                yield _create(
                    viewer,
                    item,
                    subjects[item],
                    labels.get(item, ""),
                    batch=batch,
                    now=now,
                    clock=clock,
                )
        except RequestError as error:
            yield error


def _create(
    viewer: Viewer,
    action_request: ActionRequest,
    subject: Subject | RequestError,
    label: str,
    *,
    batch: str,
    now: datetime,
    clock: DatabaseClock,
) -> AcceptedRequest:
    if isinstance(subject, RequestError):
        if subject.code is RequestErrorCode.FORBIDDEN:
            _audit_denial(viewer, action_request, str(subject), now)
        raise subject
    try:
        with transaction.atomic():
            action = actions.create(
                action_request,
                subject.cluster,
                subject.gang,
                viewer,
                word=label,
                batch=batch,
                now=now,
                clock=clock,
            )
            transaction.on_commit(partial(wake, action.pk))
    except IntegrityError:
        return _resolve_collision(viewer, action_request, subject.cluster, now)
    return AcceptedRequest(action.pk, created=True)


def _resolve_collision(
    viewer: Viewer, action_request: ActionRequest, cluster: Cluster, now: datetime
) -> AcceptedRequest:
    """Return the action that a concurrent request with the same key made.

    Raises RequestError (KEY_REUSED, BUSY).
    """
    for earlier in requests.find_by_idempotency_key(viewer, [action_request], now=now).values():
        return requests.accept_repeated(earlier, action_request)
    target = action_request.target
    unfinished = Action.objects.filter(cluster=cluster, uid=target.uid, finished_at=None).first()
    if unfinished is None:
        raise RequestError(
            RequestErrorCode.BUSY,
            f"Another action on {target.kind} {target.name} has just ended: reload and check.",
        )
    raise RequestError(
        RequestErrorCode.BUSY,
        f"{unfinished.actor_name} already asked to {unfinished.button.lower()} {target.kind} {target.name}; that action has not ended.",
        unfinished.pk,
    )


def _audit(viewer: Viewer, event: str, sentence: str, now: datetime, **arguments: Any) -> None:
    """Append an audit row with the viewer's name and address.

    `arguments` are further arguments of `store.audit.audit`.
    """
    audit(event, sentence, at=now, actor=viewer.name, source=viewer.address, **arguments)


def _audit_denial(
    viewer: Viewer, action_request: ActionRequest, sentence: str, now: datetime
) -> None:
    target = action_request.target
    _audit(
        viewer,
        "denied",
        f"{viewer.name} may not {action_request.verb.value} {target.kind} "
        f"{target.namespace}/{target.name}: {sentence}",
        now,
        cluster=Cluster.objects.filter(name=target.cluster).first(),
        namespace=target.namespace,
        object_name=f"{target.kind}/{target.name}",
        details={"via": action_request.via, "token": viewer.token},
    )


def request_many(
    viewer: Viewer,
    action_requests: Sequence[ActionRequest],
    *,
    now: datetime,
    clock: DatabaseClock = DATABASE,
) -> tuple[str, tuple[RequestResult, ...]]:
    """Accept up to MOST_AT_ONCE requests under one batch id; each succeeds or fails by itself.

    Returns (batch id, results in order). Raises RequestError and accepts none if there are none or
    too many (INVALID), or too many within this minute (TOO_MANY).
    """
    if not 0 < len(action_requests) <= MOST_AT_ONCE:
        raise RequestError(
            RequestErrorCode.INVALID,
            f"From 1 to {MOST_AT_ONCE} objects can be chosen, not {len(action_requests)}.",
        )
    _count_requests(viewer, len(action_requests))
    batch = uuid.uuid4().hex
    results = _accept_each(viewer, action_requests, batch=batch, now=now, clock=clock)
    return batch, tuple(
        RequestResult(action_request.target, result.action_id, str(result))
        if isinstance(result, RequestError)
        else RequestResult(action_request.target, result.action_id)
        for action_request, result in zip(action_requests, results, strict=True)
    )


def _count_requests(viewer: Viewer, number: int) -> None:
    """Count requests of a person, including refused ones. Raises RequestError (TOO_MANY)."""
    usage = rate_limits.take(
        "act", viewer.user_id, most=MOST_A_MINUTE, window=MINUTE, number=number
    )
    if usage.wait:
        remaining = max(MOST_A_MINUTE - usage.number, 0)
        raise RequestError(
            RequestErrorCode.TOO_MANY,
            f"One person can request {MOST_A_MINUTE} actions a minute; {remaining} are left for the next "
            f"{usage.wait} s.",
            wait=usage.wait,
        )


def stop_batch(
    viewer: Viewer, batch: str, *, now: datetime, clock: DatabaseClock = DATABASE
) -> int:
    """Stop the actions of a batch that are not sent yet; return their number.

    The person who requested the batch may do this, and so may operators of the objects' namespaces. An
    action in progress sees the stop before its next request, so at most one more request is sent. If
    the viewer sees some of the actions and may stop none, the denial is audited.
    Raises RequestError (FORBIDDEN, TOO_MANY).
    """
    if not batch or "\x00" in batch:
        return 0
    stopped = 0
    unsent = Action.objects.filter(batch=batch, finished_at=None, sent_at=None, stop_asked_by="")
    waiting = [
        action
        for action in unsent.select_related("cluster").order_by("requested_at", "id")
        if action.cluster_id is not None and viewer.sees(action.cluster_id, action.namespace)
    ]
    allowed = [action for action in waiting if _may_stop(viewer, action)]
    if waiting and not allowed:
        raise _deny_stop(viewer, waiting[0], now)
    for action in allowed:
        with transaction.atomic():
            updated = Action.objects.filter(
                pk=action.pk, finished_at=None, sent_at=None, stop_asked_by=""
            ).update(stop_asked_by=viewer.name or "somebody", due_at=clock.database_now())
            if updated:
                stopped += 1
                _audit(
                    viewer,
                    "stopped",
                    f"{viewer.name} stopped “{action.button} {action.kind} "
                    f"{action.namespace}/{action.name}” before it was sent.",
                    now,
                    action=action,
                )
                transaction.on_commit(partial(wake, action.pk))
    return stopped


def _may_stop(viewer: Viewer, action: Action) -> bool:
    return action.cluster_id is not None and viewer.may_stop(
        action.cluster_id, action.namespace, asked_by=action.user_id
    )


def _deny_stop(viewer: Viewer, action: Action, now: datetime) -> RequestError:
    """Audit that the viewer may not stop a batch, and return the error. `action` is its first action.

    A denial counts as a request, so that nobody can flood the audit. Raises RequestError (TOO_MANY).
    """
    _count_requests(viewer, 1)
    sentence = (
        f"{viewer.name} did not request this and is not an operator of namespace {action.namespace} "
        f"of cluster {action.cluster_name}."
    )
    _audit(
        viewer,
        "denied",
        f"{viewer.name} may not stop “{action.button} {action.kind} "
        f"{action.namespace}/{action.name}” and what was requested with it: {sentence}",
        now,
        action=action,
    )
    return RequestError(RequestErrorCode.FORBIDDEN, sentence)


def begin_export(viewer: Viewer, sentence: str, *, now: datetime) -> int:
    """Audit an export of this person. Return 0, or the seconds to wait while another is running.

    `end_export` ends it. If its process dies, the export expires after LONGEST_EXPORT.
    """
    usage = rate_limits.take("export", viewer.user_id, most=1, window=LONGEST_EXPORT)
    if not usage.wait:
        _audit(viewer, "export", sentence, now)
    return usage.wait


def end_export(viewer: Viewer) -> None:
    """Allow this person to begin another export."""
    rate_limits.reset_rate_limit("export", viewer.user_id)
