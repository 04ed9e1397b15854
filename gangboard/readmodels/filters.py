"""Filters of lists: conditions on rows, times, and checks of the values that a person or a program sends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from gangboard.readmodels.state_labels import known_codes
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster, Gang

WITHIN: Mapping[str, tuple[str, timedelta]] = {
    "1h": ("last hour", timedelta(hours=1)),
    "12h": ("last 12 h", timedelta(hours=12)),
    "24h": ("last 24 h", timedelta(hours=24)),
    "7d": ("last 7 days", timedelta(days=7)),
}
"""Words of the filter `within`, with label and time."""

_MOST_WORDS = 8
"""Words of a search that are looked at."""


def search_words(text: str) -> list[str]:
    """Return the words of a search that are looked at."""
    return text.split()[:_MOST_WORDS]


def occurs_in(word: str, columns: Iterable[str]) -> Q:
    """Return the condition that the word occurs in one of the columns, in upper or lower case."""
    found = Q(pk__in=[])
    for column in columns:
        found |= Q(**{f"{column}__icontains": word})
    return found


def all_occur_in(text: str, columns: Iterable[str]) -> Q:
    """Return the condition that each word of a search occurs in one of the columns."""
    columns = tuple(columns)
    condition = Q()
    for word in search_words(text):
        condition &= occurs_in(word, columns)
    return condition


def all_words_in(text: str, texts: Iterable[str]) -> bool:
    """Whether each word of a search occurs in one of the texts, in upper or lower case."""
    found = [one.lower() for one in texts]
    return all(any(word.lower() in one for one in found) for word in search_words(text))


def all_equal(columns: Mapping[str, str]) -> Q:
    """Return the condition that each column has its value. An empty value is no condition."""
    return Q(**{column: value for column, value in columns.items() if value})


def since(column: str, within: str) -> Q:
    """Return the condition that a time is within WITHIN up to now. Another word is no condition."""
    known = WITHIN.get(within)
    return Q() if known is None else Q(**{f"{column}__gte": timezone.now() - known[1]})


MOST_NAMED = 50
"""Known values that one sentence names."""


def unknown_values(*, viewer: Viewer, cluster: str = "", code: str = "") -> dict[str, list[str]]:
    """Return sentences for a cluster that the viewer may not see and for a code that no rule has.

    Empty values are not looked at. At most 2 queries.
    """
    errors: dict[str, list[str]] = {}
    if cluster:
        names = list(
            Cluster.objects.filter(viewer.cluster_filter())
            .order_by("name")
            .values_list("name", flat=True)
        )
        if cluster not in names:
            errors["cluster"] = [_sentence("cluster", cluster, names, "that you may see")]
    # A newer release may have stored a code that this one does not know.
    if code and code not in known_codes() and not _is_stored(code, viewer):
        errors["code"] = [_sentence("reason code", code, sorted(known_codes()))]
    return errors


def _is_stored(code: str, viewer: Viewer) -> bool:
    return "\x00" not in code and Gang.objects.filter(viewer.gang_filter(), code=code).exists()


def _sentence(noun: str, value: str, known: list[str], which: str = "") -> str:
    more = len(known) - MOST_NAMED
    named = ", ".join(known[:MOST_NAMED]) or "none"
    rest = f" and {more} more" if more > 0 else ""
    what = " ".join(filter(None, (f"There is no {noun} “{value}”", which)))
    return f"{what}. Known are: {named}{rest}."
