"""The connection from gangboard to the simulated API server inside this process, and its faults.

`Wire` replaces a `kube.Connection`: the product's own reader and writer run on top of it. Each
request has three boundaries: before it is sent, on arrival, and before its response arrives. Other
actors may run at each boundary. An actor killed at one leaves a request behind that may have been
applied.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from urllib3.response import HTTPResponse

from gangboard.kube.connection import JSON, Connection, Query
from gangboard.kube.error_translation import SentRequest, status_error
from gangboard.kube.errors import KubeError
from gangboard.kube.transport import TLSConnection
from simulator.control_plane import SimulatedControlPlane
from simulator.requests import parse
from tests.interleavings.hub import Hub
from tests.interleavings.trace import Trace
from tests.polled_plane import HOST, target_of

_AGENT_MARK = " action/"


@dataclass(frozen=True)
class Sent:
    """One request that changes something, or would (dry run), of which a byte has left."""

    at: float
    worker: str
    action: str
    method: str
    path: str
    body: bytes
    dry_run: bool
    decided_at: float
    """Time of the worker's last boundary but one. It checked its permission before that."""
    is_refused: bool = False
    """The server refuses it with 403, so it certainly changes nothing."""


@dataclass(frozen=True)
class Applied:
    """One request that the server has carried out and stored."""

    sent: Sent
    subject: str
    """uid of the object that it changed, as it was stored before (after, for a new one)."""
    owners: frozenset[str]
    """uids of the owners of that object."""


@dataclass
class Ledger:
    """Everything that gangboard's act workers have sent, in order."""

    sent: list[Sent] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)


@dataclass
class Weather:
    """Probability of each fault per request."""

    reads: float = 0.0
    writes: float = 0.0


_READ_FAULTS = ("forbidden", "throttled", "500", "unreachable", "timeout")
_WRITE_FAULTS = (
    "forbidden",
    "409",
    "422",
    "throttled",
    "500",
    "500 after applying",
    "unreachable",
    "timeout before",
    "timeout after applying",
    "reset",
    "reset after applying",
    "reset, applied late",
)
_WRITE_DEADLINE = 10.0


