"""Visibility of groups in clusters. Not served, forbidden and empty are three different states."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gangboard.domain.api_resource import WatchState
from gangboard.domain.text import listed
from gangboard.readmodels.cluster_visibility import unobserved_sentence, unobserved_states
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.freshness import Freshness

GroupVisibility = Mapping[tuple[int, str], str]
"""(cluster id, resource) → why the resource is not visible. Visible resources are left out."""

_SENTENCES = {
    WatchState.FORBIDDEN: "The reader may not list {kinds} in cluster {cluster}: the current ones are unknown.",
    WatchState.UNKNOWN_VERSION: "Cluster {cluster} serves {kinds} in versions that this release "
    "cannot read: the current ones are unknown.",
    WatchState.LISTING: "{kinds} of cluster {cluster} are being listed: some may be missing here.",
    "silent": "Cluster {cluster} {does_not}: its groups are as last seen.",
    "never": "Cluster {cluster} {has_not_once}: its groups are unknown.",
    "not-looked": "{kinds} of cluster {cluster} have not been read yet.",
    "": "{kinds} of cluster {cluster} cannot be read now; the list may be outdated.",
}


@dataclass(frozen=True, slots=True)
class UnseenGroups:
    """Kinds of groups that cannot be seen in a cluster: that is not the same as none."""

    cluster: str = shown("Cluster")
    state: str = shown(
        "State", "silent, never, forbidden, failing, unknown-version, listing or not-looked."
    )
    kinds: tuple[str, ...] = shown("Kinds")
    sentence: str = shown("Message", api_name="message")


def read_group_visibility(
    resources: Collection[str], clusters: Mapping[int, Freshness]
) -> GroupVisibility:
    """Return the resources that are not visible in the clusters (1 query).

    A resource that a cluster does not serve counts as visible and empty.
    """
    states = unobserved_states(resources, clusters)
    return {place: state for place, state in states.items() if state != WatchState.NOT_SERVED}


def describe_unobserved_groups(
    visibility: GroupVisibility,
    kinds: Mapping[str, str],
    clusters: Mapping[int, Freshness],
    *,
    cluster: str = "",
    kind: str = "",
) -> tuple[UnseenGroups, ...]:
    """Return a sentence for each cluster and state, sorted by cluster and kind.

    `kinds` is resource → kind. `cluster` and `kind` are filters, and empty ones mean all.
    """
    together: dict[tuple[str, str], list[str]] = {}
    for (id_, resource), state in visibility.items():
        name, its_kind = clusters[id_].cluster, kinds[resource]
        if cluster in ("", name) and kind in ("", its_kind):
            together.setdefault((name, state), []).append(its_kind)
    # Several APIs have kinds of the same name.
    sorted_states = sorted((name, sorted(set(of)), state) for (name, state), of in together.items())
    by_name = {row.cluster: row for row in clusters.values()}
    return tuple(
        UnseenGroups(
            name,
            state,
            tuple(of),
            unobserved_sentence(
                _SENTENCES, state, by_name[name], kinds=listed([f"{kind}s" for kind in of])
            ),
        )
        for name, of, state in sorted_states
    )
