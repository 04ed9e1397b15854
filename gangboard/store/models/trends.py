"""Past states of clusters, for curves."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


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
