"""Validation of action requests: their fields, the person's rights, and the stored object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.db.models import Q

from gangboard.domain.action import ActionRequest, ActionTarget, Verb
from gangboard.domain.hold import LONGEST_REASON, SHORTEST_REASON
from gangboard.domain.owner import Owner
from gangboard.plugins import registry
from gangboard.store import actions, gang_objects
from gangboard.store.access import Viewer
from gangboard.store.models import Action, Cluster, Gang
from gangboard.store.uid_lookups import Reference

MOST_AT_ONCE = 50
"""Maximum number of objects in one confirmation."""
LONGEST_HOLD = timedelta(days=30)
LONGEST_KEY = 200
KEY_LIFE = timedelta(hours=24)
"""How long an idempotency key names the action that it created."""
MOST_AVOIDED = 20
"""Nodes that one relocation can avoid."""
LONGEST_PLACE = 316
"""Characters of the longest label key."""
_LONGEST = {"cluster": 63, "api_group": 253, "kind": 63, "namespace": 253, "name": 253, "uid": 64}
_LARGEST_GENERATION = 2**63 - 1


class RequestErrorCode(StrEnum):
    """Errors of a request itself, found before any lever is consulted."""

    INVALID = "invalid"
    """400: a field is missing or invalid."""
    FORBIDDEN = "forbidden"
    """403: the object is visible, but this person or token may not act on it."""
    NOT_FOUND = "not-found"
    """404: the object does not exist or is not visible. Both have the same answer."""
    MOVED_ON = "moved-on"
    """409: uid or generation differ from the ones the caller saw; the sentence names both."""
    BUSY = "busy"
    """409: another action on this object is not over; `action_id` names it."""
    KEY_REUSED = "key-reused"
    """422: the idempotency key was used for another request; `action_id` names its action."""
    TOO_MANY = "too-many"
    """429: this person has made too many requests within this minute; `wait` has the seconds to wait."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        return _STATUSES[self]


_STATUSES = {
    RequestErrorCode.INVALID: 400,
    RequestErrorCode.FORBIDDEN: 403,
    RequestErrorCode.NOT_FOUND: 404,
    RequestErrorCode.MOVED_ON: 409,
    RequestErrorCode.BUSY: 409,
    RequestErrorCode.KEY_REUSED: 422,
    RequestErrorCode.TOO_MANY: 429,
}


class RequestError(ValueError):
    """The request cannot be accepted. The text is one sentence for the person who made it."""

    def __init__(
        self,
        code: RequestErrorCode,
        sentence: str,
        action_id: str = "",
        *,
        wait: int = 0,
        field: str = "",
    ) -> None:
        super().__init__(sentence)
        self.code = code
        self.action_id = action_id
        self.field = field
        """The wrong field of the form, `reason` or `until`, or empty."""
        self.wait = wait
        """Seconds until the request may be repeated; 0 for other errors."""


@dataclass(frozen=True, slots=True)
class AcceptedRequest:
    """The action of an accepted request, either new or created earlier with the same key."""

    action_id: str
    created: bool


@dataclass(frozen=True, slots=True)
class RequestResult:
    """The result of one request in a confirmation: an action id, or the reason for the refusal."""

    target: ActionTarget
    action_id: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """The stored object that a request names, with its gang and cluster."""

    cluster: Cluster
    gang: Gang | None
    """The gang that the object belongs to."""
    owner: Owner
    """The object."""


def check_each(
    action_requests: Iterable[ActionRequest], *, now: datetime, reason_needed: bool = True
) -> list[ActionRequest | RequestError]:
    """Check each request. Return its checked form, or its error."""
    results: list[ActionRequest | RequestError] = []
    for action_request in action_requests:
        try:
            results.append(check(action_request, now=now, reason_needed=reason_needed))
        except RequestError as error:
            results.append(error)
    return results


