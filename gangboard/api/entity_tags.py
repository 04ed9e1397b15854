"""ETag and 304: a caller that asks again is told cheaply that nothing has changed.

The tag is made of the data version that open pages use, so it costs 3 queries and no row is read. It is
weak: `observed_at` moves without it. Texts have ages in them, so a tag holds for a minute at most.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from django.utils.cache import get_conditional_response
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from gangboard import __version__
from gangboard.api.views import ReadView
from gangboard.readmodels.data_versions import position

UNCHANGED = {
    304: OpenApiResponse(description="Nothing has changed since the answer with the ETag sent.")
}
"""Entry of the OpenAPI document."""
_CLOCK_FILTERS = frozenset({"blocked_for"})
"""Parameters by which the passing of time alone changes an answer."""
_SECONDS = 60


def tagged(get: Callable[..., Any]) -> Callable[..., Any]:
    """Let a `get` of a ReadView send an ETag, and answer 304 where the caller has it already."""

    @functools.wraps(get)
    def answer(self: ReadView, request: Request, *args: Any, **kwargs: Any) -> Any:
        if _CLOCK_FILTERS & set(request.query_params):
            return get(self, request, *args, **kwargs)
        tag = _tag(self, request)
        # Before the rows are read: what is committed meanwhile gets another tag.
        unchanged = get_conditional_response(request._request, etag=tag)
        if unchanged is not None:
            unchanged["ETag"] = tag
            return unchanged
        response = get(self, request, *args, **kwargs)
        response["ETag"] = tag
        return response

    return answer


def _tag(view: ReadView, request: Request) -> str:
    viewer, now = view.viewer(), view.now()
    told = (
        __version__,
        request.get_full_path(),
        request.get_host(),
        viewer.user_id,
        viewer.scopes,
        viewer.may_act,
        position(viewer=viewer, now=now),
        int(now.timestamp()) // _SECONDS,
    )
    return f'W/"{hashlib.blake2b(repr(told).encode(), digest_size=12).hexdigest()}"'
