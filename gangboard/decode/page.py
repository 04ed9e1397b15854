"""Bytes of a list page or a watch line → wire objects; wire object → model of the domain.

One bad object never takes the others with it: it becomes a Problem with its name where that can
be read. Only a body or line that cannot be understood at all raises DecodeError.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from gangboard.decode.problems import PartlyDecoded, Problem
from gangboard.decode.wire import Wire, read_text
from gangboard.domain.registry import DecodeError, Resource

__all__ = [
    "ListPage",
    "Page",
    "Problem",
    "WatchEvent",
    "build_model",
    "read_event",
    "read_object",
    "read_page",
]

Item = TypeVar("Item")

# What decoding raises for bad data: msgspec's errors and UnicodeDecodeError are ValueErrors, and
# JSON that is nested too deeply to be real ends in RecursionError.
BAD_DATA = (ValueError, RecursionError)


class _ListMeta(Wire):
    resource_version: str | None = None
    continue_token: str | None = msgspec.field(default=None, name="continue")


class ListPage(Wire, Generic[Item]):
    """The envelope of a list. `items` may be null (Go's empty list) but not be missing."""

    items: list[Item] | None
    kind: str | None = None
    metadata: _ListMeta | None = None


class _WireEvent(Wire):
    type: str
    object: msgspec.Raw


class _BookmarkMeta(Wire):
    resource_version: str | None = None


class _Bookmark(Wire):
    metadata: _BookmarkMeta | None = None


class _Status(Wire):
    code: int | None = None
    message: str | None = None


class _Identity(Wire):
    """The `metadata` of an object that could not be read otherwise: each field for itself."""

    metadata: dict[str, msgspec.Raw] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    objects: list[Any]
    """Wire structs of the resource; each has `.metadata`, a `wire.WireMeta`."""
    resource_version: str
    continue_token: str
    """Empty on the last page."""
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of a watch."""

    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: Any | None
    """A wire struct; None for BOOKMARK and ERROR, and when there is a problem."""
    resource_version: str
    """Where to resume, also when the object is bad; empty for ERROR or where unreadable."""
    status_code: int | None = None
    """Of an ERROR: 410 means list again."""
    problem: Problem | None = None
    message: str = ""
    """Of an ERROR: what the server says."""


# A decoder that is made while another thread makes one of the same structs can be half made, and
# ends the process when it is used (msgspec 0.22, seen in one of ten starts under load).
_making = threading.Lock()


@cache
def _decoder(wire: Any) -> msgspec.json.Decoder[Any]:
    with _making:
        return msgspec.json.Decoder(wire)


@cache
def _page_decoder(wire: Any) -> msgspec.json.Decoder[Any]:
    with _making:
        return msgspec.json.Decoder(ListPage[wire])


def read_page(body: bytes, resource: Resource) -> Page:
    """Decode one page of a list in one pass; object by object only when that fails.

    Raises DecodeError when the body is no list: an empty one would delete everything.
    """
    problems: list[Problem] = []
    wire_type: Any = resource.wire
    try:
        page = _page_decoder(wire_type).decode(body)
        objects = page.items or []
    except BAD_DATA:
        page = _envelope(body, resource)
        objects = [
            wire
            for raw in page.items or ()
            if (wire := _read_object(raw, resource, problems)) is not None
        ]
    metadata = page.metadata or _ListMeta()
    why = _why_no_list(page.kind or "", metadata.resource_version or "")
    if why:
        raise DecodeError(f"The answer to a list of {resource.key} is no list: {why}.")
    return Page(
        objects=objects,
        resource_version=metadata.resource_version or "",
        continue_token=metadata.continue_token or "",
        problems=problems,
    )


def _why_no_list(kind: str, resource_version: str) -> str:
    """Return what an answer lacks that every page of every list of Kubernetes has; empty: nothing.

    A list's kind ends in `List`, and its `metadata.resourceVersion` is where a watch goes on
    (API conventions, "Types (Kinds)" and "Metadata").
    """
    if not kind:
        return "it does not say that it is a list"
    if not kind.endswith("List"):
        return f"its kind is {kind[:40]!r}"
    return "" if resource_version else "it has no resourceVersion"


def read_object(body: bytes, resource: Resource) -> Any:
    """Decode one object as it is served. Raises DecodeError when it cannot be read."""
    wire_type: Any = resource.wire
    try:
        return _decoder(wire_type).decode(body)
    except BAD_DATA as error:
        raise DecodeError(f"{resource.kind} cannot be read: {error}.") from error


def _envelope(body: bytes, resource: Resource) -> Any:
    try:
        return _page_decoder(msgspec.Raw).decode(body)
    except BAD_DATA as error:
        raise DecodeError(f"The answer to a list of {resource.key} is no list: {error}.") from error


def _read_object(raw: msgspec.Raw, resource: Resource, problems: list[Problem]) -> Any | None:
    wire_type: Any = resource.wire
    try:
        return _decoder(wire_type).decode(raw)
    except BAD_DATA as error:
        problems.append(_problem(raw, resource, error))
        return None


def read_event(line: bytes, resource: Resource) -> WatchEvent:
    """Decode one line of a watch. Raises DecodeError when it is no watch event."""
    try:
        event = _decoder(_WireEvent).decode(line)
        if event.type == "ERROR":
            status = _decoder(_Status).decode(event.object)
            return WatchEvent("ERROR", None, "", status.code, message=status.message or "")
        if event.type == "BOOKMARK":
            metadata = _decoder(_Bookmark).decode(event.object).metadata or _BookmarkMeta()
            return WatchEvent("BOOKMARK", None, metadata.resource_version or "")
    except BAD_DATA as error:
        raise DecodeError(f"A line of the watch of {resource.key} is no event: {error}.") from error
    if event.type not in ("ADDED", "MODIFIED", "DELETED"):
        raise DecodeError(
            f"The watch of {resource.key} sent an event of the unknown type {event.type[:40]!r}."
        )
    problems: list[Problem] = []
    wire = _read_object(event.object, resource, problems)
    if wire is None:
        version = _identity(event.object).get("resourceVersion", "")
        return WatchEvent(event.type, None, version, problem=problems[0])
    return WatchEvent(event.type, wire, wire.metadata.resource_version)


def build_model(resource: Resource, wire: Any, version: str) -> tuple[Any | None, Problem | None]:
    """Return (model, None), (None, Problem) for bad data, or both when only a part is left out.

    (None, None) means that the resource does not keep this object, such as an event of a reason
    that no rule uses. `version` is the API version that the object was served in.
    """
    metadata = wire.metadata
    try:
        return resource.build(wire, version), None
    except BAD_DATA as error:
        lost = not isinstance(error, PartlyDecoded)
        return getattr(error, "model", None), Problem(
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            sentence=_sentence(resource, metadata.namespace, metadata.name, error, lost),
            lost=lost,
        )


def _problem(raw: msgspec.Raw, resource: Resource, error: Exception) -> Problem:
    identity = _identity(raw)
    namespace, name = identity.get("namespace", ""), identity.get("name", "")
    return Problem(
        namespace=namespace,
        name=name,
        uid=identity.get("uid", ""),
        sentence=_sentence(resource, namespace, name, error, lost=True),
    )


def _sentence(resource: Resource, namespace: str, name: str, error: Exception, lost: bool) -> str:
    path = f"{namespace}/{name}" if namespace and name else name
    subject = f"{resource.kind} {path}" if path else f"A {resource.kind} without a readable name"
    verb = "cannot be read" if lost else "is read only in part"
    return f"{subject} {verb}: {error}."


def _identity(raw: msgspec.Raw) -> dict[str, str]:
    """Return those of namespace, name, uid and resourceVersion that are text of a sane length."""
    try:
        metadata = _decoder(_Identity).decode(raw).metadata or {}
    except BAD_DATA:
        return {}
    found = {}
    for key in ("namespace", "name", "uid", "resourceVersion"):
        try:
            text = read_text(_decoder(str).decode(metadata[key]))
        except (KeyError, *BAD_DATA):
            continue
        if len(text) <= 253:
            found[key] = text
    return found
