"""What one API server serves, in which versions, and what it could not tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

import msgspec

from gangboard.kube.connection import JSON, Connection
from gangboard.kube.errors import KubeError, KubeErrorCode

AGGREGATED = ",".join(
    [
        *(
            f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            for version in ("v2", "v2beta1")
        ),
        JSON,
    ]
)
"""One answer for all groups, since Kubernetes 1.26; older servers send the plain list."""

SYSTEM_NAMESPACE = "kube-system"
IDENTITY_SECONDS = 5.0
LONGEST_UID = 128
"""Characters that are kept: those of a real uid are 36."""

_OF_THE_WHOLE_SERVER = frozenset(
    {
        KubeErrorCode.UNREACHABLE,
        KubeErrorCode.FORBIDDEN_ADDRESS,
        KubeErrorCode.TLS,
        KubeErrorCode.UNAUTHORIZED,
        KubeErrorCode.CREDENTIALS,
        KubeErrorCode.THROTTLED,
    }
)
"""Codes that say nothing about the one group that was asked for."""


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """One version of one resource."""

    version: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Discovery:
    """What is served. What is in neither mapping is not served."""

    server_version: str
    """`v1.37.0`, for people. Empty where we may not ask."""
    resources: Mapping[tuple[str, str], tuple[ServedVersion, ...]]
    """(group, plural) → its versions in the server's order of preference. The core group is ''."""
    failed: Mapping[str, KubeError]
    """`group/version` (core: `v1`) → why we do not know what it serves. Never "not served"."""
    cluster_uid: str = ""
    """uid of the namespace `kube-system`; empty where it may not be read, or was not answered."""

    def failure_of(self, group: str) -> KubeError | None:
        """Return why something of this group may be served although it is not listed."""
        for name, error in self.failed.items():
            if name.rpartition("/")[0] == group:
                return error
        return None


@dataclass(slots=True)
class _Found:
    resources: dict[tuple[str, str], list[ServedVersion]] = field(default_factory=dict)
    failed: dict[str, KubeError] = field(default_factory=dict)

    def add(self, group: str, plural: str, served: ServedVersion) -> None:
        self.resources.setdefault((group, plural), []).append(served)


class _Wire(msgspec.Struct, rename="camel"):
    """What Go writes as null, an empty list, may be None here."""


class _Name(_Wire):
    name: str = ""


class _Kind(_Wire):
    kind: str = ""


class _AggregatedResource(_Wire):
    resource: str
    scope: str = ""
    verbs: list[str] = []
    response_kind: _Kind | None = None


class _AggregatedVersion(_Wire):
    version: str
    freshness: str = "Current"
    resources: list[_AggregatedResource] = []


class _AggregatedGroup(_Wire):
    metadata: _Name = msgspec.field(default_factory=_Name)
    versions: list[_AggregatedVersion] = []


class _AggregatedList(_Wire):
    items: list[_AggregatedGroup] = []


class _GroupVersion(_Wire):
    version: str


class _Group(_Wire):
    name: str
    versions: list[_GroupVersion] | None = None


class _GroupList(_Wire):
    groups: list[_Group] | None = None


class _Resource(_Wire):
    name: str
    kind: str = ""
    namespaced: bool = False
    verbs: list[str] | None = None


class _ResourceList(_Wire):
    kind: str = ""
    resources: list[_Resource] | None = None


class _Version(_Wire):
    git_version: str = ""


class _Identity(_Wire):
    uid: str = ""


class _Namespace(_Wire):
    kind: str = ""
    metadata: _Identity = msgspec.field(default_factory=_Identity)


_KIND = msgspec.json.Decoder(_Kind)
_NAMESPACE = msgspec.json.Decoder(_Namespace)
_AGGREGATED_LIST = msgspec.json.Decoder(_AggregatedList)
_GROUP_LIST = msgspec.json.Decoder(_GroupList)
_RESOURCE_LIST = msgspec.json.Decoder(_ResourceList)
_VERSION = msgspec.json.Decoder(_Version)


def discover(connection: Connection, *, groups: Collection[str] | None = None) -> Discovery:
    """Ask what is served in these groups ('' is the core group); None means all of them.

    Raises KubeError when the server as a whole does not tell. A single group version that fails, or
    whose answer the server calls stale, is in `failed`.
    """
    found = _Found()
    version = _server_version(connection)
    if groups is None or "" in groups:
        _read_core(connection, found)
    if groups is None or set(groups) - {""}:
        body = connection.get("/apis", accept=AGGREGATED)
        kind = _decode(connection, "/apis", body, _KIND).kind
        if kind == "APIGroupDiscoveryList":
            _read_aggregated(connection, "/apis", body, groups, found)
        elif kind == "APIGroupList":
            _read_plain(connection, body, groups, found)
        else:
            # What stands in between may answer `{}`: that is not "nothing is served".
            raise _no_discovery(connection, "/apis")
    resources = {key: tuple(served) for key, served in found.resources.items()}
    return Discovery(version, resources, found.failed, read_cluster_uid(connection))


