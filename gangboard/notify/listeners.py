"""Active rules, each with the rights of its owner and its usable channels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from django.db.models import Q

from gangboard.notify.channels import may_use_channel
from gangboard.notify.items import Item
from gangboard.notify.messages import ADMINS
from gangboard.notify.outbox import queue_items
from gangboard.store.access import Viewer, viewers_of
from gangboard.store.models import Channel, Rule, RuleMark

BATCH = 500


@dataclass(frozen=True, slots=True)
class Listener:
    """An active rule."""

    rule: Rule
    viewer: Viewer
    channels: tuple[Channel, ...]

    def is_muted(self, when: datetime) -> bool:
        """Return whether the rule was muted at a time. A muted rule updates its marks and sends no message."""
        return self.rule.muted_until is not None and when < self.rule.muted_until

    def matches_namespace(self, cluster_id: int, namespace: str) -> bool:
        """Return whether the rule covers a namespace that its owner may see."""
        rule = self.rule
        if rule.cluster_id not in (None, cluster_id):
            return False
        if rule.namespace and not fnmatchcase(namespace, rule.namespace):
            return False
        return self.viewer.sees(cluster_id, namespace)

    def matches_gang(
        self,
        cluster_id: int,
        namespace: str,
        *,
        kind: str,
        code: str,
        health: str,
        accelerators: float,
    ) -> bool:
        """Return whether the rule matches a gang with this verdict."""
        rule = self.rule
        return (
            rule.kind in ("", kind)
            and rule.code in ("", code)
            and rule.health in ("", health)
            and accelerators >= (rule.accelerators_at_least or 0)
            and self.matches_namespace(cluster_id, namespace)
        )


def read_listeners(triggers: Iterable[str]) -> list[Listener]:
    """Return the active rules with these triggers (3 queries)."""
    rules = (
        Rule.objects.filter(ended_at=None, trigger__in=list(triggers))
        .filter(Q(owner=None) | Q(owner__is_active=True))
        .select_related("owner")
        .prefetch_related("channels")
        .order_by("pk")
    )
    rule_list = list(rules)
    viewers = viewers_of({rule.owner for rule in rule_list if rule.owner is not None})
    listeners = []
    for rule in rule_list:
        viewer = ADMINS if rule.owner_id is None else viewers[rule.owner_id]
        usable = tuple(
            channel for channel in rule.channels.all() if may_use_channel(rule, channel, viewer)
        )
        if usable and viewer.scopes:
            listeners.append(Listener(rule, viewer, usable))
    return listeners


class Marks:
    """The RuleMarks of some rules about some subjects. Use it inside a transaction."""

    def __init__(self, listeners: Sequence[Listener], subjects: Iterable[str]) -> None:
        self._rules = [listener.rule.pk for listener in listeners]
        self._known: dict[tuple[int, str], str] = {}
        self._new: dict[tuple[int, str], str] = {}
        self._forgotten: set[tuple[int, str]] = set()
        ordered = sorted(set(subjects))
        for start in range(0, len(ordered), BATCH):
            rows = RuleMark.objects.filter(
                rule_id__in=self._rules, subject__in=ordered[start : start + BATCH]
            )
            for rule_id, subject, mark in rows.values_list("rule_id", "subject", "mark"):
                self._known[rule_id, subject] = mark

    def is_new(self, rule: Rule, subject: str, mark: str) -> bool:
        """Set the mark of a subject. Return False if the rule has this mark already."""
        key = (rule.pk, subject)
        if self._known.get(key) == mark:
            return False
        self._known[key] = self._new[key] = mark
        self._forgotten.discard(key)
        return True

    def forget(self, rule: Rule, subject: str) -> None:
        """Remove the mark of a subject, so that the rule reports the same state again when it returns."""
        key = (rule.pk, subject)
        if self._known.pop(key, None) is not None:
            self._new.pop(key, None)
            self._forgotten.add(key)

    def save(self, *, now: datetime) -> None:
        """Store the changed marks."""
        for rule_id, subject in self._forgotten:
            RuleMark.objects.filter(rule_id=rule_id, subject=subject).delete()
        RuleMark.objects.bulk_create(
            (
                RuleMark(rule_id=rule_id, subject=subject, mark=mark, at=now)
                for (rule_id, subject), mark in self._new.items()
            ),
            batch_size=BATCH,
            update_conflicts=True,
            unique_fields=("rule", "subject"),
            update_fields=("mark", "at"),
        )


class PendingDeliveries:
    """The items of each listener, collected so that each listener gets one delivery."""

    def __init__(self) -> None:
        self._items: dict[int, tuple[Listener, list[Item]]] = {}

    def add(self, listener: Listener, item: Item, *, at: datetime) -> None:
        """Add an item of a time for a listener, unless the rule was muted then."""
        if listener.is_muted(at):
            return
        self._items.setdefault(listener.rule.pk, (listener, []))[1].append(item)

    def queue(self, *, now: datetime) -> int:
        """Write the deliveries. Return the number of their items."""
        for listener, items in self._items.values():
            queue_items(listener.rule, listener.channels, items, now=now)
        return sum(len(items) for _, items in self._items.values())
