"""Gangs with their verdicts."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


class Gang(models.Model):
    """One gang and what is said about it. Written only when something changed."""

    id = models.CharField(max_length=32, primary_key=True)
    """Stable name for links and the API: made from the cluster's name and the owner's uid."""
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="gangs")
    api_group = models.CharField(max_length=253)
    api_version = models.CharField(max_length=32)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    generation = models.BigIntegerField(default=0)
    health = models.CharField(max_length=16)
    last_health = models.CharField(max_length=16, default="")
    """What it was before it became unknown; empty while it is known."""
    last_code = models.CharField(max_length=64, default="")
    last_since = models.DateTimeField(null=True)
    last_since_first_seen = models.BooleanField(default=False, db_default=False)
    severity = models.SmallIntegerField()
    """Health.severity: 0 is worst; for sorting."""
    stage = models.CharField(max_length=16)
    code = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    message = models.TextField()
    advice = models.JSONField(default=list)
    """[sentence, …], the next step first."""
    desired = models.BigIntegerField(default=0)
    quorum = models.BigIntegerField(null=True)
    created = models.BigIntegerField(default=0)
    scheduled = models.BigIntegerField(default=0)
    ready = models.BigIntegerField(default=0)
    succeeded = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    held = models.BigIntegerField(default=0)
    requests = models.JSONField(default=dict)
    """Quantities as decimal strings in base units."""
    accelerators = models.FloatField(default=0)
    """Sum of the devices in `requests`, for sorting and tiles."""
    bottleneck = models.CharField(max_length=200, default="")
    """What the nodes lack for its pods that wait; see facts.stored_verdict."""
    queue = models.CharField(max_length=253, default="")
    priority = models.CharField(max_length=253, default="")
    """Priority class, or the number as text; to show."""
    priority_value = models.IntegerField(null=True)
    """What that is worth, for sorting: the highest `spec.priority` of its pods; null: not known."""
    labels = models.JSONField(
        default=dict, db_default=models.Value({}, output_field=models.JSONField())
    )
    """Those of the owner, as text by key."""
    submitter = models.CharField(max_length=128, default="", db_default="")
    """Field manager that made the owner; empty: its managed fields do not tell."""
    restarts = models.BigIntegerField(default=0)
    max_restarts = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(null=True)
    since = models.DateTimeField()
    """Since when the verdict has been this one, by the cluster's objects or as it was watched."""
    since_first_seen = models.BooleanField(default=False, db_default=False)
    """`since` is only when gangboard saw it first: it may have been so for longer."""
    observed_at = models.DateTimeField()
    recheck_at = models.DateTimeField(null=True)
    changed_version = models.BigIntegerField(default=0)
    """The cluster's data_version at which this row last changed."""
    gone_at = models.DateTimeField(null=True)
    """When its owner was seen deleted. The row is kept as long as the history, without `detail` after an hour."""
    detail = models.BinaryField()
    """msgpack of store.gangs.Detail: findings, jobs, members, groups. Empty in the outline of a deleted gang."""
    memory = models.BinaryField()
    """msgpack of the verdict's memory."""
    first_seen_at = models.DateTimeField()

    class Meta:
        """Indexes for the Board's orders and filters."""

        constraints = [
            models.UniqueConstraint(fields=("cluster", "uid"), name="one_gang_per_owner")
        ]
        indexes = [
            models.Index(fields=("gone_at", "severity", "since", "id"), name="board_order"),
            # All that tiles and choices of the Board need, so that they read nothing but this index.
            models.Index(
                fields=(
                    *("gone_at", "cluster", "namespace", "kind", "queue"),
                    *("health", "code", "stage", "severity", "accelerators"),
                ),
                name="board_counts",
            ),
            models.Index(fields=("cluster", "namespace")),
            models.Index(fields=("cluster", "changed_version")),
            models.Index(fields=("cluster", "recheck_at")),
            models.Index(fields=("code",)),
            # All that Reasons counts, in the order in which it groups: nothing is sorted for it.
            models.Index(
                fields=(
                    *("gone_at", "severity", "stage", "code", "bottleneck", "health", "cluster"),
                    *("namespace", "accelerators", "since", "id", "since_first_seen"),
                    *("desired", "ready", "succeeded", "held"),
                ),
                name="gangs_by_reason",
            ),
        ]


class GangSearch(models.Model):
    """What a search finds a gang by, in lower case: a narrow row, so that all of them are read in
    milliseconds. Written with the gang, and gone with it."""

    gang = models.OneToOneField(
        Gang, on_delete=models.CASCADE, primary_key=True, related_name="search"
    )
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    names = models.TextField()
    """Names that whoever may see the gang is shown, each on a line: its own, those of its Jobs, pods and
    groups and of the nodes that they are on; then its namespace, kind and queue in one line."""
    said = models.TextField()
    """Title and code of the verdict."""
    sentence = models.TextField()
    """The sentence, which has names in it that not everybody is shown."""
