"""Live reads of a cluster's objects, with the actor's credentials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from gangboard.actions.actor_client import ActorClient, Json, get_body, object_path
from gangboard.decode.holds import HOLD
from gangboard.decode.list_watch_decoder import (
    Page,
    TooLargeError,
    build_model,
    read_object,
    read_page,
)
from gangboard.decode.pods import POD
from gangboard.domain.api_resource import DecodeError, Resource
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.facts.build_gang import NO_OBJECTS, GangObjects, build_gang
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.gang import Gang
from gangboard.kube.discovery import path_for
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.list_pager import pages
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind

Model = TypeVar("Model")

LIST_SECONDS = 60.0
MAX_LIST_BYTES = 512 * 1024**2
"""Largest list of one namespace, in bytes: 100,000 Jobs. An action holds it in memory and blocks a thread."""
_DEEPEST = 8
_JOB_NAME = "batch.kubernetes.io/job-name"
"""Label that the Job controller gives its pods (Kubernetes 1.27)."""
_NAMES_AT_ONCE = 40
"""Names in one selector. The URL stays under 8 KiB, which proxies accept."""


class UnreadableError(RuntimeError):
    """A live object cannot be decoded, so no decision is based on it. The text is one sentence."""


@dataclass(frozen=True, slots=True)
class LiveOwner:
    """One owner, as the cluster has it now."""

    owner: Owner
    raw: Json
    """The whole object, for its annotations and managedFields. It is never stored."""


@dataclass(frozen=True, slots=True)
class LiveEntry:
    """One queue entry, as the cluster has it now."""

    entry: QueueEntry
    raw: Json
    """The whole object, for its managedFields. It is never stored."""


@dataclass(frozen=True, slots=True)
class LiveReader:
    """Reads one cluster. All methods raise KubeError and UnreadableError."""

    client: ActorClient
    versions: dict[str, str]
    """Resource key → served version."""

    def read_owner(self, kind: OwnerKind, namespace: str, name: str) -> LiveOwner | None:
        """Return an owner by name, or None."""
        resource = kind.resource
        path = object_path(resource.group, self.version(resource), resource.plural, namespace, name)
        body = get_body(self.client, path)
        if body is None:
            return None
        return LiveOwner(_model(resource, body, self.version(resource), Owner), json.loads(body))

    def read_entry(self, group: str, kind: str, path: str) -> LiveEntry | None:
        """Return the queue entry of a kind at a path, or None if it is gone."""
        body = get_body(self.client, path)
        if body is None:
            return None
        resource = next(
            resource
            for resource in registry.queue_resources(QueueEntry)
            if (resource.group, resource.kind) == (group, kind)
        )
        return LiveEntry(
            _model(resource, body, self.version(resource), QueueEntry), json.loads(body)
        )

    def read_gang(self, target: LiveOwner, stored: Gang | None, cluster: ClusterView) -> Gang:
        """Return the gang of an owner or child Job from live objects, without pods. Groups are the stored ones."""
        now = datetime.now(UTC)
        chain = self._chain(target.owner)
        top = chain[-1]
        if registry.makes_gangs(top.meta.ref.group, top.meta.ref.kind):
            return build_gang(top, NO_OBJECTS, cluster, now)
        if chain[0] is top:
            chain = [*self._child_owners(top), top]
        uids = {owner.meta.ref.uid for owner in chain}
        is_job = top.meta.ref.is_job
        jobs = [] if is_job else [job for job in self._jobs_of(chain) if _controller(job) in uids]
        uids.update(job.meta.ref.uid for job in jobs)
        attached = self._attached(top, jobs, uids, is_queued=bool(stored and stored.entries))
        groups = stored.group_objects if stored is not None else ()
        maker = stored.maker if stored is not None else None
        members = [*chain[:-1], *jobs, *attached, *groups]
        return build_gang(top, GangObjects(members=members, maker=maker), cluster, now)

    def _attached(
        self, top: Owner, jobs: list[Owner], uids: set[str], *, is_queued: bool
    ) -> Iterator[Hold | QueueEntry]:
        """Yield the Holds and queue entries of these owners. `is_queued`: the gang has stored entries."""
        namespace = top.meta.ref.namespace
        yield from (hold for hold in self.holds(namespace) if hold.owner_uid in uids)
        if is_queued or any(owner.queue for owner in (top, *jobs)):
            yield from (entry for entry in self._entries(namespace) if entry.owner_uid in uids)

    def _chain(self, owner: Owner) -> list[Owner]:
        """Return the owner and the known owners above it in its gang, the topmost last."""
        chain = [owner]
        while len(chain) < _DEEPEST and (above := chain[-1].meta.controller) is not None:
            kind = registry.owner_kind(above.group, above.kind)
            if kind is None or kind.makes_gangs:
                break
            parent = self.read_owner(kind, owner.meta.ref.namespace, above.name)
            if parent is None or parent.owner.meta.ref.uid != above.uid:
                break
            chain.append(parent.owner)
        return chain

    def _child_owners(self, top: Owner) -> list[Owner]:
        """Return the owners below `top` that create its Jobs, the lowest first."""
        owners: list[Owner] = []
        layer = [top]
        for _ in range(_DEEPEST):
            layer = [child for owner in layer for child in self._direct_children(owner)]
            owners = [*layer, *owners]
        return owners

    def _direct_children(self, owner: Owner) -> Iterator[Owner]:
        ref = owner.meta.ref
        kind = registry.owner_kind(ref.group, ref.kind)
        for group, name_of_kind, name in kind.makers(owner) if kind is not None else ():
            child_kind = registry.owner_kind(group, name_of_kind)
            child = (
                self.read_owner(child_kind, ref.namespace, name) if child_kind is not None else None
            )
            if child is not None and _controller(child.owner) == ref.uid:
                yield child.owner

    def _jobs_of(self, chain: list[Owner]) -> Iterator[Owner]:
        """Yield the Jobs that may belong to the chain, by the child label of its lowest owner with one."""
        kind = registry.job_kind()
        if kind is None:
            return
        selector: dict[str, str] = {}
        for owner in chain:
            ref = owner.meta.ref
            owner_kind = registry.owner_kind(ref.group, ref.kind)
            if owner_kind is not None and owner_kind.child_label:
                selector = {"labelSelector": f"{owner_kind.child_label}={ref.name}"}
                break
        namespace = chain[-1].meta.ref.namespace
        yield from self._list(kind.resource, namespace, selector, Owner)

    def holds(self, namespace: str) -> tuple[Hold, ...]:
        """Return the Holds of a namespace; none if the resource is not installed.

        The API server checks RBAC before it looks up the resource. If the poll did not see the resource
        served, a 403 therefore also means that it is not installed.
        """
        try:
            return tuple(self._list(HOLD, namespace, {}, Hold))
        except KubeError as error:
            is_unserved = HOLD.key not in self.versions
            if error.code == KubeErrorCode.NOT_FOUND or (
                error.code == KubeErrorCode.FORBIDDEN and is_unserved
            ):
                return ()
            raise

    def _entries(self, namespace: str) -> Iterator[QueueEntry]:
        for resource in registry.queue_resources(QueueEntry):
            if resource.key in self.versions:
                yield from self._list(resource, namespace, {}, QueueEntry)

    def pods(self, namespace: str, jobs: dict[str, str]) -> tuple[Pod, ...]:
        """Return the pods of Jobs, given as uid → name."""
        names = sorted(set(jobs.values()))
        pods: list[Pod] = []
        for start in range(0, len(names), _NAMES_AT_ONCE):
            batch = ",".join(names[start : start + _NAMES_AT_ONCE])
            selector = {"labelSelector": f"{_JOB_NAME} in ({batch})"}
            pods += self._list(POD, namespace, selector, Pod)
        return tuple(pod for pod in pods if _controller(pod) in jobs)

    def labelled_pods(self, namespace: str, selector: str) -> tuple[Pod, ...]:
        """Return the pods that match a label selector."""
        return tuple(self._list(POD, namespace, {"labelSelector": selector}, Pod))

    def version(self, resource: Resource) -> str:
        """Return the API version in which to request a resource."""
        return self.versions.get(resource.key) or resource.versions[0]

    def _list(
        self, resource: Resource, namespace: str, query: dict[str, str], model_type: type[Model]
    ) -> Iterator[Model]:
        path = path_for(resource.group, self.version(resource), resource.plural, namespace)

        def decode(body: bytes) -> Page:
            return self._read_page(body, resource)

        for page in pages(
            self.client, path, decode, query=query, most_bytes=MAX_LIST_BYTES, seconds=LIST_SECONDS
        ):
            for wire in page.objects:
                model, _ = build_model(resource, wire, self.version(resource))
                if isinstance(model, model_type):
                    yield model

    def _read_page(self, body: bytes, resource: Resource) -> Page:
        try:
            return read_page(body, resource)
        except TooLargeError as error:
            raise KubeError(KubeErrorCode.TOO_LARGE, f"{self.client.host}: {error}") from error
        except DecodeError as error:
            raise UnreadableError(str(error)) from error


def _model(resource: Resource, body: bytes, version: str, model_type: type[Model]) -> Model:
    try:
        wire = read_object(body, resource)
    except DecodeError as error:
        raise UnreadableError(str(error)) from error
    model, problem = build_model(resource, wire, version)
    if not isinstance(model, model_type):
        raise UnreadableError(problem.sentence if problem else f"{resource.kind} cannot be read.")
    return model


def _controller(model: Any) -> str:
    controller = model.meta.controller
    return controller.uid if controller is not None else ""
