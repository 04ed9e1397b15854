"""Changes of an admin to people, for the page and for the API. Each raises PeopleError with a sentence.

The store writes each change and its line of the audit in one transaction.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol, TypedDict

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from gangboard.store import authentication, group_roles, people, sessions
from gangboard.store.access import Viewer
from gangboard.store.models import SessionRecord
from gangboard.store.people import PeopleError


class RoleChoice(TypedDict):
    """A role in a cluster and namespace. A missing or empty value stands for all of them."""

    role: str
    cluster: str | None
    namespace: str | None


def create_new_user(*, viewer: Viewer, name: str, role: RoleChoice) -> User:
    """Return a new user with this role."""
    return people.create_new_user(name=name, by=_admin(viewer), **_place(role))


def give_role(*, viewer: Viewer, name: str, role: RoleChoice) -> bool:
    """Grant a role. Return False if an admin has already granted it."""
    by = _admin(viewer)
    user = people.require_user(name)
    people.check_enabled(user)
    return people.grant_role(user=user, by=by, **_place(role))


def take_role(*, viewer: Viewer, name: str, role: RoleChoice) -> None:
    """Revoke a role that an admin granted."""
    people.remove_role(name=name, by=_admin(viewer), keep_admin=True, **_place(role))


def make_link(*, viewer: Viewer, name: str) -> tuple[str, datetime]:
    """Return the secret of a link that signs the person in once, and its expiry."""
    by = _admin(viewer)
    user = people.require_user(name)
    people.check_enabled(user)
    if "link" not in settings.LOCAL_SIGN_IN:
        raise PeopleError("sign-in links are switched off here (GANGBOARD_LOCAL_SIGN_IN)")
    ends = timezone.now() + authentication.LINK_LIFETIME
    return authentication.create_sign_in_link(user=user, by=by), ends


def set_disabled(*, viewer: Viewer, name: str, disabled: bool) -> None:
    """Disable or reopen an account. An account that already has this state does not change."""
    by = _admin(viewer)
    user = people.require_user(name)
    if disabled is not user.is_active:
        return
    if not disabled:
        people.enable_user(name=name, by=by)
    elif user.pk == viewer.user_id:
        raise PeopleError("you cannot disable yourself: ask another admin")
    else:
        people.disable_user(name=name, by=by, keep_admin=True)


def revoke_token(*, viewer: Viewer, token_id: str) -> str:
    """Revoke a token of any person. Return the owner's name."""
    return authentication.revoke_token(token_id, by=_admin(viewer)).get_username()


def end_session(*, viewer: Viewer, session_id: int) -> str | None:
    """End a session of any person. Return the owner's name, or None if there is no such session."""
    by = _admin(viewer)
    record = SessionRecord.objects.select_related("user").filter(pk=session_id).first()
    if record is None or not sessions.end_session(session_id, user=record.user, by=by):
        return None
    return record.user.get_username()


def give_group_role(*, viewer: Viewer, group: str, role: RoleChoice) -> bool:
    """Grant a role to the members of a group. Return False if they have it already."""
    return group_roles.grant_group(group=group, by=_admin(viewer), **_place(role))


def take_group_role(*, viewer: Viewer, role_id: int) -> bool:
    """Revoke a role of a group. Return False if there is no such role."""
    by = _admin(viewer)
    with transaction.atomic():
        is_revoked = group_roles.revoke_group_role(role_id, by=by)
        people.check_admin_left()
    return is_revoked


class HasAddress(Protocol):
    """A request of Django or of the REST framework."""

    def build_absolute_uri(self, location: str | None = None) -> str:
        """Return the absolute URL of a path on this host."""


def link_address(request: HasAddress, secret: str) -> str:
    """Return the absolute URL of a sign-in link, at the public URL if that is set."""
    path = reverse("sign-in-link", args=[secret])
    if settings.PUBLIC_URL:
        return f"{str(settings.PUBLIC_URL).rstrip('/')}{path}"
    return request.build_absolute_uri(path)


class _Place(TypedDict):
    role: str
    cluster_name: str | None
    namespace: str


def _place(role: RoleChoice) -> _Place:
    return {
        "role": role["role"],
        "cluster_name": role["cluster"] or None,
        "namespace": role["namespace"] or "",
    }


def _admin(viewer: Viewer) -> str:
    """Return the name of the admin for the audit. Raises PeopleError for other people and for tokens."""
    if not viewer.is_admin or viewer.token:
        raise PeopleError("only an admin of everything who has signed in may change people")
    return viewer.name
