"""Entity tags: a caller that repeats a request gets a cheap 304 if the answer is unchanged.

Tags are weak. `tagged` makes one of the data version that open pages use, so it costs 3 queries and no row is
read. `observed_at` moves without it. Texts have ages in them, so such a tag holds for a minute at most.

All other answers get a tag of their content (`tag_content`), which saves the transfer only.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard import __version__
from gangboard.readmodels.data_versions import position

_UNCHANGED = {"description": "Nothing has changed since the response with this ETag."}
_ETAG = {"description": "For If-None-Match of the next request.", "schema": {"type": "string"}}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string"},
    "description": "ETag of an earlier response. If nothing has changed, the response is 304.",
}


if TYPE_CHECKING:
    from gangboard.pages.core.api.views import ReadView  # it imports this module

_UNVERSIONED_FILTERS = frozenset({"blocked_for", "mine"})
"""Parameters whose answer changes without a data version: with the time, or with the names of the caller."""
_SECONDS = 60


def tagged(get: Callable[..., Any]) -> Callable[..., Any]:
    """Add an ETag to the answers of a ReadView's `get`, and answer 304 if the caller sent the same tag."""

    @functools.wraps(get)
    def answer(self: ReadView, request: Request, *args: Any, **kwargs: Any) -> Any:
        if _UNVERSIONED_FILTERS & set(request.query_params):
            return get(self, request, *args, **kwargs)
        tag = _tag(self, request)
        # Compute the tag before reading the rows, so that a commit in between changes the next tag.
        unchanged = get_conditional_response(request._request, etag=tag)
        # `*` matches any successful answer, and only the view can tell whether this one succeeds.
        if unchanged is None or request.headers.get("If-None-Match") == "*":
            response = get(self, request, *args, **kwargs)
            response["ETag"] = tag
            if unchanged is None:
                return response
        unchanged["ETag"] = tag
        return unchanged

    return answer


def tag_content(request: Request, response: Response) -> None:
    """Add a tag of the content to a successful GET or HEAD. The answer becomes 304 if the caller sent the same tag."""
    if request.method not in ("GET", "HEAD") or response.status_code != HTTPStatus.OK:
        return
    if not response.has_header("ETag"):
        response.add_post_render_callback(
            lambda rendered: _with_content_tag(request._request, rendered)
        )


def _with_content_tag(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase | None:
    assert isinstance(response, HttpResponse)  # noqa: S101  # for the type checker
    tag = f'W/"{hashlib.blake2b(response.content, digest_size=12).hexdigest()}"'
    response["ETag"] = tag
    return get_conditional_response(request, etag=tag, response=response)


def _tag(view: ReadView, request: Request) -> str:
    viewer, now = view.viewer(), view.now()
    inputs = (
        __version__,
        request.get_full_path(),
        request.get_host(),
        viewer.user_id,
        viewer.scopes,
        viewer.may_act,
        position(viewer=viewer, now=now),
        int(now.timestamp()) // _SECONDS,
    )
    return f'W/"{hashlib.blake2b(repr(inputs).encode(), digest_size=12).hexdigest()}"'


def add_entity_tags(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Document the ETag and the 304 of each GET with a JSON answer. A hook of drf-spectacular."""
    for path in result["paths"].values():
        operation = path.get("get")
        answer = operation and operation["responses"].get("200")
        if not answer or "application/json" not in answer.get("content", {}):
            continue
        answer["headers"] = {"ETag": _ETAG}
        operation["responses"]["304"] = _UNCHANGED
        operation.setdefault("parameters", []).append(_IF_NONE_MATCH)
    return result