def check(
    action_request: ActionRequest, *, now: datetime, reason_needed: bool = True
) -> ActionRequest:
    """Return the request with its reason stripped. Raises RequestError (INVALID).

    A preview needs no reason, and no place that a relocation avoids.
    """
    reason = " ".join(action_request.reason.split())
    target = action_request.target
    for name, longest in _LONGEST.items():
        value = getattr(target, name)
        if "\x00" in value or len(value) > longest or (not value and name != "api_group"):
            raise _invalid(f"The target's {name} is missing, or longer than {longest} characters.")
    if target.generation is not None and not 0 < target.generation <= _LARGEST_GENERATION:
        raise _invalid("The target's generation must be a positive number.")
    if registry.owner_kind(target.api_group, target.kind) is None:
        raise _invalid(f"gangboard does not know how to suspend objects of kind {target.kind}.")
    _check_avoid(action_request, needed=reason_needed)
    if reason_needed and len(reason) < SHORTEST_REASON:
        raise _invalid(f"A reason of at least {SHORTEST_REASON} characters is needed.", "reason")
    if len(reason) > LONGEST_REASON or "\x00" in reason:
        raise _invalid(f"The reason has more than {LONGEST_REASON} characters.", "reason")
    if (
        len(action_request.idempotency_key) > LONGEST_KEY
        or "\x00" in action_request.idempotency_key
    ):
        raise _invalid(f"The idempotency key has more than {LONGEST_KEY} characters.")
    return replace(action_request, reason=reason, until=_checked_until(action_request.until, now))


def _check_avoid(action_request: ActionRequest, *, needed: bool) -> None:
    avoid = action_request.avoid
    if action_request.verb is not Verb.RELOCATE:
        if avoid is not None:
            raise _invalid("Only a relocation has a place to avoid.", "avoid")
        return
    if avoid is None:
        if needed:
            raise _invalid(
                "A relocation needs the place to avoid: nodes, or a topology domain.", "avoid"
            )
        return
    if action_request.forced:
        raise _invalid("A relocation cannot be forced.")
    texts = (*avoid.nodes, *(avoid.topology or ()))
    if avoid.nodes and avoid.topology is not None:
        raise _invalid("Name either nodes or a topology domain, not both.", "avoid")
    if len(avoid.nodes) > MOST_AVOIDED:
        raise _invalid(f"At most {MOST_AVOIDED} nodes can be avoided at once.", "avoid")
    if any(not text or "\x00" in text or len(text) > LONGEST_PLACE for text in texts):
        raise _invalid("A node, label or value to avoid is empty or too long.", "avoid")


def _checked_until(until: datetime | None, now: datetime) -> datetime | None:
    if until is None:
        return None
    if until.tzinfo is None:
        raise _invalid("The end of the Hold needs a time zone.", "until")
    try:
        until = until.astimezone(UTC)
    except OverflowError as error:
        raise _invalid(
            "The end of the Hold is a date or time that does not exist.", "until"
        ) from error
    if until <= now:
        raise _invalid(f"Until must be in the future: {until:%Y-%m-%d %H:%M} UTC is past.", "until")
    if until > now + LONGEST_HOLD:
        raise _invalid(f"A Hold can last at most {LONGEST_HOLD.days} days.", "until")
    return until


def find_by_idempotency_key(
    viewer: Viewer, action_requests: Iterable[ActionRequest], *, now: datetime
) -> dict[str, Action]:
    """Return the actions that this person's idempotency keys name, by key.

    A key names its action for KEY_LIFE, and longer if the action is not over then.
    """
    keys = _keys_of(action_requests)
    named = Q(requested_at__gt=now - KEY_LIFE) | Q(finished_at=None)
    rows = Action.objects.filter(named, user_id=viewer.user_id, idempotency_key__in=keys)
    return {row.idempotency_key: row for row in rows} if keys else {}


def release_expired_keys(
    viewer: Viewer, action_requests: Iterable[ActionRequest], *, now: datetime
) -> None:
    """Clear the keys of these requests from actions older than KEY_LIFE (at most 1 query)."""
    keys = _keys_of(action_requests)
    if keys:
        Action.objects.filter(
            user_id=viewer.user_id,
            idempotency_key__in=keys,
            requested_at__lte=now - KEY_LIFE,
            finished_at__isnull=False,
        ).update(idempotency_key="")


def _keys_of(action_requests: Iterable[ActionRequest]) -> set[str]:
    return {request.idempotency_key for request in action_requests if request.idempotency_key}


def accept_repeated(action: Action, action_request: ActionRequest) -> AcceptedRequest:
    """Return the result of the earlier request with the same key. Raises RequestError (KEY_REUSED)."""
    if action.body_hash != actions.body_hash(action_request):
        raise RequestError(
            RequestErrorCode.KEY_REUSED,
            f"This idempotency key was used for another request, action {action.pk}.",
            action.pk,
        )
    return AcceptedRequest(action.pk, created=False)


