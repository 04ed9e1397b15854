"""What holds for every gang of a cluster at one moment: nodes, served versions, and what can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gangboard.domain.autoscaling import NO_AUTOSCALING, Autoscaling
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.node import Node
from gangboard.domain.queue_status import QueueVisibility

CAPACITY_NOT_READ = ClusterCapacity(why="nodes: not read yet")


@dataclass(frozen=True, slots=True)
class Unobserved:
    """A resource that a verdict needs and that could not be read."""

    resource: str
    """Such as `pods` or `podgroups.scheduling.k8s.io`."""
    state: str
    """A `WatchState`: FORBIDDEN, FAILING, UNKNOWN_VERSION or UNDECODABLE."""
    sentence: str


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One cluster at one moment. A source makes it once for all gangs that it reads.

    The poll knows all of it. Database and live cluster know the served versions and the queues.
    """

    nodes: Mapping[str, Node] = field(default_factory=dict)
    """By name."""
    nodes_known: bool = True
    """False if nodes cannot be read. Then no sentence is about them."""
    room: ClusterCapacity = CAPACITY_NOT_READ
    """The nodes with their pods. `room.why` says why it is empty."""
    autoscaling: Autoscaling = NO_AUTOSCALING
    """Nodes on their way, by the objects of autoscalers."""
    kubernetes: tuple[int, int] | None = None
    """Version of the API server, such as (1, 37), or None if unknown."""
    api_versions: Mapping[str, str] = field(default_factory=dict)
    """Resource key → served version, for the paths of requests."""
    gang_api_version: str = ""
    """Version of core PodGroups (1.35: Workloads) that the cluster serves, or empty."""
    groups_unobserved: bool = False
    """Core groups are served and could not be read, so a missing group proves nothing."""
    known_kinds: frozenset[str] = frozenset()
    """Served and readable kinds of marked groups and of queues, such as `PodGroup.toys.example`.

    An object of such a kind that is not known does not exist.
    """
    events_known: bool = True
    holds_known: bool = True
    """False if Holds are served and cannot be read, so a missing Hold proves nothing."""
    queue_visibility: str = QueueVisibility.UNKNOWN
    """A `QueueVisibility`: whether an unknown entry does not exist."""
    queue_systems: tuple[str, ...] = ()
    """Names of the admission systems that keep such entries."""


NO_VIEW = ClusterView()
