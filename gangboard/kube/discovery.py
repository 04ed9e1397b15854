"""Discovery of one API server: the resources and versions that it serves, and the hashes of its schemas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import parse_qs, quote, urlsplit

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
"""One response for all groups, since Kubernetes 1.26. Older servers send the plain list."""

SYSTEM_NAMESPACE = "kube-system"
IDENTITY_SECONDS = 5.0
LONGEST_HASH = 64
"""Maximum characters of a schema hash. Servers send a SHA-512 in hexadecimal, 128 characters."""
LONGEST_UID = 128
"""Maximum characters. A real uid has 36."""

_SERVER_ERRORS = frozenset(
    {
        KubeErrorCode.UNREACHABLE,
        KubeErrorCode.FORBIDDEN_ADDRESS,
        KubeErrorCode.TLS,
        KubeErrorCode.UNAUTHORIZED,
        KubeErrorCode.CREDENTIALS,
        KubeErrorCode.THROTTLED,
    }
)
"""Codes of errors that concern the whole server, not a single group."""


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """One version of one resource."""

    version: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Discovery:
    """The served resources. A resource in neither mapping is not served."""

    server_version: str
    """`v1.37.0`, for people. Empty if the account may not read it."""
    resources: Mapping[tuple[str, str], tuple[ServedVersion, ...]]
    """(group, plural) → its versions in the server's order of preference. The core group is ''."""
    failed: Mapping[str, KubeError]
    """`group/version` (core: `v1`) → why its resources are unknown. It may be served."""
    cluster_uid: str = ""
    """uid of the namespace `kube-system`. Empty if it could not be read."""

    def failure_of(self, group: str) -> KubeError | None:
        """Return the error because of which resources of this group may be missing here. None if the group is known."""
        for name, error in self.failed.items():
            if name.rpartition("/")[0] == group:
                return error
        return None


@dataclass(slots=True)
class _DiscoveryBuilder:
    resources: dict[tuple[str, str], list[ServedVersion]] = field(default_factory=dict)
    failed: dict[str, KubeError] = field(default_factory=dict)

    def add(self, group: str, plural: str, served: ServedVersion) -> None:
        self.resources.setdefault((group, plural), []).append(served)


class _Wire(msgspec.Struct, rename="camel"):
    """A wire struct. Go writes an empty list as null, which is None here."""


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


class _OpenApiPath(msgspec.Struct):
    serverRelativeURL: str = ""  # noqa: N815 - as it is on the wire


class _OpenApiIndex(msgspec.Struct):
    paths: dict[str, _OpenApiPath] | None = None


class _Namespace(_Wire):
    kind: str = ""
    metadata: _Identity = msgspec.field(default_factory=_Identity)


_KIND = msgspec.json.Decoder(_Kind)
_NAMESPACE = msgspec.json.Decoder(_Namespace)
_AGGREGATED_LIST = msgspec.json.Decoder(_AggregatedList)
_GROUP_LIST = msgspec.json.Decoder(_GroupList)
_RESOURCE_LIST = msgspec.json.Decoder(_ResourceList)
_VERSION = msgspec.json.Decoder(_Version)
_OPENAPI_INDEX = msgspec.json.Decoder(_OpenApiIndex)


def discover(connection: Connection, *, groups: Collection[str] | None = None) -> Discovery:
    """Return the resources served in these groups ('' is the core group), by default in all groups.

    Raises KubeError if discovery fails as a whole. A single group version that fails, or that the server calls stale,
    is in `failed`.
    """
    builder = _DiscoveryBuilder()
    version = _server_version(connection)
    if groups is None or "" in groups:
        _read_core(connection, builder)
    if groups is None or set(groups) - {""}:
        body = connection.get("/apis", accept=AGGREGATED)
        kind = _decode(connection, "/apis", body, _KIND).kind
        if kind == "APIGroupDiscoveryList":
            _read_aggregated(connection, "/apis", body, groups, builder)
        elif kind == "APIGroupList":
            _read_plain(connection, body, groups, builder)
        else:
            # A proxy in between may answer `{}`, which does not mean an empty discovery.
            raise _no_discovery(connection, "/apis")
    resources = {key: tuple(served) for key, served in builder.resources.items()}
    return Discovery(version, resources, builder.failed, read_cluster_uid(connection))


def read_cluster_uid(connection: Connection) -> str:
    """Return the identity of the cluster, which does not depend on its address. Empty if it cannot be read.

    It is the uid of the namespace `kube-system`, which every cluster has for its whole life. Errors of this request
    are ignored, because a cluster is also read without its identity.
    """
    path = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}"
    try:
        body = connection.get(path, deadline=IDENTITY_SECONDS)
        namespace = _decode(connection, path, body, _NAMESPACE)
    except KubeError:
        return ""
    return namespace.metadata.uid[:LONGEST_UID] if namespace.kind == "Namespace" else ""


