"""Channels, rules and messages that a viewer may read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from gangboard.notify.channels import usable_channels, users_in_words
from gangboard.notify.items import count_items, read_items
from gangboard.notify.rules import TRIGGER_INFO, Trigger, owner_of, visible_rules
from gangboard.pages.notifications.rows import ChannelRow, DeliveryRow, RuleRow
from gangboard.readmodels.cursors import SortKey, read_page
from gangboard.readmodels.formatting import printable
from gangboard.store.access import Viewer
from gangboard.store.models import Channel, Cluster, Delivery, Gang, Rule

FOR_ADMINS = "Admins see what failed."
"""Replaces errors of shared channels, which may name addresses."""
_KEYS = (SortKey("pk", descending=True),)


def read_channels(*, viewer: Viewer) -> tuple[ChannelRow, ...]:
    """Return the channels that the viewer's rules may use, by name (1 query)."""
    waiting = Count("deliveries", filter=Q(deliveries__finished_at=None))
    channels = usable_channels(viewer).select_related("owner").annotate(waiting=waiting)
    return tuple(
        channel_row(channel, viewer, channel.waiting) for channel in channels.order_by("name")
    )


def read_channel(*, viewer: Viewer, channel_id: int) -> ChannelRow | None:
    """Return one channel, or None if the viewer's rules may not use it."""
    rows = read_channels(viewer=viewer)
    return next((row for row in rows if row.id == str(channel_id)), None)


def channel_row(channel: Channel, viewer: Viewer, waiting: int = 0) -> ChannelRow:
    """Return the row of a channel for the viewer."""
    state = "fails" if channel.failures else "works" if channel.sent_at else "new"
    error = channel.error if viewer.is_admin else FOR_ADMINS if channel.error else ""
    return ChannelRow(
        name=channel.name,
        id=str(channel.pk),
        kind=channel.kind,
        service=channel.service,
        used_by=users_in_words(channel),
        owner=channel.owner.get_username() if channel.owner is not None else "",
        for_everybody=channel.for_everybody,
        state=state,
        error=error,
        waiting=waiting,
        sent_at=channel.sent_at,
    )


def read_rules(*, viewer: Viewer, now: datetime) -> tuple[RuleRow, ...]:
    """Return the viewer's rules in force, the newest first. Admins get all rules."""
    return _rows(visible_rules(viewer).filter(ended_at=None), viewer, now)


def read_rule(*, viewer: Viewer, rule_id: int, now: datetime) -> RuleRow | None:
    """Return one rule, or None if the viewer has no such rule."""
    return next(iter(_rows(visible_rules(viewer).filter(pk=rule_id), viewer, now)), None)


def _rows(rules: QuerySet[Rule], viewer: Viewer, now: datetime) -> tuple[RuleRow, ...]:
    related = list(rules.select_related("owner", "cluster").prefetch_related("channels"))
    gangs = _gang_names(viewer, {rule.gang_id for rule in related if rule.gang_id})
    return tuple(_rule_row(rule, gangs, now) for rule in related)


def _gang_names(viewer: Viewer, ids: Iterable[str]) -> dict[str, str]:
    """Return gang id → kind, name, namespace and cluster of the gangs that the viewer may see."""
    gangs = Gang.objects.filter(viewer.gang_filter(), pk__in=ids).select_related("cluster")
    return {
        gang.pk: printable(f"{gang.kind} {gang.name} ({gang.namespace}, {gang.cluster.name})")
        for gang in gangs.only("kind", "name", "namespace", "cluster__name")
    }


