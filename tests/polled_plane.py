"""A simulated control plane in this process, gangboard's rows about it, and a poll between the two.

The plane uses no sockets or threads, and a test moves its clock.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock
from urllib.parse import urlencode

from django.db import models
from urllib3.response import HTTPResponse

from gangboard.decode.events import EVENT
from gangboard.kube.connection import JSON, Connection, Query
from gangboard.kube.error_translation import SentRequest, status_error
from gangboard.kube.transport import TLSConnection
from gangboard.polling import poll_window, reflector, store_writer
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.poll_window import PollWindow
from gangboard.polling.reachability import ContactMeter
from gangboard.polling.reflector import Reflector
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.watch_batches import WatchUpdate
from gangboard.store.cluster_leases import acquire_lease
from gangboard.store.models import Cluster
from simulator.clock import SteppedClock
from simulator.control_plane import SimulatedControlPlane
from simulator.requests import parse

HOST = "simulated:6443"
_FOREVER = 1e9


class Moments:
    """The time as one worker sees it, a little off the database's, and the database's own."""

    def __init__(self, clock: SteppedClock, skew: float = 0.0) -> None:
        self._clock = clock
        self._skew = skew

    def now(self) -> datetime:
        """The time of this worker, in UTC."""
        return datetime.fromtimestamp(self._clock.now().timestamp() + self._skew, UTC)

    def monotonic(self) -> float:
        """Seconds that only go up."""
        return self._clock.seconds

    def database_now(self, later: float = 0.0) -> models.Expression:
        """The time of the database, plus seconds."""
        moment = datetime.fromtimestamp(self._clock.now().timestamp() + later, UTC)
        return models.Value(moment, output_field=models.DateTimeField())


class PolledPlane:
    """A simulated control plane and the cluster that gangboard has of it."""

    def __init__(
        self, plane: SimulatedControlPlane, clock: SteppedClock, name: str, **columns: Any
    ) -> None:
        """`columns` are those of the cluster's row."""
        self.plane = plane
        self.clock = clock
        values = {"server": f"https://{HOST}", "credentials": b"", "actor_credentials": b"actor"}
        self.cluster = Cluster.objects.create(name=name, **{**values, **columns})
        self._cache = self._new_cache()
        self._window = PollWindow(
            self._cache, seconds=_FOREVER, repair_interval=_FOREVER, list_only=True
        )
        self._seen: dict[str, int] = {}

    def _new_cache(self) -> ClusterCache:
        held = acquire_lease(self.cluster.pk, "poll")
        assert held is not None
        return ClusterCache(
            lease=held,
            cluster_name=self.cluster.name,
            credentials_stamp=b"",
            connection=DirectConnection(self.plane),
            watched={resource.key: WatchedResource(resource) for resource in resources()},
        )

    def poll(self) -> None:
        """List changes since the last poll, store them and assess gangs, at one time."""
        with _polling_at(self.clock):
            if self._cache.discovery is None:
                assert self._window._discover()
            for watched in self._cache.watched.values():
                if watched.version and watched.resource.key != EVENT.key and self._is_new(watched):
                    self._list(watched)
            self._window.writer.commit()

    def _is_new(self, watched: WatchedResource) -> bool:
        resource = watched.resource
        for table in self.plane.store.resources():
            if (table.group, table.plural) == (resource.group, resource.plural):
                end = self.plane.store.table(table).history.end_position
                is_new = self._seen.get(resource.key) != end
                self._seen[resource.key] = end
                return is_new
        return True

    def _list(self, watched: WatchedResource) -> None:
        news: queue.Queue[WatchUpdate] = queue.Queue()
        reflector = Reflector(
            connection=DirectConnection(self.plane),
            watched=watched,
            versions=self._cache.versions[watched.resource.key],
            list_slots=threading.BoundedSemaphore(1),
            out=news,
            ends_at=_FOREVER,
            list_only=True,
            on_contact=lambda: None,
            meter=ContactMeter(),
        )
        reflector.run()
        if reflector.crash is not None:
            raise reflector.crash
        state = watched.state
        while not news.empty():
            self._window.writer.apply(news.get())
        # A new resourceVersion alone is no change for a poll that lists.
        watched.changed = watched.state != state


class DirectConnection(Connection):
    """The way to the API server: it always gets its answer. Reader and writer of the product run on top of it."""

    def __init__(self, plane: SimulatedControlPlane) -> None:
        self.host = HOST
        self.total_deadline = 30.0
        self._plane = plane

    def close(self) -> None:
        """The connection has no resources to release."""

    def new_tls_connection(self) -> TLSConnection:
        """Return what knows whether a byte has left."""
        return cast("TLSConnection", SimpleNamespace(has_written=False))

    def get(
        self, path: str, query: Query = None, *, deadline: float | None = None, accept: str = JSON
    ) -> bytes:
        """Return the answer to a GET. Raises KubeError."""
        return self._ask("GET", path, query, {"Accept": accept}, b"")

    def send(
        self,
        tls: TLSConnection,
        method: str,
        path: str,
        query: Query,
        body: bytes,
        headers: Mapping[str, str],
        *,
        deadline: float | None = None,
    ) -> tuple[HTTPResponse, bytes]:
        """Send a request once and return the answer. Raises KubeError."""
        cast("SimpleNamespace", tls).has_written = True
        answer = self._ask(method, path, query, headers, body)
        status = 201 if method == "POST" else 200
        return cast("HTTPResponse", SimpleNamespace(status=status, headers={})), answer

    def _ask(
        self, method: str, path: str, query: Query, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        request = parse(method, target_of(path, query), headers, body)
        request.user = "system:serviceaccount:gangboard:actor"
        answer = self._plane.api.answer(request)
        if answer.code >= 400:
            sent = SentRequest(HOST, method, path, 3.0, 30.0, time.monotonic() + 30.0)
            raise status_error(answer.code, answer.headers, answer.body, sent)
        return answer.body


def target_of(path: str, query: Query) -> str:
    """Return a path with its query, as it stands in a request line."""
    pairs = list(query.items() if isinstance(query, Mapping) else query or ())
    return path + ("?" + urlencode(pairs) if pairs else "")


@contextmanager
def _polling_at(clock: SteppedClock) -> Iterator[None]:
    """Have the poll take its time from a clock."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Then:
            return cast("Then", clock.now())

    with (
        mock.patch.object(reflector, "datetime", Then),
        mock.patch.object(poll_window, "datetime", Then),
        mock.patch.object(store_writer, "datetime", Then),
    ):
        yield
