"""The history: past verdicts, the feed of changes, and the points of curves. It outlives the objects."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.actions import Action
from gangboard.store.models.clusters import Cluster


class VerdictSpan(models.Model):
    """One verdict of one gang from its beginning to its end. Written only on change."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    gang_id = models.CharField(max_length=32)
    """The public id. It is not a foreign key, because the span outlives the gang's row."""
    api_group = models.CharField(max_length=253)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    health = models.CharField(max_length=16)
    stage = models.CharField(max_length=16)
    code = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    message = models.TextField()
    """The sentence at the beginning of the span. Names in it are redacted per viewer with `findings`."""
    findings = models.BinaryField(default=bytes)
    """msgpack of the verdict's finding. Its references tell which names the message contains."""
    queue = models.CharField(max_length=253, default="")
    shape = models.CharField(max_length=64, default="")
    """Digest of the average request of a member. Gangs with the same one are alike."""
    desired = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(null=True)
    """When the owner was created. It tells whether a wait was observed from its beginning."""
    accelerators = models.FloatField(default=0)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    """Null if the verdict is current. A deleted gang has an end and `last`."""
    last = models.BooleanField(default=False)
    """True if the gang ended with this verdict: its object was deleted at `ended_at`."""

    class Meta:
        """For a gang's timeline, for typical waits, and for retention."""

        indexes = [
            models.Index(fields=("gang_id", "began_at")),
            models.Index(fields=("cluster", "queue", "shape", "began_at")),
            models.Index(fields=("ended_at",)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("gang_id",),
                condition=models.Q(ended_at=None),
                name="one_open_span_per_gang",
            )
        ]


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


class TrendPoint(models.Model):
    """One cluster in one minute. Unknown values are null; a missing row means that all are unknown."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    at = models.DateTimeField()
    """The beginning of the minute."""
    is_lasting = models.BooleanField()
    """True for the first point with values in its quarter of an hour, which outlives the others."""
    gangs = models.JSONField(null=True)
    """Health → number of gangs, `unknown` included."""
    waiting = models.FloatField(null=True)
    """Accelerators requested by gangs that are blocked, degraded, waiting or starting."""
    reasons = models.JSONField(null=True)
    """`stage/code` of these gangs → [gangs, requested accelerators]."""
    used = models.FloatField(null=True)
    """Accelerators requested by pods on the nodes. The next three fields count accelerators as well."""
    held = models.FloatField(null=True)
    """The part of `used` that belongs to gangs that are not whole."""
    free = models.FloatField(null=True)
    """Free accelerators on nodes that are ready and not cordoned."""
    away = models.FloatField(null=True)
    """Accelerators without a pod on the other nodes, which are not usable."""

    class Meta:
        """For a cluster's curve, and for retention."""

        constraints = [
            models.UniqueConstraint(fields=("cluster", "at"), name="one_point_per_minute")
        ]
        indexes = [models.Index(fields=("is_lasting", "at"))]
