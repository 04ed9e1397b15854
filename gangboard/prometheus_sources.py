"""Addresses of the Prometheus servers that measure accelerator use, by cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

EVERY_CLUSTER = "*"
_SERVICE = re.compile(
    r"service:(?P<namespace>[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)/"
    r"(?P<name>(https?:)?[a-z]([a-z0-9-]{0,61}[a-z0-9])?:([a-z][a-z0-9-]{0,14}|\d{1,5}))"
)
_WANTED = (
    "NAME=ADDRESS, separated by commas, such as east=https://prometheus.example.com or "
    "*=service:monitoring/prometheus:9090"
)
_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")


@dataclass(frozen=True, slots=True)
class PrometheusSource:
    """One server: at an address, or a Service in the cluster, read through its API server."""

    url: str = ""
    """Without a trailing slash. Empty for a Service."""
    namespace: str = ""
    service: str = ""
    """`[SCHEME:]NAME:PORT`, as in the path of the API server and in `resourceNames` of RBAC."""

    @property
    def proxy_path(self) -> str:
        """The path of a Service at the API server."""
        namespace, service = quote(self.namespace, safe=""), quote(self.service, safe=":")
        return f"/api/v1/namespaces/{namespace}/services/{service}/proxy"


def read_sources(text: str) -> dict[str, PrometheusSource]:
    """Return the source of each cluster from `NAME=ADDRESS, …`. The name `*` stands for every other cluster.

    Raises ValueError for any other text, which it does not repeat, because an address may hold a password.
    """
    sources = {}
    for item in re.split(r"[\s,]+", text.strip()):
        name, separator, address = item.partition("=")
        if not (separator and name) or name in sources:
            raise ValueError(_WANTED)
        sources[name] = _read_address(address)
    return sources


def _read_address(address: str) -> PrometheusSource:
    if match := _SERVICE.fullmatch(address):
        return PrometheusSource(namespace=match["namespace"], service=match["name"])
    if not _URL.fullmatch(address):
        raise ValueError(_WANTED)
    return PrometheusSource(url=address.rstrip("/"))


def source_of(cluster: str, sources: Mapping[str, PrometheusSource]) -> PrometheusSource | None:
    """Return the source of a cluster, or None if it has none."""
    return sources.get(cluster) or sources.get(EVERY_CLUSTER)
