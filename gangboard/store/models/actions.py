"""Actions, their steps, lever proofs, and the audit."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from gangboard.store.models.clusters import Cluster


class Action(models.Model):
    """One request to suspend, resume or relocate one object: outbox, state machine and record in one row.

    The row repeats the names of cluster and person, because it outlives both.
    """

    id = models.CharField(max_length=32, primary_key=True)
    verb = models.CharField(max_length=16)
    cluster = models.ForeignKey(
        Cluster, null=True, on_delete=models.SET_NULL, related_name="actions"
    )
    cluster_name = models.CharField(max_length=63)
    gang_id = models.CharField(max_length=32, default="")
    """Id of its gang, for links and the Gang page."""
    api_group = models.CharField(max_length=253)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    generation = models.BigIntegerField(null=True)
    """The generation that the caller saw; null if not given."""
    reason = models.CharField(max_length=1024)
    until = models.DateTimeField(null=True)
    """End of the Hold. After it, gangboard requests the release."""
    avoid = models.JSONField(null=True)
    """The place that a relocated Job leaves, as `domain.action.Avoid`; null for other verbs."""
    forced = models.BooleanField(default=False)
    """True if an admin tries an unproved lever."""
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="actions"
    )
    """Null for gangboard itself (the end of a Hold), or after the person was removed."""
    actor_name = models.CharField(max_length=253)
    may_act = models.BooleanField(default=True)
    """Whether the requesting credential may act. It is checked again before sending."""
    token = models.CharField(max_length=16, default="")
    """Public part of the requesting token, empty for none. It must still be valid before sending."""
    via = models.CharField(max_length=16)
    """`page`, `api` or `gangboard`."""
    idempotency_key = models.CharField(max_length=200, default="")
    body_hash = models.CharField(max_length=64, default="")
    batch = models.CharField(max_length=32, default="")
    """Common id of actions that were confirmed together."""
    stop_asked_by = models.CharField(max_length=253, default="")
    """Name of the person who cancelled the action before it was sent, or empty. Only this column is written
    by others than the holder of the row while the action is open."""
    state = models.CharField(max_length=16)
    lever = models.CharField(max_length=16, default="")
    message = models.TextField(default="")
    """The current state in a sentence."""
    warnings = models.JSONField(default=list)
    reactions = models.JSONField(default=list)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    context = models.JSONField(default=dict)
    """Values that verification compares: sibling pod uids, their restarts, the Hold's name and uid."""
    reverted_by = models.CharField(max_length=253, default="")
    held_seconds = models.FloatField(null=True)
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    """When an unsent action expires."""
    sent_at = models.DateTimeField(null=True)
    applied_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    """When a worker continues the action; null if there is no more work."""
    holder = models.CharField(max_length=200, default="")
    number = models.BigIntegerField(default=0)
    """Fencing number, which increases with each new holder."""
    held_until = models.DateTimeField(null=True)
    """End of the holder's lease on this row, by the database clock."""
    guarded = models.BooleanField(default=False)
    """True if it is verified and the newest on its object, so that each poll is compared with it."""

    @property
    def button(self) -> str:
        """Return the label of the requesting button: `Suspend`, `Resume`, or a narrower one such as `Hold`."""
        return str(self.context.get("button") or self.verb.capitalize())

    class Meta:
        """One open action per object. An idempotency key is unique per person."""

        ordering = ("-requested_at", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=("cluster", "uid"),
                condition=Q(finished_at=None),
                name="one_open_action_per_object",
            ),
            models.UniqueConstraint(
                fields=("user", "idempotency_key"),
                condition=~Q(idempotency_key=""),
                name="one_action_per_key",
            ),
        ]
        indexes = [
            models.Index(fields=("due_at",)),
            models.Index(fields=("cluster", "uid", "-requested_at")),
            models.Index(fields=("gang_id", "-requested_at")),
            models.Index(fields=("batch",)),
            models.Index(fields=("guarded", "cluster")),
            models.Index(fields=("cluster", "verb", "state"), name="actions_by_state"),
        ]


