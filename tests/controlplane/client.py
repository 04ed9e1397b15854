"""A plain client for any Kubernetes API server: JSON in, JSON out, without interpretation.

It knows resources by asking the server (`apiVersion` and `kind` are enough to address an object). It never
repeats a request that was answered: a test needs the server's own answer.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlencode

import urllib3

Json = dict[str, Any]
JsonList = list[Json]  # inside the class `list` is the method
SeenList = list[Json | None]
PatchType = Literal["merge", "json", "strategic", "apply"]
T = TypeVar("T")

_CONTENT_TYPES: dict[str, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
PATIENCE = 180.0
"""Seconds for which a state is waited for: a busy machine may need long, a quick one waits no longer
than it takes."""
SLOWEST_LOOK = 1.0
"""Seconds between two looks of a wait that takes long."""
_TIMEOUT = urllib3.Timeout(connect=30, read=60)
_RETRY = urllib3.Retry(
    total=1,
    connect=0,
    read=1,
    redirect=False,
    status=0,
    other=1,
    allowed_methods=("GET", "DELETE"),
    respect_retry_after_header=False,
)
"""The server ends idle connections, at times while a request is on its way. `other`: it could not be sent."""


class ApiError(Exception):
    """The server refused: `status` is the HTTP code, `reason` and `message` are the server's."""

    def __init__(self, status: int, reason: str, message: str, request: str) -> None:
        super().__init__(f"{request}: {status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class WaitError(AssertionError):
    """An awaited state did not appear in time. The message ends with the last state."""


class Client:
    """Talks to one API server as one user. Safe to use from several threads."""

    def __init__(
        self,
        url: str,
        *,
        ca: Path,
        token: str | None = None,
        user_agent: str = "gangboard-tests",
    ) -> None:
        """Without a token: anonymous."""
        context = ssl.create_default_context(cafile=str(ca))
        headers = {"Accept": "application/json", "User-Agent": user_agent}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self.url = url
        self._pool = urllib3.PoolManager(ssl_context=context, headers=headers, maxsize=16)
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}
        self._created: dict[str, dict[tuple[str, str], None]] = {}
        """Namespace → (apiVersion, kind) of what was created in it, in order."""
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str | int] | None = None,
    ) -> Json:
        """Send one request and return the decoded answer. Raises `ApiError` from 400 upwards.

        An answer that is not JSON (such as /readyz) comes back as {"text": ...}.
        """
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        headers = dict(self._pool.headers) | {"Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        answer = self._pool.request(
            method, url, body=data, headers=headers, timeout=_TIMEOUT, retries=_RETRY
        )
        try:
            decoded = json.loads(answer.data)
        except ValueError:
            decoded = None
        result: Json = decoded if isinstance(decoded, dict) else {"text": answer.data.decode()}
        if answer.status >= 400:
            message = str(result.get("message") or result.get("text") or "")
            raise ApiError(
                answer.status, str(result.get("reason", "")), message, f"{method} {path}"
            )
        return result

    def watch(self, path: str, version: str, *, seconds: int) -> Iterator[Json]:
        """Yield the events of a collection after a resourceVersion, for at most so long.

        Raises `ApiError` if the server refuses, and `urllib3.exceptions.HTTPError` if the connection breaks.
        """
        query = {
            "watch": "1",
            "resourceVersion": version,
            "timeoutSeconds": seconds,
            "allowWatchBookmarks": "true",
        }
        answer = self._pool.request(
            "GET",
            f"{self.url}{path}?{urlencode(query)}",
            timeout=urllib3.Timeout(connect=30, read=seconds + 30),
            retries=False,
            preload_content=False,
        )
        try:
            if answer.status >= 400:
                raise ApiError(answer.status, "", answer.data.decode(), f"GET {path}")
            rest = b""
            for chunk in answer.stream(None):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from map(json.loads, lines)
        finally:
            answer.close()

    # Addresses

    def path(self, api_version: str, kind: str, namespace: str | None = None) -> str:
        """Return the path of a kind's collection; `namespace=None` means all, or cluster-scoped."""
        base = f"/api/{api_version}" if api_version == "v1" else f"/apis/{api_version}"
        plural, namespaced = self._resource(api_version, kind, base)
        if namespace is not None and namespaced:
            return f"{base}/namespaces/{namespace}/{plural}"
        return f"{base}/{plural}"

    def _resource(self, api_version: str, kind: str, base: str) -> tuple[str, bool]:
        known = self._resources.get((api_version, kind))
        if known is None:
            served = self.request("GET", base).get("resources", [])
            with self._lock:
                for item in served:
                    if "/" not in item["name"]:
                        key = (api_version, item["kind"])
                        self._resources[key] = (item["name"], item["namespaced"])
            known = self._resources.get((api_version, kind))
        if known is None:
            raise ApiError(404, "NotServed", f"{kind} is not served in {api_version}", "discovery")
        return known

    def _address(self, obj: Json) -> str:
        namespace = obj["metadata"].get("namespace", "default")
        return self.path(obj["apiVersion"], obj["kind"], namespace)

    # Reading

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Json:
        """Return one object."""
        return self.request("GET", f"{self.path(api_version, kind, namespace)}/{name}")

    def find(
        self, api_version: str, kind: str, name: str, namespace: str | None = None
    ) -> Json | None:
        """Return one object, or None when it does not exist."""
        try:
            return self.get(api_version, kind, name, namespace)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
    ) -> JsonList:
        """Return all objects of a kind, each with its apiVersion and kind filled in."""
        query = {"labelSelector": labels, "fieldSelector": fields}
        result = self.request(
            "GET",
            self.path(api_version, kind, namespace),
            query={key: value for key, value in query.items() if value},
        )
        # Lists leave these two out of their items; a saved object needs them.
        return [{"apiVersion": api_version, "kind": kind, **item} for item in result["items"]]

    # Writing

    def create(self, obj: Json, *, dry_run: bool = False) -> Json:
        """Create one object (namespace `default` when it says none) and return it as stored."""
        with self._lock:
            kinds = self._created.setdefault(obj["metadata"].get("namespace", ""), {})
            kinds[obj["apiVersion"], obj["kind"]] = None
        return self.request("POST", self._address(obj), obj, query=_dry(dry_run))

    def created_in(self, namespace: str) -> tuple[tuple[str, str], ...]:
        """Return the (apiVersion, kind) of what this client created in a namespace, in order."""
        with self._lock:
            return tuple(self._created.get(namespace, ()))

    def create_all(self, objects: Iterable[Json]) -> JsonList:
        """Create each object in order. An existing one is merged with the given object.

        Returns from a ResourceQuota (`objects.quota`) when it is in force, some 30 ms later or more on a
        busy machine. Until then the API server accepts pods that it should refuse.

        """
        created = []
        for obj in objects:
            try:
                created.append(self.create(obj))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
                path = f"{self._address(obj)}/{obj['metadata']['name']}"
                created.append(
                    self.request("PATCH", path, obj, content_type=_CONTENT_TYPES["merge"])
                )
            if obj["kind"] == "ResourceQuota":
                wait(partial(self._is_in_force, obj), what="a quota to be in force")
        return created

    def _is_in_force(self, quota: Json) -> bool:
        """Whether it refuses a Secret, of which it allows none."""
        metadata = {"name": "refused", "namespace": quota["metadata"]["namespace"]}
        try:
            self.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}, dry_run=True)
        except ApiError as error:
            if error.status != 403:
                raise
            return "exceeded quota" in str(error)
        return False

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        body: object,
        namespace: str | None = None,
        *,
        type: PatchType = "merge",  # noqa: A002 - the API's own word
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Json:
        """Patch one object or its subresource and return the result."""
        path = f"{self.path(api_version, kind, namespace)}/{name}"
        query: dict[str, str | int] = dict(_dry(dry_run))
        if field_manager:
            query["fieldManager"] = field_manager
        return self.request(
            "PATCH",
            f"{path}/{subresource}" if subresource else path,
            body,
            content_type=_CONTENT_TYPES[type],
            query=query,
        )

    def patch_status(
        self,
        api_version: str,
        kind: str,
        name: str,
        status: Mapping[str, Any],
        namespace: str | None = None,
        *,
        type: PatchType = "merge",  # noqa: A002 - the API's own word
    ) -> Json:
        """Patch the status subresource. `status` is the value of that key."""
        body = {"status": dict(status)}
        return self.patch(api_version, kind, name, body, namespace, type=type, subresource="status")

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        propagation: str = "Background",
        grace: int | None = None,
    ) -> None:
        """Ask for an object's deletion; one that is not there is fine."""
        options: Json = {"propagationPolicy": propagation}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        path = f"{self.path(api_version, kind, namespace)}/{name}"
        try:
            self.request("DELETE", path, options)
        except ApiError as error:
            if error.status != 404:
                raise

    def delete_all(self, api_version: str, kind: str, namespace: str) -> None:
        """Request the immediate deletion of all objects of a kind in a namespace, and of what they own.

        A kind that is not served any more has no objects.
        """
        at_once = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
        try:
            self.request("DELETE", self.path(api_version, kind, namespace), at_once)
        except ApiError as error:
            if error.status != 404:
                raise

    # Waiting

    def wait_for(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        until: Callable[[Json], object],
        timeout: float = PATIENCE,
    ) -> Json:
        """Return the object once `until` holds for it. Raises `WaitError` with its last status."""

        def look() -> Json | None:
            result = self.find(api_version, kind, name, namespace)
            last.append(result)
            return result if result is not None and until(result) else None

        last: SeenList = []
        return wait(
            look,
            timeout=timeout,
            what=f"{kind} {namespace or ''}/{name}",
            seen=lambda: last[-1] and last[-1].get("status", {}),
        )

    def wait_gone(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        timeout: float = PATIENCE,
    ) -> None:
        """Return once the object does not exist any more."""
        wait(
            lambda: self.find(api_version, kind, name, namespace) is None,
            timeout=timeout,
            what=f"{kind} {namespace or ''}/{name} to be gone",
        )


def wait(
    read: Callable[[], T | None],
    *,
    timeout: float = PATIENCE,
    every: float = 0.1,
    what: str = "condition",
    seen: Callable[[], object] = lambda: None,
) -> T:
    """Call `look` until it returns something true and return that.

    The longer it takes, the longer the pauses: from `every` up to SLOWEST_LOOK seconds. Dozens of tests wait at once.
    Raises `WaitError` naming `what` and, from `seen`, the last state.

    """
    started = time.monotonic()
    while True:
        if result := read():
            return result
        waited = time.monotonic() - started
        if waited >= timeout:
            raise WaitError(f"{what}: not within {timeout:g} s; last seen: {seen()}")
        time.sleep(max(every, min(waited / 10, SLOWEST_LOOK)))


def _dry(expected: bool) -> dict[str, str | int]:
    return {"dryRun": "All"} if expected else {}
