"""Versions of all data that pages show, including the freshness of clusters and the liveness of workers.

A viewer's position is a hash of the versions that concern the viewer. If it changes, a page may have changed.
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
    """The versions of all data at one time, for all viewers."""

    clusters: Mapping[int, tuple[int, Level]] = field(default_factory=dict)
    """Data version and freshness by cluster id."""
    dead: tuple[str, ...] = ()
    """Kinds of processes without a living process."""
    slots: int = 0
    """Clusters that the living poll workers can watch at once."""
    roles: tuple[int, int] = (0, 0)
    """Number and newest id of grants. It changes when a role is granted or revoked."""


def read_data_versions(*, now: datetime) -> DataVersions:
    """Return the current versions (3 queries)."""
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
    visible = [
        (id_, version, level.value)
        for id_, (version, level) in versions.clusters.items()
        if everywhere or id_ in own
    ]
    return hashlib.blake2b(
        repr((visible, versions.dead, versions.slots, versions.roles)).encode(), digest_size=8
    ).hexdigest()


def position(*, viewer: Viewer, now: datetime) -> str:
    """Return the viewer's position now (3 queries)."""
    return position_in(read_data_versions(now=now), viewer=viewer)
