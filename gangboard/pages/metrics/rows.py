"""The figures of the whole installation, for `/metrics`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.pages.metrics.start_waits import StartWaits
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.hold_counts import HoldCount
from gangboard.readmodels.liveness import Liveness


@dataclass(frozen=True, slots=True)
class GangCount:
    """Gangs of one cluster with one health and code, as pages and API show them."""

    cluster: str
    health: str
    code: str
    gangs: int
    accelerators: float
    oldest_since: datetime | None
    """The start of the oldest verdict of them; None if the cluster is silent."""


@dataclass(frozen=True, slots=True)
class ResourceCount:
    """One resource that a cluster serves, or may serve."""

    cluster: str
    resource: str
    state: str
    """See `store.models.ResourceState`."""
    is_readable: bool
    objects: int
    problems: int
    """How many of the objects could not be decoded."""


@dataclass(frozen=True, slots=True)
class ActionCount:
    """Actions on one cluster with one verb and state."""

    cluster: str
    verb: str
    state: str
    actions: int


@dataclass(frozen=True, slots=True)
class Expiry:
    """The end of the credentials of one identity of a cluster."""

    cluster: str
    identity: str
    """reader or actor."""
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class AcceleratorCount:
    """Accelerators of one cluster, over all nodes and kinds of devices."""

    cluster: str
    state: str
    """used (by whole gangs and other pods), held, free, away; see `store.models.TrendPoint`."""
    accelerators: float


@dataclass(frozen=True, slots=True)
class NamespaceCount:
    """Gangs of one namespace with one health."""

    cluster: str
    namespace: str
    health: str
    gangs: int
    accelerators: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """All figures at one time."""

    clusters: tuple[Freshness, ...]
    expiries: tuple[Expiry, ...]
    """Credentials whose end is known."""
    gangs: tuple[GangCount, ...]
    resources: tuple[ResourceCount, ...]
    """Resources of clusters that are not silent."""
    holds: tuple[HoldCount, ...]
    actions: tuple[ActionCount, ...]
    liveness: Liveness
    accelerators: tuple[AcceleratorCount, ...] = ()
    """Clusters whose nodes were read in the last minutes."""
    start_waits: tuple[StartWaits, ...] = ()
    namespaces: tuple[NamespaceCount, ...] = ()
