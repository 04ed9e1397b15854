"""Accounts of people who sign in through an identity provider or a trusted proxy."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from gangboard.store.group_roles import LONGEST_GROUP, apply_groups
from gangboard.store.models import Identity
from gangboard.store.models.people import PROXY
from gangboard.store.people import GANGBOARD, PeopleError, record

__all__ = ["PROXY", "Person", "sign_in_person"]
LONGEST_NAME = 120
"""Leaves space for a number in Django's column of 150 characters."""
LONGEST_SUBJECT = 255
"""The maximum length in OpenID Connect."""
MOST_GROUPS = 2_000
_NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")
"""Characters that Django rejects in a user name."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person as the provider describes them."""

    issuer: str
    subject: str
    name: str
    """The suggested user name. The account may get another one."""
    groups: tuple[str, ...] = ()


def sign_in_person(person: Person) -> User:
    """Return the account of a person, with the current roles of their groups. The first sign-in creates it.

    The account belongs to (issuer, subject). A mail address or a name never selects an account. Raises
    PeopleError for a disabled account or a subject that cannot be stored.
    """
    subject = person.subject
    if not subject or len(subject) > LONGEST_SUBJECT or not subject.isprintable():
        raise PeopleError("the identity provider sent a subject that cannot be stored")
    try:
        return _sign_in(person)
    except IntegrityError:
        # Of two simultaneous first sign-ins, the other one created the account or took the name.
        return _sign_in(person)


def _sign_in(person: Person) -> User:
    subject, groups = person.subject, _usable_groups(person.groups)
    with transaction.atomic():
        identity = (
            Identity.objects.select_for_update()
            .select_related("user")
            .filter(issuer=person.issuer, subject=subject)
            .first()
        )
        is_new = identity is None
        if identity is None:
            identity = Identity(user=_new_account(person), issuer=person.issuer, subject=subject)
        user: User = identity.user
        if not user.is_active:
            raise PeopleError(f"the account of {user} is disabled; an admin can enable it again")
        if is_new or identity.groups != groups:
            identity.groups = groups
            identity.save()
        added, removed = apply_groups(user, groups)
        name = user.get_username()
        if is_new:
            sentence = f"The account of {name} was created at the first sign-in by {person.issuer}."
            record("user-made", sentence, GANGBOARD, name)
        for text in added:
            record("role-given", f"{name} is now {text}, by a group.", GANGBOARD, name)
        for text in removed:
            sentence = f"{name} is no longer {text}, which a group had given."
            record("role-taken", sentence, GANGBOARD, name)
    return user


def _usable_groups(groups: tuple[str, ...]) -> list[str]:
    """Return the groups sorted and without duplicates. A name too long for the table cannot have a role."""
    usable = {group for group in groups if 0 < len(group) <= LONGEST_GROUP and group.isprintable()}
    return sorted(usable)[:MOST_GROUPS]


def _new_account(person: Person) -> User:
    """Create an account whose name is unique regardless of case."""
    text = unicodedata.normalize("NFKC", person.name)
    base_name = _NOT_IN_NAMES.sub("-", text).strip("-")[:LONGEST_NAME] or "person"
    name, number = base_name, 1
    while User.objects.filter(username__iexact=name).exists():
        number += 1
        name = f"{base_name}-{number}"
    user = User(username=name)
    user.set_unusable_password()
    user.save()
    return user
