"""The client through which an action reads and writes one cluster, with the actor's credentials."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import quote

from gangboard.cluster_networks import cluster_destinations
from gangboard.domain.action import Step
from gangboard.kube.connection import Connection, Query
from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import KubeError
from gangboard.kube.write_client import Answer, WriteClient
from gangboard.store.models import Cluster
from gangboard.store.secrets import SecretUnreadableError, unseal

Json = dict[str, Any]

CONNECT_DEADLINE = 3.0
READ_DEADLINE = 10.0
WRITE_DEADLINE = 10.0
"""Seconds. Shorter than the lease of an action: when a worker takes over, earlier requests have ended."""


class NoActorError(RuntimeError):
    """The cluster has no actor, or its credentials cannot be used. The text is one sentence."""


class ActorClient(Protocol):
    """Requests that an action sends to a cluster.

    All methods raise KubeError; errors of writes have `reach`.
    """

    @property
    def host(self) -> str:
        """Name of the API server, for sentences."""

    def get(self, path: str, query: Query = None) -> bytes:
        """Return the answer to a GET."""

    def create(self, path: str, body: bytes, *, dry_run: bool = False) -> Answer:
        """Create an object, once."""

    def json_patch(self, path: str, body: bytes, *, dry_run: bool = False) -> Answer:
        """Send a JSON patch, once."""

    def merge_patch(self, path: str, body: bytes) -> Answer:
        """Send a merge patch as a dry run."""

    def delete(self, path: str, *, uid: str) -> Answer:
        """Delete the object if it still has this uid."""

    def close(self) -> None:
        """Return the connections to the pool."""


ClientFactory = Callable[[Cluster, str], ActorClient]
"""(cluster, id of the action) → a client of the cluster. Raises NoActorError."""


class KubeActorClient:
    """Sends requests to a real API server."""

    def __init__(self, connection: Connection, action: str) -> None:
        self.host = connection.host
        self._connection = connection
        self._writer = WriteClient(connection, action=action)

    def get(self, path: str, query: Query = None) -> bytes:
        """Return the answer to a GET."""
        return self._connection.get(path, query)

    def create(self, path: str, body: bytes, *, dry_run: bool = False) -> Answer:
        """Create an object, once."""
        return self._writer.create(path, body, dry_run=dry_run, deadline=WRITE_DEADLINE)

    def json_patch(self, path: str, body: bytes, *, dry_run: bool = False) -> Answer:
        """Send a JSON patch, once."""
        return self._writer.json_patch(path, body, dry_run=dry_run, deadline=WRITE_DEADLINE)

    def merge_patch(self, path: str, body: bytes) -> Answer:
        """Send a merge patch as a dry run."""
        return self._writer.merge_patch(path, body, dry_run=True, deadline=WRITE_DEADLINE)

    def delete(self, path: str, *, uid: str) -> Answer:
        """Delete the object if it still has this uid."""
        return self._writer.delete(path, uid=uid, deadline=WRITE_DEADLINE)

    def close(self) -> None:
        """Return the connections to the pool."""
        self._connection.close()


def open_client(cluster: Cluster, action: str) -> ActorClient:
    """Return a client of a cluster with its actor's credentials. Raises NoActorError.

    It connects at the first request. `action` is the id that appears in the server's audit log.
    """
    if cluster.actor_credentials is None:
        raise NoActorError(f"Cluster {cluster.name} has no actor: gangboard may only read it.")
    try:
        credentials = Credentials.from_document(unseal(bytes(cluster.actor_credentials)))
        connection = Connection(
            credentials,
            connect_deadline=CONNECT_DEADLINE,
            total_deadline=READ_DEADLINE,
            destinations=cluster_destinations(),
        )
    except (SecretUnreadableError, KubeError) as error:
        sentence = error.sentence if isinstance(error, KubeError) else str(error)
        raise NoActorError(
            f"The actor's credentials for cluster {cluster.name} cannot be used: {sentence}"
        ) from error
    return KubeActorClient(connection, action)


def send(client: ActorClient, step: Step | Any, *, dry_run: bool = False) -> Answer:
    """Send one step as it is stored. `step` has method, path and patch. Raises KubeError."""
    body = step.patch.encode()
    if step.method == "POST":
        return client.create(step.path, body, dry_run=dry_run)
    if step.method == "PATCH":
        return client.json_patch(step.path, body, dry_run=dry_run)
    if step.method == "MERGE":
        return client.merge_patch(step.path, body)
    return client.delete(step.path, uid=json.loads(step.patch)["preconditions"]["uid"])


def get_body(client: ActorClient, path: str) -> bytes | None:
    """Return the body of an object, or None if it does not exist. Raises KubeError."""
    try:
        return client.get(path)
    except KubeError as error:
        if error.is_object_missing:
            return None
        raise


def get_object(client: ActorClient, path: str) -> Json | None:
    """Return an object as decoded JSON, or None if it does not exist. Raises KubeError."""
    body = get_body(client, path)
    raw: Json | None = None if body is None else json.loads(body)
    return raw


def object_path(group: str, version: str, plural: str, namespace: str, name: str) -> str:
    """Return the URL path of one object in a namespace."""
    root = ["apis", group, version] if group else ["api", version]
    segments = [*root, "namespaces", namespace, plural, name]
    return "/" + "/".join(quote(segment, safe="") for segment in segments)
