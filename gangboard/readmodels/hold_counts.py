"""Counts of Holds by cluster, and by whether they are in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Count, Exists, OuterRef, Subquery

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.api_resource import WatchState
from gangboard.domain.hold import HOLDS
from gangboard.plugins import registry
from gangboard.readmodels.cluster_visibility import unobserved_state
from gangboard.readmodels.freshness import Freshness
from gangboard.store.access import Viewer
from gangboard.store.levers import read_all_levers
from gangboard.store.models import Cluster, HoldCheck, ResourceState, WatchedObject


class InForce(StrEnum):
    """Whether a Hold is in force, as far as it is known."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class HoldCount:
    """The number of Holds of one cluster with one state."""

    cluster: str
    in_force: InForce
    holds: int


def hold_counts(*, viewer: Viewer, clusters: Mapping[int, Freshness]) -> tuple[HoldCount, ...]:
    """Return the counts of Holds (2 queries, and 5 more if there are any Holds).

    A cluster whose Holds can be listed has a count for each state, zeros included. In other clusters the stored
    Holds are unknown. Without any stored Hold, such a cluster has no count.
    """
    states = _resource_states(clusters)
    visible = {
        id_
        for id_, cluster in clusters.items()
        if unobserved_state(cluster, states.get((id_, HOLDS))) in ("", WatchState.NOT_SERVED)
    }
    groups = _grouped(viewer, clusters)
    levers = _levers({row[0] for row in groups} & visible)
    counts = Counter({(id_, state): 0 for id_ in visible for state in InForce})
    for id_, has_owner, proof, number in groups:
        is_lost = not has_owner and _sees_owners(id_, states)
        state = _state_of(proof, is_lost, levers[id_]) if id_ in visible else InForce.UNKNOWN
        counts[id_, state] += number
    return tuple(
        HoldCount(clusters[id_].cluster, state, number) for (id_, state), number in counts.items()
    )


def owner_keys() -> tuple[str, ...]:
    """Return the keys of the resources whose Jobs can be held."""
    return tuple(kind.resource.key for kind in registry.kinds_with_holds())


def _sees_owners(id_: int, states: Mapping[tuple[int, str], ResourceState]) -> bool:
    owner_states = (states.get((id_, key)) for key in owner_keys())
    return all(state is None or state.state == WatchState.OK for state in owner_states)


def _state_of(proof: bool | None, is_lost: bool, levers: ClusterLevers) -> InForce:
    """Return the state of a Hold. The list of Holds says the same (`pages.holds.queries`)."""
    if is_lost or levers.hold is PolicyState.MISSING:
        return InForce.NO
    if proof is None:
        return InForce.UNKNOWN
    return InForce.YES if proof else InForce.NO


def _resource_states(clusters: Mapping[int, Freshness]) -> dict[tuple[int, str], ResourceState]:
    rows = ResourceState.objects.filter(
        cluster_id__in=list(clusters), resource__in=(HOLDS, *owner_keys())
    )
    return {(row.cluster_id, row.resource): row for row in rows.defer("problems")}


def _grouped(viewer: Viewer, ids: Iterable[int]) -> list[tuple[int, bool, bool | None, int]]:
    """Return (cluster id, whether the owner exists, last proof, number of Holds)."""
    check = HoldCheck.objects.filter(cluster_id=OuterRef("cluster_id"), hold_uid=OuterRef("uid"))
    owner = WatchedObject.objects.filter(
        cluster_id=OuterRef("cluster_id"),
        namespace=OuterRef("namespace"),
        uid=OuterRef("owner_uid"),
        resource__in=owner_keys(),
    )
    rows = WatchedObject.objects.filter(
        viewer.gang_filter(), cluster_id__in=list(ids), resource=HOLDS
    ).annotate(has_owner=Exists(owner), proof=Subquery(check.values("in_force")[:1]))
    return list(
        rows.values_list("cluster_id", "has_owner", "proof").annotate(number=Count("id")).order_by()
    )


def _levers(ids: set[int]) -> dict[int, ClusterLevers]:
    return read_all_levers(Cluster.objects.filter(pk__in=ids)) if ids else {}
