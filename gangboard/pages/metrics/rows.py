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
    """Since when the first of them has been so; None when nobody looks at it now."""


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
    """Those of the objects that could not be understood."""


@dataclass(frozen=True, slots=True)
class ActionCount:
    """Actions on one cluster that have come equally far."""

    cluster: str
    verb: str
    state: str
    actions: int


@dataclass(frozen=True, slots=True)
class Expiry:
    """When the credentials of one identity of a cluster end."""

    cluster: str
    identity: str
    """reader or actor."""
    at: datetime


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
    """All of it at one time."""

    clusters: tuple[Freshness, ...]
    expiries: tuple[Expiry, ...]
    """Of credentials whose end is known."""
    gangs: tuple[GangCount, ...]
    resources: tuple[ResourceCount, ...]
    """None of silent clusters: how they can be seen now nobody knows."""
    holds: tuple[HoldCount, ...]
    actions: tuple[ActionCount, ...]
    liveness: Liveness
    accelerators: tuple[AcceleratorCount, ...] = ()
    """Of clusters whose nodes were looked at in the last minutes."""
    start_waits: tuple[StartWaits, ...] = ()
    namespaces: tuple[NamespaceCount, ...] = ()
