"""Clusters, their leases, and the watch states of their resources."""

from __future__ import annotations

from django.db import models


class Cluster(models.Model):
    """One watched API server."""

    name = models.CharField(max_length=63, unique=True)
    server = models.CharField(max_length=500)
    """Address of the API server, to show."""
    system_uid = models.CharField(max_length=128, default="", db_default="")
    """uid of its namespace `kube-system`, which identifies the cluster; empty while unknown."""
    context = models.CharField(max_length=253, default="", db_default="")
    """The context in the person's kubeconfig, for commands to copy; empty if there was none."""
    credentials = models.BinaryField()
    """Encrypted document of `kube.credentials`; see `store.secrets`."""
    credentials_expire_at = models.DateTimeField(null=True)
    actor_credentials = models.BinaryField(null=True)
    """Credentials of the second identity, which may act. If null, gangboard sends no change to this cluster."""
    actor_expires_at = models.DateTimeField(null=True)
    read_only = models.BooleanField(default=False)
    """Switched to read-only although there is an actor."""
    parallelism_lever = models.BooleanField(default=False)
    """True if parallelism 0 may pause a child Job."""
    controller_build = models.CharField(max_length=64, default="")
    """Hash of a controller's served schema, which identifies its build where a lever depends on it."""
    created_at = models.DateTimeField(auto_now_add=True)
    data_version = models.BigIntegerField(default=0)
    """Increases in the same transaction as every change that a page can show."""
    server_version = models.CharField(max_length=64, default="")
    discovered_at = models.DateTimeField(null=True)
    contact_at = models.DateTimeField(null=True)
    """Time of the API server's last valid response."""
    answer_ms = models.IntegerField(null=True)
    """Response time of the last small request, in milliseconds; null while not measured."""
    events_a_minute = models.IntegerField(null=True)
    """Watch events in the last minute; null while not measured."""
    problem = models.CharField(max_length=32, default="")
    """Code of the error that prevents every read (`kube.errors`); empty if there is none."""
    sentence = models.TextField(default="")
    problem_since = models.DateTimeField(null=True)
    listed_at = models.DateTimeField(null=True)
    """When all needed resources were listed once. Before that, a missing object proves nothing."""
    usage_since = models.DateTimeField(null=True)
    """When accelerator time was first recorded. Before that, it is unknown."""

    class Meta:
        """Ordered by name in every list."""

        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(
                fields=("system_uid",),
                condition=~models.Q(system_uid=""),
                name="one_cluster_per_uid",
            )
        ]


class Lease(models.Model):
    """The current poll worker of a cluster. Every write of a poll first confirms its number here."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    holder = models.CharField(max_length=200, default="")
    number = models.BigIntegerField(default=0)
    """Fencing number, which increases with each new holder."""
    expires_at = models.DateTimeField(null=True)
    """By the database clock."""


class ResourceState(models.Model):
    """The watch state of one resource of one cluster."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="resources")
    resource = models.CharField(max_length=200)
    """Key such as `jobs.batch`."""
    version = models.CharField(max_length=32, default="")
    state = models.CharField(max_length=20)
    """A `domain.api_resource.WatchState`."""
    sentence = models.TextField(default="")
    needed = models.BooleanField(default=False)
    resource_version = models.CharField(max_length=128, default="")
    """Where the next watch continues; empty to list first."""
    decoder_version = models.IntegerField(default=0)
    """Fingerprint of the decoder that read its objects with a resourceVersion; 0 for several decoders."""
    listed_at = models.DateTimeField(null=True)
    contact_at = models.DateTimeField(null=True)
    objects_count = models.IntegerField(default=0)
    problems = models.JSONField(default=list)
    """Objects that could not be decoded: [{namespace, name, sentence}], capped."""
    problems_count = models.IntegerField(default=0)

    class Meta:
        """One row per cluster and resource."""

        ordering = ("resource",)
        constraints = [
            models.UniqueConstraint(fields=("cluster", "resource"), name="one_state_per_resource")
        ]


class Outage(models.Model):
    """A past time without contact to a cluster. The row is written at its end."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    began_at = models.DateTimeField()
    """Time of the last response before it."""
    ended_at = models.DateTimeField()
    problem = models.CharField(max_length=32, default="")
    """Code of the error; empty if no poll worker had time for the cluster."""
    sentence = models.TextField(default="")

    class Meta:
        """For the history of a cluster and of a gang."""

        indexes = [models.Index(fields=("cluster", "ended_at"))]


class Heartbeat(models.Model):
    """A heartbeat of a process, or of the queue between beat and the workers."""

    name = models.CharField(max_length=200, primary_key=True)
    kind = models.CharField(max_length=16)
    """`poll`, `act` or `beat` for a process; `poll-orders` or `act-orders` for a task of beat that arrived there."""
    beat_at = models.DateTimeField()
    began_at = models.DateTimeField(null=True)
    """The first heartbeat since the last silence."""
    slots = models.IntegerField(default=0)
    """Number of clusters that the process can watch at once."""