class Wire(Connection):
    """One worker's connection for one action. It shares only the interface with the real
    connection."""

    def __init__(
        self,
        plane: SimulatedControlPlane,
        hub: Hub,
        random: Random,
        ledger: Ledger,
        weather: Weather,
        trace: Trace,
    ) -> None:
        self.host = HOST
        self.total_deadline = 10.0
        self._plane = plane
        self._hub = hub
        self._chance = random
        self._ledger = ledger
        self._weather = weather
        self._trace = trace
        self.on_read: Callable[[str], None] = lambda _path: None
        """Called with the path of each successful read, at the moment at which it is answered."""

    def for_action(self, on_read: Callable[[str], None]) -> Wire:
        """Return a way of its own for one action."""
        mine = Wire(self._plane, self._hub, self._chance, self._ledger, self._weather, self._trace)
        mine.on_read = on_read
        return mine

    def close(self) -> None:
        """This connection has no resources to release."""

    def new_tls_connection(self) -> TLSConnection:
        """Return what knows whether a byte has left."""
        return cast("TLSConnection", SimpleNamespace(has_written=False))

    # Reading

    def get(
        self, path: str, query: Query = None, *, deadline: float | None = None, accept: str = JSON
    ) -> bytes:
        """Return the answer to a GET. Raises KubeError."""
        self._hub.pause(f"GET {path}")
        fault = self._fault(_READ_FAULTS, self._weather.reads)
        if fault:
            self._trace.write(self._who, f"GET {path} meets {fault}")
        if fault == "unreachable":
            raise _unreachable()
        if fault == "timeout":
            self._hub.sleep(deadline or self.total_deadline, "waits for an answer")
            raise _timeout("GET", path)
        body = self._ask("GET", target_of(path, query), {"Accept": accept}, b"", fault)
        self.on_read(path)
        self._hub.pause(f"answer to GET {path}")
        return body

    # Writing

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
        target = target_of(path, query)
        dry_run = "dryRun=All" in target or b'"dryRun":["All"]' in body
        action = headers.get("User-Agent", "").partition(_AGENT_MARK)[2]
        description = f"{method} {path}{' (dry run)' if dry_run else ''}"
        fault = self._fault(_WRITE_FAULTS, self._weather.writes)
        if fault == "unreachable":
            self._hub.pause(f"before {description}")
            self._trace.write(self._who, f"{description} meets {fault}")
            raise _unreachable()
        cast("SimpleNamespace", tls).has_written = True
        actor, now = self._hub.current, self._hub.clock.seconds
        decided_at = actor.stood_at[0] if actor is not None else now
        refused = fault == "forbidden"
        sent = Sent(now, self._who, action, method, path, body, dry_run, decided_at, refused)
        self._ledger.sent.append(sent)
        self._trace.write(
            self._who, f"{description}{f' meets {fault}' if fault else ''} {body.decode()}"
        )
        self._travel(sent, description, target, headers)
        if fault in ("timeout before", "reset"):
            raise self._lost(fault, method, path, deadline)
        if fault == "reset, applied late":
            self._hub.clock.soon(
                lambda: self._arrive(sent, target, headers), self._chance.uniform(0.1, 2.0)
            )
            raise self._lost(fault, method, path, deadline)
        answer = self._write(sent, target, headers, fault)
        self._hub.pause(f"{description} is done, its answer under way")
        if fault in ("timeout after applying", "reset after applying"):
            raise self._lost(fault, method, path, deadline)
        if fault == "500 after applying":
            raise self._status(500, method, path)
        return cast("HTTPResponse", SimpleNamespace(status=answer[0], headers={})), answer[1]

    def _travel(
        self, sent: Sent, description: str, target: str, headers: Mapping[str, str]
    ) -> None:
        """Be under way. One who is killed then leaves a request that may arrive all the same."""
        actor = self._hub.current
        if actor is not None:
            actor.in_flight = lambda: self._arrive(sent, target, headers)
        self._hub.pause(f"{description} is under way")
        if actor is not None:
            actor.in_flight = None

    def _arrive(self, sent: Sent, target: str, headers: Mapping[str, str]) -> None:
        """Carry out a request whose sender is gone."""
        with suppress(KubeError):
            self._write(sent, target, headers, "")
            self._trace.write("server", f"{sent.method} {sent.path} arrives late")

    def _write(
        self, sent: Sent, target: str, headers: Mapping[str, str], fault: str
    ) -> tuple[int, bytes]:
        before = _object_at(self._plane, target)
        version = self._plane.store.version
        body = self._ask(sent.method, target, headers, sent.body, fault)
        if not sent.dry_run and self._plane.store.version != version:
            subject = before or json.loads(body)
            self._ledger.applied.append(
                Applied(sent, subject["metadata"]["uid"], frozenset(owner_uids(subject)))
            )
        return 201 if sent.method == "POST" else 200, body

    def _ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes, fault: str
    ) -> bytes:
        """Return the response of the API server. Raises KubeError."""
        faults = self._plane.faults
        if fault == "forbidden":
            faults.forbidden(count=1)
        elif fault == "throttled":
            faults.throttled(2, count=1)
        elif fault in ("409", "422", "500"):
            faults.status(int(fault), count=1)
        request = parse(method, target, headers, body)
        request.user = "system:serviceaccount:gangboard:actor"
        answer = self._plane.api.answer(request)
        if answer.code >= 400:
            error = status_error(
                answer.code, answer.headers, answer.body, _sent_request(method, request.path)
            )
            self._trace.write(self._who, f"  answered {error.sentence}")
            raise error
        return answer.body

    # Faults

    @property
    def _who(self) -> str:
        actor = self._hub.current
        return actor.name if actor is not None else "test"

    def _fault(self, kinds: tuple[str, ...], chance: float) -> str:
        return self._chance.choice(kinds) if self._chance.random() < chance else ""

    def _lost(self, fault: str, method: str, path: str, deadline: float | None) -> KubeError:
        if fault.startswith("reset"):
            return KubeError(
                "broken-off", f"{HOST} closed the connection without an answer to {method} {path}."
            )
        self._hub.sleep(deadline or _WRITE_DEADLINE, "waits for an answer")
        return _timeout(method, path)

    def _status(self, code: int, method: str, path: str) -> KubeError:
        status: dict[str, Any] = {"kind": "Status", "code": code, "reason": "InternalError"}
        body = str(status).replace("'", '"').encode()
        return status_error(code, {}, body, _sent_request(method, path))


def _sent_request(method: str, path: str) -> SentRequest:
    return SentRequest(HOST, method, path, 3.0, 10.0, time.monotonic() + 10.0)


def _unreachable() -> KubeError:
    return KubeError("unreachable", f"{HOST} refuses connections: nothing listens there.")


def _timeout(method: str, path: str) -> KubeError:
    return KubeError("timeout", f"{HOST} did not complete {method} {path} within 10 s.")


def _object_at(plane: SimulatedControlPlane, target: str) -> dict[str, Any] | None:
    """Return the object in a namespace that a path names, None when there is none."""
    segments = target.partition("?")[0].strip("/").split("/")
    for resource in plane.store.resources():
        if segments[1] == resource.group and segments[-2] == resource.plural:
            return plane.store.find(resource, (segments[-3], segments[-1]))
    return None


def owner_uids(obj: dict[str, Any]) -> set[str]:
    """Return the uids of the owners of an object."""
    return {owner["uid"] for owner in obj["metadata"].get("ownerReferences", ())}
