"""What pages and API call: preview, request, stop. Everything else happens in the act worker."""

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
"""Requests of one person: two confirmations of the largest kind and some single ones."""
LONGEST_EXPORT = timedelta(minutes=10)
DATABASE = RealDatabaseClock()


def preview(
    viewer: Viewer,
    action_request: ActionRequest,
    *,
    now: datetime,
    chosen: frozenset[str] = frozenset(),
) -> Plan:
    """Say what would be done: lever, steps, who will react, warnings. Sends and stores nothing.

    `chosen` are the uids of the selection that it is part of and that is judged as a whole elsewhere.
    Raises RequestError. A refusal by the levers is a Plan with `why_not`, and so is one where the cluster
    is silent: what would be done is not known then, as on its pages. What is asked for nevertheless
    is taken: the act worker looks for itself.
    """
    together = {action_request.target.uid: chosen}
    (found,) = preview_many(viewer, [action_request], now=now, together=together)
    if isinstance(found, RequestError):
        raise found
    return found


def request(
    viewer: Viewer, action_request: ActionRequest, *, now: datetime, clock: DatabaseClock = DATABASE
) -> AcceptedRequest:
    """Write the action, its audit entry and its place in the outbox in one transaction; wake a worker.

    Raises RequestError; a denial (FORBIDDEN) is audited. A lever's refusal is the action's own end.
    `clock` is that of the outbox: the database's own, so that a web server whose clock is wrong
    makes no action late.
    """
    _count(viewer, 1)
    (found,) = _take(viewer, [action_request], batch="", now=now, clock=clock)
    if isinstance(found, RequestError):
        raise found
    return found


def _take(
    viewer: Viewer,
    action_requests: Sequence[ActionRequest],
    *,
    batch: str,
    now: datetime,
    clock: DatabaseClock,
) -> Iterator[AcceptedRequest | RequestError]:
    """Yield the answer to each request in order. The stored objects are read once for all of them."""
    checked = requests.check_each(action_requests, now=now)
    complete = [one for one in checked if isinstance(one, ActionRequest)]
    earlier = requests.find_by_idempotency_key(viewer, complete, now=now)
    new = [one for one in complete if one.idempotency_key not in earlier]
    requests.release_expired_keys(viewer, new, now=now)
    subjects = requests.find_subjects(viewer, new)
    words = button_labels(viewer, subjects, now=now)
    for one in checked:
        try:
            if isinstance(one, RequestError):
                raise one
            action = earlier.get(one.idempotency_key)
            if action is not None:
                yield requests.accept_repeated(action, one)
            else:
                yield _create(
                    viewer,
                    one,
                    subjects[one],
                    words.get(one, ""),
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
    word: str,
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
                word=word,
                batch=batch,
                now=now,
                clock=clock,
            )
            transaction.on_commit(partial(wake, action.pk))
    except IntegrityError:
        return _met(viewer, action_request, subject.cluster, now)
    return AcceptedRequest(action.pk, created=True)


def _met(
    viewer: Viewer, action_request: ActionRequest, cluster: Cluster, now: datetime
) -> AcceptedRequest:
    """Return the same action where somebody was quicker. Raises RequestError (KEY_REUSED, BUSY)."""
    for earlier in requests.find_by_idempotency_key(viewer, [action_request], now=now).values():
        return requests.accept_repeated(earlier, action_request)
    target = action_request.target
    found = Action.objects.filter(cluster=cluster, uid=target.uid, finished_at=None).first()
    if found is None:
        raise RequestError(
            RequestErrorCode.BUSY,
            f"Another action on {target.kind} {target.name} has just ended: look again.",
        )
    raise RequestError(
        RequestErrorCode.BUSY,
        f"{found.actor_name} asked to {found.button.lower()} {target.kind} {target.name} already; "
        "that action is not over.",
        found.pk,
    )


def _audit(viewer: Viewer, event: str, sentence: str, now: datetime, **about: Any) -> None:
    """Append an audit row with the viewer's name and address.

    `about` has further arguments of `store.audit.audit`.
    """
    audit(event, sentence, at=now, actor=viewer.name, source=viewer.address, **about)


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
    """Take up to MOST_AT_ONCE requests under one batch id; each succeeds or fails by itself.

    Returns (batch id, results in order). Raises RequestError: INVALID when there are none or too many,
    TOO_MANY when that were too many within this minute; then none is taken.
    """
    if not 0 < len(action_requests) <= MOST_AT_ONCE:
        raise RequestError(
            RequestErrorCode.INVALID,
            f"From 1 to {MOST_AT_ONCE} objects can be chosen, not {len(action_requests)}.",
        )
    _count(viewer, len(action_requests))
    batch = uuid.uuid4().hex
    taken = _take(viewer, action_requests, batch=batch, now=now, clock=clock)
    return batch, tuple(
        RequestResult(one.target, found.action_id, str(found))
        if isinstance(found, RequestError)
        else RequestResult(one.target, found.action_id)
        for one, found in zip(action_requests, taken, strict=True)
    )


def _count(viewer: Viewer, number: int) -> None:
    """Count requests of a person, refused ones too. Raises RequestError (TOO_MANY): none is taken."""
    tried = rate_limits.take(
        "act", viewer.user_id, most=MOST_A_MINUTE, window=MINUTE, number=number
    )
    if tried.wait:
        left = max(MOST_A_MINUTE - tried.number, 0)
        raise RequestError(
            RequestErrorCode.TOO_MANY,
            f"One person can ask for {MOST_A_MINUTE} actions a minute; {left} are left for the next "
            f"{tried.wait} s.",
            wait=tried.wait,
        )


def stop_batch(
    viewer: Viewer, batch: str, *, now: datetime, clock: DatabaseClock = DATABASE
) -> int:
    """Refuse what of a batch has not been sent yet; return how many that were.

    The one who asked for the batch may do this, and operators of the objects' namespaces. Actions
    that a worker has begun see it before their next request: at most the one under way goes out.
    Raises RequestError (FORBIDDEN, TOO_MANY), and audits it, for who sees some and may stop none.
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
        raise _not_stopped(viewer, waiting[0], now)
    for action in allowed:
        with transaction.atomic():
            asked = Action.objects.filter(
                pk=action.pk, finished_at=None, sent_at=None, stop_asked_by=""
            ).update(stop_asked_by=viewer.name or "somebody", due_at=clock.database_now())
            if asked:
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


def _not_stopped(viewer: Viewer, action: Action, now: datetime) -> RequestError:
    """Write down that somebody may not stop a batch, of which this is the first action.

    It counts as a request: nobody fills the record with refusals. Raises RequestError (TOO_MANY).
    """
    _count(viewer, 1)
    sentence = (
        f"{viewer.name} did not ask for this and is no operator of namespace {action.namespace} "
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
    """Write down that this person exports a record; return the seconds to wait while one is under way.

    `end_export` ends it; one whose process has died ends by itself.
    """
    tried = rate_limits.take("export", viewer.user_id, most=1, window=LONGEST_EXPORT)
    if not tried.wait:
        _audit(viewer, "export", sentence, now)
    return tried.wait


def end_export(viewer: Viewer) -> None:
    """Let this person begin another export."""
    rate_limits.reset_rate_limit("export", viewer.user_id)
