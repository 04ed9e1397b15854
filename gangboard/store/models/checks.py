"""Checks of manifests: the reduced manifests, and the answers of poll workers."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from gangboard.store.models.clusters import Cluster


class CheckRun(models.Model):
    """The check of one text in one cluster. It lives for minutes; see `store.checks`."""

    id = models.CharField(max_length=32, primary_key=True)
    check_id = models.CharField(max_length=32)
    """Id of the whole check, which is the same for all its clusters. Random, because it is part of a URL."""
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    """The person who asked. Other people do not see it."""
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    manifests = models.BinaryField(null=True)
    """Encrypted shape of the manifests. Null as soon as the check is answered."""
    state = models.CharField(max_length=8, default="waiting", db_default="waiting")
    """`waiting`, `running` or `answered`."""
    answer = models.BinaryField(null=True)
    """Encrypted `domain.check.ClusterCheck`. Null until it is answered."""
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    """When a poll worker claimed it."""
    expires_at = models.DateTimeField()
    """From then on it counts as deleted."""

    class Meta:
        """The indexes are for the answer to a person, and for retention."""

        indexes = [
            models.Index(fields=("check_id",), name="check_by_id"),
            models.Index(fields=("expires_at",), name="check_by_end"),
        ]
