"""Facts about a cluster that all its gangs share: nodes, served versions, and readable resources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gangboard.domain.autoscaling import NO_AUTOSCALING, Autoscaling
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.node import Node
from gangboard.domain.queue_status import QueueVisibility

CAPACITY_NOT_READ = ClusterCapacity(why="nodes: not read yet")


@dataclass(frozen=True, slots=True)
class Unobserved:
    """Resource that a verdict needs and that could not be read."""

    resource: str
    """Resource key, such as `pods` or `podgroups.scheduling.k8s.io`."""
    state: str
    """A `WatchState`: FORBIDDEN, FAILING, UNKNOWN_VERSION or UNDECODABLE."""
    sentence: str


@dataclass(frozen=True, slots=True)
class ClusterView:
    """State of a cluster at one moment. A source builds it once for all gangs that it reads.

    The poll fills all fields. The database and the live cluster fill the version of Kubernetes, the served versions
    and the queues.
    """

    nodes: Mapping[str, Node] = field(default_factory=dict)
    """By name."""
    nodes_known: bool = True
    """False if nodes cannot be read. Sentences must not mention nodes then."""
    room: ClusterCapacity = CAPACITY_NOT_READ
    """Capacity and usage of the nodes. `room.why` says why it is unknown."""
    autoscaling: Autoscaling = NO_AUTOSCALING
    """Objects of autoscalers, which show nodes being provisioned."""
    kubernetes: tuple[int, int] | None = None
    """Version of the API server, such as (1, 37), or None if unknown."""
    api_versions: Mapping[str, str] = field(default_factory=dict)
    """Resource key → served version, for the paths of requests."""
    gang_api_version: str = ""
    """Version of core PodGroups (1.35: Workloads) that the cluster serves, or empty."""
    groups_unobserved: bool = False
    """Core groups are served and could not be read, so an unknown group may exist."""
    known_kinds: frozenset[str] = frozenset()
    """Served and readable kinds of marked groups and of queues, such as `PodGroup.toys.example`.

    An object of such a kind that is not known does not exist.
    """
    events_known: bool = True
    holds_known: bool = True
    """False if Holds are served and cannot be read, so an unknown Hold may exist."""
    queue_visibility: str = QueueVisibility.UNKNOWN
    """`QueueVisibility`, which says whether an unknown entry may exist."""
    queue_systems: tuple[str, ...] = ()
    """Names of the admission systems with such entries."""


NO_VIEW = ClusterView()
_MINOR = re.compile(r"v?(\d{1,4})\.(\d{1,4})")


def kubernetes_minor(server_version: str) -> tuple[int, int] | None:
    """Return (1, 37) for `v1.37.0`, with or without a vendor suffix. None for any other text."""
    match = _MINOR.match(server_version)
    return (int(match[1]), int(match[2])) if match else None