def _rule_row(rule: Rule, gangs: dict[str, str], now: datetime) -> RuleRow:
    is_muted = rule.muted_until is not None and rule.muted_until > now
    state = "ended" if rule.ended_at else "muted" if is_muted else "in force"
    when = conditions_in_words(rule)
    if rule.gang_id:
        when = f"{gangs.get(rule.gang_id, 'A gang that you may not see')} runs or ends"
    return RuleRow(
        name=printable(rule.name),
        id=str(rule.pk),
        when=when,
        channels=tuple(channel.name for channel in rule.channels.all()),
        owner_text=str(rule.owner) if rule.owner is not None else "all admins",
        owner=str(rule.owner) if rule.owner is not None else None,
        state=state,
        muted_until=rule.muted_until if is_muted else None,
        trigger=rule.trigger,
        minutes=rule.minutes,
        cluster=rule.cluster.name if rule.cluster is not None else None,
        namespace=rule.namespace,
        kind=rule.kind,
        code=rule.code,
        health=rule.health,
        accelerators_at_least=rule.accelerators_at_least,
        gang_id=rule.gang_id,
        created_at=rule.created_at,
    )


def conditions_in_words(rule: Rule) -> str:
    """Return the trigger and the conditions of a rule in words."""
    is_known = rule.trigger in set(Trigger)
    label = TRIGGER_INFO[Trigger(rule.trigger)].label if is_known else rule.trigger
    if rule.minutes is not None:
        label = label.replace("some minutes", f"{rule.minutes:,} minutes")
    texts = [
        f"health {rule.health}" if rule.health else "",
        f"reason {rule.code}" if rule.code else "",
        f"kind {rule.kind}" if rule.kind else "",
        f"{rule.accelerators_at_least:g} accelerators or more"
        if rule.accelerators_at_least
        else "",
        f"namespace {rule.namespace}" if rule.namespace else "",
        f"cluster {rule.cluster.name}" if rule.cluster is not None else "",
    ]
    conditions = ", ".join(filter(None, texts))
    return printable(f"{label}: {conditions}" if conditions else label)


def read_deliveries(
    *, viewer: Viewer, cursor: str | None = None, limit: int = 50
) -> tuple[tuple[DeliveryRow, ...], str | None]:
    """Return the messages of the viewer's rules, the newest first, and the next cursor.

    Admins get all messages. Raises CursorError.
    """
    deliveries = Delivery.objects.select_related("rule", "channel")
    if not viewer.is_admin:
        deliveries = deliveries.filter(rule__owner_id=viewer.user_id)
    rows, next_cursor = read_page(deliveries, _KEYS, cursor=cursor, limit=limit)
    return tuple(delivery_row(row, viewer) for row in rows), next_cursor


def delivery_row(delivery: Delivery, viewer: Viewer) -> DeliveryRow:
    """Return the row of a message for the viewer."""
    rule = delivery.rule
    return DeliveryRow(
        rule=printable(rule.name) if rule is not None else "",
        id=str(delivery.pk),
        channel=delivery.channel.name,
        about=count_items(read_items(delivery.items)) if rule is not None else 0,
        state=delivery.state,
        attempts=delivery.attempts,
        error=delivery.error if viewer.is_admin else FOR_ADMINS if delivery.error else "",
        created_at=delivery.created_at,
        next_at=delivery.next_at if delivery.finished_at is None else None,
        finished_at=delivery.finished_at,
    )


def read_rule_owner(*, viewer: Viewer, rule_id: int) -> Viewer | None:
    """Return the person whose rights a rule uses. None if the viewer has no such rule in force."""
    rules = visible_rules(viewer).filter(pk=rule_id, ended_at=None)
    rule = rules.select_related("owner").first()
    return owner_of(rule, viewer) if rule is not None else None


def read_cluster_names(*, viewer: Viewer) -> tuple[str, ...]:
    """Return the names of the clusters in which the viewer may see a namespace (1 query)."""
    return tuple(Cluster.objects.filter(viewer.cluster_filter()).values_list("name", flat=True))


def read_gang(*, viewer: Viewer, gang_id: str) -> Gang | None:
    """Return the gang of "Tell me when it runs", or None if the viewer may not see it."""
    return (
        Gang.objects.filter(viewer.gang_filter(), pk=gang_id)
        .select_related("cluster")
        .defer("detail", "memory")
        .first()
    )


def number_of(text: str) -> int | None:
    """Return the id in a URL, or None if it is no number."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
