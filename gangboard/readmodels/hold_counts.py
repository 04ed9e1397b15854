"""How many Holds there are in each cluster, by whether they are in force."""

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
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.unseen import unseen_state
from gangboard.store.access import Viewer
from gangboard.store.levers import read_all_levers
from gangboard.store.models import Cluster, HoldCheck, ResourceState, WatchedObject


class InForce(StrEnum):
    """What is known of a Hold now."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class HoldCount:
    """Holds of one cluster of which the same is known."""

    cluster: str
    in_force: InForce
    holds: int


def hold_counts(*, viewer: Viewer, clusters: Mapping[int, Freshness]) -> tuple[HoldCount, ...]:
    """Return the Holds of the clusters (2 queries, and 5 more where there are any).

    A cluster whose Holds can be listed has a line for each word, zeros included. The Holds
    of the last look are unknown in one whose Holds cannot be seen now; without any it has no line.
    """
    states = _resource_states(clusters)
    seen = {
        id_
        for id_, cluster in clusters.items()
        if unseen_state(cluster, states.get((id_, HOLDS))) in ("", WatchState.NOT_SERVED)
    }
    found = _grouped(viewer, clusters)
    levers = _levers({row[0] for row in found} & seen)
    counts = Counter({(id_, word): 0 for id_ in seen for word in InForce})
    for id_, has_owner, proof, number in found:
        is_lost = not has_owner and _sees_owners(id_, states)
        word = _word(proof, is_lost, levers[id_]) if id_ in seen else InForce.UNKNOWN
        counts[id_, word] += number
    return tuple(
        HoldCount(clusters[id_].cluster, word, number) for (id_, word), number in counts.items()
    )


def owner_keys() -> tuple[str, ...]:
    """Return the keys of the resources whose Jobs can be held."""
    return tuple(kind.resource.key for kind in registry.kinds_with_holds())


def _sees_owners(id_: int, states: Mapping[tuple[int, str], ResourceState]) -> bool:
    found = (states.get((id_, key)) for key in owner_keys())
    return all(state is None or state.state == WatchState.OK for state in found)


def _word(proof: bool | None, is_lost: bool, levers: ClusterLevers) -> InForce:
    """Return what the list of Holds says of it, see `pages.holds.queries`."""
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
    """Return (cluster id, whether the owner is there, last proof, number of Holds)."""
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
