"""Lists in pages. All pages of one list show the same moment, until its snapshot is dropped."""

from __future__ import annotations

import base64
import binascii
import bisect
import json
from collections.abc import Callable

from simulator import refusals
from simulator.events import core_form
from simulator.requests import Request
from simulator.resources import CORE_EVENTS, Resource
from simulator.selectors import Test, matcher
from simulator.store import Key, Snapshot, Store, Stored, with_type

Alter = Callable[[bytes], bytes]
"""Changes the serialized bytes of an object; for faults."""


def list_page(store: Store, request: Request, alter: Alter | None = None) -> bytes:
    """Return one page (or all) of a list as wire bytes. Raises `Refusal`."""
    resource = request.resource
    assert resource is not None  # noqa: S101  # The router sets it.
    labels = request.query.get("labelSelector", "")
    fields = request.query.get("fieldSelector", "")
    test = matcher(resource.plural, labels, fields)
    limit = request.number("limit") or 0
    token = request.query.get("continue", "")
    if token:
        snapshot, start = _resume(store, resource, request.namespace, token)
    else:
        _check_version(store, request)
        snapshot, start = store.snapshot(resource, request.namespace), 0
    picked: list[bytes] = []
    items, position = snapshot.items, start
    while position < len(items) and not (limit and len(picked) >= limit):
        body = render(resource, items[position][1])
        position += 1
        if test is None or _passes(test, body):
            picked.append(alter(body) if alter else body)
    meta: dict[str, object] = {"resourceVersion": str(snapshot.version)}
    if position < len(items):
        store.keep_snapshot(resource, request.namespace, snapshot)
        meta["continue"] = encode_token(snapshot.version, items[position - 1][0])
        if test is None:
            meta["remainingItemCount"] = len(items) - position
    if resource.custom:
        picked = [with_type(body, resource, request.version) for body in picked]
    head = {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version(request.version),
        "metadata": meta,
    }
    return json.dumps(head, separators=(",", ":")).encode()[:-1] + (
        b',"items":[' + b",".join(picked) + b"]}"
    )


def render(resource: Resource, stored: Stored) -> bytes:
    """Return an object's bytes, without apiVersion and kind, in the requested form."""
    body = stored.body()
    if resource == CORE_EVENTS:
        return core_form(body)
    return body


def encode_token(version: int, last: Key) -> str:
    """Return a continue token in the real format."""
    start = "/".join(component for component in last if component) + "\0"
    raw = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start})
    return base64.urlsafe_b64encode(raw.encode()).rstrip(b"=").decode()


def _decode_token(token: str) -> tuple[int, Key]:
    try:
        padded = token + "=" * (-len(token) % 4)
        raw = json.loads(base64.urlsafe_b64decode(padded))
        namespace, _, name = raw["start"].rstrip("\0").rpartition("/")
        return int(raw["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError, binascii.Error) as error:
        raise refusals.bad_request(
            f"invalid continue token: continue key is not valid: {error}"
        ) from error


def _resume(store: Store, resource: Resource, namespace: str, token: str) -> tuple[Snapshot, int]:
    version, last = _decode_token(token)
    if version > 0:
        stored = store.kept_snapshot(resource, namespace, version)
        if stored is None:
            raise refusals.too_old_token(encode_token(-1, last))
        snapshot = stored
    else:
        snapshot = store.snapshot(resource, namespace)
    return snapshot, bisect.bisect_right(snapshot.items, last, key=lambda item: item[0])


def _check_version(store: Store, request: Request) -> None:
    requested = request.number("resourceVersion")
    if requested is not None and requested > store.version:
        raise refusals.too_large_version(requested, store.version)


def _passes(test: Test, body: bytes) -> bool:
    return test(json.loads(body))
