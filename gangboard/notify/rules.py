"""Rules and their triggers. Page and API call the same functions to create, change, mute and remove rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gangboard.domain.health import Health
from gangboard.notify.channels import NotifyError, record, usable_channels
from gangboard.notify.outbox import WAITING
from gangboard.store.access import Viewer, viewers_of
from gangboard.store.models import Channel, Cluster, Gang, Rule


class Trigger(StrEnum):
    """A kind of change that a rule waits for."""

    VERDICT = "verdict"
    WAITS = "waits"
    HOLD_ENDS = "hold-ends"
    ACTION = "action"
    REVERTED = "reverted"
    SILENT = "silent"
    RUNS = "runs"


@dataclass(frozen=True, slots=True)
class TriggerInfo:
    """The label of a trigger and the conditions that it uses."""

    label: str
    conditions: frozenset[str]


_PLACE = frozenset({"cluster", "namespace"})
_GANG = _PLACE | {"kind", "code", "health", "accelerators_at_least"}
TRIGGER_INFO: Mapping[Trigger, TriggerInfo] = {
    Trigger.VERDICT: TriggerInfo("A gang gets another verdict", _GANG),
    Trigger.WAITS: TriggerInfo("A gang has waited for some minutes", _GANG | {"minutes"}),
    Trigger.HOLD_ENDS: TriggerInfo("A Hold ends within some minutes", _PLACE | {"minutes"}),
    Trigger.ACTION: TriggerInfo("An action has ended", _PLACE | {"kind"}),
    Trigger.REVERTED: TriggerInfo("An action was undone by another client", _PLACE | {"kind"}),
    Trigger.SILENT: TriggerInfo("A cluster cannot be read", frozenset({"cluster"})),
    Trigger.RUNS: TriggerInfo("One gang runs or ends", frozenset()),
}
"""Conditions that a trigger does not list must be empty."""
TRIGGERS = tuple(trigger.value for trigger in Trigger)
CHOICES = tuple(trigger.value for trigger in Trigger if trigger is not Trigger.RUNS)
"""Triggers that a person chooses. `runs` belongs to "Tell me when it runs"."""
RUNS = frozenset({Health.RUNNING, Health.SUCCEEDED, Health.FAILED})
"""Health values that end "Tell me when it runs"."""
MOST_RULES = 100
"""Maximum number of rules of one person, and of all admins together."""
MOST_MINUTES = 7 * 24 * 60
MOST_HOURS = 30 * 24
"""Maximum number of hours for which a rule can be muted."""
CONDITIONS = (
    *("cluster", "namespace", "kind", "code", "health", "accelerators_at_least"),
    "minutes",
)
NEED_MINUTES = (Trigger.WAITS, Trigger.HOLD_ENDS)


def make_rule(
    *,
    viewer: Viewer,
    name: str,
    trigger: str,
    channels: Sequence[str],
    for_admins: bool = False,
    **conditions: Any,
) -> Rule:
    """Create a rule. `channels` are names; see CONDITIONS for the rest. Raises NotifyError.

    `for_admins` makes it a rule of all admins, who see everything.
    """
    if for_admins and not viewer.is_admin:
        raise NotifyError("only an admin can create rules of all admins")
    values = {key: conditions.get(key) or None for key in CONDITIONS}
    columns = _validated_columns(trigger, values, viewer)
    return _make(viewer, name, trigger, _find_channels(viewer, channels), for_admins, columns)


def make_gang_rule(*, viewer: Viewer, gang_id: str, channels: Sequence[str]) -> Rule:
    """Create a rule that reports once when a gang runs or ends. Raises NotifyError."""
    channel_list = _find_channels(viewer, channels)
    with transaction.atomic():
        gang = Gang.objects.filter(viewer.gang_filter(), pk=gang_id).first()
        if gang is None:
            raise NotifyError("there is no such gang")
        if gang.gone_at is not None:
            raise NotifyError("this gang was deleted")
        if gang.health in RUNS:
            raise NotifyError(f"nothing to wait for: the gang is {gang.health} now")
        mine = Rule.objects.filter(owner_id=viewer.user_id, gang_id=gang_id, ended_at=None)
        if mine.exists():
            raise NotifyError("you already get a message about this gang")
        columns = {"gang_id": gang_id, "cluster_id": gang.cluster_id}
        name = f"{gang.kind} {gang.name} runs"[:60]
        return _make(viewer, name, Trigger.RUNS, channel_list, False, columns)


def change_rule(*, viewer: Viewer, rule_id: int, **changes: Any) -> bool:
    """Change a rule. Return False if the viewer has no such rule. Raises NotifyError.

    `changes` has `name`, `trigger`, `channels` and CONDITIONS, as `make_rule` takes them. A missing key keeps
    the stored value, and None removes a condition. The marks of the rule stay, so it repeats no message.
    """
    now = timezone.now()
    with transaction.atomic():
        mine = visible_rules(viewer).filter(pk=rule_id, ended_at=None)
        rule = mine.select_for_update(of=("self",)).select_related("owner", "cluster").first()
        if rule is None:
            return False
        owner, before = owner_of(rule, viewer), _settings_of(rule)
        new_settings = before | {name: changes[name] for name in before if name in changes}
        columns = {"name": new_settings["name"]}
        if not rule.gang_id:
            conditions = {name: new_settings[name] or None for name in CONDITIONS}
            columns |= {"trigger": str(new_settings["trigger"])}
            columns |= _validated_columns(new_settings["trigger"], conditions, owner)
        elif any(new_settings[name] != before[name] for name in ("trigger", *CONDITIONS)):
            raise NotifyError("a rule about one gang has a name and channels, and no conditions")
        channels = _find_channels(owner, new_settings["channels"])
        for name, value in columns.items():
            setattr(rule, name, value)
        rule.save(update_fields=list(columns))
        rule.channels.set(channels)
        rule.deliveries.filter(finished_at=None).exclude(channel__in=channels).delete()
        if change_text := _changes_text(before, _settings_of(rule)):
            sentence = f"Rule {before['name']} was changed: {change_text}."
            record("rule-changed", sentence, viewer, f"Rule/{before['name']}", at=now)
    return True


def owner_of(rule: Rule, viewer: Viewer) -> Viewer:
    """Return the viewer whose rights apply to a rule. An admin may change the rule of another person."""
    if rule.owner is None or rule.owner_id == viewer.user_id:
        return viewer
    return viewers_of([rule.owner])[rule.owner.pk]


def _settings_of(rule: Rule) -> dict[str, Any]:
    """Return all fields that `change_rule` can change, in its format."""
    conditions = {name: getattr(rule, name) or None for name in CONDITIONS}
    conditions["cluster"] = rule.cluster.name if rule.cluster is not None else None
    channels = sorted(rule.channels.values_list("name", flat=True))
    return {"name": rule.name, "trigger": rule.trigger, "channels": channels, **conditions}


def _changes_text(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the differences as text: `minutes from 10 to 5, channels from mail to mail and ops`."""
    return ", ".join(
        f"{name.replace('_', ' ')} from {_value_text(before[name])} to {_value_text(after[name])}"
        for name in before
        if before[name] != after[name]
    )


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return " and ".join(value) or "none"
    return "any" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def remove_rule(*, viewer: Viewer, rule_id: int) -> bool:
    """Remove a rule with its messages. Return False if the viewer has no such rule."""
    with transaction.atomic():
        rule = visible_rules(viewer).filter(pk=rule_id).first()
        if rule is None:
            return False
        rule.delete()
        record(
            "rule-removed",
            f"Rule {rule.name} was removed.",
            viewer,
            f"Rule/{rule.name}",
            at=timezone.now(),
        )
    return True


