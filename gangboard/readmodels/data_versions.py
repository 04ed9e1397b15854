"""Versions of all data that pages show, with freshness and the life of the workers.

A viewer's position is a hash of those that concern the viewer: it differs when a page may differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Max

from gangboard.readmodels.freshness import Level, level_of
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster, Grant


@dataclass(frozen=True, slots=True)
class DataVersions:
    """The versions of everything at one time, for all viewers."""

    clusters: Mapping[int, tuple[int, Level]] = field(default_factory=dict)
    """Data version and freshness by cluster id."""
    dead: tuple[str, ...] = ()
    """Kinds of process of which none is alive."""
    slots: int = 0
    """Clusters that the living poll workers can watch at once."""
    roles: tuple[int, int] = (0, 0)
    """Moves when a role is given or taken: number of grants, and the newest."""


def read_data_versions(*, now: datetime) -> DataVersions:
    """Return the versions of now (3 queries)."""
    rows = Cluster.objects.order_by("id").values_list("id", "data_version", "contact_at")
    clusters = {id_: (version, level_of(contact, now)) for id_, version, contact in rows}
    liveness = read_liveness(now=now)
    grants = Grant.objects.aggregate(number=Count("id"), newest=Max("id"))
    return DataVersions(
        clusters=clusters,
        dead=tuple(kind for kind, _ in liveness.dead),
        slots=liveness.slots,
        roles=(grants["number"], grants["newest"] or 0),
    )


def position_in(versions: DataVersions, *, viewer: Viewer) -> str:
    """Return a hash of the versions that concern the viewer."""
    everywhere = any(scope.cluster_id is None for scope in viewer.scopes)
    own = {scope.cluster_id for scope in viewer.scopes}
    seen = [
        (id_, version, level.value)
        for id_, (version, level) in versions.clusters.items()
        if everywhere or id_ in own
    ]
    return hashlib.blake2b(
        repr((seen, versions.dead, versions.slots, versions.roles)).encode(), digest_size=8
    ).hexdigest()


def position(*, viewer: Viewer, now: datetime) -> str:
    """Return the viewer's position now (3 queries)."""
    return position_in(read_data_versions(now=now), viewer=viewer)
