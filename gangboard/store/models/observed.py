"""What polls observe in a cluster: its objects, and the capacity of its nodes."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


class WatchedObject(models.Model):
    """One object that exists as far as gangboard has seen."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    resource = models.CharField(max_length=200)
    uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    resource_version = models.CharField(max_length=128)
    data = models.BinaryField()
    """msgpack of the domain dataclass; see `store.objects`."""
    about = models.CharField(max_length=64, null=True)
    """For an event, the uid of its subject. Null for all other objects."""
    owner_uid = models.CharField(max_length=64, null=True)
    """uid of the owner above, for an owner, a Hold or a queue entry; see `store.objects`. Null for all other
    objects, and without an owner above."""

    class Meta:
        """One row per object of a cluster."""

        constraints = [
            models.UniqueConstraint(fields=("cluster", "uid"), name="one_row_per_object")
        ]
        indexes = [
            models.Index(fields=("cluster", "resource", "namespace", "name")),
            models.Index(
                fields=("cluster", "about"),
                condition=models.Q(about__isnull=False),
                name="events_about",
            ),
            models.Index(
                fields=("cluster", "owner_uid"),
                condition=models.Q(owner_uid__isnull=False),
                name="objects_of_owner",
            ),
        ]


class NodeCapacity(models.Model):
    """One node. The row is written after a change, at most every few seconds."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    name = models.CharField(max_length=253)
    labels = models.JSONField(default=dict)
    taints = models.JSONField(default=list)
    """[taint as kubectl prints it, …]"""
    ready = models.BooleanField(default=True)
    cordoned = models.BooleanField(default=False)
    allocatable = models.JSONField(default=dict)
    """Resource → decimal string in base units, `pods` included. All amounts of this table have this form."""
    used = models.JSONField(default=dict)
    """Requests of the pods on the node or nominated to it, `pods` included."""
    held = models.JSONField(default=dict)
    """The part of `used` that belongs to gangs that are not whole."""
    unreadable = models.JSONField(default=list)
    """Resources with an unreadable amount."""
    pods = models.JSONField(default=dict)
    """uid of each pod in `used` → uid of the owner of its gang, empty for none. It dates from the last change
    on the node."""

    class Meta:
        """One row per node of a cluster."""

        constraints = [models.UniqueConstraint(fields=("cluster", "name"), name="one_row_per_node")]


class ClusterPlan(models.Model):
    """The few steps that let most waiting gangs of a cluster run."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    observed_at = models.DateTimeField()
    """When the plan was made."""
    plan = models.JSONField()
    """A `domain.cluster_plan.ClusterPlan`. Pages print its references for each viewer."""


class ClusterCapacity(models.Model):
    """Values of all nodes of a cluster together."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    observed_at = models.DateTimeField()
    why = models.TextField(default="")
    """Why the nodes are unknown (`nodes: forbidden`), so that the rows of nodes are meaningless; else empty."""
    shapes = models.JSONField(default=list)
    """The waiting shapes and the most frequent others, most expensive first: [{requests: {resource: amount}
    of one pod, waiting: waiting pods of this shape, fits_now, fits_empty: pods of it that fit, unsupported:
    ignored requirements, which make the numbers upper bounds, why: why the numbers are meaningless, where:
    node selection as text}]."""
