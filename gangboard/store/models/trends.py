"""How clusters were over the last days, for curves."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


class TrendPoint(models.Model):
    """One cluster in one minute. What could not be told then is null; a minute without a row is all null."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    at = models.DateTimeField()
    """The beginning of the minute."""
    is_lasting = models.BooleanField()
    """The first of its quarter of an hour that tells something: kept when the others go."""
    gangs = models.JSONField(null=True)
    """Health → gangs that have it, `unknown` included."""
    waiting = models.FloatField(null=True)
    """Accelerators that gangs ask for which are blocked, degraded, waiting or starting."""
    reasons = models.JSONField(null=True)
    """`stage/code` of these gangs → [gangs, accelerators that they ask for]."""
    used = models.FloatField(null=True)
    """Accelerators that pods on the nodes ask for; so are the next three."""
    held = models.FloatField(null=True)
    """The part of `used` that gangs hold that are not whole."""
    free = models.FloatField(null=True)
    """On nodes that are ready and not cordoned."""
    away = models.FloatField(null=True)
    """What is free on the other nodes, which is not free."""

    class Meta:
        """For one cluster's curve, and for retention."""

        constraints = [
            models.UniqueConstraint(fields=("cluster", "at"), name="one_point_per_minute")
        ]
        indexes = [models.Index(fields=("is_lasting", "at"))]
