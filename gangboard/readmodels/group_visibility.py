"""Which groups can be seen in which cluster: not served, forbidden and empty are three states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gangboard.domain.reading.wording import listed
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.unseen import unseen_state
from gangboard.store.models import ResourceState

GroupVisibility = Mapping[tuple[int, str], str]
"""(cluster id, resource) → the state in which it cannot be seen; what can be seen is not in it."""

_SENTENCES = {
    "forbidden": "The reader may not list {kinds} in cluster {cluster}: "
    "which there are now is not known.",
    "unknown-version": "Cluster {cluster} serves {kinds} in versions that this release cannot "
    "read: which there are now is not known.",
    "listing": "{kinds} of cluster {cluster} are being listed: some may be missing here.",
    "silent": "Cluster {cluster} {does_not}: its groups are those of the last look.",
    "never": "Cluster {cluster} {has_not_once}: which groups it has is not known.",
    "not-looked": "{kinds} of cluster {cluster} have not been looked at yet.",
}
_OTHERWISE = "{kinds} of cluster {cluster} cannot be read now; what is shown of them may be old."


@dataclass(frozen=True, slots=True)
class UnseenGroups:
    """Kinds of groups that cannot be seen in a cluster: not the same as having none of them."""

    cluster: str
    state: str
    """silent, never, forbidden, failing, unknown-version, listing or not-looked."""
    kinds: tuple[str, ...]
    sentence: str


def read_group_visibility(
    resources: Iterable[str], clusters: Mapping[int, Freshness]
) -> GroupVisibility:
    """Return which of the resources cannot be seen in the clusters (1 query).

    A cluster has none of what it does not serve: that counts as seen.
    """
    wanted = list(resources)
    states = {
        (state.cluster_id, state.resource): state
        for state in ResourceState.objects.filter(
            cluster_id__in=list(clusters), resource__in=wanted
        )
    }
    told = {
        (id_, resource): unseen_state(cluster, states.get((id_, resource)))
        for id_, cluster in clusters.items()
        for resource in wanted
    }
    return {place: state for place, state in told.items() if state not in ("", "not-served")}


def describe_unseen_groups(
    visibility: GroupVisibility,
    kinds: Mapping[str, str],
    clusters: Mapping[int, Freshness],
    *,
    cluster: str = "",
    kind: str = "",
) -> tuple[UnseenGroups, ...]:
    """Return a sentence for each cluster and state in it, by cluster and kind.

    `kinds`: resource → kind. `cluster` and `kind` are what is asked for; empty means all.
    """
    together: dict[tuple[str, str], list[str]] = {}
    for (id_, resource), state in visibility.items():
        name, its_kind = clusters[id_].cluster, kinds[resource]
        if cluster in ("", name) and kind in ("", its_kind):
            together.setdefault((name, state), []).append(its_kind)
    told = sorted((name, sorted(of), state) for (name, state), of in together.items())
    by_name = {one.cluster: one for one in clusters.values()}
    return tuple(
        UnseenGroups(name, state, tuple(of), _sentence(by_name[name], state, of))
        for name, of, state in told
    )


def _sentence(cluster: Freshness, state: str, kinds: Sequence[str]) -> str:
    return _SENTENCES.get(state, _OTHERWISE).format(
        kinds=listed([f"{kind}s" for kind in kinds]),
        cluster=cluster.cluster,
        does_not=cluster.does_not,
        has_not_once=cluster.has_not_once,
    )
