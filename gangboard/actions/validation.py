"""Validates a request: is it complete, may this person make it, and does it fit the stored object."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from gangboard.actions import registered_kinds
from gangboard.actions.requests import ActionRequest, RequestError, RequestErrorCode
from gangboard.domain.hold import LONGEST_REASON, SHORTEST_REASON
from gangboard.domain.owner import Owner
from gangboard.store import action_context
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster

LONGEST_HOLD = timedelta(days=30)
LONGEST_KEY = 200
_LONGEST = {"cluster": 63, "api_group": 253, "kind": 63, "namespace": 253, "name": 253, "uid": 64}
_LARGEST_GENERATION = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Subject:
    """The stored object that a request is about."""

    cluster: Cluster
    owner: Owner


def check_form(
    action_request: ActionRequest, *, now: datetime, reason_needed: bool = True
) -> ActionRequest:
    """Return the request with its reason stripped. Raises RequestError (INVALID)."""
    reason = " ".join(action_request.reason.split())
    target = action_request.target
    for name, longest in _LONGEST.items():
        value = getattr(target, name)
        if "\x00" in value or len(value) > longest or (not value and name != "api_group"):
            raise _invalid(f"The target's {name} is missing, or longer than {longest} characters.")
    if target.generation is not None and not 0 < target.generation <= _LARGEST_GENERATION:
        raise _invalid("The target's generation must be a positive number.")
    if registered_kinds.owner_kind(target.api_group, target.kind) is None:
        raise _invalid(f"gangboard does not know how to suspend objects of kind {target.kind}.")
    if reason_needed and len(reason) < SHORTEST_REASON:
        raise _invalid(f"A reason of at least {SHORTEST_REASON} characters is needed.")
    if len(reason) > LONGEST_REASON or "\x00" in reason:
        raise _invalid(f"The reason has more than {LONGEST_REASON} characters.")
    if (
        len(action_request.idempotency_key) > LONGEST_KEY
        or "\x00" in action_request.idempotency_key
    ):
        raise _invalid(f"The idempotency key has more than {LONGEST_KEY} characters.")
    return replace(action_request, reason=reason, until=_checked_until(action_request.until, now))


def _checked_until(until: datetime | None, now: datetime) -> datetime | None:
    if until is None:
        return None
    if until.tzinfo is None:
        raise _invalid("The end of the Hold needs a time zone.")
    try:
        until = until.astimezone(UTC)
    except OverflowError as error:
        raise _invalid("The end of the Hold is not a time that a calendar knows.") from error
    if until <= now:
        raise _invalid(f"The end of the Hold, {until:%Y-%m-%d %H:%M} UTC, is over already.")
    if until > now + LONGEST_HOLD:
        raise _invalid(f"A Hold can last at most {LONGEST_HOLD.days} days.")
    return until


def find_subject(viewer: Viewer, action_request: ActionRequest) -> Subject:
    """Return what the request is about, as stored.

    Raises RequestError: NOT_FOUND for what is not there or not visible alike, FORBIDDEN, MOVED_ON.
    """
    target = action_request.target
    kind = registered_kinds.owner_kind(target.api_group, target.kind)
    cluster = Cluster.objects.filter(name=target.cluster).first()
    found = None
    if cluster is not None and kind is not None and viewer.sees(cluster.pk, target.namespace):
        found = action_context.find_object(
            cluster, kind.resource.key, target.namespace, target.name
        )
    if cluster is None or not isinstance(found, Owner):
        raise RequestError(
            RequestErrorCode.NOT_FOUND,
            f"There is no {target.kind} {target.namespace}/{target.name} in cluster "
            f"{target.cluster}.",
        )
    check_rights(viewer, action_request, cluster)
    _check_same(action_request, found)
    return Subject(cluster, found)


def check_rights(viewer: Viewer, action_request: ActionRequest, cluster: Cluster) -> None:
    """Raise RequestError (FORBIDDEN) unless this person, with this credential, may ask for it."""
    target = action_request.target
    where = f"namespace {target.namespace} of cluster {cluster.name}"
    if not viewer.may_act:
        raise RequestError(
            RequestErrorCode.FORBIDDEN, f"This token may only read; acting in {where} needs more."
        )
    if not viewer.may_operate(cluster.pk, target.namespace):
        raise RequestError(RequestErrorCode.FORBIDDEN, f"{viewer.name} is no operator of {where}.")
    if action_request.forced and not viewer.administers(cluster.pk, target.namespace):
        raise RequestError(
            RequestErrorCode.FORBIDDEN,
            f"Only an admin of {where} may try a lever that is not proved.",
        )


def _check_same(action_request: ActionRequest, found: Owner) -> None:
    target, meta = action_request.target, found.meta
    name = f"{target.kind} {target.name}"
    if meta.ref.uid != target.uid:
        raise RequestError(
            RequestErrorCode.MOVED_ON,
            f"Another object has the name {target.name} now: its uid is {meta.ref.uid}, "
            f"you saw {target.uid}.",
        )
    # One that saw a newer generation than the poll is not refused: the live look decides.
    if target.generation is not None and target.generation < meta.generation:
        raise RequestError(
            RequestErrorCode.MOVED_ON,
            f"{name} has changed since you looked: it is at generation {meta.generation}, "
            f"you saw {target.generation}.",
        )


def body_hash(action_request: ActionRequest) -> str:
    """Return a hash of the request: two requests under one key differ in it."""
    target = action_request.target
    parts: list[object] = [
        action_request.verb,
        target.cluster,
        target.api_group,
        target.kind,
        target.namespace,
    ]
    parts += [
        target.name,
        target.uid,
        target.generation,
        action_request.reason,
        action_request.forced,
    ]
    parts.append(action_request.until.isoformat() if action_request.until is not None else None)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _invalid(sentence: str) -> RequestError:
    return RequestError(RequestErrorCode.INVALID, sentence)
