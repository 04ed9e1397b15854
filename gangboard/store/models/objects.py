"""Objects of the clusters, decoded to the fields that gangboard needs."""

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
