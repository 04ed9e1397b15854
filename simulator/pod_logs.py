"""Logs of containers, as a kubelet answers them through the API server."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from simulator import refusals
from simulator.requests import Request
from simulator.store import Key

Json = dict[str, Any]
Text = Callable[[], Iterable[bytes]]
"""Makes the lines of a log, each with its line break."""

_LINES = 400
_PIECE = 64 * 1024


class PodLogs:
    """Logs by pod, container and run. A container that has run without a log of its own has a training log."""

    def __init__(self) -> None:
        self._texts: dict[tuple[Key, str, bool], Text] = {}
        self.ignores_limits = False
        """Send whole logs, like a proxy that drops the query."""

    def write(
        self, namespace: str, pod: str, container: str, text: Text, *, previous: bool = False
    ) -> None:
        """Set the log of a container; of its last ended run with `previous`."""
        self._texts[(namespace, pod), container, previous] = text

    def read(self, request: Request, pod: Json) -> Iterator[bytes]:
        """Return the requested end of a log in pieces. Raises the 400 of a log that does not exist."""
        container = _container(request, pod)
        if not pod["spec"].get("nodeName"):
            return iter(())  # As API servers do, which then ask no kubelet.
        previous = request.query.get("previous", "").lower() in ("1", "true")
        _check_started(pod, container, previous=previous)
        key = (request.namespace, request.name), container["name"], previous
        lines = self._texts.get(key, lambda: _training_log(pod, previous=previous))()
        if self.ignores_limits:
            return _pieces(lines)
        tail, limit = request.number("tailLines"), request.number("limitBytes")
        if tail is not None:
            lines = deque(lines, maxlen=tail)
        return _limited(lines, limit) if limit is not None else _pieces(lines)


def _container(request: Request, pod: Json) -> Json:
    spec, name = pod["spec"], request.query.get("container", "")
    containers: list[Json] = spec.get("initContainers", []) + spec["containers"]
    if not name:
        if len(containers) > 1:
            names = " ".join(container["name"] for container in containers)
            raise refusals.bad_request(
                f"a container name must be specified for pod {request.name}, choose one of: [{names}]"
            )
        return containers[0]
    for container in containers:
        if container["name"] == name:
            return container
    raise refusals.bad_request(f"container {name} is not valid for pod {request.name}")


def _check_started(pod: Json, container: Json, *, previous: bool) -> None:
    name, pod_name, status = container["name"], pod["metadata"]["name"], pod.get("status", {})
    reports = status.get("initContainerStatuses", []) + status.get("containerStatuses", [])
    report: Json = next((report for report in reports if report["name"] == name), {})
    if previous:
        if not report.get("lastState", {}).get("terminated"):
            raise refusals.bad_request(
                f'previous terminated container "{name}" in pod "{pod_name}" not found'
            )
        return
    state = report.get("state", {})
    if not state or ("waiting" in state and not report.get("lastState")):
        reason = state.get("waiting", {}).get("reason", "ContainerCreating")
        raise refusals.bad_request(
            f'container "{name}" in pod "{pod_name}" is waiting to start: {reason}'
        )


def _training_log(pod: Json, *, previous: bool) -> Iterator[bytes]:
    """Yield a log that is the same for each read of a pod."""
    name = pod["metadata"]["name"]
    for step in range(1, _LINES + 1):
        loss = 2.5 / (1 + step / 50)
        yield f"step {step} of {_LINES}: loss {loss:.4f}, {name}\n".encode()
    if previous:
        yield b"torch.distributed.DistBackendError: NCCL error: unhandled system error\n"


def _limited(lines: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Yield the first bytes of lines, as kubelets cut an end that is too long."""
    for piece in _pieces(lines):
        yield piece[:limit]
        limit -= len(piece)
        if limit <= 0:
            return


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    iterator, piece = iter(lines), bytearray()
    for line in itertools.chain(iterator, (b"",)):
        piece += line
        if len(piece) >= _PIECE or not line:
            if piece:
                yield bytes(piece)
            piece = bytearray()
