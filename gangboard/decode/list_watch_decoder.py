"""Decoder of list pages and watch events to wire objects, and of wire objects to domain values.

A bad object does not affect the others. It becomes a DecodeProblem, with its name if that can be read. DecodeError is
raised for a body or line that is not valid as a whole.
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

# Errors for bad data. The errors of msgspec and UnicodeDecodeError are ValueErrors, and JSON that is nested too deeply
# raises RecursionError.
BAD_DATA = (ValueError, RecursionError)


class _ListMeta(Wire):
    resource_version: str | None = None
    continue_token: str | None = msgspec.field(default=None, name="continue")


class ListEnvelope(Wire):
    """Envelope of a list without `items`, which may be null (Go's empty list) and must not be missing."""

    kind: str | None = None
    metadata: _ListMeta | None = None


MAX_PAGE_OBJECTS = 1000
"""Largest number of objects in a page, twice the requested `limit`.

A server that sends more ignores `limit`, and would use memory of the worker that all clusters share."""
_TOO_MANY = f"Expected `array` of at most length {MAX_PAGE_OBJECTS}"
"""The error text of msgspec."""


class TooLargeError(DecodeError):
    """Error for a page that is far larger than requested. No object of it was built."""


_EMPTY = msgspec.Raw()


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
    namespace: msgspec.Raw = _EMPTY
    name: msgspec.Raw = _EMPTY
    uid: msgspec.Raw = _EMPTY
    resource_version: msgspec.Raw = _EMPTY


class _Identity(Wire):
    """`metadata` of an object that could not be decoded, with each field decoded separately."""

    metadata: _RawMeta | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Page of a list."""

    objects: list[Any]
    """Wire structs of the resource. Each has `.metadata`, a `wire.WireMeta`."""
    resource_version: str
    continue_token: str
    """Empty on the last page."""
    problems: list[DecodeProblem]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Event of a watch."""

    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: Any | None
    """Wire struct. None for BOOKMARK and ERROR, and for a bad object."""
    resource_version: str
    """Version from which to resume, even for a bad object. Empty for ERROR, or if it cannot be read."""
    status_code: int | None = None
    """Status code of an ERROR. 410 requires a new list."""
    problem: DecodeProblem | None = None
    message: str = ""
    """Server's message of an ERROR."""


# If two threads create decoders of the same structs, a decoder can be incomplete, and its use ends the process
# (msgspec 0.22, observed in one of ten starts under load).
_decoder_lock = threading.Lock()


@cache
def _decoder(wire: Any) -> msgspec.json.Decoder[Any]:
    with _decoder_lock:
        return msgspec.json.Decoder(wire)


@cache
def _page_decoder() -> msgspec.json.Decoder[Any]:
    # An array with a fixed number of optional fields stops decoding at the first extra item. A bounded list would be
    # built completely before msgspec checks its length.
    fields = [(f"item_{position}", msgspec.Raw, None) for position in range(MAX_PAGE_OBJECTS)]
    with _decoder_lock:
        items = msgspec.defstruct(
            "Items", fields, array_like=True, forbid_unknown_fields=True, gc=False
        )
        page = msgspec.defstruct(
            "Page", [("items", items | None)], bases=(ListEnvelope,), kw_only=True, gc=False
        )
        return msgspec.json.Decoder(page)


def _items(page: Any) -> list[Any]:
    """Return the items of a page that `_page_decoder` decoded."""
    fields = () if page.items is None else msgspec.structs.astuple(page.items)
    return [item for item in fields if item is not None]


def read_page(body: bytes, resource: Resource) -> Page:
    """Decode a page of a list, object by object.

    Raises DecodeError if the body is no list, because an empty list would delete all objects. Raises TooLargeError,
    before any object is built, if the page is far larger than requested.
    """
    problems: list[DecodeProblem] = []
    page = _envelope(body, resource)
    objects = [
        wire for raw in _items(page) if (wire := _read_object(raw, resource, problems)) is not None
    ]
    metadata = page.metadata or _ListMeta()
    defect = _list_defect(page.kind or "", metadata.resource_version or "")
    if defect:
        raise DecodeError(f"The answer to a list of {resource.key} is no list: {defect}.")
    return Page(
        objects=objects,
        resource_version=metadata.resource_version or "",
        continue_token=metadata.continue_token or "",
        problems=problems,
    )


def _list_defect(kind: str, resource_version: str) -> str:
    """Return a clause that says why a response is no list of Kubernetes, or an empty text.

    The kind of a list ends in `List`, and a watch starts at its `metadata.resourceVersion`
    (API conventions, "Types (Kinds)" and "Metadata").
    """
    if not kind:
        return "it does not say that it is a list"
    if not kind.endswith("List"):
        return f"its kind is {kind[:40]!r}"
    return "" if resource_version else "it has no resourceVersion"


def read_object(body: bytes, resource: Resource) -> Any:
    """Decode an object as served. Raises DecodeError if it cannot be decoded."""
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
    """Decode a line of a watch. Raises DecodeError if it is no watch event."""
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
    """Build the domain value of a wire object. Returns (model, problem).

    The model is None for bad data, and both are set if only a part is bad. Both are None if the resource does not store
    the object, such as an event whose reason no rule uses. `version` is the API version in which the object was served.
    An object of an unknown version is bad if it lacks the resource's `fields`.
    """
    metadata = wire.metadata
    try:
        if not resource.is_known(version) and lacks_key_fields(resource, wire):
            raise DecodeError(f"it has not the fields of {resource.versions[0]}")
        model = resource.build(wire, version)
        if isinstance(model, Owner):
            model = with_labels(model, metadata, resource.submitter)
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
    """Return namespace, name, uid and resourceVersion of an object, each if it is a text of a valid length."""
    try:
        metadata = _decoder(_Identity).decode(raw).metadata or _RawMeta()
    except BAD_DATA:
        return {}
    identity = {}
    raws = (metadata.namespace, metadata.name, metadata.uid, metadata.resource_version)
    for key, raw_value in zip(("namespace", "name", "uid", "resourceVersion"), raws, strict=True):
        try:
            text = read_text(_decoder(str).decode(raw_value))
        except BAD_DATA:
            continue
        if len(text) <= 253:
            identity[key] = text
    return identity
