"""Nodes with what they offer and what is taken, as the Capacity page shows them."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


class NodeCapacity(models.Model):
    """One node. Written when something in it changed, at most every few seconds."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    name = models.CharField(max_length=253)
    labels = models.JSONField(default=dict)
    taints = models.JSONField(default=list)
    """[text as kubectl prints it, …]"""
    ready = models.BooleanField(default=True)
    cordoned = models.BooleanField(default=False)
    allocatable = models.JSONField(default=dict)
    """Resource → decimal string in base units, `pods` included; so are all amounts here."""
    used = models.JSONField(default=dict)
    """Requests of the pods on it or nominated to it, `pods` included."""
    held = models.JSONField(default=dict)
    """The part of `used` that gangs hold that are not whole."""
    unreadable = models.JSONField(default=list)
    """Resources whose amount could not be read."""
    pods = models.JSONField(default=dict)
    """uid of each pod in `used` → uid of the owner of its gang, empty for none: as they were when
    something on the node changed last."""

    class Meta:
        """A name is one node of one cluster."""

        constraints = [models.UniqueConstraint(fields=("cluster", "name"), name="one_row_per_node")]


class ClusterCapacity(models.Model):
    """What holds for all nodes of a cluster together."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    observed_at = models.DateTimeField()
    why = models.TextField(default="")
    """Why nothing can be said (`nodes: forbidden`): then the rows of nodes mean nothing."""
    shapes = models.JSONField(default=list)
    """[{requests: {resource: amount} of one pod, waiting: pods of this shape that wait,
    fits_now, fits_empty: pods of it that fit, unsupported: what was not worked out, so that they are
    at most so many, why: why they mean nothing, where}]: the shapes that wait now and the most
    frequent others, the dearest first."""
