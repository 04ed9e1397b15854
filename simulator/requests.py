"""A request as the API server understands it: resource, object and verb."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from simulator import refusals
from simulator.resources import PODS, Resource

AUTHORIZATION = "authorization.k8s.io"
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(slots=True)
class Request:
    """One request. `resource` is None for discovery and other paths without objects."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes = b""
    user: str = ""
    read_only: bool = False
    resource: Resource | None = None
    version: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    verb: str = "discovery"
    segments: list[str] = field(default_factory=list)

    @property
    def is_dry_run(self) -> bool:
        """Return whether the request must not be stored."""
        return self.query.get("dryRun") == "All"

    @property
    def is_log(self) -> bool:
        """Return whether the request reads the log of a pod."""
        is_pod = self.resource == PODS and self.method == "GET"
        return is_pod and self.subresource == "log" and bool(self.namespace)

    @property
    def manager(self) -> str:
        """Return the field manager: the requested one, or the beginning of the user agent."""
        agent = self.headers.get("User-Agent") or "unknown"
        return self.query.get("fieldManager") or agent.split("/", 1)[0][:128]

    @property
    def wants(self) -> str:
        """Return the media types that the client accepts."""
        return self.headers.get("Accept") or "*/*"

    def number(self, name: str) -> int | None:
        """Return a query parameter as a number, or None. Raises a 400."""
        text = self.query.get(name, "")
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            reason = f'strconv.ParseInt: parsing "{text}": invalid syntax'
            raise refusals.bad_request(reason) from None

    def json(self) -> Any:
        """Return the decoded body. Raises a 400 `Refusal` for invalid JSON."""
        try:
            return json.loads(self.body) if self.body else {}
        except ValueError as error:
            raise refusals.bad_request(f"the object provided is unrecognized: {error}") from error


def parse(method: str, target: str, headers: Mapping[str, str], body: bytes) -> Request:
    """Return the request without its resource."""
    url = urlsplit(target)
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    segments = [unquote(segment) for segment in url.path.strip("/").split("/") if segment]
    return Request(method, url.path, query, headers, body, segments=segments)


def resolve(request: Request, resources: tuple[Resource, ...]) -> None:
    """Set the resource and object that the path names. Discovery paths stay without a resource.

    Raises a 404 `Refusal` for a resource that is not served.
    """
    segments = request.segments
    if segments[:1] == ["api"] and len(segments) > 2:
        group, version, rest = "", segments[1], segments[2:]
    elif segments[:1] == ["apis"] and len(segments) > 3:
        group, version, rest = segments[1], segments[2], segments[3:]
        if group == AUTHORIZATION:  # Its reviews are created and never stored.
            return
    else:
        return
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] != "status":
        request.namespace, rest = rest[1], rest[2:]
    for resource in resources:
        if (resource.group, resource.plural) == (group, rest[0]) and version in resource.versions:
            break
    else:
        if group and not any(resource.group == group for resource in resources):
            raise refusals.PageNotFound
        raise refusals.path_not_found()
    request.resource, request.version = resource, version
    request.name = rest[1] if len(rest) > 1 else ""
    request.subresource = rest[2] if len(rest) > 2 else ""
    if len(rest) > 3 or not (request.subresource in ("", "status") or request.is_log):
        raise refusals.path_not_found()
    request.verb = _verb(request)


def _verb(request: Request) -> str:
    if request.method == "GET":
        if request.query.get("watch", "").lower() in ("1", "true"):
            return "watch"
        return "get" if request.name else "list"
    return _VERBS.get(request.method, request.method.lower())
