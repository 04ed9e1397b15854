"""Live pages: one class declares a page and its updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.generic import View

from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import Frame, layout_fragments, render_page
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.views import wait_for_updates
from gangboard.pages.core.query_state import Address, read_address
from gangboard.pages.core.welcome import show_welcome, welcome_fragments
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Data = TypeVar("Data")
"""Data that a page reads."""
Filters = TypeVar("Filters", bound="DataclassInstance")
Fragments = tuple[Fragment | FragmentList, ...]
_WELCOME = "welcome"
"""Parameter of a waiting request: the browser shows the welcome card."""


class LivePage(View, Generic[Data]):
    """A page inside the layout. `urls` returns its two URL patterns.

    A subclass implements `read`, `fragments` and, if needed, `context`.
    """

    name: ClassVar[str]
    """Name of its URL. The URL of its waiting request has the suffix `-updates`."""
    template_name: str
    section: ClassVar[str]
    """Its entry in the navigation."""
    personal: bool = False
    """Whether users with the same roles may see different content."""
    welcomes: ClassVar[bool] = False
    """Whether it shows the welcome card while the viewer sees no cluster."""
    updates = False
    """Whether this view answers the waiting requests."""
    status = 200
    http_method_names = ["get", "head"]  # noqa: RUF012  # a list, as in its base class

    @classmethod
    def urls(cls, route: str, updates_route: str) -> tuple[URLPattern, URLPattern]:
        """Return the URL patterns of the page and of its waiting requests."""
        return (
            path(route, cls.as_view(), name=cls.name),
            # HEAD makes no sense for a waiting request.
            path(
                updates_route,
                cls.as_view(updates=True, http_method_names=["get"]),
                name=f"{cls.name}-updates",
            ),
        )

    def get(self, request: HttpRequest, **_: str) -> HttpResponse:
        """Answer with the page or with its updates."""
        viewer = viewer_for(request)
        return self.wait(viewer) if self.updates else self.show(viewer)

    def show(self, viewer: Viewer) -> HttpResponse:
        """Return the current page."""
        frame = _read_frame(viewer)
        if self._is_welcome(frame):
            return show_welcome(self.request, frame, self.section, with_mark(self.live, _WELCOME))
        data = self.read(frame)
        if data is None:
            return self.show_missing()
        return render_page(
            self.request,
            self.template_name,
            viewer=viewer,
            now=frame.now,
            page=self._page(frame, data),
            section=self.section,
            live=self.live,
            context=self.context(frame, data),
            status=self.status,
        )

    def wait(self, viewer: Viewer) -> HttpResponse:
        """Answer the waiting request of an open page."""
        shows_welcome = _WELCOME in self.request.GET
        live = with_mark(self.live, _WELCOME) if shows_welcome else self.live

        def read(viewer: Viewer) -> Fragments:
            return self._read_page(viewer, shows_welcome)

        return wait_for_updates(self.request, viewer, live, read, personal=self.personal)

    def show_missing(self) -> HttpResponse:
        """Return the answer if `read` returns None. Missing and forbidden pages get the same one."""
        raise Http404

    @property
    def live(self) -> str:
        """Return the address of the waiting request."""
        return reverse(f"{self.name}-updates", kwargs=self.kwargs)

    def read(self, frame: Frame) -> Data | None:
        """Return the data of the page, or None if it does not exist (any more) for this viewer."""
        raise NotImplementedError

    def fragments(self, frame: Frame, data: Data) -> Fragments:
        """Return the fragments below those of the layout."""
        raise NotImplementedError

    def context(self, frame: Frame, data: Data) -> dict[str, object]:  # noqa: ARG002  # for subclasses
        """Return the part of the template context that updates do not change."""
        return {}

    def _is_welcome(self, frame: Frame) -> bool:
        return self.welcomes and not frame.clusters

    def _read_page(self, viewer: Viewer, shows_welcome: bool) -> Fragments:
        """Return the page, or no fragments if the browser has to reload it."""
        frame = _read_frame(viewer)
        if self._is_welcome(frame) != shows_welcome:
            return ()
        if shows_welcome:
            return welcome_fragments(frame)
        data = self.read(frame)
        return () if data is None else self._page(frame, data)

    def _page(self, frame: Frame, data: Data) -> Fragments:
        layout = layout_fragments(frame.clusters, frame.liveness)
        return (*layout, *self.fragments(frame, data))


class FilteredPage(LivePage[Data], Generic[Data, Filters]):
    """A live page whose filters are in its address."""

    filters: type[Filters]
    address: Address[Filters]

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Read the address."""
        super().setup(request, *args, **kwargs)
        self.address = self.read_address(request.GET)

    def read_address(self, query: QueryDict) -> Address[Filters]:
        """Return the state in a query."""
        return read_address(self.name, self.filters, query)

    @property
    def live(self) -> str:
        """Return the address of the waiting request, with the state."""
        return self.address.live


def _read_frame(viewer: Viewer) -> Frame:
    now = timezone.now()
    return Frame(viewer, now, read_freshness(viewer=viewer, now=now), read_liveness(now=now))


def with_mark(live: str, mark: str) -> str:
    """Return the address of a waiting request with another parameter in its query."""
    return f"{live}{'&' if '?' in live else '?'}{mark}=1"
