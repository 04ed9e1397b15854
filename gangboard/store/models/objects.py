"""Objects of the clusters, as narrow as decode makes them."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


class WatchedObject(models.Model):
    """One object that was seen and not seen deleted."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    resource = models.CharField(max_length=200)
    uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    resource_version = models.CharField(max_length=128)
    data = models.BinaryField()
    """msgpack of the domain's dataclass; see store.objects."""
    about = models.CharField(max_length=64, null=True)
    """Of an event: the uid of the object that it is about. Null of everything else."""
    owner_uid = models.CharField(max_length=64, null=True)
    """uid of the owner above, of an owner, a Hold or an entry in a queue; see store.objects. Null of
    everything else, and where nobody is above."""

    class Meta:
        """A uid is one object of one cluster."""

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
