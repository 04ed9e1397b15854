"""Responses, and the changes that faults make to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from simulator import refusals
from simulator.faults import OBJECT_FAULTS, Fault
from simulator.lists import Alter
from simulator.requests import Request
from simulator.store import Json

_FOREVER_TOKEN = "bGllcw"  # noqa: S105  # A continue token that never ends.


@dataclass
class Answer:
    """A response: bytes, or pieces that are sent as they come."""

    code: int
    body: bytes = b""
    chunks: Iterator[bytes] | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def json_answer(document: Json, *, code: int = 200) -> Answer:
    """Return a document as a response."""
    return Answer(code, dump(document))


def dump(document: Json) -> bytes:
    """Return a document as wire bytes."""
    return json.dumps(document, separators=(",", ":")).encode()


def forbidden(request: Request) -> refusals.Refusal:
    """Return the 403 of a request."""
    if request.resource is None:
        message = (
            f'forbidden: User "{request.user}" cannot {request.method.lower()} '
            f'path "{request.path}"'
        )
        return refusals.Refusal(403, "Forbidden", message, details={})
    return refusals.forbidden(
        request.user,
        request.verb,
        request.resource,
        request.name,
        request.namespace,
        subresource=request.subresource,
    )


def refuse(fault: Fault, request: Request) -> None:
    """Raise the response of a fault that replaces the real one."""
    if fault.kind == "forbidden":
        raise forbidden(request)
    if fault.kind == "unauthorized":
        raise refusals.unauthorized()
    if fault.kind in ("status", "webhook_down") and not fault.applied:
        raise _fault_refusal(fault)
    if fault.kind == "throttled":
        raise refusals.throttled(fault.options["retry_after"])
    if fault.kind == "gone_mid_list":
        raise refusals.too_old_token("")
    if fault.kind == "lying_continue":
        request.query.pop("continue", None)


def _fault_refusal(fault: Fault) -> refusals.Refusal:
    options = fault.options
    if fault.kind == "webhook_down":
        return refusals.webhook_down(options["webhook"])
    return refusals.generic(options["code"], options["reason"], options["message"])


def alteration(met: list[Fault]) -> Alter | None:
    """Return the function by which faults change objects; None without such faults."""
    chosen = [fault for fault in met if fault.kind in OBJECT_FAULTS]
    if not chosen:
        return None

    def alter(body: bytes) -> bytes:
        for fault in chosen:
            body = fault.alter(body)
        return body

    return alter


def spoil(fault: Fault, answer: Answer) -> None:
    """Change an otherwise valid response, or raise the response that replaces it."""
    if fault.kind in ("status", "webhook_down"):
        raise _fault_refusal(fault)
    if fault.kind == "html":
        page = (
            b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"
        )
        answer.code, answer.body, answer.chunks = 200, page, None
        answer.content_type = "text/html; charset=utf-8"
    elif fault.kind == "not_json":
        answer.body, answer.chunks = b"{'items': [nope", None
    elif fault.kind == "lying_continue" and answer.body:
        document = json.loads(answer.body)
        document["metadata"]["continue"] = _FOREVER_TOKEN
        answer.body = dump(document)
