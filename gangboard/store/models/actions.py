"""Actions, their steps, what was learned about levers, and the audit."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from gangboard.store.models.clusters import Cluster


class Action(models.Model):
    """One request to suspend or resume one object: outbox, state machine and record in one row.

    The names of cluster and person are kept beside the keys: the record outlives both.
    """

    id = models.CharField(max_length=32, primary_key=True)
    verb = models.CharField(max_length=16)
    cluster = models.ForeignKey(
        Cluster, null=True, on_delete=models.SET_NULL, related_name="actions"
    )
    cluster_name = models.CharField(max_length=63)
    gang_id = models.CharField(max_length=32, default="")
    """The gang it belongs to, for links and for the Gang page."""
    api_group = models.CharField(max_length=253)
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=253)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    generation = models.BigIntegerField(null=True)
    """What the caller saw; null when it did not say."""
    reason = models.CharField(max_length=1024)
    until = models.DateTimeField(null=True)
    """End of the Hold, after which gangboard asks for its release by itself."""
    forced = models.BooleanField(default=False)
    """An admin tries a lever that is not proved."""
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="actions"
    )
    """Null: gangboard itself (the end of a Hold), or the person was removed."""
    actor_name = models.CharField(max_length=253)
    may_act = models.BooleanField(default=True)
    """Whether the credential that asked could act; checked again before sending."""
    token = models.CharField(max_length=16, default="")
    """Public part of the token by which it was asked; empty for none. It must still be valid then."""
    via = models.CharField(max_length=16)
    """page, api or gangboard."""
    idempotency_key = models.CharField(max_length=200, default="")
    body_hash = models.CharField(max_length=64, default="")
    batch = models.CharField(max_length=32, default="")
    """Actions that were confirmed together."""
    stop_asked_by = models.CharField(max_length=253, default="")
    """Who asked to stop it before it is sent, or empty. The one column that others than the holder
    of the row write while it is open."""
    state = models.CharField(max_length=16)
    lever = models.CharField(max_length=16, default="")
    message = models.TextField(default="")
    """How it stands, in a sentence."""
    warnings = models.JSONField(default=list)
    reactions = models.JSONField(default=list)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    context = models.JSONField(default=dict)
    """What verification compares with: sibling pod uids, their restarts, the Hold's name and uid."""
    reverted_by = models.CharField(max_length=253, default="")
    held_seconds = models.FloatField(null=True)
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    """When it is given up unless it was sent."""
    sent_at = models.DateTimeField(null=True)
    applied_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)
    """When a worker should look at it again; null: nothing is left to do."""
    holder = models.CharField(max_length=200, default="")
    number = models.BigIntegerField(default=0)
    """Fencing number: one more at each change of hands."""
    held_until = models.DateTimeField(null=True)
    """When the holder's lease on this row ends, by the clock of the database."""
    guarded = models.BooleanField(default=False)
    """It is verified and the newest on its object: every poll's word is compared with it."""

    @property
    def button(self) -> str:
        """The word on the button that asks for it: `Suspend`, `Resume`, or a narrower one such as `Hold`."""
        return str(self.context.get("button") or self.verb.capitalize())

    class Meta:
        """One open action per object; an idempotency key names one action of a person."""

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
    """One request of an action: written before it is sent, so a crash is known to be unknown."""

    action = models.ForeignKey(Action, on_delete=models.CASCADE, related_name="steps")
    position = models.SmallIntegerField()
    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=200)
    subject = models.JSONField(default=dict)
    """group, kind, namespace, name, uid of the object that it writes to."""
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=1024)
    patch = models.TextField(default="")
    """The exact body."""
    dry_run = models.BooleanField(default=False)
    state = models.CharField(max_length=16)
    result = models.TextField(default="")
    """What came of it, in a sentence."""
    status = models.IntegerField(null=True)
    """HTTP status of the answer."""
    audit_id = models.CharField(max_length=64, default="")
    """The API server's own audit id of the request."""
    sends = models.SmallIntegerField(default=0)
    """How often it was sent; more than once only for the removal of our own Hold and dry runs."""
    at = models.DateTimeField(null=True)

    class Meta:
        """In the order in which they are done."""

        ordering = ("action_id", "position")
        constraints = [
            models.UniqueConstraint(fields=("action", "position"), name="one_step_per_position")
        ]


class AuditEntry(models.Model):
    """What happened and who did it. Rows are only ever added: triggers refuse everything else.

    They are written by `store.audit` alone, which chains them. What they are about may go: the keys
    then name what is not there any more, so a row needs no change for it.
    """

    number = models.BigIntegerField(unique=True)
    """Place in the chain, from 1 without gaps."""
    digest = models.CharField(max_length=64)
    """See `store.audit`."""
    at = models.DateTimeField(db_index=True)
    actor_name = models.CharField(max_length=253)
    source = models.CharField(max_length=64, default="")
    """The address from which it came; empty for commands and for what workers do."""
    event = models.CharField(max_length=32)
    """requested, refused, state, denied, switch, export, signed-in, role-given …"""
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
    """`Job/name`, `User/name`, or what else it is about."""
    sentence = models.TextField()
    details = models.JSONField(default=dict)

    class Meta:
        """Newest first."""

        ordering = ("-at", "-id")
        indexes = [models.Index(fields=("cluster", "namespace", "-at"))]


class AuditHead(models.Model):
    """The last row of the audit. There is one head, made with the tables; whoever appends holds it."""

    number = models.BigIntegerField(default=0)
    digest = models.CharField(max_length=64, default="")


class HoldCheck(models.Model):
    """The last proof of one Hold: whether an un-suspend would be turned back."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="hold_checks")
    hold_uid = models.CharField(max_length=64)
    in_force = models.BooleanField(null=True)
    """Null: it could not be proved, see `sentence`."""
    checked_at = models.DateTimeField()
    sentence = models.TextField(default="")

    class Meta:
        """One row per Hold."""

        constraints = [
            models.UniqueConstraint(fields=("cluster", "hold_uid"), name="one_check_per_hold")
        ]


class Chore(models.Model):
    """What one worker at a time does for a cluster, such as proving its Holds; see store.row_leases."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="chores")
    name = models.CharField(max_length=16)
    holder = models.CharField(max_length=64, default="")
    held_until = models.DateTimeField(null=True)
    """By the clock of the database. With no holder: until then it rests."""

    class Meta:
        """One row per cluster and chore."""

        constraints = [models.UniqueConstraint(fields=("cluster", "name"), name="one_chore_row")]


class LeverRecord(models.Model):
    """What was seen of a lever on a cluster: proofs of the Hold, JobSet builds that honour."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="lever_records")
    lever = models.CharField(max_length=16)
    build = models.CharField(max_length=64, default="")
    """For `native`: what tells this build of JobSet from others."""
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