def schema_hash(connection: Connection, group: str, version: str) -> str:
    """Return a hash of the served schema of `group/version`. Empty if it is not served or may not be read.

    It is in the index `/openapi/v3` (`?hash=` of the path of a group version, since Kubernetes 1.24). It changes with
    every field, description or default, so nearly every release of the CRD's project has its own. Raises KubeError if
    the server fails.
    """
    try:
        body = connection.get("/openapi/v3")
    except KubeError as error:
        if error.code in (KubeErrorCode.FORBIDDEN, KubeErrorCode.NOT_FOUND):
            return ""
        raise
    try:
        index = _OPENAPI_INDEX.decode(body)
    except msgspec.DecodeError:
        return ""
    path = (index.paths or {}).get(f"apis/{group}/{version}" if group else f"api/{version}")
    hashes = parse_qs(urlsplit(path.serverRelativeURL).query).get("hash") if path else None
    return hashes[0][:LONGEST_HASH] if hashes else ""


def path_for(group: str, version: str, plural: str, namespace: str | None = None) -> str:
    """Return the URL path of a list, in one namespace or in the whole cluster."""
    root = ("apis", group, version) if group else ("api", version)
    scope = ("namespaces", namespace) if namespace else ()
    return "/" + "/".join(quote(segment, safe="") for segment in (*root, *scope, plural))


def _server_version(connection: Connection) -> str:
    try:
        return _decode(connection, "/version", connection.get("/version"), _VERSION).git_version
    except KubeError as error:
        if error.code in (KubeErrorCode.FORBIDDEN, KubeErrorCode.NOT_FOUND):
            return ""  # for people only, and some managed clusters hide it
        raise


def _read_core(connection: Connection, builder: _DiscoveryBuilder) -> None:
    try:
        body = connection.get("/api", accept=AGGREGATED)
        if _decode(connection, "/api", body, _KIND).kind == "APIGroupDiscoveryList":
            _read_aggregated(connection, "/api", body, {""}, builder)
        else:
            _read_version(connection, "", "v1", builder)
    except KubeError as error:
        _record_failure(error, "v1", builder)


def _read_aggregated(
    connection: Connection,
    path: str,
    body: bytes,
    groups: Collection[str] | None,
    builder: _DiscoveryBuilder,
) -> None:
    for group in _decode(connection, path, body, _AGGREGATED_LIST).items:
        name = group.metadata.name
        if groups is not None and name not in groups:
            continue
        for version in group.versions:
            title = _title(name, version.version)
            if version.freshness == "Stale":
                # Its resources are outdated or missing. kubectl also treats them as unknown.
                builder.failed[title] = KubeError(
                    KubeErrorCode.SERVER_ERROR,
                    f"{connection.host} lists {title}, but the server behind it does not answer:"
                    " its discovery is stale.",
                )
                continue
            for item in version.resources:
                builder.add(name, item.resource, _aggregated_served(version.version, item))


def _aggregated_served(version: str, item: _AggregatedResource) -> ServedVersion:
    kind = item.response_kind.kind if item.response_kind else ""
    return ServedVersion(version, kind, item.scope == "Namespaced", frozenset(item.verbs))


def _read_plain(
    connection: Connection, body: bytes, groups: Collection[str] | None, builder: _DiscoveryBuilder
) -> None:
    for name, version in _group_versions(_decode(connection, "/apis", body, _GROUP_LIST), groups):
        try:
            _read_version(connection, name, version, builder)
        except KubeError as error:
            _record_failure(error, _title(name, version), builder)


def _group_versions(
    listed: _GroupList, groups: Collection[str] | None
) -> Iterator[tuple[str, str]]:
    for group in listed.groups or ():
        if groups is None or group.name in groups:
            for entry in group.versions or ():
                yield group.name, entry.version


def _read_version(
    connection: Connection, group: str, version: str, builder: _DiscoveryBuilder
) -> None:
    path = path_for(group, version, "").rstrip("/")
    resource_list = _decode(connection, path, connection.get(path), _RESOURCE_LIST)
    if resource_list.kind != "APIResourceList":
        raise _no_discovery(connection, path)
    for item in resource_list.resources or ():
        if "/" not in item.name:  # no subresources
            verbs = frozenset(item.verbs or ())
            served = ServedVersion(version, item.kind, item.namespaced, verbs)
            builder.add(group, item.name, served)


def _record_failure(error: KubeError, title: str, builder: _DiscoveryBuilder) -> None:
    """Record the failure of one group version. Raise it if it concerns the whole server."""
    if error.code in _SERVER_ERRORS:
        raise error
    builder.failed[title] = error


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
