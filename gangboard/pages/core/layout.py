"""The layout around every page: navigation, freshness of each cluster, loud banners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from gangboard.pages.core.live.fragments import Fragment, FragmentList, write_version
from gangboard.pages.core.saved_forms import saved_form_message
from gangboard.readmodels.cluster_visibility import not_counted
from gangboard.readmodels.freshness import Freshness, Level, read_freshness
from gangboard.readmodels.liveness import Liveness, read_liveness
from gangboard.readmodels.queue_visibility import serves_queues
from gangboard.store.access import Viewer


@dataclass(frozen=True, slots=True)
class Frame:
    """The viewer of a page, the time, and the data of its layout."""

    viewer: Viewer
    now: datetime
    clusters: Mapping[int, Freshness]
    liveness: Liveness


NAVIGATION = (
    ("board", "Board"),
    ("reasons", "Reasons"),
    ("queues", "Queues"),
    ("capacity", "Capacity"),
    ("check", "Check"),
    ("groups", "Groups"),
    ("clusters", "Clusters"),
    ("actions", "Actions"),
)
"""(name of the address, label)."""
PERSONAL = (
    ("account", "My account"),
    ("notifications", "Messages"),
    ("people", "People"),
    ("reference", "API reference"),
)
"""(name of the address, label): pages behind the name in the header."""
FOR_ADMINS = frozenset({"people"})
WHERE_SERVED = {"queues": serves_queues}
"""Pages about resources that not every cluster has → whether the viewer sees such a cluster."""


MOST_NAMED = 3
"""Clusters that the bar names. With more, it names those with the worst problems and counts the others."""


_WORST = (Level.SILENT, Level.NEVER, Level.STALE, Level.LIVE)


@dataclass(frozen=True, slots=True)
class BarCluster:
    """A cluster that the bar names."""

    cluster: Freshness
    is_spare: bool
    """Whether most screens only count it, because another cluster has a worse problem."""


@dataclass(frozen=True, slots=True)
class NavigationItem:
    """One entry of the navigation."""

    label: str
    href: str
    current: str
    """Value of aria-current: `page` here, `true` for the section that the page is in."""


def layout_fragments(clusters: Mapping[int, Freshness], liveness: Liveness) -> tuple[Fragment, ...]:
    """Return the fragments that every page has."""
    bar = tuple(clusters.values())
    # Sorting is stable, so equal clusters stay in the order of their names.
    troubled = sorted(filter(_has_problem, bar), key=lambda cluster: _WORST.index(cluster.level))
    live = len(bar) - len(troubled)
    names_all = len(bar) <= MOST_NAMED
    chosen = bar if names_all else troubled[:MOST_NAMED]
    named = tuple(
        BarCluster(cluster, is_spare=cluster in troubled[1:])
        for cluster in bar
        if cluster in chosen
    )
    counts = {
        "others": 0 if names_all else live,
        "more_than_three": max(len(troubled) - MOST_NAMED, 0),
        "more_than_one": max(len(troubled) - 1, 0),
        "live": live,
    }
    banners = liveness.banners
    return (
        Fragment(
            "freshness",
            "frame/freshness.html",
            {"clusters": named, **counts},
            (*counts.values(), *((item.cluster.shown, item.is_spare) for item in named)),
        ),
        Fragment("banners", "frame/banners.html", {"banners": banners}, banners),
    )


def not_counted_line(clusters: Mapping[int, Freshness], cluster: str) -> Fragment:
    """Return the line that names the clusters that no number counts. An empty `cluster` means all clusters."""
    line = not_counted(row for row in clusters.values() if cluster in ("", row.cluster))
    return Fragment("not-counted", "frame/not_counted.html", {"line": line}, line)


def render_page(
    request: HttpRequest,
    template: str,
    *,
    viewer: Viewer,
    now: datetime,
    page: Sequence[Fragment | FragmentList],
    section: str,
    live: str,
    context: Mapping[str, object],
    status: int = 200,
) -> HttpResponse:
    """Return a page. `live` is the address of its updates."""
    fragments = {fragment.id.replace("-", "_"): fragment for fragment in page}
    return render(
        request,
        template,
        {
            **context,
            "now": now,
            "viewer": viewer,
            "fragments": fragments,
            "live": live,
            "version": write_version(page, int(now.timestamp() * 1000)),
            "navigation": [
                _navigation(label, reverse(name), name == section, request.path)
                for name, label in NAVIGATION
                if name == section or name not in WHERE_SERVED or WHERE_SERVED[name](viewer)
            ],
            "personal": _personal(viewer, section, request.path),
        },
        status=status,
    )


def plain_page(
    request: HttpRequest,
    template: str,
    *,
    viewer: Viewer,
    section: str,
    context: Mapping[str, object],
    status: int = 200,
) -> HttpResponse:
    """Return a page without live updates, because a form must not change while somebody fills it in."""
    now = timezone.now()
    clusters = read_freshness(viewer=viewer, now=now)
    return render_page(
        request,
        template,
        viewer=viewer,
        now=now,
        page=layout_fragments(clusters, read_liveness(now=now)),
        section=section,
        live="",
        context={**context, "saved_form_message": saved_form_message(request)},
        status=status,
    )


def _personal(viewer: Viewer, section: str, path: str) -> list[NavigationItem]:
    """Return the entries of the user menu that the user may open."""
    items = []
    for name, label in PERSONAL:
        if name in FOR_ADMINS and not viewer.is_admin:
            continue
        try:
            href = reverse(name)
        except NoReverseMatch:
            continue
        items.append(_navigation(label, href, name == section, path))
    return items


def _has_problem(cluster: Freshness) -> bool:
    """Return whether the data of the cluster is out of date, or soon will be."""
    return cluster.is_stale or bool(cluster.problem)


def _navigation(label: str, href: str, in_section: bool, path: str) -> NavigationItem:
    current = "page" if href == path else "true"
    return NavigationItem(label, href, current if in_section else "")
