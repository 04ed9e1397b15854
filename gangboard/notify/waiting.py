"""Matching rules about time, which has no events: long waits, Holds that end soon, silent clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from gangboard.domain.health import Health
from gangboard.domain.hold import HOLDS, Hold
from gangboard.notify.items import Item, span_item
from gangboard.notify.listeners import BATCH, Listener, Marks, PendingDeliveries, read_listeners
from gangboard.notify.matching import end_rule
from gangboard.notify.messages import ADMINS
from gangboard.notify.rules import RUNS, Trigger
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.group_gangs import find_owner_gangs
from gangboard.readmodels.watched_objects import select_objects
from gangboard.store.models import Cluster, Gang, NotifyCursor, VerdictSpan
from gangboard.store.objects import unpack
from gangboard.store.observations import SILENT_AFTER
from gangboard.store.uid_lookups import Reference

WAITS = (Health.WAITING, Health.BLOCKED)
"""Health of waiting gangs, for a rule that names no health."""
_COLUMNS = ("pk", "cluster_id", "namespace", "kind", "code", "health", "accelerators", "since")


def match_waiting(*, now: datetime) -> int:
    """Write deliveries for states that a rule has not reported yet. Return the number of their items.

    It locks the row of the cursor as `matching` does, so that two workers do not send the same message.
    """
    triggers = (Trigger.WAITS, Trigger.HOLD_ENDS, Trigger.SILENT, Trigger.RUNS)
    listeners = read_listeners(triggers)
    if not listeners:
        return 0
    clusters = read_freshness(viewer=ADMINS, now=now)
    candidates = [
        *_long_waits(_with_trigger(listeners, Trigger.WAITS), clusters, now),
        *_ending_holds(_with_trigger(listeners, Trigger.HOLD_ENDS), clusters, now),
        *_silent_clusters(_with_trigger(listeners, Trigger.SILENT), clusters, now),
        *_running(_with_trigger(listeners, Trigger.RUNS), clusters),
    ]
    if not candidates:
        return 0
    with transaction.atomic():
        NotifyCursor.objects.select_for_update().filter(pk=1).first()
        marks, deliveries = (
            Marks(listeners, (subject for _, subject, _, _ in candidates)),
            PendingDeliveries(),
        )
        for listener, subject, mark, item in candidates:
            if marks.is_new(listener.rule, subject, mark):
                deliveries.add(listener, item, at=now)
                if listener.rule.trigger == Trigger.RUNS:
                    end_rule(listener.rule, now=now)
        number = deliveries.queue(now=now)
        marks.save(now=now)
    return number


Candidate = tuple[Listener, str, str, Item]
"""(listener, subject, mark, item)."""


def _with_trigger(listeners: Sequence[Listener], trigger: Trigger) -> list[Listener]:
    return [listener for listener in listeners if listener.rule.trigger == trigger]


def _long_waits(
    listeners: Sequence[Listener], clusters: dict[int, Freshness], now: datetime
) -> Iterator[Candidate]:
    """Yield gangs with their open spans. Gangs of silent clusters are not known to wait."""
    visible = [id_ for id_, cluster in clusters.items() if not cluster.is_silent]
    for listener in listeners:
        rule = listener.rule
        healths = [rule.health] if rule.health else list(WAITS)
        before = now - timedelta(minutes=rule.minutes or 0)
        gangs = Gang.objects.filter(
            listener.viewer.gang_filter(),
            gone_at=None,
            cluster_id__in=visible,
            health__in=healths,
            since__lte=before,
        )
        waiting: dict[str, str] = {}
        for (
            id_,
            cluster_id,
            namespace,
            kind,
            code,
            health,
            accelerators,
            since,
        ) in gangs.values_list(*_COLUMNS):
            if listener.matches_gang(
                cluster_id,
                namespace,
                kind=kind,
                code=code,
                health=health,
                accelerators=accelerators,
            ):
                waiting[id_] = f"{health}/{code}/{since.isoformat()}"
        spans = _open_spans(_unreported(listener, waiting))
        for gang_id, span_id in spans.items():
            yield listener, f"wait:{gang_id}", waiting[gang_id], span_item(span_id)


def _unreported(listener: Listener, waiting: dict[str, str]) -> list[str]:
    marks = Marks([listener], (f"wait:{gang_id}" for gang_id in waiting))
    return [
        id_ for id_, mark in waiting.items() if marks.is_new(listener.rule, f"wait:{id_}", mark)
    ]


def _open_spans(gang_ids: Sequence[str]) -> dict[str, int]:
    spans_by_gang: dict[str, int] = {}
    for start in range(0, len(gang_ids), BATCH):
        spans = VerdictSpan.objects.filter(
            gang_id__in=gang_ids[start : start + BATCH], ended_at=None
        )
        spans_by_gang.update(spans.values_list("gang_id", "pk"))
    return spans_by_gang


def _ending_holds(
    listeners: Sequence[Listener], clusters: dict[int, Freshness], now: datetime
) -> Iterator[Candidate]:
    if not listeners:
        return
    for id_, hold, until, item in _holds_with_end(clusters, now):
        for listener in listeners:
            soon = until - now <= timedelta(minutes=listener.rule.minutes or 0)
            if soon and listener.matches_namespace(id_, hold.meta.ref.namespace):
                yield listener, f"hold:{id_}/{hold.meta.ref.uid}", until.isoformat(), item


def _holds_with_end(
    clusters: dict[int, Freshness], now: datetime
) -> Iterator[tuple[int, Hold, datetime, Item]]:
    """Yield (cluster id, Hold, end, item) of each Hold with a future end, by place and name."""
    stored = select_objects(viewer=ADMINS, resources=(HOLDS,)).filter(cluster_id__in=clusters)
    rows = stored.order_by("cluster__name", "namespace", "name", "uid")
    holds = [
        (id_, hold, hold.until)
        for id_, data in rows.values_list("cluster_id", "data")
        if (hold := unpack(bytes(data), Hold)).until is not None and hold.until > now
    ]
    owners = {
        (id_, hold.meta.ref.uid): {Reference(id_, hold.meta.ref.namespace, hold.owner_uid)}
        for id_, hold, _ in holds
        if hold.owner_uid
    }
    gangs = find_owner_gangs(owners, viewer=ADMINS)
    for id_, hold, until in holds:
        gang = gangs.get((id_, hold.meta.ref.uid))
        yield id_, hold, until, _hold_item(id_, hold, until, gang.id if gang else "")


def _hold_item(cluster_id: int, hold: Hold, until: datetime, gang_id: str) -> Item:
    return {
        "type": "hold",
        "cluster": cluster_id,
        "namespace": printable(hold.meta.ref.namespace),
        "name": printable(hold.meta.ref.name),
        "job": printable(hold.job_name),
        "gang": gang_id,
        "until": until.isoformat(),
    }


def _silent_clusters(
    listeners: Sequence[Listener], clusters: dict[int, Freshness], now: datetime
) -> Iterator[Candidate]:
    silent = [cluster for cluster in clusters.values() if cluster.is_silent]
    if not listeners or not silent:
        return
    # A cluster added a minute ago is new rather than silent.
    new = Cluster.objects.filter(contact_at=None, created_at__gt=now - SILENT_AFTER)
    young: set[Any] = set(new.values_list("pk", flat=True))
    for cluster in silent:
        if cluster.cluster_id in young:
            continue
        mark = cluster.contact_at.isoformat() if cluster.contact_at else "never"
        item: Item = {"type": "silent", "cluster": cluster.cluster_id}
        for listener in listeners:
            is_covered = listener.rule.cluster_id in (None, cluster.cluster_id)
            if is_covered and listener.viewer.counts_nodes(cluster.cluster_id):
                yield listener, f"cluster:{cluster.cluster_id}", mark, item


def _running(listeners: Sequence[Listener], clusters: dict[int, Freshness]) -> Iterator[Candidate]:
    """Yield running gangs that no event reported to the rule, because both happened at the same moment."""
    by_gang: dict[str, list[Listener]] = {}
    for listener in listeners:
        by_gang.setdefault(listener.rule.gang_id, []).append(listener)
    gangs = Gang.objects.filter(pk__in=by_gang, health__in=[*RUNS], gone_at=None)
    places = {
        id_: (cluster_id, namespace)
        for id_, cluster_id, namespace in gangs.values_list("pk", "cluster_id", "namespace")
        if cluster_id in clusters and not clusters[cluster_id].is_silent
    }
    for gang_id, span_id in _open_spans(list(places)).items():
        for listener in by_gang[gang_id]:
            if listener.viewer.sees(*places[gang_id]):
                yield listener, f"gang:{gang_id}", "runs", span_item(span_id)
