"""Clusters, who polls them, and what each of them lets us see."""

from __future__ import annotations

from django.db import models


class Cluster(models.Model):
    """One API server that is watched."""

    name = models.CharField(max_length=63, unique=True)
    server = models.CharField(max_length=500)
    """Address of the API server, to show."""
    system_uid = models.CharField(max_length=128, default="", db_default="")
    """uid of its namespace `kube-system`, which is the cluster's own; empty while it is not known."""
    context = models.CharField(max_length=253, default="", db_default="")
    """The context of the person's kubeconfig, for commands to copy; empty where there was none."""
    credentials = models.BinaryField()
    """Encrypted document of kube.credentials; see store.secrets."""
    credentials_expire_at = models.DateTimeField(null=True)
    actor_credentials = models.BinaryField(null=True)
    """Of the second identity, which may act; null: nothing is ever sent to this cluster."""
    actor_expires_at = models.DateTimeField(null=True)
    read_only = models.BooleanField(default=False)
    """Switched to read-only although there is an actor."""
    parallelism_lever = models.BooleanField(default=False)
    """Parallelism 0 may be used to pause a child Job."""
    controller_build = models.CharField(max_length=64, default="")
    """What tells the build of a controller from others, where a lever depends on it: the hash of its served
    schema."""
    created_at = models.DateTimeField(auto_now_add=True)
    data_version = models.BigIntegerField(default=0)
    """Goes up in the same transaction as every change that a page could show."""
    server_version = models.CharField(max_length=64, default="")
    discovered_at = models.DateTimeField(null=True)
    contact_at = models.DateTimeField(null=True)
    """Last time at which the API server answered as it should."""
    answer_ms = models.IntegerField(null=True)
    """How long the API server took for the last small request, in milliseconds; null while not measured."""
    events_a_minute = models.IntegerField(null=True)
    """Events of its watches in the last minute; null while not measured."""
    problem = models.CharField(max_length=32, default="")
    """Code of the error that keeps us from looking at all (kube.errors), empty when none."""
    sentence = models.TextField(default="")
    problem_since = models.DateTimeField(null=True)
    listed_at = models.DateTimeField(null=True)
    """When everything needed had been listed once; before that, absence means nothing."""

    class Meta:
        """Ordered by name wherever a list is shown."""

        ordering = ("name",)
        constraints = [
            models.UniqueConstraint(
                fields=("system_uid",),
                condition=~models.Q(system_uid=""),
                name="one_cluster_per_uid",
            )
        ]


class Lease(models.Model):
    """Who polls a cluster now. Every write of a poll begins by confirming its number here."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    holder = models.CharField(max_length=200, default="")
    number = models.BigIntegerField(default=0)
    """Fencing number: one more at each change of hands."""
    expires_at = models.DateTimeField(null=True)
    """By the clock of the database."""


class ResourceState(models.Model):
    """How one resource of one cluster can be seen."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="resources")
    resource = models.CharField(max_length=200)
    """Key such as `jobs.batch`."""
    version = models.CharField(max_length=32, default="")
    state = models.CharField(max_length=20)
    """A `domain.api_resource.WatchState`."""
    sentence = models.TextField(default="")
    needed = models.BooleanField(default=False)
    resource_version = models.CharField(max_length=128, default="")
    """From which the next watch goes on; empty to list first."""
    decoder_version = models.IntegerField(default=0)
    """Fingerprint of the decoder that read its objects with a resourceVersion; 0 when several did."""
    listed_at = models.DateTimeField(null=True)
    contact_at = models.DateTimeField(null=True)
    objects_count = models.IntegerField(default=0)
    problems = models.JSONField(default=list)
    """Objects that could not be understood: [{namespace, name, sentence}], capped."""
    problems_count = models.IntegerField(default=0)

    class Meta:
        """One row per cluster and resource."""

        ordering = ("resource",)
        constraints = [
            models.UniqueConstraint(fields=("cluster", "resource"), name="one_state_per_resource")
        ]


class Outage(models.Model):
    """A time in which nothing was seen of a cluster. Written when it is over."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    began_at = models.DateTimeField()
    """When it had answered last."""
    ended_at = models.DateTimeField()
    problem = models.CharField(max_length=32, default="")
    """Code of the error; empty when it was not asked, for no poll worker had time for it."""
    sentence = models.TextField(default="")

    class Meta:
        """For one cluster's and one gang's past."""

        indexes = [models.Index(fields=("cluster", "ended_at"))]


class Heartbeat(models.Model):
    """A sign of life: of a process, or of the way that orders go from beat to the workers."""

    name = models.CharField(max_length=200, primary_key=True)
    kind = models.CharField(max_length=16)
    """poll, act or beat: that process; poll-orders, act-orders: an order of beat arrived there."""
    beat_at = models.DateTimeField()
    began_at = models.DateTimeField(null=True)
    """The first sign since the last silence."""
    slots = models.IntegerField(default=0)
    """Clusters that it can watch at once."""
