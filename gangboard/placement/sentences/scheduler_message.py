"""Reasons that are only in the scheduler's message: volumes, claims, spread, and affinity between pods.

Texts as in pkg/scheduler/framework/plugins of Kubernetes 1.35 to 1.37 (volumebinding, volumezone,
volumerestrictions, nodevolumelimits, dynamicresources, podtopologyspread, interpodaffinity). Text is no API, so
unknown text is quoted under `unschedulable`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.pod_claims import OF_VOLUMES
from gangboard.domain.text import count, does_not_fit, names, plural
from gangboard.facts.scheduler_text import (
    LONGEST_CACHED,
    clean,
    node_reasons,
)
from gangboard.facts.unit import Unit
from gangboard.placement.sentences.wording import PlacementReason

VOLUME, CLAIM = "volume-unavailable", "claim-unavailable"
SPREAD, ANTI_AFFINITY = "spread-constraints", "pod-anti-affinity"

# Messages before any node is considered: (code, blocked, pattern, sentence). Capacity does not matter.
_POD_MESSAGES: tuple[tuple[str, bool, re.Pattern[str], str], ...] = (
    (
        VOLUME,
        True,
        re.compile(r'persistentvolumeclaim "([^"]+)" not found'),
        "need PersistentVolumeClaim {0}, which does not exist",
    ),
    (
        VOLUME,
        True,
        re.compile(
            r'persistentvolumeclaim "([^"]+)" bound to non-existent persistentvolume "([^"]*)"'
        ),
        "need PersistentVolumeClaim {0}, whose PersistentVolume {1} does not exist",
    ),
    (
        VOLUME,
        True,
        re.compile(r'persistentvolumeclaim "([^"]+)" is being deleted'),
        "need PersistentVolumeClaim {0}, which is being deleted",
    ),
    (
        VOLUME,
        False,
        re.compile(
            r'waiting for ephemeral volume controller to create the [^"]{0,100}"([^"]{1,253})"'
        ),
        "wait for PersistentVolumeClaim {0} of an ephemeral volume to be created",
    ),
    (
        VOLUME,
        False,
        re.compile(r"unbound immediate PersistentVolumeClaims"),
        "wait for PersistentVolumeClaims that are not bound to a volume yet",
    ),
    (
        CLAIM,
        True,
        re.compile(r'could not find ResourceClaim "(?:[^"/]+/)?([^"]+)"'),
        "need ResourceClaim {0}, which does not exist",
    ),
    (
        CLAIM,
        True,
        re.compile(r'resourceclaims?(?:\.resource\.k8s\.io)? "([^"]+)" not found'),
        "need ResourceClaim {0}, which does not exist",
    ),
    (
        CLAIM,
        True,
        re.compile(r'resourceclaim "([^"]+)" is being deleted'),
        "need ResourceClaim {0}, which is being deleted",
    ),
    (
        CLAIM,
        True,
        re.compile(r"device class (\S+) does not exist"),
        "claim devices of DeviceClass {0}, which does not exist",
    ),
    (
        CLAIM,
        False,
        re.compile(r"ResourceClaim not created yet"),
        "wait for a ResourceClaim that has not been created yet",
    ),
    (
        CLAIM,
        False,
        re.compile(r"resource claim (?:\S+/)?(\S+) is in the process of being allocated"),
        "wait for ResourceClaim {0}, which is being allocated",
    ),
    (
        CLAIM,
        False,
        re.compile(r"resourceclaim in use"),
        "need a ResourceClaim that is in use already",
    ),
)
# Messages about nodes: (prefix, code, text in the sentence).
_NODE_MESSAGES: tuple[tuple[str, str, str], ...] = (
    ("node(s) had volume node affinity conflict", VOLUME, "the volume cannot be reached"),
    (
        "node(s) didn't match PersistentVolume's node affinity",
        VOLUME,
        "the volume cannot be reached",
    ),
    ("node(s) had no available volume zone", VOLUME, "the volume is in another zone"),
    (
        "node(s) didn't find available persistent volumes to bind",
        VOLUME,
        "no PersistentVolume can be bound",
    ),
    (
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        VOLUME,
        "a claim is bound to a PersistentVolume that does not exist",
    ),
    (
        "node(s) did not have enough free storage",
        VOLUME,
        "too little storage is free for the volume",
    ),
    ("node(s) exceed max volume count", VOLUME, "no further volume can be attached"),
    ("node(s) had no available disk", VOLUME, "the disk is used by another pod"),
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod",
        VOLUME,
        "another pod uses the ReadWriteOncePod claim",
    ),
    ("cannot allocate all claims", CLAIM, "the claimed devices cannot be allocated"),
    (
        "resourceclaim not available on the node",
        CLAIM,
        "the devices of the ResourceClaim are not available",
    ),
    (
        "node(s) didn't match pod topology spread constraints",
        SPREAD,
        "topology spread constraints are not met",
    ),
    (
        "node(s) didn't match pod anti-affinity rules",
        ANTI_AFFINITY,
        "required anti-affinity is not met",
    ),
    (
        "node(s) didn't satisfy existing pods anti-affinity rules",
        ANTI_AFFINITY,
        "required anti-affinity of existing pods is not met",
    ),
)
# Reasons that do not change by themselves. If a message has no other reasons, more free capacity does not help.
_PERMANENT_REASONS = (
    "node(s) were unschedulable",
    "node(s) had untolerated taint",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) had volume node affinity conflict",
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) had no available volume zone",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    "node(s) didn't match pod topology spread constraints (missing required label)",
)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The reason in one message of the scheduler."""

    code: str
    text: str
    """Text with a verb for several pods, such as `need the …`, or text about nodes."""
    blocked: bool
    nodes: int
    """Number of nodes. 0: the reason is not about nodes."""


