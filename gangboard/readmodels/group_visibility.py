"""Which groups can be seen in which cluster: not served, forbidden and empty are three states."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gangboard.domain.api_resource import WatchState
from gangboard.domain.text import listed
from gangboard.pages.core.rows import shown
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.unseen import unseen_sentence, unseen_states

GroupVisibility = Mapping[tuple[int, str], str]
"""(cluster id, resource) → the state in which it cannot be seen; what can be seen is not in it."""

_SENTENCES = {
    WatchState.FORBIDDEN: "The reader may not list {kinds} in cluster {cluster}: "
    "which there are now is not known.",
    WatchState.UNKNOWN_VERSION: "Cluster {cluster} serves {kinds} in versions that this release "
    "cannot read: which there are now is not known.",
    WatchState.LISTING: "{kinds} of cluster {cluster} are being listed: some may be missing here.",
    "silent": "Cluster {cluster} {does_not}: its groups are as last seen.",
    "never": "Cluster {cluster} {has_not_once}: which groups it has is not known.",
    "not-looked": "{kinds} of cluster {cluster} have not been looked at yet.",
    "": "{kinds} of cluster {cluster} cannot be read now; what is shown of them may be old.",
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
    """Return which of the resources cannot be seen in the clusters (1 query).

    A cluster has none of what it does not serve: that counts as seen.
    """
    found = unseen_states(resources, clusters)
    return {place: state for place, state in found.items() if state != WatchState.NOT_SERVED}


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
    # Several APIs call theirs alike.
    told = sorted((name, sorted(set(of)), state) for (name, state), of in together.items())
    by_name = {one.cluster: one for one in clusters.values()}
    return tuple(
        UnseenGroups(
            name,
            state,
            tuple(of),
            unseen_sentence(
                _SENTENCES, state, by_name[name], kinds=listed([f"{kind}s" for kind in of])
            ),
        )
        for name, of, state in told
    )