def mute_rule(*, viewer: Viewer, rule_id: int, hours: int) -> bool:
    """Mute a rule for some hours; 0 ends the mute. Return False if the viewer has no such rule.

    No message reports events during the mute. Raises NotifyError.
    """
    if not 0 <= hours <= MOST_HOURS:
        raise NotifyError(f"a rule is muted for at most {MOST_HOURS} hours")
    now = timezone.now()
    until = now + timedelta(hours=hours) if hours else None
    with transaction.atomic():
        rule = visible_rules(viewer).filter(pk=rule_id, ended_at=None).first()
        if rule is None:
            return False
        if rule.gang_id:
            raise NotifyError("a rule that sends one message cannot be muted: remove it")
        Rule.objects.filter(pk=rule.pk).update(muted_until=until)
        if hours:
            # The mute also covers messages that wait for their first attempt.
            rule.deliveries.filter(state=WAITING, attempts=0).delete()
        how = f"was muted for {hours} hours" if hours else "is not muted any more"
        record("rule-muted", f"Rule {rule.name} {how}.", viewer, f"Rule/{rule.name}", at=now)
    return True


def visible_rules(viewer: Viewer) -> QuerySet[Rule]:
    """Return the rules that the viewer may see and change: their own, and all rules for admins."""
    if viewer.is_admin:
        return Rule.objects.all()
    return Rule.objects.filter(owner_id=viewer.user_id)


