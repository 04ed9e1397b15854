"""Accelerator time of gangs, and their preemptions and evictions. It outlives the gangs.

An amount is accelerator-seconds: a gang of 8 GPUs that runs for one hour has 28,800. `store.usage` defines the five
amounts.
"""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


class _AcceleratorAmounts(models.Model):
    """The five amounts of gangs, and what they are summed by. The unit is that of the model."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    namespace = models.CharField(max_length=253)
    queue = models.CharField(max_length=253, default="")
    submitter = models.CharField(max_length=253, default="")
    stage = models.CharField(max_length=16)
    code = models.CharField(max_length=64)
    used = models.FloatField(default=0)
    held = models.FloatField(default=0)
    eligible = models.FloatField(default=0)
    ineligible = models.FloatField(default=0)
    unobserved = models.FloatField(default=0)

    class Meta:
        """It has no table of its own."""

        abstract = True


class UsageMeter(_AcceleratorAmounts):
    """What a gang has used and waited for since `since`. The amounts are accelerators, and constant from then on.

    A gang without accelerators has no meter.
    """

    gang_id = models.CharField(max_length=32, primary_key=True)
    """The public id. It is not a foreign key, so that both tables can be written in any order."""
    uid = models.CharField(max_length=64)
    """uid of the owner."""
    since = models.DateTimeField()

    class Meta:
        """For all meters of a cluster."""

        indexes = [models.Index(fields=("cluster", "since"), name="meters_of_cluster")]


class UsageDay(_AcceleratorAmounts):
    """Accelerator-seconds of one UTC day, over the gangs with the same namespace, queue, submitter and reason."""

    day = models.DateField()

    class Meta:
        """For the sums of a period, and for retention."""

        constraints = [
            models.UniqueConstraint(
                fields=("cluster", "day", "namespace", "queue", "submitter", "stage", "code"),
                name="one_usage_row_per_day",
            )
        ]
        indexes = [models.Index(fields=("day",), name="usage_by_day")]


class Eviction(models.Model):
    """One time at which a running gang lost its place: a preemption, an eviction or a requeue."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    gang_id = models.CharField(max_length=32)
    """The public id of the gang that lost its place. It is not a foreign key, because the row outlives the gang."""
    api_group = models.CharField(max_length=253)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    queue = models.CharField(max_length=253, default="")
    accelerators = models.FloatField(default=0)
    """Accelerators that the gang requests."""
    code = models.CharField(max_length=16)
    """A `domain.eviction.EvictionCode`."""
    reason = models.CharField(max_length=200, default="")
    """The reason in the words of the controller, such as `PodsReadyTimeout`."""
    source = models.CharField(max_length=64, default="")
    """uid of the queue entry that told it, or empty for pods."""
    taker_group = models.CharField(max_length=253, default="")
    taker_kind = models.CharField(max_length=63, default="")
    taker_namespace = models.CharField(max_length=253, default="")
    taker_name = models.CharField(max_length=253, default="")
    """The gang that got the place. The four fields are empty if it is unknown."""
    taker_uid = models.CharField(max_length=64, default="")
    at = models.DateTimeField()
    last_at = models.DateTimeField()
    """When its last known pod went."""

    class Meta:
        """For a gang's list, for the list of a cluster, and for retention."""

        constraints = [
            models.UniqueConstraint(
                fields=("cluster", "gang_id", "source", "code", "at"),
                name="one_row_per_eviction",
            )
        ]
        indexes = [
            models.Index(fields=("gang_id", "at"), name="evictions_of_gang"),
            models.Index(fields=("at",), name="evictions_by_time"),
        ]
