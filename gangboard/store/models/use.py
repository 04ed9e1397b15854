"""Use of accelerators, as a Prometheus measures it."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster
from gangboard.store.models.gangs import Gang


class UseSource(models.Model):
    """The Prometheus of one cluster: when it was read last, and why it could not be read."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    due_at = models.DateTimeField()
    """When a worker reads it next, by the database's clock. The worker that moves it forward reads."""
    read_at = models.DateTimeField(null=True)
    """When it answered last."""
    pods = models.BigIntegerField(default=0)
    """Pods with a value in the last answer."""
    sentence = models.TextField(default="")
    """Why it could not be read the last time; empty if it answered."""


class GangUse(models.Model):
    """The last reading of one gang. Percentages are of all accelerators of a pod."""

    gang = models.OneToOneField(
        Gang, on_delete=models.CASCADE, primary_key=True, related_name="use"
    )
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    read_at = models.DateTimeField()
    pods = models.BigIntegerField()
    """Pods with a value."""
    mean = models.FloatField()
    least = models.FloatField()
    least_pod = models.CharField(max_length=253)
    most = models.FloatField()
    most_pod = models.CharField(max_length=253)
    idle_since = models.DateTimeField(null=True)
    is_idle = models.BooleanField(default=False)
    """`idle_since` is long enough ago for a finding."""
    straggler = models.JSONField(null=True)
    """{pod, since, percent, siblings_percent, siblings, is_told}; null if no pod lags."""
    is_conspicuous = models.BooleanField(default=False)
    """A finding tells it: `is_idle`, or a straggler with `is_told`."""

    class Meta:
        """The poll reads conspicuous gangs of its cluster every few seconds."""

        indexes = [
            models.Index(
                fields=("cluster",),
                condition=models.Q(is_conspicuous=True),
                name="conspicuous_use",
            ),
            models.Index(fields=("cluster", "read_at")),
        ]
