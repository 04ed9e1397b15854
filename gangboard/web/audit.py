"""The audit: everything that was asked, refused, switched or taken away as a file. Never changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.action_query import AuditFilters
from gangboard.readmodels.action_rows import AuditPage
from gangboard.readmodels.actions import audit_page
from gangboard.readmodels.cursors import CursorError
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web import live
from gangboard.web.action_tabs import tabs
from gangboard.web.addresses import Pairs, make_select, read_text
from gangboard.web.frame import frame_parts, render_page
from gangboard.web.gate import signed_in
from gangboard.web.parts import Part, Rows

PAGE = 100


@dataclass(frozen=True, slots=True)
class AuditAddress:
    """The state of the page."""

    filters: AuditFilters
    cursor: str

    @classmethod
    def read(cls, query: QueryDict) -> AuditAddress:
        """Return the state that a query asks for."""
        filters = AuditFilters(
            cluster=read_text(query, "cluster"),
            namespace=read_text(query, "namespace"),
            actor=read_text(query, "actor"),
            event=read_text(query, "event"),
            q=read_text(query, "q"),
        )
        return cls(filters, query.get("cursor", "")[:2000])

    @property
    def pairs(self) -> Pairs:
        """Return the filters as pairs of a query."""
        filters = self.filters
        every = (
            ("q", filters.q),
            ("cluster", filters.cluster),
            ("namespace", filters.namespace),
            ("actor", filters.actor),
            ("event", filters.event),
        )
        return tuple(pair for pair in every if pair[1])

    @property
    def live(self) -> str:
        """Return the live address."""
        cursor = [("cursor", self.cursor)] if self.cursor else []
        return f"{reverse('audit-news')}?{urlencode([*self.pairs, *cursor])}"


@signed_in
@require_GET
def audit(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show one page of the audit, the newest first."""
    now = timezone.now()
    address = AuditAddress.read(request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    names = tuple(cluster.cluster for cluster in clusters.values())
    return render_page(
        request,
        "actions/audit.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, address, now),
        section="actions",
        live=address.live,
        context={
            "filters": address.filters,
            "selects": (make_select("cluster", "Cluster", names, address.filters.cluster),),
            "tabs": tabs("audit"),
        },
    )


@signed_in
@require_GET
def audit_news(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Answer the waiting request of the page."""
    address = AuditAddress.read(request.GET)

    def read(viewer: Viewer) -> Sequence[Part | Rows]:
        return _page(viewer, address, timezone.now())

    return live.answer(request, viewer, address.live, read)


def _page(viewer: Viewer, address: AuditAddress, now: datetime) -> tuple[Part | Rows, ...]:
    def read(cursor: str) -> AuditPage:
        return audit_page(viewer=viewer, filters=address.filters, cursor=cursor, limit=PAGE)

    try:
        found = read(address.cursor)
    except CursorError:
        # An old link to a later page: the first page is better than an error.
        address = replace(address, cursor="")
        found = read("")
    home, following = reverse("audit"), found.next_cursor
    pager = {
        "next": f"{home}?{urlencode([*address.pairs, ('cursor', following)])}" if following else "",
        "first": f"{home}?{urlencode(address.pairs)}" if address.cursor else "",
    }
    return (
        *frame_parts(read_freshness(viewer=viewer, now=now), read_liveness(now=now)),
        Rows(
            "audit-rows",
            tuple(
                Part(f"line-{row.id}", "actions/audit_row.html", {"row": row}, row)
                for row in found.rows
            ),
        ),
        Part("nothing", "actions/audit_nothing.html", {"empty": not found.rows}, not found.rows),
        Part("pager", "board/pager.html", pager, tuple(pager.values())),
    )