class ActionStep(models.Model):
    """One request of an action. It is written before it is sent, so that after a crash the outcome counts as
    unknown."""

    action = models.ForeignKey(Action, on_delete=models.CASCADE, related_name="steps")
    position = models.SmallIntegerField()
    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=200)
    subject = models.JSONField(default=dict)
    """Group, kind, namespace, name and uid of the written object."""
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=1024)
    patch = models.TextField(default="")
    """The exact request body."""
    dry_run = models.BooleanField(default=False)
    state = models.CharField(max_length=16)
    result = models.TextField(default="")
    """The outcome in a sentence."""
    status = models.IntegerField(null=True)
    """HTTP status of the response."""
    audit_id = models.CharField(max_length=64, default="")
    """The audit id that the API server gave the request."""
    sends = models.SmallIntegerField(default=0)
    """Number of sends. It exceeds 1 only for the removal of our own Hold and for dry runs."""
    at = models.DateTimeField(null=True)

    class Meta:
        """Sorted in order of execution."""

        ordering = ("action_id", "position")
        constraints = [
            models.UniqueConstraint(fields=("action", "position"), name="one_step_per_position")
        ]


class AuditEntry(models.Model):
    """One event and its author. Rows are append-only, and triggers reject every other change.

    Only `store.audit` writes them, because it chains them. Foreign keys have no constraint, so that a row
    stays unchanged when its subject is deleted.
    """

    number = models.BigIntegerField(unique=True)
    """Position in the chain, from 1 without gaps."""
    digest = models.CharField(max_length=64)
    """See `store.audit`."""
    at = models.DateTimeField(db_index=True)
    actor_name = models.CharField(max_length=253)
    source = models.CharField(max_length=64, default="")
    """Client address; empty for commands and workers."""
    event = models.CharField(max_length=32)
    """`requested`, `refused`, `state`, `denied`, `switch`, `export`, `signed-in`, `role-given` …"""
    action = models.ForeignKey(
        Action,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="audit_entries",
    )
    cluster = models.ForeignKey(
        Cluster, null=True, on_delete=models.DO_NOTHING, db_constraint=False
    )
    cluster_name = models.CharField(max_length=63, default="")
    namespace = models.CharField(max_length=253, default="")
    object_name = models.CharField(max_length=400, default="")
    """The subject, such as `Job/name` or `User/name`."""
    sentence = models.TextField()
    details = models.JSONField(default=dict)

    class Meta:
        """Newest first."""

        ordering = ("-at", "-id")
        indexes = [models.Index(fields=("cluster", "namespace", "-at"))]


class AuditHead(models.Model):
    """The last row of the audit. A migration creates the only head; a transaction that appends locks it."""

    number = models.BigIntegerField(default=0)
    digest = models.CharField(max_length=64, default="")


class HoldCheck(models.Model):
    """The last check of one Hold: whether an attempt to resume its Job would be reverted."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="hold_checks")
    hold_uid = models.CharField(max_length=64)
    in_force = models.BooleanField(null=True)
    """Null if the check was inconclusive; see `sentence`."""
    checked_at = models.DateTimeField()
    sentence = models.TextField(default="")

    class Meta:
        """One row per Hold."""

        constraints = [
            models.UniqueConstraint(fields=("cluster", "hold_uid"), name="one_check_per_hold")
        ]


class Chore(models.Model):
    """A chore of one worker at a time for a cluster, such as proving its Holds; see `store.row_leases`."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="chores")
    name = models.CharField(max_length=16)
    holder = models.CharField(max_length=64, default="")
    held_until = models.DateTimeField(null=True)
    """By the database clock. Without a holder, the chore pauses until then."""

    class Meta:
        """One row per cluster and chore."""

        constraints = [models.UniqueConstraint(fields=("cluster", "name"), name="one_chore_row")]


class LeverRecord(models.Model):
    """Observations of a lever on a cluster: proofs of the Hold, JobSet builds that honour the native lever."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="lever_records")
    lever = models.CharField(max_length=16)
    build = models.CharField(max_length=64, default="")
    """For `native`: what identifies this build of JobSet."""
    proved_at = models.DateTimeField(null=True)
    refuted_at = models.DateTimeField(null=True)
    sentence = models.TextField(default="")

    class Meta:
        """One row per lever and build."""

        constraints = [
            models.UniqueConstraint(fields=("cluster", "lever", "build"), name="one_lever_record")
        ]


class Switch(models.Model):
    """A switch of the whole installation, such as `read-only`."""

    name = models.CharField(max_length=32, primary_key=True)
    is_on = models.BooleanField(default=False)
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=253, default="")
