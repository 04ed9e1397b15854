"""What was said of gangs, and when: kept after the objects are gone."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


class VerdictSpan(models.Model):
    """One verdict of one gang from its beginning to its end. Written on change only."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    gang_id = models.CharField(max_length=32)
    """The public id; no foreign key, because it outlives the gang's row."""
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
    """As it was said first in this span; names in it are taken out per viewer with `findings`."""
    findings = models.BinaryField(default=bytes)
    """msgpack of the verdict's own finding: its references say whose names the message has."""
    queue = models.CharField(max_length=253, default="")
    shape = models.CharField(max_length=64, default="")
    """Digest of what one member of each kind asks for: gangs with the same one are alike."""
    desired = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(null=True)
    """When the owner was made: tells a wait that was seen from its beginning from a part of one."""
    accelerators = models.FloatField(default=0)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    """Null: it is so now, or the gang is gone and this was its last verdict (`last`)."""
    last = models.BooleanField(default=False)
    """The gang ended with it: its object was seen deleted at `ended_at`."""

    class Meta:
        """For one gang's strip, for typical waits, and for retention."""

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
