"""People: their accounts and roles. See `store.authentication` for sign-in."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from gangboard.store.audit import audit
from gangboard.store.clusters import find_cluster
from gangboard.store.models import AccessToken, Cluster, Grant, SessionRecord, SignInLink
from gangboard.store.models.people import GROUP, HAND
from gangboard.store.role_places import PeopleError, cluster_of_role, role_text

__all__ = ["PeopleError", "role_text"]

GANGBOARD = "gangboard"
"""The author of changes that no person made."""


def create_user(
    *,
    name: str,
    role: str,
    cluster_name: str | None = None,
    namespace: str = "",
    by: str = GANGBOARD,
) -> tuple[User, bool]:
    """Create a user without password and with a role, or give the role to an existing user.

    Return the user and whether it was created now. A disabled user is enabled again. If the role cannot be
    given, there is no change; see `grant_role` for the arguments and errors.
    """
    with transaction.atomic():
        existing = find_user(name=name)
        user = existing or _new_user(name)
        was_disabled = not user.is_active
        if was_disabled:
            user.is_active = True
            user.save(update_fields=["is_active"])
        is_granted, cluster = _grant(user, role, cluster_name, namespace)
        if existing is None:
            record("user-made", f"The account of {name} was created.", by, name)
        if was_disabled:
            record("user-enabled", f"The account of {name} was enabled again.", by, name)
        if is_granted:
            _record_given(user, role, cluster, namespace, by)
    return user, existing is None


def create_new_user(
    *,
    name: str,
    role: str,
    cluster_name: str | None = None,
    namespace: str = "",
    by: str = GANGBOARD,
) -> User:
    """Create a user with a role. Raises PeopleError, also if the name is taken, and ClusterError."""
    with transaction.atomic():
        if find_user(name=name) is not None:
            raise PeopleError(f"there is a person {name} already: give them the role on their page")
        return create_user(
            name=name, role=role, cluster_name=cluster_name, namespace=namespace, by=by
        )[0]


def _new_user(name: str) -> User:
    user = User(username=name)
    user.set_unusable_password()
    try:
        user.full_clean(exclude=("password",))
    except ValidationError as error:
        raise PeopleError(f"{name!r} cannot be a user name: {error.messages[0]}") from error
    user.save()
    return user


def find_user(*, name: str) -> User | None:
    """Return the user with this name, or None."""
    return User.objects.filter(username=name).first()


def require_user(name: str) -> User:
    """Return the user with this name. Raises PeopleError, which lists all users."""
    user = find_user(name=name)
    if user is None:
        known = ", ".join(User.objects.order_by("username").values_list("username", flat=True))
        raise PeopleError(f"there is no user {name!r}; the users are: {known or 'none'}")
    return user


def grant_role(
    *,
    user: User,
    role: str,
    cluster_name: str | None = None,
    namespace: str = "",
    by: str = GANGBOARD,
) -> bool:
    """Give a role on namespaces of a cluster. Return False if the user has this grant already.

    `cluster_name` None means every cluster, and an empty `namespace` every namespace; a pattern is allowed.
    `by` is the author for the audit. Raises PeopleError, and ClusterError for an unknown cluster.
    """
    with transaction.atomic():
        is_granted, cluster = _grant(user, role, cluster_name, namespace)
        if is_granted:
            _record_given(user, role, cluster, namespace, by)
    return is_granted


def _grant(
    user: User, role: str, cluster_name: str | None, namespace: str
) -> tuple[bool, Cluster | None]:
    cluster = cluster_of_role(role, cluster_name, namespace)
    _, created = Grant.objects.get_or_create(
        user=user, role=role, cluster=cluster, namespace=namespace, origin=HAND
    )
    return created, cluster


def _record_given(user: User, role: str, cluster: Cluster | None, namespace: str, by: str) -> None:
    name = user.get_username()
    text = role_text(role, cluster.name if cluster is not None else None, namespace)
    record("role-given", f"{name} is {text} from now on.", by, name, cluster)


def remove_role(
    *,
    name: str,
    role: str,
    cluster_name: str | None = None,
    namespace: str = "",
    by: str = GANGBOARD,
    keep_admin: bool = False,
) -> list[str]:
    """Take back exactly what `grant_role` gave. Return the remaining roles of the user as texts.

    The change applies from the next request on, and before each request of a started action. Raises
    ClusterError, and PeopleError for an unknown user or a missing role. With `keep_admin` it also raises
    PeopleError if no admin of everything would be left.
    """
    user = require_user(name)
    cluster = None if cluster_name is None else find_cluster(name=cluster_name)
    text = role_text(role, cluster_name, namespace)
    with transaction.atomic():
        grants = Grant.objects.filter(user=user, role=role, cluster=cluster, namespace=namespace)
        if not grants.filter(origin=HAND).delete()[0]:
            if grants.exists():
                raise PeopleError(
                    f"{name} is {text} by a group: manage.py revoke_group takes the role from the "
                    "group, or the identity provider takes the person out of it"
                )
            has = "; ".join(_role_texts(user)) or "nothing"
            raise PeopleError(f"{name} is not {text}; {name} is: {has}")
        record("role-taken", f"{name} is no longer {text}.", by, name, cluster)
        if keep_admin:
            check_admin_left()
    return _role_texts(user)


def _role_texts(user: User) -> list[str]:
    grants = Grant.objects.filter(user=user).order_by("cluster__name", "namespace", "role")
    rows = grants.values_list("role", "cluster__name", "namespace", "origin")
    return [
        role_text(role, cluster, namespace) + (" (by a group)" if origin == GROUP else "")
        for role, cluster, namespace, origin in rows
    ]


def check_admin_left() -> None:
    """Raise PeopleError if no admin of everything is left.

    Call it after `record`, which serializes the transactions. If two admins end each other's role at the same
    moment, the second one sees the change of the first.
    """
    everything = Grant.objects.filter(role="admin", cluster=None, namespace="")
    if not everything.filter(user__is_active=True).exists():
        raise PeopleError("this is the last admin of everything: add another one first")


def enable_user(*, name: str, by: str = GANGBOARD) -> None:
    """Enable a disabled account. It has no role and no password. Raises PeopleError."""
    with transaction.atomic():
        user = require_user(name)
        if user.is_active:
            raise PeopleError(f"the account of {name} is enabled already")
        user.is_active = True
        user.save(update_fields=["is_active"])
        record("user-enabled", f"The account of {name} was enabled again.", by, name)


def disable_user(*, name: str, by: str = GANGBOARD, keep_admin: bool = False) -> None:
    """Disable a user: end its sessions, password, sign-in links, tokens and roles.

    The account stays, because the audit names it. `create_user` enables it again, with the role given then
    and no other. Raises PeopleError for an unknown user; with `keep_admin` also if no admin of everything
    would be left.
    """
    with transaction.atomic():
        user = require_user(name)
        user.is_active = False
        # Sessions are tied to the hash of the password, so older ones stop working.
        user.set_unusable_password()
        user.save(update_fields=["is_active", "password"])
        SignInLink.objects.filter(user=user).delete()
        AccessToken.objects.filter(user=user).delete()
        Grant.objects.filter(user=user).delete()
        delete_sessions(SessionRecord.objects.filter(user=user))
        sentence = f"{name} was disabled: sessions, password, links, tokens and roles have ended."
        record("user-disabled", sentence, by, name)
        if keep_admin:
            check_admin_left()


def change_password(*, name: str, password: str, by: str = GANGBOARD) -> None:
    """Set a user's password, which ends the sessions tied to the old one. Raises PeopleError."""
    with transaction.atomic():
        user = require_user(name)
        check_enabled(user)
        user.set_password(password)
        user.save(update_fields=["password"])
        delete_sessions(SessionRecord.objects.filter(user=user))
        record("password-changed", f"The password of {name} was changed.", by, name)


