"""How many gangs have which health: the tiles of the Board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from gangboard.domain.health import Health
from gangboard.readmodels.freshness import Freshness, Level, knows_zero, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.readmodels.state_labels import Face, face_of
from gangboard.store.access import Viewer


@dataclass(frozen=True, slots=True)
class Tile:
    """How many gangs have one health."""

    face: Face
    gangs: int | None
    """None: no gang was seen, and no cluster that is asked for was read yet."""
    accelerators: float
    last_succeeded: int = 0
    """Those of them that had succeeded when last seen."""
    note: str = ""
    """What says more than the number of accelerators."""


def count_by_health(
    *, viewer: Viewer, filters: GangFilters, clusters: Mapping[int, Freshness]
) -> tuple[Tile, ...]:
    """Return a tile per health, worst first, with zeros where they are known (1 query). `health` is not filtered."""
    silent = silent_ids(clusters)
    gangs = select_gangs(viewer=viewer, filters=filters.of_any_health(), silent=silent)
    rows = gangs.values_list("shown_health").annotate(
        gangs=Count("*"),
        devices=Sum("accelerators"),
        ended=Count("cluster_id", filter=Q(health=Health.SUCCEEDED.value)),
    )
    found = {health: (gangs, devices, ended) for health, gangs, devices, ended in rows}
    words = [*(health.value for health in Health), *sorted(set(found) - set(Health))]
    asked = (one for one in clusters.values() if filters.cluster in ("", one.cluster))
    none = (0 if knows_zero(asked) else None, 0.0, 0)
    notes = {Health.UNKNOWN.value: _silence_note(clusters), Health.SUCCEEDED.value: "finished"}
    return tuple(
        Tile(face_of(word), *found.get(word, none), note=notes.get(word, "")) for word in words
    )


def _silence_note(clusters: Mapping[int, Freshness]) -> str:
    silent = [one.cluster for one in clusters.values() if one.level is Level.SILENT]
    if len(silent) == 1:
        return f"{silent[0]} is silent"
    return f"{len(silent)} clusters are silent" if silent else ""
