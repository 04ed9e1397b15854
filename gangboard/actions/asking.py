"""Checks of a request itself: is it complete, may this person ask it, is it about what is there."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from gangboard.actions import known
from gangboard.actions.asks import Ask, AskError, Fault
from gangboard.domain.owner import Owner
from gangboard.store import grounds
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster

SHORTEST_REASON, LONGEST_REASON = 3, 1024
LONGEST_HOLD = timedelta(days=30)
LONGEST_KEY = 200
_LONGEST = {"cluster": 63, "api_group": 253, "kind": 63, "namespace": 253, "name": 253, "uid": 64}
_LARGEST_GENERATION = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Subject:
    """The stored object that a request is about."""

    cluster: Cluster
    owner: Owner


def check_form(ask: Ask, *, now: datetime, reason_needed: bool = True) -> Ask:
    """Return the request with its reason stripped. Raises AskError (INVALID)."""
    reason = " ".join(ask.reason.split())
    target = ask.target
    for name, longest in _LONGEST.items():
        value = getattr(target, name)
        if "\x00" in value or len(value) > longest or (not value and name != "api_group"):
            raise _invalid(f"The target's {name} is missing, or longer than {longest} characters.")
    if target.generation is not None and not 0 < target.generation <= _LARGEST_GENERATION:
        raise _invalid("The target's generation must be a positive number.")
    if known.owner_kind(target.api_group, target.kind) is None:
        raise _invalid(f"gangboard does not know how to suspend objects of kind {target.kind}.")
    if reason_needed and len(reason) < SHORTEST_REASON:
        raise _invalid(f"A reason of at least {SHORTEST_REASON} characters is needed.")
    if len(reason) > LONGEST_REASON or "\x00" in reason:
        raise _invalid(f"The reason has more than {LONGEST_REASON} characters.")
    if len(ask.idempotency_key) > LONGEST_KEY or "\x00" in ask.idempotency_key:
        raise _invalid(f"The idempotency key has more than {LONGEST_KEY} characters.")
    return replace(ask, reason=reason, until=_checked_until(ask.until, now))


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


def find_subject(viewer: Viewer, ask: Ask) -> Subject:
    """Return what the request is about, as stored.

    Raises AskError: NOT_FOUND for what is not there or not visible alike, FORBIDDEN, MOVED_ON.
    """
    target = ask.target
    kind = known.owner_kind(target.api_group, target.kind)
    cluster = Cluster.objects.filter(name=target.cluster).first()
    found = None
    if cluster is not None and kind is not None and viewer.sees(cluster.pk, target.namespace):
        found = grounds.find_object(
            cluster, kind.resource.key, target.namespace, target.name, known.models()
        )
    if cluster is None or not isinstance(found, Owner):
        raise AskError(
            Fault.NOT_FOUND,
            f"There is no {target.kind} {target.namespace}/{target.name} in cluster "
            f"{target.cluster}.",
        )
    check_rights(viewer, ask, cluster)
    _check_same(ask, found)
    return Subject(cluster, found)


def check_rights(viewer: Viewer, ask: Ask, cluster: Cluster) -> None:
    """Raise AskError (FORBIDDEN) unless this person, with this credential, may ask for it."""
    target = ask.target
    where = f"namespace {target.namespace} of cluster {cluster.name}"
    if not viewer.may_act:
        raise AskError(Fault.FORBIDDEN, f"This token may only read; acting in {where} needs more.")
    if not viewer.may_operate(cluster.pk, target.namespace):
        raise AskError(Fault.FORBIDDEN, f"{viewer.name} is no operator of {where}.")
    if ask.forced and not viewer.administers(cluster.pk, target.namespace):
        raise AskError(
            Fault.FORBIDDEN, f"Only an admin of {where} may try a lever that is not proved."
        )


def _check_same(ask: Ask, found: Owner) -> None:
    target, meta = ask.target, found.meta
    name = f"{target.kind} {target.name}"
    if meta.ref.uid != target.uid:
        raise AskError(
            Fault.MOVED_ON,
            f"Another object has the name {target.name} now: its uid is {meta.ref.uid}, "
            f"you saw {target.uid}.",
        )
    # One that saw a newer generation than the poll is not refused: the live look decides.
    if target.generation is not None and target.generation < meta.generation:
        raise AskError(
            Fault.MOVED_ON,
            f"{name} has changed since you looked: it is at generation {meta.generation}, "
            f"you saw {target.generation}.",
        )


def body_hash(ask: Ask) -> str:
    """Return what tells two requests under one key apart."""
    target = ask.target
    parts: list[object] = [
        ask.verb,
        target.cluster,
        target.api_group,
        target.kind,
        target.namespace,
    ]
    parts += [target.name, target.uid, target.generation, ask.reason, ask.forced]
    parts.append(ask.until.isoformat() if ask.until is not None else None)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _invalid(sentence: str) -> AskError:
    return AskError(Fault.INVALID, sentence)