def find_subjects(
    viewer: Viewer, action_requests: Iterable[ActionRequest]
) -> dict[ActionRequest, Subject | RequestError]:
    """Return the subject of each request, or its error: NOT_FOUND, FORBIDDEN or MOVED_ON.

    A missing object and an invisible one are both NOT_FOUND. The number of queries does not depend on
    the number of requests: one for clusters, one per kind, and two per level of ownership.
    """
    all_requests = tuple(action_requests)
    names = {action_request.target.cluster for action_request in all_requests}
    clusters = {row.name: row for row in Cluster.objects.filter(name__in=names)} if names else {}
    stored = _stored_owners(viewer, all_requests, clusters)
    subjects: dict[ActionRequest, Subject | RequestError] = {}
    owners: dict[Reference, Owner] = {}
    for action_request in all_requests:
        cluster, owner = clusters.get(action_request.target.cluster), stored.get(action_request)
        try:
            if cluster is None or owner is None:
                raise not_found(action_request.target)
            check_rights(viewer, action_request, cluster)
            _check_unchanged(action_request, owner)
        except RequestError as error:
            subjects[action_request] = error
        else:
            subjects[action_request] = Subject(cluster, None, owner)
            owners[_reference(cluster, owner)] = owner
    gangs = gang_objects.find_gangs(owners, owners)
    return {
        action_request: subject
        if isinstance(subject, RequestError)
        else replace(subject, gang=gangs.get(_reference(subject.cluster, subject.owner)))
        for action_request, subject in subjects.items()
    }


def _reference(cluster: Cluster, owner: Owner) -> Reference:
    return Reference(cluster.pk, owner.meta.ref.namespace, owner.meta.ref.uid)


def _stored_owners(
    viewer: Viewer, action_requests: Iterable[ActionRequest], clusters: Mapping[str, Cluster]
) -> dict[ActionRequest, Owner]:
    """Return the stored object with the name of each target, if the viewer may see its namespace."""
    places_by_resource: dict[str, dict[ActionRequest, gang_objects.ObjectPlace]] = defaultdict(dict)
    for action_request in action_requests:
        target = action_request.target
        cluster = clusters.get(target.cluster)
        kind = registry.owner_kind(target.api_group, target.kind)
        if cluster is not None and kind is not None and viewer.sees(cluster.pk, target.namespace):
            place = cluster.pk, target.namespace, target.name
            places_by_resource[kind.resource.key][action_request] = place
    owners: dict[ActionRequest, Owner] = {}
    for resource, places in places_by_resource.items():
        objects = gang_objects.find_objects(resource, places.values())
        for action_request, place in places.items():
            if isinstance(owner := objects.get(place), Owner):
                owners[action_request] = owner
    return owners


def check_rights(viewer: Viewer, action_request: ActionRequest, cluster: Cluster) -> None:
    """Raise RequestError (FORBIDDEN) unless this person and credential may make the request."""
    target = action_request.target
    namespace = f"namespace {target.namespace} of cluster {cluster.name}"
    if not viewer.may_act:
        raise RequestError(
            RequestErrorCode.FORBIDDEN,
            f"This token may only read; acting in {namespace} needs more.",
        )
    if not viewer.may_operate(cluster.pk, target.namespace):
        raise RequestError(
            RequestErrorCode.FORBIDDEN, f"{viewer.name} is not an operator of {namespace}."
        )
    if action_request.forced and not viewer.administers(cluster.pk, target.namespace):
        raise RequestError(
            RequestErrorCode.FORBIDDEN,
            f"Only an admin of {namespace} may try a lever that is not proved.",
        )


def _check_unchanged(action_request: ActionRequest, owner: Owner) -> None:
    target, meta = action_request.target, owner.meta
    name = f"{target.kind} {target.name}"
    if meta.ref.uid != target.uid:
        raise RequestError(
            RequestErrorCode.MOVED_ON,
            f"Another object has the name {target.name} now: its uid is {meta.ref.uid}, "
            f"you saw {target.uid}.",
        )
    # The caller may have seen a newer generation than the poller stored. The live read decides then.
    if target.generation is not None and target.generation < meta.generation:
        raise RequestError(
            RequestErrorCode.MOVED_ON,
            f"{name} has changed since you looked: it is at generation {meta.generation}, "
            f"you saw {target.generation}.",
        )


def not_found(target: ActionTarget) -> RequestError:
    """Return the error for an object that does not exist or is not visible."""
    return RequestError(
        RequestErrorCode.NOT_FOUND,
        f"There is no {target.kind} {target.namespace}/{target.name} in cluster {target.cluster}.",
    )


def _invalid(sentence: str, field: str = "") -> RequestError:
    return RequestError(RequestErrorCode.INVALID, sentence, field=field)