def message_about_pods(unit: Unit) -> PlacementReason | None:
    """Return a reason that applies before the scheduler considers any node."""
    return _most_frequent(unit, of_nodes=False)


def message_about_nodes(unit: Unit) -> PlacementReason | None:
    """Return the reason that the scheduler reports for most nodes."""
    return _most_frequent(unit, of_nodes=True)


def _most_frequent(unit: Unit, *, of_nodes: bool) -> PlacementReason | None:
    texts = Counter(pod.scheduled.message for pod in unit.refused if pod.scheduled is not None)
    readings = [
        (reading, number)
        for text, number in texts.items()
        for reading in (_read(text),)
        if reading is not None and bool(reading.nodes) == of_nodes
    ]
    if not readings:
        return None
    most_frequent = _most_important(readings)
    number = sum(number for reading, number in readings if reading == most_frequent)
    if not of_nodes:
        verb, _, rest = most_frequent.text.partition(" ")
        text = f"{count(number, 'pod')} {plural(number, verb)} {rest}"
    else:
        text = f"{does_not_fit(number)}: {most_frequent.text}"
        text = f"{text}{_names_text(unit, most_frequent.code)}"
    return PlacementReason(
        most_frequent.code, f"{waiting_together_text(unit, number)}{text}", most_frequent.blocked
    )


def _names_text(unit: Unit, code: str) -> str:
    """Return the names of the pods' claims or spread keys, such as ` (PersistentVolumeClaim data)` or ` (by zone)`."""
    pods = unit.refused
    if code == VOLUME:
        claims = {claim.name for pod in pods for claim in pod.claims if claim.kind == OF_VOLUMES}
        noun = OF_VOLUMES if len(claims) == 1 else f"{OF_VOLUMES}s"
        return f" ({noun} {names(sorted(claims))})" if claims else ""
    if code == SPREAD:
        keys = sorted({key for pod in pods for key in pod.needs.spread_keys})
        return f" (by {names(keys)})" if keys else ""
    return ""


def waiting_together_text(unit: Unit, explained: int) -> str:
    """Return the clause that all pods of a gang wait, if the scheduler explains only some of them."""
    waiting = len(unit.unplaced)
    if unit.quorum is None or waiting <= explained:
        return ""
    return f"{count(waiting, 'pod')} {plural(waiting, 'wait')} together; "


def _most_important(readings: Iterable[tuple[_Reading, int]]) -> _Reading:
    """Return the most important reading. Blocking readings come first, then those about most pods."""
    counts: Counter[_Reading] = Counter()
    for reading, number in readings:
        counts[reading] += number
    return max(counts, key=lambda reading: (reading.blocked, counts[reading], reading.text))


def _read(raw: str) -> _Reading | None:
    return _read_cached(raw) if len(raw) <= LONGEST_CACHED else _read_text(raw)


def _read_text(raw: str) -> _Reading | None:
    text = clean(raw)
    reasons = node_reasons(text)
    if len(reasons) <= 1:
        for code, blocked, pattern, saying in _POD_MESSAGES:
            match = pattern.search(text)
            if match is not None:
                return _Reading(code, saying.format(*match.groups()), blocked, 0)
    return _read_nodes(reasons)


_read_cached = bounded_cache(4096, 16 * MEBIBYTE)(_read_text)


def _read_nodes(reasons: tuple[tuple[str, int], ...]) -> _Reading | None:
    matches = [
        (number, code, saying)
        for reason, number in reasons
        for start, code, saying in _NODE_MESSAGES
        if number and reason.startswith(start)
    ]
    if not matches:
        return None
    _, code, saying = max(matches)
    nodes = sum(
        times for times, match_code, text in matches if (match_code, text) == (code, saying)
    )
    lasting = all(reason.startswith(_PERMANENT_REASONS) for reason, _ in reasons)
    return _Reading(code, f"{saying} on {count(nodes, 'node')}", lasting, nodes)
