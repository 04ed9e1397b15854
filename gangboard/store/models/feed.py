"""What happened, in one order for all who follow it: robots by the API, people by messages."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.actions import Action
from gangboard.store.models.clusters import Cluster
from gangboard.store.models.history import VerdictSpan


class FeedEvent(models.Model):
    """A gang got another verdict or was deleted, or an action ended. Written in the same transaction."""

    number = models.BigIntegerField(null=True, unique=True)
    """Place in the order. Null until `store.feed` has numbered it, after its transaction has ended."""
    at = models.DateTimeField()
    type = models.CharField(max_length=16)
    """`verdict`, `deleted` or `action`."""
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    namespace = models.CharField(max_length=253)
    span = models.ForeignKey(VerdictSpan, null=True, on_delete=models.CASCADE, related_name="+")
    """The verdict that began, or with which the gang was deleted."""
    action = models.ForeignKey(Action, null=True, on_delete=models.CASCADE, related_name="+")
    """The action that ended."""

    class Meta:
        """For the numbering, and for retention."""

        indexes = [
            models.Index(
                fields=("id",), condition=models.Q(number=None), name="feed_without_number"
            ),
            models.Index(fields=("at",), name="feed_by_time"),
        ]


class FeedHead(models.Model):
    """The number of the newest event: one row, locked by whoever numbers."""

    number = models.BigIntegerField(default=0)
