"""What drf-spectacular cannot know of our operations, added to the OpenAPI document."""

from __future__ import annotations

from typing import Any

_UNCHANGED = {"description": "Nothing has changed since the answer with the ETag sent."}
_ETAG = {"description": "For If-None-Match of the next request.", "schema": {"type": "string"}}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string"},
    "description": "ETag of an earlier answer: if nothing has changed, the answer is 304.",
}


def add_entity_tags(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Say of each GET with a JSON answer that it has an ETag and can be 304 (a hook of drf-spectacular)."""
    for path in result["paths"].values():
        operation = path.get("get")
        answer = operation and operation["responses"].get("200")
        if not answer or "application/json" not in answer.get("content", {}):
            continue
        answer["headers"] = {"ETag": _ETAG}
        operation["responses"]["304"] = _UNCHANGED
        operation.setdefault("parameters", []).append(_IF_NONE_MATCH)
    return result
