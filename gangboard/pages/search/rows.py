"""The results of a search: hits in groups of one sort."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from gangboard.readmodels.state_labels import Face

MOST_HITS = 20
"""Hits of each sort. The page says if there are more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An object, a label or a submitter with all words of the search."""

    name: str
    href: str
    """Address of its page. Empty if its name fits no address."""
    place: str
    """Its kind, namespace and cluster, or the number of its gangs."""
    face: Face | None = None
    """Its state. None for hits without a state."""
    match: str = ""
    """What has the words if its own name does not, such as `label team=nlp`."""
    node: str = ""
    """Node of a pod, if the viewer may read its name."""
    cluster: str = ""
    """Cluster of the node."""
    gone_at: datetime | None = None
    """Deletion of a gang, whose state is the last one then."""
    is_implied: bool = False
    """Whether another group has its match: a gang with a label or submitter that is a hit."""


@dataclass(frozen=True, slots=True)
class HitGroup:
    """The hits of one sort."""

    key: str
    title: str
    hits: tuple[Hit, ...]
    has_more: bool = False
    all_href: str = ""
    """Page with all hits, if there are more. Empty if no page has them."""

    @property
    def is_implied(self) -> bool:
        """Whether other groups have the matches of all its hits."""
        return all(hit.is_implied for hit in self.hits)


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Groups with hits, in the order of the page."""

    groups: tuple[HitGroup, ...] = ()

    @property
    def only_href(self) -> str:
        """Return the address of the only hit. Empty if there are none or several."""
        hits = [hit for group in self.groups for hit in group.hits if not hit.is_implied]
        return hits[0].href if len(hits) == 1 else ""


def hit_group(
    key: str, title: str, hits: Sequence[Hit], *, has_more: bool = False, all_href: str = ""
) -> HitGroup:
    """Return a group with at most MOST_HITS of these hits."""
    return HitGroup(
        key, title, tuple(hits[:MOST_HITS]), has_more or len(hits) > MOST_HITS, all_href
    )


def place_text(*parts: str) -> str:
    """Return `JobSet · research · eu-train`, without empty parts."""
    return " · ".join(filter(None, parts))


def board_href(pairs: Mapping[str, str]) -> str:
    """Return the address of the Board with these filters."""
    return f"{reverse('board')}?{urlencode(pairs)}"


def page_href(page: str, args: Collection[str]) -> str:
    """Return the address of a page, or an empty text if a name fits no address."""
    try:
        return reverse(page, args=tuple(args))
    except NoReverseMatch:
        return ""
