"""People: their roles, one-time sign-in links, tokens, and the limit on password attempts.

Secrets are random with 256 bits and kept as hashes only, so nothing in the tables lets anyone in.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from gangboard.store.access import ROLES
from gangboard.store.clusters import check_dns_label, find_cluster
from gangboard.store.models import AccessToken, Grant, SignInAttempts, SignInLink
from gangboard.store.secrets import hash_secret, same_hash

LINK_LIFE = timedelta(hours=1)
"""How long a sign-in link works: long enough to send it to a colleague, too short to be kept."""
TOKEN_DAYS = 30
LONGEST_TOKEN_DAYS = 366
LAST_USE_STEP = timedelta(minutes=1)
"""`last_used_at` is written at most this often: reading must not mean writing."""

ATTEMPT_WINDOW = timedelta(minutes=5)
ATTEMPTS_PER_NAME = 10
ATTEMPTS_PER_ADDRESS = 50
"""Higher than for a name: an office may share one address."""

_NO_HASH = hash_secret("")


class PeopleError(ValueError):
    """What was asked for cannot be done. The text is one sentence for the person who asked."""


@dataclass(frozen=True, slots=True)
class KnownToken:
    """A token that was presented and is valid."""

    id: str
    user: User
    may_act: bool


def create_user(
    *, name: str, role: str, cluster_name: str | None = None, namespace: str = ""
) -> tuple[User, bool]:
    """Make a user (without password) with a role, or give that role to the one of that name.

    Returns the user and whether it was made now. One that was disabled may sign in again.
    Nothing is changed when the role cannot be given; see grant_role for the arguments and errors.
    """
    with transaction.atomic():
        existing = find_user(name=name)
        user = existing or _new_user(name)
        if not user.is_active:
            user.is_active = True
            user.save(update_fields=["is_active"])
        grant_role(user=user, role=role, cluster_name=cluster_name, namespace=namespace)
    return user, existing is None


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
    """Return the user of that name, or None."""
    return User.objects.filter(username=name).first()


def _known_user(name: str) -> User:
    user = find_user(name=name)
    if user is None:
        known = ", ".join(User.objects.order_by("username").values_list("username", flat=True))
        raise PeopleError(f"there is no user {name!r}; the users are: {known or 'none'}")
    return user


def grant_role(
    *, user: User, role: str, cluster_name: str | None = None, namespace: str = ""
) -> bool:
    """Give a role on a namespace of a cluster; return False when the user has that grant already.

    `cluster_name` None means every cluster, `namespace` empty every namespace.
    Raises PeopleError, and ClusterError for a cluster that is not watched.
    """
    if role not in ROLES:
        raise PeopleError(f"there is no role {role!r}; the roles are {', '.join(ROLES)}")
    if namespace:
        check_dns_label(namespace, "a namespace")
    cluster = None if cluster_name is None else find_cluster(name=cluster_name)
    _, created = Grant.objects.get_or_create(
        user=user, role=role, cluster=cluster, namespace=namespace
    )
    return created


def remove_role(
    *, name: str, role: str, cluster_name: str | None = None, namespace: str = ""
) -> list[str]:
    """Take back exactly what grant_role gave; return the roles that the user still has, as texts.

    It counts from the next request on, and before each request of an action that has begun.
    Raises PeopleError for an unknown user or a role that it does not have there, and ClusterError.
    """
    user = _known_user(name)
    cluster = None if cluster_name is None else find_cluster(name=cluster_name)
    found = Grant.objects.filter(user=user, role=role, cluster=cluster, namespace=namespace)
    if not found.delete()[0]:
        has = "; ".join(_role_texts(user)) or "nothing"
        wanted = role_text(role, cluster_name, namespace)
        raise PeopleError(f"{name} is not {wanted}; {name} is: {has}")
    return _role_texts(user)


def role_text(role: str, cluster_name: str | None, namespace: str) -> str:
    """Return `viewer of namespace team-a of every cluster`."""
    place = f"namespace {namespace}" if namespace else "every namespace"
    return f"{role} of {place} of {f'cluster {cluster_name}' if cluster_name else 'every cluster'}"


def _role_texts(user: User) -> list[str]:
    grants = Grant.objects.filter(user=user).order_by("cluster__name", "namespace", "role")
    rows = grants.values_list("role", "cluster__name", "namespace")
    return [role_text(role, cluster, namespace) for role, cluster, namespace in rows]


def disable_user(*, name: str) -> None:
    """End all that lets a user in: sessions, password, sign-in links, tokens and roles.

    The account stays, because the record of actions names it; create_user makes it work again, with
    the role given then and no other. Raises PeopleError for an unknown user.
    """
    with transaction.atomic():
        user = _known_user(name)
        user.is_active = False
        # Sessions are tied to the hash of the password: no older one works any more.
        user.set_unusable_password()
        user.save(update_fields=["is_active", "password"])
        SignInLink.objects.filter(user=user).delete()
        AccessToken.objects.filter(user=user).delete()
        Grant.objects.filter(user=user).delete()


def create_sign_in_link(*, user: User, life: timedelta = LINK_LIFE) -> str:
    """Return the secret of a new link that signs `user` in once, within `life`."""
    secret = secrets.token_urlsafe(32)
    now = timezone.now()
    with transaction.atomic():
        SignInLink.objects.filter(expires_at__lt=now - timedelta(days=1)).delete()
        SignInLink.objects.create(secret_hash=hash_secret(secret), user=user, expires_at=now + life)
    return secret


def consume_sign_in_link(secret: str) -> User | None:
    """Return whom the link signs in and make it worthless; None when it does not work (any more).

    Of two simultaneous uses exactly one wins: the row is claimed by a conditional update.
    """
    now = timezone.now()
    link = (
        SignInLink.objects.select_related("user")
        .filter(secret_hash=hash_secret(secret), expires_at__gt=now, user__is_active=True)
        .first()
    )
    if link is None or SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=now) != 1:
        return None
    assert isinstance(link.user, User)  # noqa: S101  # AUTH_USER_MODEL is Django's own
    return link.user


def issue_token(*, user: User, may_act: bool = False, days: int = TOKEN_DAYS) -> str:
    """Return a new token `gb_<id>_<secret>`; it is not shown again. Raises PeopleError."""
    if not user.is_active:
        raise PeopleError(
            f"the account of {user} is disabled; manage.py create_user opens it again"
        )
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise PeopleError(f"a token can last from 1 to {LONGEST_TOKEN_DAYS} days, not {days}")
    token_id, secret = secrets.token_hex(8), secrets.token_hex(32)
    AccessToken.objects.create(
        id=token_id,
        user=user,
        secret_hash=hash_secret(secret),
        may_act=may_act,
        expires_at=timezone.now() + timedelta(days=days),
    )
    return f"gb_{token_id}_{secret}"


def find_token(token: str) -> KnownToken | None:
    """Return what a presented token stands for; None when unknown, wrong, expired or disabled."""
    prefix, _, rest = token.partition("_")
    token_id, _, secret = rest.partition("_")
    # A NUL is the one character that PostgreSQL refuses in a query.
    if prefix != "gb" or not token_id.isalnum() or not secret:
        return None
    row = AccessToken.objects.select_related("user").filter(pk=token_id).first()
    # Also for an unknown id, so that the time taken does not tell which ids exist.
    matches = same_hash(secret, row.secret_hash if row else _NO_HASH)
    now = timezone.now()
    if row is None or not matches or row.expires_at <= now or not row.user.is_active:
        return None
    _note_use(row)
    assert isinstance(row.user, User)  # noqa: S101  # AUTH_USER_MODEL is Django's own
    return KnownToken(row.pk, row.user, row.may_act)


def _note_use(row: AccessToken) -> None:
    now = timezone.now()
    if row.last_used_at is not None and row.last_used_at > now - LAST_USE_STEP:
        return
    # Again in the condition: of many requests at the same moment one writes.
    AccessToken.objects.filter(
        Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USE_STEP), pk=row.pk
    ).update(last_used_at=now)


def revoke_token(token: str) -> User:
    """Make a token worthless at once and return whose it was.

    `token` is all of it or its public part, `gb_<id>`: whoever reports a leak should not have to
    pass the secret on. Raises PeopleError, without repeating what may be a secret.
    """
    token_id = token.removeprefix("gb_").partition("_")[0]
    # As in find_token: PostgreSQL refuses a NUL.
    found = AccessToken.objects.filter(pk=token_id) if token_id.isalnum() else None
    row = found.select_related("user").first() if found is not None else None
    if found is None or row is None:
        raise PeopleError("there is no such token: it was revoked already, or it is not of here")
    found.delete()
    assert isinstance(row.user, User)  # noqa: S101  # AUTH_USER_MODEL is Django's own
    return row.user


def revoke_tokens(*, name: str) -> int:
    """Make all tokens of a user worthless at once; return how many. Raises PeopleError."""
    return AccessToken.objects.filter(user=_known_user(name)).delete()[0]


def count_password_attempt(*, name: str, address: str) -> int:
    """Count an attempt before its password is looked at; return the seconds to wait, 0 to go on.

    Counting first keeps simultaneous attempts within the limit too. Counted per user name and per
    address, whether or not such a user exists.
    """
    now = timezone.now()
    with transaction.atomic():
        SignInAttempts.objects.filter(first_at__lte=now - ATTEMPT_WINDOW).delete()
        waits = [
            _count_one(_attempt_key("name", name), ATTEMPTS_PER_NAME),
            _count_one(_attempt_key("address", address), ATTEMPTS_PER_ADDRESS),
        ]
    return max(waits)


def forget_password_attempts(*, name: str) -> None:
    """After a right password the name starts from zero; the address keeps its count."""
    SignInAttempts.objects.filter(key=_attempt_key("name", name)).delete()


def _attempt_key(what: str, value: str) -> str:
    return hashlib.sha256(f"{what} {value.casefold()}".encode()).hexdigest()


def _count_one(key: str, most: int) -> int:
    now = timezone.now()
    SignInAttempts.objects.get_or_create(key=key, defaults={"first_at": now})
    SignInAttempts.objects.filter(key=key).update(attempts=F("attempts") + 1)
    row = SignInAttempts.objects.get(key=key)
    if row.attempts <= most:
        return 0
    return max(1, math.ceil((row.first_at + ATTEMPT_WINDOW - now).total_seconds()))
