"""The history of verdicts, which outlives the objects."""

from __future__ import annotations

from django.db import models

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
