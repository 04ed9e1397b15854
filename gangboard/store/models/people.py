"""Who may see and do what."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from gangboard.store.models.clusters import Cluster

HAND, GROUP = "hand", "group"
"""Origins of a role: a person gave it, or a group of the identity provider has it."""
PROXY = "proxy"
"""Issuer of names that a trusted proxy has sent."""


class Grant(models.Model):
    """A role of a person on (cluster, namespaces); null means every cluster."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grants"
    )
    role = models.CharField(max_length=16)
    """viewer, operator or admin."""
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE)
    namespace = models.CharField(max_length=253, default="")
    """A name, a pattern such as `team-*`, or empty for every namespace."""
    origin = models.CharField(max_length=8, default=HAND, db_default=HAND)
    """HAND or GROUP."""

    class Meta:
        """The same grant is not given twice by hand, nor twice by groups."""

        constraints = [
            models.UniqueConstraint(
                fields=("user", "role", "cluster", "namespace", "origin"),
                name="grant_once_per_cluster",
            ),
            models.UniqueConstraint(
                fields=("user", "role", "namespace", "origin"),
                condition=models.Q(cluster=None),
                name="grant_once_everywhere",
            ),
        ]


class GroupRole(models.Model):
    """A role that members of a group of the identity provider have; null means every cluster."""

    group = models.CharField(max_length=255)
    """As the provider sends it, letter by letter."""
    role = models.CharField(max_length=16)
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE)
    namespace = models.CharField(max_length=253, default="", db_default="")
    """A name, a pattern such as `team-*`, or empty for every namespace."""

    class Meta:
        """The same role is not given to a group twice."""

        constraints = [
            models.UniqueConstraint(
                fields=("group", "role", "cluster", "namespace"),
                name="group_role_once_per_cluster",
            ),
            models.UniqueConstraint(
                fields=("group", "role", "namespace"),
                condition=models.Q(cluster=None),
                name="group_role_once_everywhere",
            ),
        ]


class Identity(models.Model):
    """The person at the identity provider to whom an account belongs. A mail address is no identity."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identity"
    )
    issuer = models.CharField(max_length=500)
    """Address of the provider; `PROXY` for a name that a trusted proxy has sent."""
    subject = models.CharField(max_length=255)
    """What the provider calls the person, and never gives to another one."""
    groups = models.JSONField(default=list, db_default=[])
    """[name, …] of the last sign-in."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """A person has one account."""

        constraints = [
            models.UniqueConstraint(fields=("issuer", "subject"), name="one_account_of_a_person")
        ]


class SessionRecord(models.Model):
    """A signed-in browser, for the list of sessions. The session itself is Django's row."""

    session_key = models.CharField(max_length=40, unique=True)
    """Key of that row: a hash of the cookie."""
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="session_records"
    )
    method = models.CharField(max_length=16)
    """How the person signed in: password, link, provider or proxy."""
    address = models.CharField(max_length=64, default="", db_default="")
    """From where the browser asked last; empty if no one can tell."""
    created_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    """To the minute. Updates of an open page do not count."""
    ends_at = models.DateTimeField(db_index=True)
    """The session ends then, used or not."""


class AccessToken(models.Model):
    """A bearer token `gb_<id>_<secret>`; only the hash of the secret is kept."""

    id = models.CharField(max_length=16, primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_tokens"
    )
    secret_hash = models.CharField(max_length=64)
    may_act = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)


class SignInLink(models.Model):
    """A one-time sign-in link; only the hash of its secret is kept."""

    secret_hash = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class Attempts(models.Model):
    """How often somebody has tried something within the window that runs now."""

    key = models.CharField(max_length=64, primary_key=True)
    """Keyed hash of what and who: what people mistype into the name field is often a password."""
    number = models.IntegerField(default=0)
    ends_at = models.DateTimeField(db_index=True)
    """The end of the window."""


class SavedView(models.Model):
    """A state of the Board that a person has given a name."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=60)
    query = models.TextField()
    """As it stands in the address: a view is a link, and whoever opens it sees what is theirs to see."""

    class Meta:
        """A name is one view of a person."""

        constraints = [models.UniqueConstraint(fields=("user", "name"), name="one_view_of_a_name")]


class BoardColumns(models.Model):
    """The columns that a person wants to see on the Board."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    names = models.JSONField(default=list)
    """[name, …] of those that can be switched; unknown ones mean nothing."""
