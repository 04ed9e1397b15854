"""Numbers of gangs, each declared once for `summary/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gangboard.readmodels.cluster_visibility import UnobservedCluster
from gangboard.readmodels.declarations import shown


@dataclass(frozen=True, slots=True)
class Tally:
    """How many gangs have something in common."""

    gangs: int | None = shown(
        "Gangs",
        "Null if none was seen and not everything could be read.",
        default=0,
    )
    accelerators: float | None = shown(
        "Accelerators",
        "Requested by the gangs, suspended and ended ones included. Null if `gangs` is null.",
        is_quantity=True,
        default=0.0,
    )


UNKNOWN = Tally(None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts that add up: every gang is counted once in each of the three."""

    gangs: int | None = shown("Gangs", "Null: none was seen, and no cluster was read yet.")
    accelerators: float | None = shown(
        "Accelerators",
        "Requested by the gangs, suspended and ended ones included. Null if `gangs` is null.",
        is_quantity=True,
    )
    by_health: Mapping[str, Tally] = shown(
        "By health", "Every health, with zero if there is no such gang."
    )
    """Worst first."""
    by_code: Mapping[str, Tally] = shown("By code")
    """Codes that occur, most gangs first."""
    by_cluster: Mapping[str, Tally] = shown("By cluster")
    """Every cluster that the viewer sees, by name."""
    observed_at: datetime | None = shown(
        "Observed", "Oldest last contact of a cluster; null when one has never answered."
    )
    stale: bool = shown("Stale")
    """Whether a cluster has not answered for a while. Its gangs may count as unknown."""
    unseen: tuple[UnobservedCluster, ...] = shown(
        "Unseen", "Clusters that could not be read completely."
    )
    """Their counts may be too low."""
