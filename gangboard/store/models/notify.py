"""Messages: where they go, about what, and what became of each."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from gangboard.store.models.clusters import Cluster


class Channel(models.Model):
    """A place to which messages go: a mailbox, a room of a chat, a program."""

    name = models.CharField(max_length=60, unique=True)
    kind = models.CharField(max_length=16)
    """`apprise` for people, `webhook` for programs."""
    service = models.CharField(max_length=100)
    """What may be shown of the address: the name of the service, or scheme and host."""
    address = models.BinaryField()
    """Encrypted document; see store.secrets: `address`, and `secret` of a webhook."""
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    """The one person whose rules may use it; null: `for_everybody` decides."""
    for_everybody = models.BooleanField(default=False, db_default=False)
    """Whether every person's rules may use it. Without it and without an owner it is for admins."""
    error = models.TextField(default="", db_default="")
    """Why the last attempt failed; empty when it did not."""
    failures = models.IntegerField(default=0, db_default=0)
    """Attempts that failed since the last that did not."""
    next_at = models.DateTimeField(null=True)
    """It is left alone until then; null: it is ready."""
    sent_at = models.DateTimeField(null=True)
    """When it took a message last."""
    created_at = models.DateTimeField()
    holder = models.CharField(max_length=64, default="", db_default="")
    held_until = models.DateTimeField(null=True)
    """End of the lease of whoever sends to it now."""

    class Meta:
        """By name."""

        ordering = ("name",)


class Rule(models.Model):
    """What is worth a message, to which channels. An empty condition is met by everything."""

    name = models.CharField(max_length=60)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    """Messages have what this person may see; null: a rule of all admins, who see everything."""
    channels = models.ManyToManyField(Channel, related_name="rules")
    trigger = models.CharField(max_length=16)
    """A `notify.rules.Trigger`."""
    minutes = models.IntegerField(null=True)
    """How long a gang waits, or how soon a Hold ends."""
    cluster = models.ForeignKey(Cluster, null=True, on_delete=models.CASCADE, related_name="+")
    namespace = models.CharField(max_length=253, default="", db_default="")
    """A pattern: `team-*`."""
    kind = models.CharField(max_length=63, default="", db_default="")
    code = models.CharField(max_length=64, default="", db_default="")
    health = models.CharField(max_length=16, default="", db_default="")
    accelerators_at_least = models.FloatField(null=True)
    gang_id = models.CharField(max_length=32, default="", db_default="")
    """The one gang of "Tell me when it runs"."""
    muted_until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    """A rule about one gang ends with its message."""
    created_at = models.DateTimeField()

    class Meta:
        """The newest first; and those that may match."""

        ordering = ("-pk",)
        indexes = [
            models.Index(fields=("id",), condition=models.Q(ended_at=None), name="rules_in_force")
        ]


class RuleMark(models.Model):
    """What a rule has told last of a subject: it tells it again only when it differs."""

    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="+")
    subject = models.CharField(max_length=128)
    """`gang:ID`, `wait:ID` of a gang, `hold:UID`, `cluster:ID`."""
    mark = models.CharField(max_length=128)
    at = models.DateTimeField(db_index=True)

    class Meta:
        """One mark for each subject of a rule."""

        constraints = [
            models.UniqueConstraint(fields=("rule", "subject"), name="one_mark_per_subject")
        ]


class Delivery(models.Model):
    """A message of a rule to one channel: what it is about, and what became of it."""

    rule = models.ForeignKey(Rule, null=True, on_delete=models.CASCADE, related_name="deliveries")
    """Null: a test of the channel."""
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, related_name="deliveries")
    items = models.JSONField(default=list)
    """[{type, id, …}, …]; see notify.items. The words are made when it is sent."""
    state = models.CharField(max_length=16)
    """`waiting`, `failed` (it is tried again), `sent` or `given-up`."""
    attempts = models.IntegerField(default=0)
    next_at = models.DateTimeField()
    """It is not sent before."""
    error = models.TextField(default="")
    created_at = models.DateTimeField(db_index=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        """The newest first; and those that are still to be sent, by channel."""

        ordering = ("-pk",)
        indexes = [
            models.Index(
                fields=("channel", "next_at"),
                condition=models.Q(finished_at=None),
                name="deliveries_to_send",
            )
        ]


class NotifyCursor(models.Model):
    """The number of the last event of the feed that rules were matched with: one row."""

    number = models.BigIntegerField(default=0)
