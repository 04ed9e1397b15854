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
"""Value of the filter `within` → label and time span."""

_MOST_WORDS = 8
"""Words of a search. Further ones are ignored."""


def search_words(text: str) -> list[str]:
    """Return the words of a search, without those beyond the limit."""
    return text.split()[:_MOST_WORDS]


def occurs_in(term: str, columns: Iterable[str]) -> Q:
    """Return the condition that the word occurs in one of the columns. Case is ignored."""
    condition = Q(pk__in=[])
    for column in columns:
        condition |= Q(**{f"{column}__icontains": term})
    return condition


def all_occur_in(text: str, columns: Iterable[str]) -> Q:
    """Return the condition that each word of a search occurs in one of the columns."""
    columns = tuple(columns)
    condition = Q()
    for term in search_words(text):
        condition &= occurs_in(term, columns)
    return condition


def all_words_in(query: str, texts: Iterable[str]) -> bool:
    """Return whether each word of a search occurs in one of the texts. Case is ignored."""
    lowered = [text.lower() for text in texts]
    return all(any(term.lower() in text for text in lowered) for term in search_words(query))


Label = tuple[str, str | None]
"""Key and value of a required label. None: any value."""


def read_labels(text: str) -> tuple[Label, ...]:
    """Return the labels in a text such as `team=nlp,app`. A label without a key has an empty key."""
    pairs = (part.strip().partition("=") for part in text.split(","))
    return tuple((key, value if equals else None) for key, equals, value in pairs)


def label_text(label: Label) -> str:
    """Return a label as `read_labels` reads it: `team=nlp` or `app`."""
    key, value = label
    return key if value is None else f"{key}={value}"


def all_equal(columns: Mapping[str, str]) -> Q:
    """Return the condition that each column has its value. An empty value is no condition."""
    return Q(**{column: value for column, value in columns.items() if value})


def since(column: str, within: str) -> Q:
    """Return the condition that a time is within WITHIN up to now. Another word is no condition."""
    known = WITHIN.get(within)
    return Q() if known is None else Q(**{f"{column}__gte": timezone.now() - known[1]})


MOST_NAMED = 50
"""Known values that a sentence lists."""


def unknown_values(*, viewer: Viewer, cluster: str = "", code: str = "") -> dict[str, list[str]]:
    """Return a sentence for a cluster that the viewer may not see, and for a code without a rule (at most 2 queries).

    Empty values are not checked.
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


def _sentence(noun: str, value: str, known: list[str], restriction: str = "") -> str:
    unnamed = len(known) - MOST_NAMED
    named = ", ".join(known[:MOST_NAMED]) or "none"
    rest = f" and {unnamed} more" if unnamed > 0 else ""
    statement = " ".join(filter(None, (f"There is no {noun} “{value}”", restriction)))
    return f"{statement}. Known are: {named}{rest}."
