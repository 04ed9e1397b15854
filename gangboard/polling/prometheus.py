"""Instant queries of a Prometheus, at an address or through the API server of a cluster."""

from __future__ import annotations

import math
import socket
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from statistics import fmean
from urllib.parse import urlencode, urlsplit

import msgspec
import urllib3.exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError, KubeErrorCode, clean_text
from gangboard.kube.transport import ResolveTimeoutError, dial, resolve
from gangboard.prometheus_sources import PrometheusSource

CONNECT_SECONDS = 3.0
"""For the name and its addresses together, then for each wait of the TLS handshake."""
TOTAL_SECONDS = 10.0
MAX_BYTES = 16 * 1024 * 1024
MAX_SERIES = 100_000
_READ_SIZE = 64 * 1024
_LABELS = (("exported_namespace", "exported_pod"), ("namespace", "pod"))
"""Labels with the namespace and name of a pod.

A scrape with `honor_labels: false` renames the labels of the exporter to the first pair. The second pair then names the
exporter."""

PodName = tuple[str, str]
"""Namespace and name."""


class PrometheusError(Exception):
    """The server did not give an answer that can be used. The text is one sentence."""


class _HTTPConnection(HTTPConnection):
    """A connection that is made within `CONNECT_SECONDS`. urllib3 has no deadline for resolving a name."""

    def _new_conn(self) -> socket.socket:
        return _reach(self.host, self.port)


class _HTTPSConnection(HTTPSConnection):
    """The same with TLS."""

    def _new_conn(self) -> socket.socket:
        return _reach(self.host, self.port)


def _reach(host: str, port: int) -> socket.socket:
    """Return a TCP socket to the host within `CONNECT_SECONDS`. Raises OSError."""
    deadline = time.monotonic() + CONNECT_SECONDS
    sock = dial(resolve(host, port, CONNECT_SECONDS), deadline)
    sock.settimeout(CONNECT_SECONDS)
    return sock


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None


class _Data(msgspec.Struct, rename="camel"):
    result_type: str = ""
    result: list[msgspec.Raw] = []


class _Answer(msgspec.Struct, rename="camel"):
    status: str = ""
    data: _Data | None = None
    error: str = ""


_answers = msgspec.json.Decoder(_Answer)
_series = msgspec.json.Decoder(_Series)


def query_by_pod(body: bytes) -> dict[PodName, float]:
    """Return the values of an instant vector in percent, by pod. Several series of a pod are averaged.

    Series without a pod, and values that are no number, are left out. Raises PrometheusError for another answer.
    """
    try:
        answer = _answers.decode(body)
    except msgspec.DecodeError as error:
        raise PrometheusError("Prometheus sent an answer that is not its JSON.") from error
    if answer.status != "success" or answer.data is None:
        raise PrometheusError(f"Prometheus refused the query: {clean_text(answer.error, 300)}")
    if answer.data.result_type != "vector":
        kind = clean_text(answer.data.result_type, 40) or "nothing"
        raise PrometheusError(f"The query must give an instant vector, and gives {kind}.")
    if len(answer.data.result) > MAX_SERIES:
        raise PrometheusError(f"The query gives more than {MAX_SERIES:,} series.")
    values: dict[PodName, list[float]] = defaultdict(list)
    for raw in answer.data.result:
        named = _value_of_pod(raw)
        if named is not None:
            values[named[0]].append(named[1])
    return {pod: fmean(numbers) for pod, numbers in values.items()}


def _value_of_pod(raw: msgspec.Raw) -> tuple[PodName, float] | None:
    try:
        series = _series.decode(raw)
        value = float(series.value[1]) if series.value is not None else math.nan
    except (msgspec.DecodeError, ValueError):
        return None
    if not math.isfinite(value):
        return None
    if not 0 <= value <= 100:
        raise PrometheusError(
            f"The query must give percent, from 0 to 100, and gives {value:g} for a pod."
        )
    for namespace_label, pod_label in _LABELS:
        name = (series.metric.get(namespace_label, ""), series.metric.get(pod_label, ""))
        if all(name):
            return name, value
    return None


def read_service(connection: Connection, source: PrometheusSource, query: str) -> bytes:
    """Return the answer of a Service of the cluster. Raises PrometheusError."""
    path = f"{source.proxy_path}/api/v1/query"
    try:
        return connection.get(path, {"query": query}, deadline=TOTAL_SECONDS)
    except KubeError as error:
        if error.code == KubeErrorCode.FORBIDDEN:
            raise PrometheusError(
                f"The account of gangboard may not read Service {source.service} in namespace "
                f"{source.namespace}: it lacks get on services/proxy, which print_rbac prints."
            ) from error
        raise PrometheusError(error.sentence) from error


def read_url(source: PrometheusSource, query: str, *, token: str, ca_file: str) -> bytes:
    """Return the answer of a server at an address, within `TOTAL_SECONDS`. Raises PrometheusError.

    It follows no redirect and uses no proxy of the environment.
    """
    parts = urlsplit(source.url)
    host, path = parts.netloc, f"{parts.path}/api/v1/query?{urlencode({'query': query})}"
    headers = {"Accept": "application/json", "User-Agent": "gangboard"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        connection = _connection(source.url, ca_file)
    except (OSError, ssl.SSLError) as error:
        raise PrometheusError(
            f"The file of GANGBOARD_PROMETHEUS_CA cannot be used: {_why(error)}."
        ) from error
    is_late = threading.Event()
    watchdog = threading.Timer(TOTAL_SECONDS, _cut, [connection, is_late])
    watchdog.daemon = True
    watchdog.start()
    try:
        return _exchange(connection, path, headers, host)
    except (OSError, urllib3.exceptions.HTTPError) as error:
        why = f"no complete answer within {TOTAL_SECONDS:g} s" if is_late.is_set() else _why(error)
        raise PrometheusError(f"Prometheus {host} cannot be read: {why}.") from error
    finally:
        watchdog.cancel()
        connection.close()


def _exchange(
    connection: HTTPConnection, path: str, headers: Mapping[str, str], host: str
) -> bytes:
    connection.connect()
    connection.request("GET", path, headers=headers, preload_content=False)
    response = connection.getresponse()
    body = bytearray()
    while piece := response.read(_READ_SIZE):
        body += piece
        if len(body) > MAX_BYTES:
            raise PrometheusError(
                f"The answer of Prometheus {host} is over {MAX_BYTES // 1024 // 1024} MiB."
            )
    # Refused queries have a JSON body with the cause.
    if response.status not in (200, 400, 422):
        raise PrometheusError(f"Prometheus {host} answered {response.status}.")
    return bytes(body)


def _connection(url: str, ca_file: str) -> HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "http":
        return _HTTPConnection(host, parts.port or 80, timeout=TOTAL_SECONDS)
    context = ssl.create_default_context(cafile=ca_file or None)
    return _HTTPSConnection(host, parts.port or 443, timeout=TOTAL_SECONDS, ssl_context=context)


def _cut(connection: HTTPConnection, is_late: threading.Event) -> None:
    """End a read that takes too long, after setting the event. Its thread gets an error."""
    is_late.set()
    sock = connection.sock
    if sock is not None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _why(error: Exception) -> str:
    if isinstance(error, ResolveTimeoutError):
        return f"its name was not resolved within {CONNECT_SECONDS:g} s"
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return f"no answer within {CONNECT_SECONDS:g} s"
    text = getattr(error, "strerror", None) or str(error.args[-1] if error.args else error)
    return clean_text(text, 200).rstrip(".") or type(error).__name__