def check_may_act(user: User) -> None:
    """Raise PeopleError for a user who may not act anywhere, because a token of theirs could not act either."""
    if not Grant.objects.filter(user=user, role__in=("operator", "admin")).exists():
        raise PeopleError(
            f"{user} has no permission to act, so their tokens cannot act either: create a read-only token, or give {user} "
            "the role operator first"
        )


def delete_sessions(records: QuerySet[SessionRecord]) -> int:
    """Delete sessions and their records. Return how many had not expired. Call it in a transaction."""
    keys = list(records.values_list("session_key", flat=True))
    sessions = Session.objects.filter(pk__in=keys)
    number = sessions.filter(expire_date__gt=timezone.now()).count()
    sessions.delete()
    SessionRecord.objects.filter(session_key__in=keys).delete()
    return number


def check_enabled(user: User) -> None:
    """Raise PeopleError for a disabled account."""
    if not user.is_active:
        raise PeopleError(
            f"the account of {user} is disabled; manage.py create_user enables it again"
        )


def record(
    event: str,
    sentence: str,
    by: str,
    about: str,
    cluster: Cluster | None = None,
    *,
    source: str = "",
) -> None:
    """Record an action by or on a person in the audit. Call it last in a transaction."""
    audit(
        event,
        sentence,
        at=timezone.now(),
        actor=by,
        cluster=cluster,
        object_name=f"User/{about}" if about else "",
        source=source,
    )
