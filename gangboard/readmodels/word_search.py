"""The search by words of every list: each word must occur somewhere in what a person reads of a row."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q

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
