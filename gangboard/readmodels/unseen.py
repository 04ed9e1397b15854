"""What could not be looked at, or not fully: clusters, and single resources of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from gangboard.domain.api_resource import WatchState
from gangboard.domain.text import listed
from gangboard.pages.core.rows import shown, shown_method
from gangboard.readmodels.freshness import Freshness, Level, joined
from gangboard.store.models import ResourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A cluster that could not be looked at, or not fully."""

    json_name: ClassVar = "UnseenCluster"
    cluster: str = shown("Cluster")
    tone: str
    icon: str
    before: str
    """The message without the name of the cluster, up to the age in it."""
    since: datetime | None
    after: str
    is_counted: bool = True
    """False: the cluster never answered, so no number counts it. See `not_counted`."""

    @shown_method("Message")
    def message(self, now: datetime) -> str:
        """Return what is not known of it, and why."""
        return f"Cluster {self.cluster} {joined((self.before, self.since, self.after), now)}"


def find_unseen(
    clusters: Mapping[int, Freshness], unknown: Mapping[int, int]
) -> tuple[Unseen, ...]:
    """Return what could not be looked at in the clusters.

    `unknown`: cluster id → gangs that count as unknown, of those that the viewer may see.
    """
    found = (_unseen(cluster, unknown.get(id_, 0)) for id_, cluster in clusters.items())
    return tuple(one for one in found if one is not None)


def find_unread(clusters: Iterable[Freshness]) -> tuple[Unseen, ...]:
    """Return those that were not read completely yet: of their gangs some may be in no row."""
    found = (_unseen(cluster, 0) for cluster in clusters if not cluster.was_read)
    return tuple(one for one in found if one is not None)


def not_counted(clusters: Iterable[Freshness]) -> str:
    """Return `1 cluster not counted: dead never answered.`; empty if each cluster has answered once."""
    names: dict[str, list[str]] = {}
    for cluster in clusters:
        if cluster.level is Level.NEVER:
            names.setdefault(cluster.label, []).append(cluster.cluster)
    number = sum(map(len, names.values()))
    why = ", ".join(f"{listed(of)} {label}" for label, of in names.items())
    return f"{number} cluster{'' if number == 1 else 's'} not counted: {why}." if names else ""


def _unseen(cluster: Freshness, gangs: int) -> Unseen | None:
    whose = "1 gang of it counts" if gangs == 1 else f"{gangs} gangs of it count"
    parts: tuple[str, datetime | None, str]
    if cluster.level is Level.NEVER:
        parts = (f"{cluster.has_not_once}: what is in it is not known.", None, "")
    elif cluster.level is Level.SILENT:
        known = f"{whose} as unknown." if gangs else "what is in it now is not known."
        parts = (f"{cluster.has_not} for ", cluster.contact_at, f": {known}")
    elif not cluster.listed:
        parts = ("is being read for the first time: gangs may be missing here.", None, "")
    elif gangs:
        parts = (
            f"answers, but {whose} as unknown: not all that a verdict needs can be read.",
            None,
            "",
        )
    elif cluster.level is Level.STALE:
        parts = (f"{cluster.has_not} for ", cluster.contact_at, ": its numbers may be out of date.")
    else:
        return None
    tone, icon = ("unknown", "?") if not cluster.is_stale else (cluster.tone, cluster.icon)
    is_counted = cluster.level is not Level.NEVER
    before, since, after = parts
    return Unseen(
        cluster=cluster.cluster,
        tone=tone,
        icon=icon,
        before=before,
        since=since,
        after=after,
        is_counted=is_counted,
    )


def unseen_state(cluster: Freshness, state: ResourceState | None) -> str:
    """Return why a resource of a cluster cannot be seen; empty when it can.

    `state` is None when it has not been looked at. The answer is `silent`, `never`, `not-looked`,
    `listing` (for the first time) or a state of ResourceState.
    """
    if cluster.is_silent:
        return cluster.level.value
    if state is None:
        return "not-looked"
    if state.state == WatchState.OK and state.listed_at is None:
        return WatchState.LISTING
    return "" if state.state == WatchState.OK else state.state


def unseen_states(
    resources: Collection[str], clusters: Mapping[int, Freshness]
) -> dict[tuple[int, str], str]:
    """Return why resources cannot be seen, by cluster id and resource (1 query).

    The words are those of `unseen_state`; what can be seen is left out.
    """
    states = {
        (state.cluster_id, state.resource): state
        for state in ResourceState.objects.filter(
            cluster_id__in=list(clusters), resource__in=list(resources)
        )
    }
    told = {
        (id_, resource): unseen_state(cluster, states.get((id_, resource)))
        for id_, cluster in clusters.items()
        for resource in resources
    }
    return {place: state for place, state in told.items() if state}


def unseen_sentence(
    sentences: Mapping[str, str], state: str, cluster: Freshness, *, kinds: str = ""
) -> str:
    """Return the sentence of a state; that of the empty word where the state has none of its own."""
    return sentences.get(state, sentences[""]).format(
        cluster=cluster.cluster,
        does_not=cluster.does_not,
        has_not_once=cluster.has_not_once,
        kinds=kinds,
    )
