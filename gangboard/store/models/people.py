"""Who may see and do what."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from gangboard.store.models.clusters import Cluster


class Grant(models.Model):
    """A role of a person on (cluster, namespace); null means all of them."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grants"
    )
    role = models.CharField(max_length=16)
    """viewer, operator or admin."""
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE)
    namespace = models.CharField(max_length=253, default="")
    """Empty for every namespace."""

    class Meta:
        """The same grant is not given twice."""

        constraints = [
            models.UniqueConstraint(
                fields=("user", "role", "cluster", "namespace"), name="grant_once_per_cluster"
            ),
            models.UniqueConstraint(
                fields=("user", "role", "namespace"),
                condition=models.Q(cluster=None),
                name="grant_once_everywhere",
            ),
        ]


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
