"""A whole simulated cluster as one object.

with Simulator(fleet="demo", story=False) as simulator:
    print(simulator.url, simulator.token)
    simulator.faults.throttled(5, resource="pods", verb="list", count=1)
    simulator.objects.delete("v1", "Pod", "debug-shell", "team-infra")
"""

from __future__ import annotations

import base64
import json
import secrets
import ssl
import threading
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Self

from simulator import fleets as fleets
from simulator.certificates import make_identity
from simulator.clock import Clock
from simulator.control_plane import SimulatedControlPlane
from simulator.fleet_spec import Fleet
from simulator.resources import Resource
from simulator.server import Server
from simulator.store import Backup
from simulator.story import Story

_ADMIN = "system:serviceaccount:gangboard:actor"
_READER = "system:serviceaccount:gangboard:reader"


class Simulator:
    """One simulated cluster: an HTTPS API server, its controllers, its fleet and its story.

    `fleet` is the name of a fleet, or a Fleet. `minor` is 1.37, 1.36 or plain (no gang API), by default that
    of the fleet. `hold` installs the Hold. `speed` divides every simulated delay. `history` is the number of
    changes per resource that watches can resume from. `independent` makes the JobSet controller honour
    reconciliation-mode `Independent`.
    """

    def __init__(
        self,
        fleet: str | Fleet = "demo",
        minor: str | None = None,
        hold: bool = True,
        story: bool = True,
        seed: int = 1,
        port: int = 0,
        *,
        name: str = "sim",
        speed: float = 1.0,
        bookmark_seconds: float = 10.0,
        history: int = 20_000,
        extra: tuple[Resource, ...] = (),
        independent: bool = False,
    ) -> None:
        chosen = fleets.find_fleet(fleet) if isinstance(fleet, str) else fleet
        self.name = name
        self.fleet = chosen
        self.minor = minor or fleets.MINORS.get(chosen.name, "1.37")
        self.token = secrets.token_urlsafe(24)
        self.reader_token = secrets.token_urlsafe(24)
        """A read-only token."""
        plane = SimulatedControlPlane(
            chosen,
            self.minor,
            Clock(speed),
            hold=hold,
            independent=independent,
            seed=seed,
            history=history,
            bookmark_seconds=bookmark_seconds,
            extra=extra,
            # Two simulators with the same seed are different clusters.
            identity=str(uuid.uuid4()),
        )
        self.clock, self.faults, self.api = plane.clock, plane.faults, plane.api
        self.store, self.writer, self.world = plane.store, plane.writer, plane.world
        self.kubelet, self.scheduler, self.objects = plane.kubelet, plane.scheduler, plane.objects
        self._story = Story(self.world, self.kubelet, chosen, seed=seed) if story else None
        self._identity = make_identity()
        tokens = {self.token: (_ADMIN, False), self.reader_token: (_READER, True)}
        self._server = Server(self.api, self._identity, tokens, port)
        self._thread: threading.Thread | None = None

    # Lifecycle

    def start(self) -> Self:
        """Start to serve, and to run the story."""
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},
            name="simulator-server",
            daemon=True,
        )
        self._thread.start()
        self.clock.start()
        if self._story is not None and self.fleet.story_pool:
            self.clock.soon(self._story.start)
        return self

    def stop(self) -> None:
        """End every connection, watch and task."""
        self.api.stopping.set()
        self.faults.clear()
        self.store.wake()
        self.clock.stop()
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join(5)
        self._server.drop_connections()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # Connection data of clients

    @property
    def url(self) -> str:
        """Return the URL of the API server."""
        return self._server.url

    @property
    def authority(self) -> str:
        """Return the CA certificate, PEM."""
        return self._identity.authority.decode()

    def client_context(self) -> ssl.SSLContext:
        """Return a TLS context that trusts only this server."""
        return self._identity.client_context()

    def kubeconfig_text(self, *, read_only: bool = False) -> str:
        """Return a kubeconfig with all data inline. It is JSON, which is valid YAML."""
        authority = base64.b64encode(self._identity.authority).decode()
        token = self.reader_token if read_only else self.token
        cluster = {"server": self.url, "certificate-authority-data": authority}
        context = {"cluster": self.name, "user": self.name}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": self.name, "user": {"token": token}}],
            "contexts": [{"name": self.name, "context": context}],
            "current-context": self.name,
        }
        return json.dumps(document, indent=2) + "\n"

    def expected(self) -> dict[tuple[str, str, str], str]:
        """Return the expected verdict code of each static gang of this simulator."""
        return self.fleet.expected(self.minor)

    # For tests

    def compact(self) -> None:
        """Drop all history. Older watches and pages get 410."""
        self.store.forget()

    def drop_connections(self) -> None:
        """Close every connection at once. Clients may reconnect."""
        self._server.drop_connections()

    def restore(self, backup: Backup) -> None:
        """Restore a backup of `store.back_up`, and close every connection, like a restored server.

        It is for fleets without a story, because controllers are not notified.
        """
        self.store.restore(backup)
        self.drop_connections()

    def at_once(self, action: Callable[[], None]) -> None:
        """Run an action while requests and controllers are blocked."""
        with self.store.lock:
            action()