def read_cluster_uid(connection: Connection) -> str:
    """Return the identity of the cluster, which does not depend on its address. Empty if it cannot be read.

    It is the uid of the namespace `kube-system`, which no cluster is without and which lives as long as
    the cluster. A cluster is read without it too, so no error of this request counts.
    """
    path = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}"
    try:
        body = connection.get(path, deadline=IDENTITY_SECONDS)
        found = _decode(connection, path, body, _NAMESPACE)
    except KubeError:
        return ""
    return found.metadata.uid[:LONGEST_UID] if found.kind == "Namespace" else ""


def path_for(group: str, version: str, plural: str, namespace: str | None = None) -> str:
    """Return the URL path of a list: of one namespace, or of the whole cluster."""
    root = ("apis", group, version) if group else ("api", version)
    inside = ("namespaces", namespace) if namespace else ()
    return "/" + "/".join(quote(part, safe="") for part in (*root, *inside, plural))


def _server_version(connection: Connection) -> str:
    try:
        return _decode(connection, "/version", connection.get("/version"), _VERSION).git_version
    except KubeError as error:
        if error.code in (KubeErrorCode.FORBIDDEN, KubeErrorCode.NOT_FOUND):
            return ""  # for people only; some managed clusters hide it
        raise


def _read_core(connection: Connection, found: _Found) -> None:
    try:
        body = connection.get("/api", accept=AGGREGATED)
        if _decode(connection, "/api", body, _KIND).kind == "APIGroupDiscoveryList":
            _read_aggregated(connection, "/api", body, {""}, found)
        else:
            _read_version(connection, "", "v1", found)
    except KubeError as error:
        _keep(error, "v1", found)


def _read_aggregated(
    connection: Connection,
    path: str,
    body: bytes,
    groups: Collection[str] | None,
    found: _Found,
) -> None:
    for group in _decode(connection, path, body, _AGGREGATED_LIST).items:
        name = group.metadata.name
        if groups is not None and name not in groups:
            continue
        for version in group.versions:
            title = _title(name, version.version)
            if version.freshness == "Stale":
                # Its resources are those of some time ago, or none: kubectl treats it so too.
                found.failed[title] = KubeError(
                    KubeErrorCode.SERVER_ERROR,
                    f"{connection.host} lists {title}, but the server behind it does not answer:"
                    " its discovery is stale.",
                )
                continue
            for item in version.resources:
                found.add(name, item.resource, _aggregated_served(version.version, item))


def _aggregated_served(version: str, item: _AggregatedResource) -> ServedVersion:
    kind = item.response_kind.kind if item.response_kind else ""
    return ServedVersion(version, kind, item.scope == "Namespaced", frozenset(item.verbs))


def _read_plain(
    connection: Connection, body: bytes, groups: Collection[str] | None, found: _Found
) -> None:
    for name, version in _wanted(_decode(connection, "/apis", body, _GROUP_LIST), groups):
        try:
            _read_version(connection, name, version, found)
        except KubeError as error:
            _keep(error, _title(name, version), found)


def _wanted(listed: _GroupList, groups: Collection[str] | None) -> Iterator[tuple[str, str]]:
    for group in listed.groups or ():
        if groups is None or group.name in groups:
            for entry in group.versions or ():
                yield group.name, entry.version


def _read_version(connection: Connection, group: str, version: str, found: _Found) -> None:
    path = path_for(group, version, "").rstrip("/")
    listed = _decode(connection, path, connection.get(path), _RESOURCE_LIST)
    if listed.kind != "APIResourceList":
        raise _no_discovery(connection, path)
    for item in listed.resources or ():
        if "/" not in item.name:  # no subresources
            verbs = frozenset(item.verbs or ())
            served = ServedVersion(version, item.kind, item.namespaced, verbs)
            found.add(group, item.name, served)


def _keep(error: KubeError, title: str, found: _Found) -> None:
    """Note the failure of one group version, or raise it when it is the whole server's."""
    if error.code in _OF_THE_WHOLE_SERVER:
        raise error
    found.failed[title] = error


def _title(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


T = TypeVar("T")


def _decode(connection: Connection, path: str, body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _no_discovery(connection, path) from error


def _no_discovery(connection: Connection, path: str) -> KubeError:
    return KubeError(
        KubeErrorCode.NOT_JSON,
        f"{connection.host} answered GET {path} with JSON that is not a Kubernetes discovery.",
    )
