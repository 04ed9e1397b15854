"""Events in one order for all readers: programs through the API, people through messages."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.actions import Action
from gangboard.store.models.clusters import Cluster
from gangboard.store.models.history import VerdictSpan


class FeedEvent(models.Model):
    """A new verdict, a deleted gang, or a finished action. Written in the same transaction as the change."""

    number = models.BigIntegerField(null=True, unique=True)
    """Position in the order. Null until `store.feed` numbers the event after its transaction."""
    at = models.DateTimeField()
    type = models.CharField(max_length=16)
    """`verdict`, `deleted` or `action`."""
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    namespace = models.CharField(max_length=253)
    span = models.ForeignKey(VerdictSpan, null=True, on_delete=models.CASCADE, related_name="+")
    """The verdict that began, or the last verdict of a deleted gang."""
    action = models.ForeignKey(Action, null=True, on_delete=models.CASCADE, related_name="+")
    """The finished action."""

    class Meta:
        """For the numbering, and for retention."""

        indexes = [
            models.Index(
                fields=("id",), condition=models.Q(number=None), name="feed_without_number"
            ),
            models.Index(fields=("at",), name="feed_by_time"),
        ]


class FeedHead(models.Model):
    """The number of the newest event, in one row. The process that numbers events locks it."""

    number = models.BigIntegerField(default=0)
