"""Roles and accounts of people."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from gangboard.store.models.clusters import Cluster

HAND, GROUP = "hand", "group"
"""Origins of a role: a person gave it, or a group of the identity provider has it."""
PROXY = "proxy"
"""Issuer of names that a trusted proxy sent."""


class Grant(models.Model):
    """A role of a person on (cluster, namespaces). A null cluster means every cluster."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grants"
    )
    role = models.CharField(max_length=16)
    """`viewer`, `operator`, `admin` or `logs`."""
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE)
    namespace = models.CharField(max_length=253, default="")
    """A name, a pattern such as `team-*`, or empty for every namespace."""
    origin = models.CharField(max_length=8, default=HAND, db_default=HAND)
    """HAND or GROUP."""

    class Meta:
        """A grant is unique per origin."""

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
    """A role of the members of a group of the identity provider. A null cluster means every cluster."""

    group = models.CharField(max_length=255)
    """Exactly as the provider sends it."""
    role = models.CharField(max_length=16)
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE)
    namespace = models.CharField(max_length=253, default="", db_default="")
    """A name, a pattern such as `team-*`, or empty for every namespace."""

    class Meta:
        """A role is unique per group."""

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
    """The person at the identity provider to whom an account belongs. A mail address does not identify a person."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identity"
    )
    issuer = models.CharField(max_length=500)
    """Address of the provider, or `PROXY` for a name that a trusted proxy sent."""
    subject = models.CharField(max_length=255)
    """The provider's identifier of the person, which it never reuses."""
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
    """Method of sign-in: `password`, `link`, `provider` or `proxy`."""
    address = models.CharField(max_length=64, default="", db_default="")
    """Client address of the last request; empty if unknown."""
    created_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    """Accurate to the minute. Updates of an open page do not count."""
    ends_at = models.DateTimeField(db_index=True)
    """When the session ends, used or not."""


class AccessToken(models.Model):
    """A bearer token `gb_<id>_<secret>`. Only the hash of the secret is stored."""

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
    """A one-time sign-in link. Only the hash of its secret is stored."""

    secret_hash = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class Attempts(models.Model):
    """The number of attempts within the current window."""

    key = models.CharField(max_length=64, primary_key=True)
    """Keyed hash of the kind of attempt and its author, because people often type a password into the name field."""
    number = models.IntegerField(default=0)
    ends_at = models.DateTimeField(db_index=True)
    """The end of the window."""


class SavedView(models.Model):
    """A state of the Board that a person has named."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=60)
    query = models.TextField()
    """The query string of the URL. A view is a link, and each person who opens it sees the gangs that they
    may see."""

    class Meta:
        """A name is unique per person."""

        constraints = [models.UniqueConstraint(fields=("user", "name"), name="one_view_of_a_name")]


class SubmitterNames(models.Model):
    """Names in clusters that a person declared as their own, for the filter `mine`."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="submitter_names",
    )
    names = models.JSONField(default=list)
    """[name, …] as typed."""


class BoardColumns(models.Model):
    """The Board columns that a person chose."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    names = models.JSONField(default=list)
    """[name, …] of the optional columns. Unknown names are ignored."""
