"""Base page of the tabs of the Actions section, and the export of a record as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Generic, TypeVar
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from gangboard.pages.core.actions import tabs
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.exports import Formats, send_file
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.page import Filters
from gangboard.pages.core.pagination import CursorPage, ListPage, Paginated
from gangboard.pages.core.query_state import Select, read_address
from gangboard.store.access import Viewer

Row = TypeVar("Row")


class RecordPage(ListPage[CursorPage, Filters], Generic[CursorPage, Filters]):
    """A tab of the Actions section: one page of a list with filters."""

    section = "actions"
    columns: ClassVar[Mapping[str, str]]
    """Labels of the columns by field name."""

    def selects(self, frame: Frame) -> tuple[Select, ...]:
        """Return the filters that offer a choice."""
        raise NotImplementedError

    def context(self, frame: Frame, data: Paginated[CursorPage]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the filters, the columns and the tabs."""
        return {
            "filters": self.address.filters,
            "columns": self.columns,
            "query": urlencode(self.address.pairs),
            "selects": self.selects(frame),
            "tabs": tabs(self.name),
        }


def export_view(
    name: str,
    filters: type[Filters],
    formats: Formats[Row],
    read_rows: Callable[[Viewer, Filters], Iterable[Row]],
) -> Callable[[HttpRequest, str], HttpResponseBase]:
    """Return a view that sends the rows of a record as a file, filtered like its page `name`."""

    @require_POST
    def export(request: HttpRequest, ending: str) -> HttpResponseBase:
        viewer = viewer_for(request)
        address = read_address(name, filters, request.GET)
        return send_file(
            request,
            viewer,
            name,
            formats.get(ending),
            ending,
            address.pairs,
            lambda: read_rows(viewer, address.filters),
        )

    return export
