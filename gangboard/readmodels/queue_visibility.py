"""Visibility of queues in clusters. Not served, forbidden and empty are three different states."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gangboard.diagnosis.scheduler_queues import group_resources_in_queues, scheduler_queues
from gangboard.domain.api_resource import WatchState
from gangboard.domain.group import Group
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Flavor, Queue
from gangboard.plugins import registry
from gangboard.readmodels.cluster_visibility import unobserved_state
from gangboard.readmodels.freshness import Freshness, Level
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster, ResourceState

_OLD = frozenset({WatchState.FAILING, WatchState.UNDECODABLE, Level.SILENT})
"""States in which the stored objects were read earlier. In other states, nothing is known."""
_NOT_KNOWN_TO_SERVE = frozenset({WatchState.NOT_SERVED, Level.NEVER, "not-looked"})


class WatchedQueues:
    """Visibility of the resources of admission systems in some clusters."""

    def __init__(self, clusters: Mapping[int, Freshness]) -> None:
        """Read the states (1 query)."""
        self._clusters = clusters
        self._kinds = {
            resource.key: resource.kind
            for system in registry.queue_systems()
            for resource in system.resources
        } | {resource.key: resource.kind for resource in group_resources_in_queues()}
        self._states = _unobserved_states(self._kinds, clusters)

    def is_served(self, cluster_id: int) -> bool:
        """Return whether a cluster is known to serve queues."""
        return any(
            self._states.get((cluster_id, resource.key)) not in _NOT_KNOWN_TO_SERVE
            for resource in registry.queue_resources(Queue)
        )

    def is_known(
        self, cluster_id: int, model: type[Queue | QueueEntry | Flavor | Group], group: str
    ) -> bool:
        """Return whether the stored objects of a model and API group are complete, at least as of the last read."""
        states = self._states_of(cluster_id, model, group)
        return all(state in _OLD for state in states if state != WatchState.NOT_SERVED)

    def knows_entries(self, cluster_id: int, group: str) -> bool:
        """Return whether all entries of the queues of an API group are known. Those of a scheduler are groups."""
        return self.is_known(
            cluster_id, Group if group in scheduler_queues() else QueueEntry, group
        )

    def is_stale(self, cluster_id: int, group: str) -> bool:
        """Return whether queues of an API group cannot be read now."""
        states = self._states_of(cluster_id, Queue, group)
        return any(state != WatchState.NOT_SERVED for state in states)

    def _states_of(
        self, cluster_id: int, model: type[Queue | QueueEntry | Flavor | Group], group: str
    ) -> Iterator[str]:
        resources = (
            group_resources_in_queues() if model is Group else registry.queue_resources(model)
        )
        for resource in resources:
            state = self._states.get((cluster_id, resource.key))
            if state is not None and resource.group == group:
                yield state

    def _has_queues(self, cluster_id: int, group: str) -> bool:
        """Return whether a cluster can have queues of an API group. True for an empty group."""
        return not group or any(
            self._states.get((cluster_id, resource.key)) != WatchState.NOT_SERVED
            for resource in registry.queue_resources(Queue)
            if resource.group == group
        )

    @property
    def serving(self) -> tuple[str, ...]:
        """The names of the clusters that serve queues."""
        return tuple(
            cluster.cluster for id_, cluster in self._clusters.items() if self.is_served(id_)
        )

    def unseen(self) -> Iterator[tuple[Freshness, str, tuple[str, ...]]]:
        """Yield each cluster and state of invisible kinds, with these kinds."""
        kinds: dict[tuple[int, str], list[str]] = {}
        groups = {resource.key: resource.group for resource in group_resources_in_queues()}
        for (id_, key), state in self._states.items():
            # The page does not show groups of a scheduler without queues.
            if state != WatchState.NOT_SERVED and self._has_queues(id_, groups.get(key, "")):
                kinds.setdefault((id_, state), []).append(self._kinds[key])
        for (id_, state), of_state in kinds.items():
            yield self._clusters[id_], state, tuple(of_state)


def _unobserved_states(
    resources: Collection[str], clusters: Mapping[int, Freshness]
) -> dict[tuple[int, str], str]:
    """Return why resources are not visible, by cluster id and resource (1 query).

    A resource that a silent cluster did not serve is still reported as not served.
    """
    rows = {
        (row.cluster_id, row.resource): row
        for row in ResourceState.objects.filter(
            cluster_id__in=list(clusters), resource__in=list(resources)
        )
    }
    states = {}
    for id_, cluster in clusters.items():
        for resource in resources:
            row = rows.get((id_, resource))
            is_absent = row is not None and row.state == WatchState.NOT_SERVED
            states[id_, resource] = (
                WatchState.NOT_SERVED if is_absent else unobserved_state(cluster, row)
            )
    return {place: state for place, state in states.items() if state}


def serves_queues(viewer: Viewer) -> bool:
    """Return whether a cluster that the viewer may see serves queues (1 query)."""
    keys = [resource.key for resource in registry.queue_resources(Queue)]
    clusters = Cluster.objects.filter(viewer.cluster_filter())
    states = ResourceState.objects.filter(cluster__in=clusters, resource__in=keys)
    return states.exclude(state=WatchState.NOT_SERVED).exists()
