"""Names in clusters that belong to the person of an account, for the filter `mine`."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User

from gangboard.domain.owner import LONGEST_SUBMITTER
from gangboard.store.models import SubmitterNames
from gangboard.store.models.people import PROXY

MOST_NAMES = 20
"""Maximum number of names that a person can declare."""


def names_of(user_id: int) -> tuple[str, ...]:
    """Return the submitter names that are the person's own, sorted (1 query).

    These are:

    - the user name and the mail address of the account,
    - the part of both before the `@`,
    - the name that a trusted proxy sent,
    - the names that the person declared.

    A submitter is text from the cluster, so a match gives no right.
    """
    columns = ("username", "email", "identity__issuer", "identity__subject")
    rows = User.objects.filter(pk=user_id).values_list(*columns, "submitter_names__names")
    row = rows.first()
    if row is None:
        return ()
    username, email, issuer, subject, declared = row
    names = [username, email, *([subject] if issuer == PROXY else [])]
    names += [name.partition("@")[0] for name in names]
    return tuple(sorted({str(name) for name in (*names, *(declared or ())) if name}))


def declared_names(user_id: int) -> tuple[str, ...]:
    """Return the names that a person declared (1 query)."""
    names = SubmitterNames.objects.filter(pk=user_id).values_list("names", flat=True).first()
    return tuple(map(str, names or ()))


def save_declared_names(user_id: int, names: Iterable[str]) -> None:
    """Save the names that a person declares: the first MOST_NAMES, without empty, long and unprintable ones."""
    usable = (name for name in names if name.isprintable() and 0 < len(name) <= LONGEST_SUBMITTER)
    declared = list(dict.fromkeys(usable))[:MOST_NAMES]
    SubmitterNames.objects.update_or_create(pk=user_id, defaults={"names": declared})
