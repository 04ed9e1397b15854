"""Bytes of a list page or a watch line → wire objects; wire object → model of the domain.

One bad object never takes the others with it: it becomes a DecodeProblem with its name where that can
be read. Only a body or line that cannot be understood at all raises DecodeError.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from gangboard.decode.key_fields import lacks_key_fields
from gangboard.decode.owner_meta import with_labels
from gangboard.decode.problems import DecodeProblem, PartlyDecoded
from gangboard.decode.size_guard import MAX_OBJECT_ITEMS, MAX_PAGE_ITEMS, has_more_items
from gangboard.decode.wire import Wire, read_text
from gangboard.domain.api_resource import DecodeError, Resource
from gangboard.domain.owner import Owner

__all__ = [
    "DecodeProblem",
    "ListEnvelope",
    "Page",
    "TooLargeError",
    "WatchEvent",
    "build_model",
    "read_event",
    "read_object",
    "read_page",
]

# What decoding raises for bad data: msgspec's errors and UnicodeDecodeError are ValueErrors, and
# JSON that is nested too deeply to be real ends in RecursionError.
BAD_DATA = (ValueError, RecursionError)


class _ListMeta(Wire):
    resource_version: str | None = None
    continue_token: str | None = msgspec.field(default=None, name="continue")


class ListEnvelope(Wire):
    """The envelope of a list, without `items`: those may be null (Go's empty list), not missing."""

    kind: str | None = None
    metadata: _ListMeta | None = None


MAX_PAGE_OBJECTS = 1000
"""Most objects of one page: twice as many as are asked for. A server that sends more does not know
`limit`, and would cost memory of the worker that all clusters share."""
_TOO_MANY = f"Expected `array` of at most length {MAX_PAGE_OBJECTS}"
"""How msgspec says so."""


class TooLargeError(DecodeError):
    """A page has far more in it than any that was asked for. None of it was built."""


_NOTHING = msgspec.Raw()


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


class _RawMeta(Wire):
    namespace: msgspec.Raw = _NOTHING
    name: msgspec.Raw = _NOTHING
    uid: msgspec.Raw = _NOTHING
    resource_version: msgspec.Raw = _NOTHING


class _Identity(Wire):
    """The `metadata` of an object that could not be read otherwise: each field for itself."""

    metadata: _RawMeta | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    objects: list[Any]
    """Wire structs of the resource; each has `.metadata`, a `wire.WireMeta`."""
    resource_version: str
    continue_token: str
    """Empty on the last page."""
    problems: list[DecodeProblem]


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
    problem: DecodeProblem | None = None
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
def _page_decoder() -> msgspec.json.Decoder[Any]:
    # An array of so many optional places, not a list: decoding ends at the first item too many, where
    # a list with a bound is built to its end before it is measured.
    places = [(f"item_{position}", msgspec.Raw, None) for position in range(MAX_PAGE_OBJECTS)]
    with _making:
        items = msgspec.defstruct(
            "Items", places, array_like=True, forbid_unknown_fields=True, gc=False
        )
        page = msgspec.defstruct(
            "Page", [("items", items | None)], bases=(ListEnvelope,), kw_only=True, gc=False
        )
        return msgspec.json.Decoder(page)


def _items(page: Any) -> list[Any]:
    """Return what is in a page that `_page_decoder` has decoded."""
    places = () if page.items is None else msgspec.structs.astuple(page.items)
    return [item for item in places if item is not None]


def read_page(body: bytes, resource: Resource) -> Page:
    """Cut one page of a list into its objects, and decode these one by one.

    Raises DecodeError when the body is no list: an empty one would delete everything; when there is
    far more in it than what is asked for, TooLargeError before anything is built.
    """
    problems: list[DecodeProblem] = []
    page = _envelope(body, resource)
    objects = [
        wire for raw in _items(page) if (wire := _read_object(raw, resource, problems)) is not None
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
    """Return what an answer lacks that every page of every list of Kubernetes has; empty for nothing.

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
    try:
        return _decoded(body, resource)
    except BAD_DATA as error:
        raise DecodeError(f"{resource.kind} cannot be read: {error}.") from error


def _decoded(raw: bytes | msgspec.Raw, resource: Resource) -> Any:
    if has_more_items(raw, MAX_OBJECT_ITEMS):
        raise DecodeError(f"it has more than {MAX_OBJECT_ITEMS} fields and items")
    wire_type: Any = resource.wire
    return _decoder(wire_type).decode(raw)


def _envelope(body: bytes, resource: Resource) -> Any:
    if has_more_items(body, MAX_PAGE_ITEMS):
        raise TooLargeError(
            f"A page of the list of {resource.key} has more than {MAX_PAGE_ITEMS} fields and items."
        )
    try:
        return _page_decoder().decode(body)
    except BAD_DATA as error:
        if str(error).startswith(_TOO_MANY):
            raise TooLargeError(
                f"A page of the list of {resource.key} has more than {MAX_PAGE_OBJECTS} objects, at least "
                "twice as many as were asked for."
            ) from error
        raise DecodeError(f"The answer to a list of {resource.key} is no list: {error}.") from error


def _read_object(raw: msgspec.Raw, resource: Resource, problems: list[DecodeProblem]) -> Any | None:
    try:
        return _decoded(raw, resource)
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
    problems: list[DecodeProblem] = []
    wire = _read_object(event.object, resource, problems)
    if wire is None:
        version = _identity(event.object).get("resourceVersion", "")
        return WatchEvent(event.type, None, version, problem=problems[0])
    return WatchEvent(event.type, wire, wire.metadata.resource_version)


def build_model(
    resource: Resource, wire: Any, version: str
) -> tuple[Any | None, DecodeProblem | None]:
    """Return (model, None), (None, DecodeProblem) for bad data, or both when only a part is left out.

    (None, None) means that the resource does not keep this object, such as an event of a reason
    that no rule uses. `version` is the API version that the object was served in.
    Bad data is also an object of an unknown version without the resource's `fields`.
    """
    metadata = wire.metadata
    try:
        if not resource.is_known(version) and lacks_key_fields(resource, wire):
            raise DecodeError(f"it has not the fields of {resource.versions[0]}")
        model = resource.build(wire, version)
        if isinstance(model, Owner):
            model = with_labels(model, metadata)
        return model, None
    except BAD_DATA as error:
        lost = not isinstance(error, PartlyDecoded)
        return getattr(error, "model", None), DecodeProblem(
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            sentence=_sentence(resource, metadata.namespace, metadata.name, error, lost),
            lost=lost,
        )


def _problem(raw: msgspec.Raw, resource: Resource, error: Exception) -> DecodeProblem:
    identity = _identity(raw)
    namespace, name = identity.get("namespace", ""), identity.get("name", "")
    return DecodeProblem(
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
        metadata = _decoder(_Identity).decode(raw).metadata or _RawMeta()
    except BAD_DATA:
        return {}
    found = {}
    raws = (metadata.namespace, metadata.name, metadata.uid, metadata.resource_version)
    for key, one in zip(("namespace", "name", "uid", "resourceVersion"), raws, strict=True):
        try:
            text = read_text(_decoder(str).decode(one))
        except BAD_DATA:
            continue
        if len(text) <= 253:
            found[key] = text
    return found
