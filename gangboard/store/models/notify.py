"""Messages: channels, rules, and deliveries."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from gangboard.store.models.clusters import Cluster


class Channel(models.Model):
    """A destination of messages: a mailbox, a chat room, a program."""

    name = models.CharField(max_length=60, unique=True)
    kind = models.CharField(max_length=16)
    """`apprise` for people, `webhook` for programs."""
    service = models.CharField(max_length=100)
    """The public part of the address: the name of the service, or scheme and host."""
    address = models.BinaryField()
    """Encrypted document (see `store.secrets`) with `address`, and `secret` for a webhook."""
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    """The only person whose rules may use it. If null, `for_everybody` decides."""
    for_everybody = models.BooleanField(default=False, db_default=False)
    """Whether every person's rules may use it. Without it and without an owner it is for admins."""
    error = models.TextField(default="", db_default="")
    """Why the last attempt failed; empty if it succeeded."""
    failures = models.IntegerField(default=0, db_default=0)
    """Number of failed attempts since the last success."""
    next_at = models.DateTimeField(null=True)
    """No attempt is made before this time; null if the channel is ready."""
    sent_at = models.DateTimeField(null=True)
    """Time of the last delivered message."""
    created_at = models.DateTimeField()
    holder = models.CharField(max_length=64, default="", db_default="")
    held_until = models.DateTimeField(null=True)
    """End of the current sender's lease."""

    class Meta:
        """Sorted by name."""

        ordering = ("name",)


class Rule(models.Model):
    """A rule that sends messages to channels. An empty condition matches everything."""

    name = models.CharField(max_length=60)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    """Messages contain what this person may see. Null for a rule of all admins, who see everything."""
    channels = models.ManyToManyField(Channel, related_name="rules")
    trigger = models.CharField(max_length=16)
    """A `notify.rules.Trigger`."""
    minutes = models.IntegerField(null=True)
    """How long a gang waits, or how soon a Hold ends."""
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE, related_name="+")
    namespace = models.CharField(max_length=253, default="", db_default="")
    """A pattern such as `team-*`."""
    kind = models.CharField(max_length=63, default="", db_default="")
    code = models.CharField(max_length=64, default="", db_default="")
    health = models.CharField(max_length=16, default="", db_default="")
    accelerators_at_least = models.FloatField(null=True)
    gang_id = models.CharField(max_length=32, default="", db_default="")
    """The gang of a "Tell me when it runs" rule."""
    muted_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    """A rule about one gang ends with its message."""
    created_at = models.DateTimeField()

    class Meta:
        """Newest first. The index has the rules that may match."""

        ordering = ("-pk",)
        indexes = [
            models.Index(fields=("id",), condition=models.Q(ended_at=None), name="rules_in_force")
        ]


class RuleMark(models.Model):
    """The last state of a subject that a rule has sent. The rule sends it again only after a change."""

    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=128)
    """`gang:ID`, `wait:ID` of a gang, `hold:UID` or `cluster:ID`."""
    mark = models.CharField(max_length=128)
    at = models.DateTimeField(db_index=True)

    class Meta:
        """One mark per rule and subject."""

        constraints = [
            models.UniqueConstraint(fields=("rule", "subject"), name="one_mark_per_subject")
        ]


class Delivery(models.Model):
    """A message of a rule to one channel, with its content and its state."""

    rule = models.ForeignKey(Rule, null=True, on_delete=models.CASCADE, related_name="deliveries")
    """Null for a test of the channel."""
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    items = models.JSONField(default=list)
    """[{type, id, …}, …]; see `notify.items`. The text is written when it is sent."""
    state = models.CharField(max_length=16)
    """`waiting`, `failed` (to be tried again), `sent` or `given-up`."""
    attempts = models.IntegerField(default=0)
    next_at = models.DateTimeField()
    """It is not sent before this time."""
    error = models.TextField(default="")
    created_at = models.DateTimeField(db_index=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        """Newest first. The index has the unsent ones, by channel."""

        ordering = ("-pk",)
        indexes = [
            models.Index(
                fields=("channel", "next_at"),
                condition=models.Q(finished_at=None),
                name="deliveries_to_send",
            )
        ]


class NotifyCursor(models.Model):
    """The number of the last feed event that was matched with the rules, in one row."""

    number = models.BigIntegerField(default=0)
