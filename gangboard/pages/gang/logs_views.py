"""The page with logs of one gang."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from gangboard.actions.container_logs import LogError, LogProblem
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import plain_page
from gangboard.pages.core.query_state import read_text
from gangboard.pages.gang.logs import (
    FOLLOWED,
    LISTED_PODS,
    MOST_PANES,
    LogFilters,
    LogPane,
    LogSource,
    find_source,
    read_panes,
)
from gangboard.readmodels.members import MemberRow


@require_safe
def logs(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Show the last lines of some containers side by side. A page that follows asks again every 5 s.

    Raises Http404 for a missing and an invisible gang, PermissionDenied without the role.
    """
    viewer, now = viewer_for(request), timezone.now()
    source = find_source(gang_id, viewer=viewer)
    if source is None:
        raise Http404
    filters, problem = _read_filters(request, source), ""
    panes: tuple[LogPane, ...] = ()
    try:
        panes = read_panes(source, filters, viewer=viewer, now=now)
    except LogError as error:
        if error.problem in (LogProblem.OFF, LogProblem.NOT_ALLOWED):
            raise PermissionDenied(str(error)) from error
        problem = str(error)
    return plain_page(
        request,
        "gang/logs.html",
        viewer=viewer,
        section="board",
        context={
            "gang": source.gang,
            "title": source.title,
            "filters": filters,
            "problem": problem,
            "panes": panes,
            "choices": _choices(source.members, panes),
            "more_pods": max(0, len(source.members) - LISTED_PODS),
            "most_panes": MOST_PANES,
            "refresh": filters.query(follow=0),
            "follow": filters.query(follow=FOLLOWED),
            "next": filters.query(follow=filters.follow - 1) if filters.follow > 1 else "",
            "has_stopped": filters.follow == 1,
            "now": now,
        },
    )


def _choices(
    members: Mapping[str, MemberRow], panes: tuple[LogPane, ...]
) -> list[tuple[str, MemberRow, bool]]:
    """Return (name, row, is shown) of the pods to select."""
    shown = {pane.pod for pane in panes}
    return [(name, row, name in shown) for name, row in list(members.items())[:LISTED_PODS]]


def _read_filters(request: HttpRequest, source: LogSource) -> LogFilters:
    """Return the logs to show. Pods of other gangs are left out."""
    parameters = request.GET
    follow = read_text(parameters, "follow")
    return LogFilters(
        pods=tuple(
            dict.fromkeys(name for name in parameters.getlist("pod") if name in source.members)
        ),
        container=read_text(parameters, "container"),
        previous=bool(parameters.get("previous")),
        follow=min(int(follow), FOLLOWED) if follow.isdecimal() and len(follow) < 4 else 0,
    )
