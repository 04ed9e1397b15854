"""Messages about flavors that Kueue cannot assign to a Workload: a reason code and a clause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gangboard.decode.quantities import parse_amount
from gangboard.domain.api_resource import DecodeError
from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.quota import FlavorAmount
from gangboard.domain.resources import unit_word
from gangboard.domain.text import count, is_or_are, listed

# Texts about one flavor, or about a resource that no flavor of the queue covers
_SHORT = re.compile(
    r"insufficient unused quota for ([^\s,]+) in flavor ([^\s,]+), ([^\s,]+) more needed"
)
_TOO_LARGE = re.compile(
    r"insufficient quota for ([^\s,]+) in flavor ([^\s,]+), previously considered podsets requests "
    r"\(([^)\s]*)\) \+ current podset request \(([^)\s]*)\) > maximum capacity \(([^)\s]*)\)"
)
_NOT_COVERED = re.compile(r"resource ([^\s,]+) unavailable in ClusterQueue")
_OTHER_NODES = re.compile(r"flavor ([^\s,]+) doesn't match node affinity")
_TAINTED = re.compile(r"untolerated taint \{([^{}]*)\} in flavor ([^\s,;]+)")
_NO_FLAVOR = re.compile(r"flavor ([^\s,]+) not found")  # not observed
_POD_SET = "couldn't assign flavors to pod set "
_PREEMPTING = re.compile(r"Pending the preemption of (\d{1,6}) workload")


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """Why one flavor cannot be assigned, or a resource that no flavor of the queue covers."""

    code: QueueCode
    resource: str
    """Empty if the whole flavor does not suit."""
    cause: str
    advice: str = ""
    lacks: FlavorAmount | None = None


def flavor_message(text: str, named: QueueCode | None) -> QueueMessage | None:
    """Return why no flavors can be assigned, for the worst pod set. None: the text is not about flavors.

    Flavors are alternatives, and resources are not. So each resource counts with the flavor that lacks the least. A flavor
    that does not suit at all only counts if there is no other. `named` is the code of the condition's reason. It wins if
    an obstacle has this code.
    """
    pod_sets = [_pod_set_obstacles(pod_set) for pod_set in text.split(_POD_SET)[1:]]
    obstacles = [obstacle for pod_set in pod_sets for obstacle in pod_set]
    if not obstacles:
        return None
    code = min((item.code for item in obstacles), key=QueueCode.position)
    if named is not None and any(item.code is named for item in obstacles):
        code = named
    by_cause = {
        item.cause: item for item in _without_included([o for o in obstacles if o.code is code])
    }
    causes = list(by_cause)
    cause = (
        listed(causes) if len(causes) < 3 else f"{causes[0]}, and {len(causes) - 1} more reasons"
    )
    pending = _PREEMPTING.search(text)
    if code is QueueCode.WAITING_FOR_QUOTA and pending is not None:
        number = int(pending[1])
        cause = f"{cause}; {count(number, 'gang')} {is_or_are(number)} being preempted"
    lacks = tuple(item.lacks for item in by_cause.values() if item.lacks is not None)
    return QueueMessage(code, cause, next(iter(by_cause.values())).advice, lacks=lacks)


def _without_included(obstacles: list[_Obstacle]) -> list[_Obstacle]:
    """Return the obstacles without those that a later pod set includes.

    Kueue assigns quota to pod sets one by one, so a shortage of a flavor includes those of earlier pod sets.
    """
    largest: dict[tuple[str, str], FlavorAmount] = {}
    for obstacle in obstacles:
        if obstacle.lacks is not None:
            place = obstacle.lacks.flavor, obstacle.lacks.resource
            largest[place] = max(
                obstacle.lacks, largest.get(place, obstacle.lacks), key=lambda lacks: lacks.amount
            )
    return [
        obstacle
        for obstacle in obstacles
        if obstacle.lacks is None
        or obstacle.lacks == largest[obstacle.lacks.flavor, obstacle.lacks.resource]
    ]


def _pod_set_obstacles(text: str) -> list[_Obstacle]:
    """Return the obstacles of one pod set, for each resource the one of the flavor that lacks the least."""
    by_resource: dict[str, list[_Obstacle]] = {}
    of_flavors: list[_Obstacle] = []
    for obstacle in _obstacles(text):
        (by_resource.setdefault(obstacle.resource, []) if obstacle.resource else of_flavors).append(
            obstacle
        )
    nearest = [
        max(obstacles, key=lambda obstacle: obstacle.code.position())
        for obstacles in by_resource.values()
    ]
    return nearest or of_flavors


def _obstacles(text: str) -> Iterator[_Obstacle]:
    for resource, flavor, lacks in _SHORT.findall(text):
        cause = f"{lacks} more {unit_word(resource, lacks)} of flavor {flavor} must become free"
        yield _Obstacle(
            QueueCode.WAITING_FOR_QUOTA,
            resource,
            cause,
            lacks=_missing_amount(flavor, resource, lacks),
        )
    for resource, flavor, earlier, request, limit in _TOO_LARGE.findall(text):
        requested = request if earlier in ("", "0") else f"{earlier} + {request}"
        yield _Obstacle(
            QueueCode.EXCEEDS_QUOTA,
            resource,
            f"{requested} {unit_word(resource, requested)} of flavor {flavor} are needed, but the queue can give at most "
            f"{limit}",
            f"Request less, or raise the quota for {resource} of flavor {flavor}.",
        )
    for resource in _NOT_COVERED.findall(text):
        yield _Obstacle(
            QueueCode.NO_MATCHING_FLAVOR,
            resource,
            f"no flavor of the queue has {resource}",
            f"Use a queue that has {resource}, or add {resource} to the ClusterQueue.",
        )
    for flavor in _OTHER_NODES.findall(text):
        yield _Obstacle(
            QueueCode.NO_MATCHING_FLAVOR,
            "",
            f"flavor {flavor} is for other nodes than node selector and affinity allow",
            "Change node selector or affinity, or use a queue with a flavor for such nodes.",
        )
    for taint, flavor in _TAINTED.findall(text):
        yield _Obstacle(
            QueueCode.NO_MATCHING_FLAVOR,
            "",
            f"taint {_format_taint(taint)} of flavor {flavor} is not tolerated",
            f"Let the pods tolerate {_format_taint(taint)}, or use a queue with another flavor.",
        )
    for flavor in _NO_FLAVOR.findall(text):
        yield _Obstacle(
            QueueCode.NO_MATCHING_FLAVOR,
            "",
            f"flavor {flavor} does not exist",
            f"Create ResourceFlavor {flavor}.",
        )


def _missing_amount(flavor: str, resource: str, text: str) -> FlavorAmount | None:
    try:
        return FlavorAmount(flavor, resource, parse_amount(resource, text))
    except DecodeError:
        return None


def _format_taint(printed: str) -> str:
    """Return `team=x:NoSchedule` for Go's text `team x NoSchedule <nil>`."""
    key, value, effect, *_ = [*printed.split(" "), "", "", ""]
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"
