"""Gangs with their verdicts."""

from __future__ import annotations

from django.db import models

from gangboard.store.models.clusters import Cluster


class Gang(models.Model):
    """One gang and its verdict. Written only after a change."""

    id = models.CharField(max_length=32, primary_key=True)
    """Stable id for links and the API, derived from the cluster's name and the owner's uid."""
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
    """Health before it became unknown; empty while it is known."""
    last_code = models.CharField(max_length=64, default="")
    last_since = models.DateTimeField(null=True)
    last_since_first_seen = models.BooleanField(default=False, db_default=False)
    severity = models.SmallIntegerField()
    """`Health.severity`, where 0 is worst; for sorting."""
    stage = models.CharField(max_length=16)
    code = models.CharField(max_length=64)
    title = models.CharField(max_length=200)
    message = models.TextField()
    advice = models.JSONField(default=list)
    """[step, …], the next step first."""
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
    """The resource that the nodes lack for its waiting pods; see `facts.stored_verdict`."""
    queue = models.CharField(max_length=253, default="")
    priority = models.CharField(max_length=253, default="")
    """Priority class, or the number as text; to show."""
    priority_value = models.IntegerField(null=True)
    """Numeric priority, for sorting: the highest `spec.priority` of its pods; null if unknown."""
    labels = models.JSONField(
        default=dict, db_default=models.Value({}, output_field=models.JSONField())
    )
    """Labels of the owner, as text by key."""
    submitter = models.CharField(max_length=128, default="", db_default="")
    """Person or program that created the owner; empty if unknown."""
    submitter_source = models.CharField(max_length=16, default="", db_default="")
    """`domain.owner.SubmitterSource`; empty if the submitter is unknown."""
    restarts = models.BigIntegerField(default=0)
    max_restarts = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(null=True)
    since = models.DateTimeField()
    """Start of the current verdict, by the cluster's objects or as observed."""
    since_first_seen = models.BooleanField(default=False, db_default=False)
    """True if `since` is only when gangboard first saw the state, which may be older."""
    observed_at = models.DateTimeField()
    recheck_at = models.DateTimeField(null=True)
    changed_version = models.BigIntegerField(default=0)
    """The cluster's `data_version` at the last change of this row."""
    gone_at = models.DateTimeField(null=True)
    """When the deletion of its owner was seen. The row stays as long as the history, without `detail` after
    an hour."""
    detail = models.BinaryField()
    """msgpack of `store.gangs.Detail`: findings, jobs, members, groups. Empty in the trimmed row of a deleted
    gang."""
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
            # Covers the tiles and choices of the Board, so that they read this index only.
            models.Index(
                fields=(
                    *("gone_at", "cluster", "namespace", "kind", "queue"),
                    *("health", "code", "stage", "severity", "accelerators"),
                ),
                name="board_counts",
            ),
            models.Index(fields=("name",), name="gangs_by_name"),
            models.Index(fields=("cluster", "namespace")),
            models.Index(fields=("cluster", "changed_version")),
            models.Index(fields=("cluster", "recheck_at")),
            models.Index(fields=("code",)),
            # Covers the counts of Reasons in the order of its groups, so that no sort is needed.
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
    """The search index row of a gang, in lower case. It is narrow, so that a scan of all rows takes milliseconds."""

    gang = models.OneToOneField(
        Gang, on_delete=models.CASCADE, primary_key=True, related_name="search"
    )
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    names = models.TextField()
    """Names that every viewer of the gang sees, one per line: its own, and those of its Jobs, pods, groups
    and their nodes. The last line has namespace, kind and queue."""
    labels = models.TextField(default="", db_default="")
    """Labels of its owner, one `key=value` per line."""
    submitter = models.CharField(max_length=128, default="", db_default="")
    gone = models.BooleanField(default=False, db_default=False)
    """Whether the gang was deleted. Such rows soon outnumber the others."""
    said = models.TextField()
    """Title and code of the verdict."""
    sentence = models.TextField()
    """The sentence, which contains names that not every viewer may see."""

    class Meta:
        """An index that separates existing from deleted gangs, and finds those of one submitter."""

        indexes = [models.Index(fields=("gone", "submitter"), name="search_by_submitter")]
