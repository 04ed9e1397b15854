"""The fields of Capacity, each declared once for the page and for `capacity/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from gangboard.readmodels.declarations import shown, shown_method, shown_property
from gangboard.readmodels.fit import requests_text
from gangboard.readmodels.freshness import Freshness, Level, joined
from gangboard.readmodels.node_pools import AgedSentence, Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeRow:
    """How many pods that ask for so much fit, as if no other came with them.

    Anywhere in the cluster: a gang that must be in one topology domain may find less.
    """

    requests: tuple[tuple[str, str], ...]
    """(resource, quantity in base units) of one pod."""

    @shown_property("Requests", "Of one pod, in base units.", api_name="requests", is_method=True)
    def requests_by_name(self) -> dict[str, str]:
        """Return the requests of one pod by resource."""
        return dict(self.requests)

    where: str = shown("Nodes", "Which nodes it asks for; null: any.", empty_is_null=True)
    """Such as `pool=h100`."""
    waiting: int = shown("Wait", "Pods of this shape that wait for a node.")
    fits_now: int | None = shown("Fit now", "Null: see `why`.")
    fits_empty: int | None = shown(
        "Fit if empty", "How many would fit if only DaemonSet and static pods ran."
    )
    unsupported: tuple[str, ...] = shown(
        "Not checked",
        "Constraints of the pod that gangboard does not check: the numbers are upper bounds.",
    )
    why: str = shown("Why", "Why the numbers are unknown and null.", empty_is_null=True)

    @property
    def asks(self) -> str:
        """The requests of one pod as a person reads them."""
        return requests_text(self.requests) or "nothing in particular"

    @property
    def is_short(self) -> bool:
        """Whether more of it waits than fits now, or fits at most."""
        return self.fits_now is not None and self.fits_now < self.waiting

    @property
    def room_short(self) -> str:
        """The requests of one pod and how many of these fit now, in a line. `why` must be empty."""
        location = f" on nodes with {self.where}" if self.where else ""
        times = f"{'at most ' if self.unsupported else ''}{self.fits_now or 0:,}"
        return f"{times} with {self.asks}{location}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCapacityRow:
    """One cluster."""

    cluster: str = shown("Cluster")
    freshness: Freshness

    @shown_property("Freshness", "live, stale, silent or never.", api_name="freshness")
    def level(self) -> str:
        """Return how fresh it is."""
        return self.freshness.level

    @shown_property("Stale")
    def stale(self) -> bool:
        """Return whether its numbers may be out of date."""
        return self.freshness.is_stale

    blind: AgedSentence | None = None
    """Why its nodes are not known. The other fields then have no meaning."""
    choose: bool = False
    """It is too large to be shown beside other clusters."""

    @shown_method("Why", "Why there are no numbers. Null if there are.")
    def why(self, now: datetime) -> str | None:
        """Return why there are no numbers, for clients that cannot follow a link."""
        if self.choose:
            return f"This cluster is too large to be counted with others: select it with cluster={self.cluster}."
        return joined(self.blind, now) if self.blind is not None else None

    observed_at: datetime | None = shown("Observed", "When the numbers changed last.", default=None)

    @shown_property("Nodes", "Null: see `why`; 0: it has none.")
    def nodes(self) -> int | None:
        """Return the number of its nodes."""
        if self.blind or self.choose:
            return None
        return self.whole.nodes if self.whole is not None else 0

    whole: Pool | None = shown("All nodes", api_name="all_nodes", default=None)
    """None if it has no nodes."""
    pools: tuple[Pool, ...] = shown(
        "Pools",
        "Empty for callers who may not see the whole cluster. They get only `all_nodes`.",
        default=(),
    )
    numbers_only: bool = False
    """The viewer may not see the whole cluster. A label can tell one node from another, and the shapes are of
    all gangs, so the row has neither."""
    shapes: tuple[ShapeRow, ...] = ()

    @shown_property(
        "Shapes",
        "Waiting shapes and the most frequent others, the most expensive first. Null for callers who may not see the whole cluster, because shapes come from all gangs.",
        api_name="shapes",
        is_read_only=True,
    )
    def visible_shapes(self) -> tuple[ShapeRow, ...] | None:
        """Return the shapes; None if the viewer may not see them."""
        return None if self.numbers_only else self.shapes

    @property
    def accelerator_pools(self) -> tuple[Pool, ...]:
        """The pools that have accelerators."""
        return tuple(pool for pool in self.pools if pool.accelerators)

    @property
    def short_shapes(self) -> int:
        """The number of shapes of which more pods wait than fit now."""
        return sum(shape.is_short for shape in self.shapes)

    @property
    def unknown_shapes(self) -> int:
        """The number of shapes of which it cannot be told how many pods fit."""
        return sum(bool(shape.why) for shape in self.shapes)

    @property
    def dearest_with_room(self) -> ShapeRow | None:
        """The largest shape of which a pod fits now; None if no shape fits."""
        return next((shape for shape in self.shapes if shape.fits_now), None)

    @property
    def nodes_without(self) -> int:
        """The number of nodes in pools without accelerators."""
        return sum(pool.nodes for pool in self.pools if not pool.accelerators)

    @property
    def pool_label(self) -> str:
        """The label that all of its pools have; empty if they have different ones."""
        labels = {pool.label for pool in self.pools}
        return labels.pop() if len(labels) == 1 else ""

    @property
    def shown(self) -> tuple[object, ...]:
        """The fields that the page prints, without ages."""
        numbers = (self.whole, self.pools, self.shapes, self.numbers_only)
        return (self.freshness.shown, self.blind, *numbers, self.choose)


@dataclass(frozen=True, slots=True)
class Capacity:
    """The clusters of the Capacity page, and the labels to choose from."""

    clusters: tuple[ClusterCapacityRow, ...]
    labels: tuple[str, ...]
    """Labels that can make pools of nodes, the most telling first; without the default."""
    default_label: str = ""
    """The label that makes pools if the viewer chooses none. Empty if there are several, or none."""

    @property
    def accelerators(self) -> Mapping[str, float | None]:
        """The accelerators of all clusters now: used, held, away and free. No accelerator is in two of them.

        The values are None if the nodes of a cluster are unknown or not summed up. Clusters that never answered are
        in no sum, and the page names them.
        """
        names = ("used", "held", "away", "free")
        counted = [row for row in self.clusters if row.freshness.level is not Level.NEVER]
        if not counted or any(row.blind or row.choose for row in counted):
            return dict.fromkeys(names)
        amounts = [amount for row in counted if row.whole for amount in row.whole.accelerators]
        sums = {
            name: float(sum(Decimal(getattr(amount, f"exact_{name}")) for amount in amounts))
            for name in names
        }
        return {**sums, "used": sums["used"] - sums["held"]}
