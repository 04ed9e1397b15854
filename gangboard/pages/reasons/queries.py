"""Counts of what keeps gangs from running now: one row per reason code and stage.

Blocked, degraded, waiting and starting gangs count. Gangs that run whole, have ended or are suspended on purpose
are counted apart. Clusters that cannot be read are named, and their gangs are in no count but `unknown`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Greatest

from gangboard.domain.health import NOT_WHOLE, Health, Stage
from gangboard.facts.stored_verdict import FULL
from gangboard.pages.reasons.plan_queries import read_plans
from gangboard.pages.reasons.rows import ExampleRow, LimitRow, ReasonRow, Reasons
from gangboard.readmodels.cluster_visibility import unobserved_clusters
from gangboard.readmodels.fit import full_text
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, knows_zero, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.state_labels import STAGE_LABELS, HealthCount, face_of, reason_title
from gangboard.store.access import Viewer
from gangboard.store.bulk_statements import first_of_each
from gangboard.store.models import Gang

NOT_COUNTED = (Health.RUNNING, Health.SUSPENDED, Health.SUCCEEDED, Health.FAILED)
EXAMPLES = 3
"""Gangs that are named for each reason: those that ask for the most accelerators."""
MOST_LIMITS = 3
GROUPED = ("severity", "stage", "code", "bottleneck", "health")
"""The columns that a row is counted by, in the order of an index, so that the database does not sort."""


def read_reasons(
    *,
    viewer: Viewer,
    cluster: str,
    namespace: str,
    clusters: Mapping[int, Freshness],
    now: datetime,
    whole_gangs: bool = False,
) -> Reasons:
    """Return the reasons (5 queries, 6 if something is not known, and those of `read_plans`).

    `clusters` are all that the viewer sees. `whole_gangs`: plans have the steps that stop complete gangs.
    """
    silent = silent_ids(clusters)
    filters = GangFilters(cluster=cluster, namespace=namespace)
    gangs = select_gangs(viewer=viewer, filters=filters, silent=silent)
    # The stored columns, because an index has all of them.
    held_back = gangs.filter(
        severity__in=[health.severity for health in NOT_WHOLE], health__in=NOT_WHOLE
    ).exclude(cluster_id__in=silent)
    counted = _counted(held_back)
    rows = _rows(counted, _examples(counted, held_back, viewer, clusters, now))
    by_health = _by_health(gangs.exclude(cluster_id__in=silent))
    # A health of a newer release counts as unknown.
    unknown = _unknown(gangs, silent, set(by_health) - set(NOT_COUNTED))
    selected = {
        id_: freshness for id_, freshness in clusters.items() if cluster in ("", freshness.cluster)
    }
    read = knows_zero(selected.values())
    total, total_unknown = sum(row.gangs for row in rows), sum(unknown.values())
    return Reasons(
        rows=tuple(sorted(rows, key=_heaviest)),
        gangs=total if read or total else None,
        accelerators=sum(row.accelerators for row in rows) if read or total else None,
        dearest=min((row for row in rows if row.accelerators), key=_heaviest, default=None),
        commonest=min(rows, key=lambda row: (-row.gangs, *_heaviest(row)), default=None),
        apart=tuple(
            HealthCount(face_of(health), by_health[health])
            for health in NOT_COUNTED
            if health in by_health
        ),
        unknown=total_unknown if read or total_unknown else None,
        clusters=len(selected),
        looked_at=sum(not freshness.is_silent for freshness in selected.values()),
        unseen=unobserved_clusters(selected, unknown),
        plans=()
        if namespace
        else read_plans(
            viewer=viewer, cluster=cluster, clusters=clusters, whole_gangs=whole_gangs, now=now
        ),
        namespaces=_namespaces(viewer),
    )


def _counted(held_back: QuerySet[Any]) -> list[dict[str, Any]]:
    """Return the counts of gangs by the columns of GROUPED (1 query)."""
    unready = F("desired") - F("ready") - F("succeeded") - F("held")
    groups = held_back.values(*GROUPED).annotate(
        gangs=Count("*"),
        pods=Sum(Greatest(unready, Value(0))),
        devices=Sum("accelerators"),
        first=Min("since"),
        unsure=Count("since_first_seen", filter=Q(since_first_seen=True)),
    )
    return list(groups)


def _by_health(gangs: QuerySet[Any]) -> dict[str, int]:
    """Return health → gangs of gangs in no reason (1 query)."""
    numbers: Counter[str] = Counter()
    other_gangs = gangs.exclude(health__in=NOT_WHOLE).values_list(*GROUPED)
    for *_, health, number in other_gangs.annotate(gangs=Count("*")):
        numbers[health] += number
    return numbers


def _unknown(
    gangs: QuerySet[Any], silent: Collection[int], healths: Collection[str]
) -> dict[int, int]:
    """Return cluster → gangs of silent clusters, and gangs with one of these healths (at most 1 query)."""
    if not silent and not healths:
        return {}
    unknown = gangs.filter(Q(cluster_id__in=silent) | Q(health__in=healths))
    return dict(unknown.values_list("cluster_id").annotate(gangs=Count("*")))


def _examples(
    counted: Iterable[Mapping[str, Any]],
    held_back: QuerySet[Any],
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> dict[tuple[str, str], tuple[GangRow, ...]]:
    """Return the largest gangs of each stage and code (2 queries)."""
    reasons = dict.fromkeys((row["stage"], row["code"]) for row in counted)
    ranked = held_back.order_by("-accelerators", "since", "id")
    keys = first_of_each(ranked, ("stage", "code"), reasons, EXAMPLES)
    unread = ("memory", "detail") if viewer.sees_everything else ("memory",)
    gangs = Gang.objects.filter(viewer.gang_filter()).defer(*unread).in_bulk(keys)
    examples: dict[tuple[str, str], list[GangRow]] = {}
    largest = [gangs[key] for key in keys if key in gangs]
    rows = build_rows(largest, viewer=viewer, clusters=clusters, now=now)
    for gang, row in zip(largest, rows, strict=True):
        examples.setdefault((gang.stage, gang.code), []).append(row)
    return {key: tuple(rows) for key, rows in examples.items()}


def _rows(
    counted: Iterable[dict[str, Any]], examples: Mapping[tuple[str, str], tuple[GangRow, ...]]
) -> list[ReasonRow]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in counted:
        groups.setdefault((row["stage"], row["code"]), []).append(row)
    codes = [code for _, code in groups]
    all_counts = [row for counts in groups.values() for row in counts]
    measure = "devices" if any(row["devices"] for row in all_counts) else "gangs"
    total = sum(row[measure] for row in all_counts)
    return [
        _row(
            counts,
            examples.get((stage, code), ()),
            _limits(counts) if stage == Stage.PLACEMENT else (),
            share=round(100 * sum(row[measure] for row in counts) / total, 1),
            several_stages=codes.count(code) > 1,
        )
        for (stage, code), counts in groups.items()
    ]


def _limits(counts: Iterable[dict[str, Any]]) -> tuple[LimitRow, ...]:
    """Return the limits that decide for the most gangs."""
    gangs: Counter[str] = Counter()
    for row in counts:
        if row["bottleneck"]:
            gangs[_limit_text(row["bottleneck"])] += row["gangs"]
    frequent = sorted(gangs.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_LIMITS]
    return tuple(LimitRow(text, number) for text, number in frequent)


def _limit_text(stored: str) -> str:
    sort, _, label = stored.partition("/")
    return printable(full_text(label) if sort == FULL else f"no node could: {label}")


def _row(
    counts: list[dict[str, Any]],
    examples: tuple[GangRow, ...],
    limits: tuple[LimitRow, ...],
    *,
    share: float,
    several_stages: bool,
) -> ReasonRow:
    code = counts[0]["code"]
    return ReasonRow(
        stage=counts[0]["stage"],
        stage_label=_stage_label(counts[0]["stage"]),
        code=printable(code),
        title=reason_title(code),
        healths=_healths(counts, NOT_WHOLE),
        gangs=sum(row["gangs"] for row in counts),
        pods=sum(row["pods"] for row in counts),
        accelerators=sum(row["devices"] for row in counts),
        share=share,
        since=min(row["first"] for row in counts),
        since_first_seen=any(row["unsure"] for row in counts),
        examples=tuple(
            ExampleRow(gang.id, gang.cluster, gang.kind, gang.namespace, gang.name)
            for gang in examples
        ),
        next_step=examples[0].next_step if examples else "",
        limits=limits,
        several_stages=several_stages,
    )


def _healths(
    counted: Iterable[dict[str, Any]], healths: Iterable[Health]
) -> tuple[HealthCount, ...]:
    numbers: dict[str, int] = {}
    for row in counted:
        numbers[row["health"]] = numbers.get(row["health"], 0) + row["gangs"]
    return tuple(
        HealthCount(face_of(health), numbers[health.value])
        for health in healths
        if numbers.get(health.value)
    )


def _heaviest(row: ReasonRow) -> tuple[float, int, datetime, str]:
    return (-row.accelerators, -row.gangs, row.since, row.code)


def _stage_label(stage: str) -> str:
    known = [known_stage.value for known_stage in Stage]
    return STAGE_LABELS[Stage(stage)] if stage in known else printable(stage)


def _namespaces(viewer: Viewer) -> tuple[str, ...]:
    # The cluster comes first as in an index, so the database does not sort.
    gangs = Gang.objects.filter(viewer.gang_filter(), gone_at=None)
    places = gangs.values_list("cluster_id", "namespace").distinct()
    return tuple(sorted({namespace for _, namespace in places}))
