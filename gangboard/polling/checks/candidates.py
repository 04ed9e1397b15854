"""Objects of a text that can be gangs: expanded, admitted or held back, and added to the cluster in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from gangboard.decode.manifests import Document
from gangboard.domain.api_resource import WatchState
from gangboard.domain.forecast import CreationContext, Forecast, ManifestFault
from gangboard.domain.owner import Blueprint, Owner
from gangboard.facts.cluster_view import kubernetes_minor
from gangboard.plugins import registry
from gangboard.polling.checks.documents import in_its_scope
from gangboard.polling.checks.expansion import UID_PREFIX, Expander, ExpansionError, NewObject
from gangboard.polling.checks.loaded_cluster import LoadedCluster
from gangboard.polling.checks.queue_admission import (
    apply_admission,
    forecast_admission,
    gate_pods,
    with_owner,
    with_suspend,
)
from gangboard.polling.visibility import group_resource


@dataclass(slots=True)
class Candidate:
    """An object of the text that can be a gang, or a part of one."""

    document: Document
    made: NewObject | None = None
    error: str = ""
    forecast: Forecast | None = None
    faults: tuple[ManifestFault, ...] = ()
    notes: list[str] = field(default_factory=list)
    not_served: tuple[str, ...] = ()
    """Kinds that the cluster does not serve."""


class Candidates:
    """Makes the candidates of one check of one cluster."""

    def __init__(self, loaded: LoadedCluster, now: datetime) -> None:
        self._loaded, self._now = loaded, now
        cache = loaded.cache
        self._context = CreationContext(
            kubernetes=kubernetes_minor(loaded.cluster.server_version),
            api_versions={
                key: watched.version
                for key, watched in cache.watched.items()
                if watched.version and watched.state != WatchState.NOT_SERVED
            },
            blueprints=cache.blueprints.all(),
        )
        groups = group_resource(cache.watched)
        self.expander = Expander(
            self._context, now, has_groups=groups is not None and bool(groups.version)
        )

    def is_owner(self, document: Document) -> bool:
        """Return whether an object has a kind whose objects are owners."""
        resource = self.expander.resource_of(document.group, document.kind)
        return resource is not None and resource.model is Owner

    def add_shared(self, document: Document) -> str:
        """Add an object that several gangs use, such as a runtime. Return why it could not be added, or an empty text."""
        try:
            made = self.expander.expand(document.manifest)
        except ExpansionError as error:
            return str(error)
        model = in_its_scope(made, document)
        self._loaded.add(made.resource, model)
        if isinstance(model, Blueprint):
            self._context = replace(self._context, blueprints=(*self._context.blueprints, model))
            self.expander.context = self._context
        return ""

    def prepare(self, document: Document) -> Candidate:
        """Return the object with everything that is created with it, admitted or held back by its queue."""
        candidate = Candidate(document)
        candidate.faults = tuple(registry.faults_of(document.manifest, self._context))
        kind = registry.owner_kind(document.group, document.kind)
        try:
            made = self.expander.expand(document.manifest)
            candidate.not_served = self._not_served(made)
            self._replace_existing(made, candidate)
            if kind is not None and kind.makes_gangs and made.children:
                made = self.expander.expand(made.children[0].manifest)
            # An admission system resumes owners that it admits, so it decides about the resumed owner.
            resumed = self._resumed(made)
            forecast = forecast_admission(resumed, self._loaded, self._now)
            if forecast is not None:
                made = self._admitted(resumed, forecast)
                candidate.forecast = with_owner(forecast, made)
        except ExpansionError as error:
            candidate.error = str(error)
            return candidate
        candidate.made = made
        return candidate

    def _resumed(self, made: NewObject) -> NewObject:
        is_owner = isinstance(made.model, Owner)
        return with_suspend(made, self.expander, suspended=False) if is_owner else made

    def _admitted(self, made: NewObject, forecast: Forecast) -> NewObject:
        if forecast.unknown:
            return made
        if forecast.entry.admitted:
            apply_admission(made, forecast, self.expander)
            return made
        if isinstance(made.model, Owner):
            return with_suspend(made, self.expander, suspended=True)
        gate_pods(made, f"{forecast.entry.meta.ref.group}/admission", self.expander)
        return made

    def _not_served(self, made: NewObject) -> tuple[str, ...]:
        """Return the kinds that the cluster does not serve, of the object and of everything created with it."""
        watched = self._loaded.cache.watched
        missing = {
            item.resource.kind: None
            for item in made.walk()
            if watched[item.resource.key].state == WatchState.NOT_SERVED
        }
        return tuple(missing)

    def _replace_existing(self, made: NewObject, candidate: Candidate) -> None:
        """Remove the gang of an object that exists with this name, as if it were deleted first."""
        metadata, cache = made.manifest["metadata"], self._loaded.cache
        place = (metadata["namespace"], metadata["name"])
        uid = next(
            (uid for uid, name in cache.names[made.resource.key].items() if name == place), None
        )
        if uid is None or uid.startswith(UID_PREFIX):
            return
        graph = cache.ownership_graph
        root = graph.root_of(uid)
        self._loaded.hide({uid, *(graph.members(root) if root == uid else ())})
        candidate.notes.append(
            f"{made.resource.kind} {metadata['name']} exists in this cluster. The check assumes that"
            " it is deleted first, with the capacity that it holds."
        )

    def add(self, candidate: Candidate) -> None:
        """Add a candidate with everything that is created with it, and its queue entry."""
        if candidate.made is None:
            return
        for item in candidate.made.walk():
            self._loaded.add(item.resource, item.model)
        forecast = candidate.forecast
        if forecast is not None and not forecast.unknown:
            ref = forecast.entry.meta.ref
            resource = self.expander.resource_of(ref.group, ref.kind)
            if resource is not None:
                self._loaded.add(resource, forecast.entry)
