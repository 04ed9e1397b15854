"""Clusters and resources that were not observed, or not completely."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from gangboard.domain.api_resource import WatchState
from gangboard.domain.text import listed
from gangboard.readmodels.declarations import shown, shown_method
from gangboard.readmodels.freshness import Freshness, Level, joined
from gangboard.store.models import ResourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class UnobservedCluster:
    """A cluster that could not be looked at, or not fully."""

    json_name: ClassVar = "UnseenCluster"
    cluster: str = shown("Cluster")
    tone: str
    icon: str
    before: str
    """The text of the message between the name of the cluster and the age."""
    since: datetime | None
    after: str
    is_counted: bool = True
    """False if the cluster never answered and no number counts it. See `not_counted`."""

    @shown_method("Message")
    def message(self, now: datetime) -> str:
        """Return what is not known of it, and why."""
        return f"Cluster {self.cluster} {joined((self.before, self.since, self.after), now)}"


def unobserved_clusters(
    clusters: Mapping[int, Freshness], unknown: Mapping[int, int]
) -> tuple[UnobservedCluster, ...]:
    """Return the clusters that were not observed completely.

    `unknown` is cluster id → number of visible gangs that count as unknown.
    """
    candidates = (_unobserved(cluster, unknown.get(id_, 0)) for id_, cluster in clusters.items())
    return tuple(cluster for cluster in candidates if cluster is not None)


def unread_clusters(clusters: Iterable[Freshness]) -> tuple[UnobservedCluster, ...]:
    """Return the clusters that were not read completely yet. Some of their gangs may be missing in lists."""
    candidates = (_unobserved(cluster, 0) for cluster in clusters if not cluster.was_read)
    return tuple(candidate for candidate in candidates if candidate is not None)


def not_counted(clusters: Iterable[Freshness]) -> str:
    """Return `1 cluster not counted: dead never answered.`, or an empty text if all clusters have answered."""
    names: dict[str, list[str]] = {}
    for cluster in clusters:
        if cluster.level is Level.NEVER:
            names.setdefault(cluster.label, []).append(cluster.cluster)
    number = sum(map(len, names.values()))
    why = ", ".join(f"{listed(of)} {label}" for label, of in names.items())
    return f"{number} cluster{'' if number == 1 else 's'} not counted: {why}." if names else ""


def _unobserved(cluster: Freshness, gangs: int) -> UnobservedCluster | None:
    subject = "1 gang of it counts" if gangs == 1 else f"{gangs} gangs of it count"
    sentence_parts: tuple[str, datetime | None, str]
    if cluster.level is Level.NEVER:
        sentence_parts = (f"{cluster.has_not_once}: its contents are unknown.", None, "")
    elif cluster.level is Level.SILENT:
        known = f"{subject} as unknown." if gangs else "its current contents are unknown."
        sentence_parts = (f"{cluster.has_not} for ", cluster.contact_at, f": {known}")
    elif not cluster.listed:
        sentence_parts = ("is being read for the first time: gangs may be missing here.", None, "")
    elif gangs:
        sentence_parts = (
            f"answers, but {subject} as unknown: not everything that a verdict needs can be read.",
            None,
            "",
        )
    elif cluster.level is Level.STALE:
        sentence_parts = (
            f"{cluster.has_not} for ",
            cluster.contact_at,
            ": its numbers may be outdated.",
        )
    else:
        return None
    tone, icon = ("unknown", "?") if not cluster.is_stale else (cluster.tone, cluster.icon)
    is_counted = cluster.level is not Level.NEVER
    before, since, after = sentence_parts
    return UnobservedCluster(
        cluster=cluster.cluster,
        tone=tone,
        icon=icon,
        before=before,
        since=since,
        after=after,
        is_counted=is_counted,
    )


def unobserved_state(cluster: Freshness, state: ResourceState | None) -> str:
    """Return why a resource of a cluster is not visible. Empty if it is visible.

    `state` is None if the resource was never read. The result is `silent`, `never`, `not-looked`, `listing` (for
    the first time) or a state of ResourceState.
    """
    if cluster.is_silent:
        return cluster.level.value
    if state is None:
        return "not-looked"
    if state.state == WatchState.OK and state.listed_at is None:
        return WatchState.LISTING
    return "" if state.state == WatchState.OK else state.state


def unobserved_states(
    resources: Collection[str], clusters: Mapping[int, Freshness]
) -> dict[tuple[int, str], str]:
    """Return why resources are not visible, by cluster id and resource (1 query).

    The values are those of `unobserved_state`. Visible resources are left out.
    """
    states = {
        (state.cluster_id, state.resource): state
        for state in ResourceState.objects.filter(
            cluster_id__in=list(clusters), resource__in=list(resources)
        )
    }
    reasons = {
        (id_, resource): unobserved_state(cluster, states.get((id_, resource)))
        for id_, cluster in clusters.items()
        for resource in resources
    }
    return {place: state for place, state in reasons.items() if state}


def unobserved_sentence(
    sentences: Mapping[str, str], state: str, cluster: Freshness, *, kinds: str = ""
) -> str:
    """Return the sentence of a state. A state without one has the sentence of the empty key."""
    return sentences.get(state, sentences[""]).format(
        cluster=cluster.cluster,
        does_not=cluster.does_not,
        has_not_once=cluster.has_not_once,
        kinds=kinds,
    )