def _make(
    viewer: Viewer,
    name: str,
    trigger: str,
    channels: Sequence[Channel],
    for_admins: bool,
    columns: Mapping[str, Any],
) -> Rule:
    owner_id = None if for_admins else viewer.user_id
    now = timezone.now()
    with transaction.atomic():
        if Rule.objects.filter(owner_id=owner_id, ended_at=None).count() >= MOST_RULES:
            raise NotifyError(f"there are {MOST_RULES} rules, the maximum: remove one first")
        rule = Rule.objects.create(
            name=name, owner_id=owner_id, trigger=str(trigger), created_at=now, **columns
        )
        rule.channels.set(channels)
        to = ", ".join(channel.name for channel in channels)
        scope_text = " of all admins" if for_admins else ""
        record(
            "rule-made",
            f"Rule {name}{scope_text} was created; it sends to {to}.",
            viewer,
            f"Rule/{name}",
            at=now,
        )
    return rule


def _find_channels(viewer: Viewer, names: Sequence[str]) -> list[Channel]:
    unique_names = set(names)
    channel_list = list(usable_channels(viewer).filter(Q(name__in=unique_names)))
    if not unique_names:
        raise NotifyError("choose a channel")
    if missing := sorted(unique_names - {channel.name for channel in channel_list}):
        raise NotifyError(f"there is no channel {missing[0]!r} that the rule may use")
    return channel_list


def _validated_columns(trigger: str, values: Mapping[str, Any], viewer: Viewer) -> dict[str, Any]:
    """Return the columns of the conditions. Raises NotifyError."""
    if trigger not in set(Trigger) or trigger == Trigger.RUNS:
        raise NotifyError(f"a rule cannot wait for {trigger!r}")
    meaning = TRIGGER_INFO[Trigger(trigger)]
    for name, value in values.items():
        if value is not None and name not in meaning.conditions:
            raise NotifyError(f"{name} does not apply to this kind of rule: leave it empty")
    minutes = values["minutes"]
    if trigger in NEED_MINUTES and not (minutes and 1 <= minutes <= MOST_MINUTES):
        raise NotifyError(f"give the number of minutes: 1 to {MOST_MINUTES:,}")
    if values["health"] and values["health"] not in set(Health):
        raise NotifyError(f"there is no health {values['health']!r}")
    cluster = None
    if values["cluster"]:
        clusters = Cluster.objects.filter(viewer.cluster_filter())
        cluster = clusters.filter(name=values["cluster"]).first()
        if cluster is None:
            raise NotifyError(
                f"there is no cluster {values['cluster']!r} that the owner of the rule may see"
            )
    texts = {name: values[name] or "" for name in ("namespace", "kind", "code", "health")}
    return {
        **texts,
        "cluster": cluster,
        "minutes": minutes,
        "accelerators_at_least": values["accelerators_at_least"],
    }
