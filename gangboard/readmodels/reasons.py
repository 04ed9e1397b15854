"""What keeps the most gangs and accelerators from running now: one row per reason code.

Counted are the gangs that are blocked, degraded, waiting or starting. Those that run whole, that
have ended and that are suspended on purpose are counted apart; those that could not be looked at
are never counted as none: their clusters are named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Greatest

from gangboard.domain.health import NOT_WHOLE, Health, Stage
from gangboard.readmodels.bottlenecks import Bottleneck, most_frequent
from gangboard.readmodels.cursors import Place
from gangboard.readmodels.freshness import Freshness, knows_zero, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import STAGE_LABELS, Face, face_of, reason_title
from gangboard.readmodels.unseen import Unseen, find_unseen
from gangboard.store.access import Viewer
from gangboard.store.first_of_each import first_of_each
from gangboard.store.models import Gang

APART = (Health.RUNNING, Health.SUSPENDED, Health.SUCCEEDED, Health.FAILED)
EXAMPLES = 3
"""Gangs that are named for each reason: those that ask for the most accelerators."""
_MEASURES: Mapping[str, Callable[[ReasonRow], float]] = MappingProxyType(
    {
        "accelerators": lambda row: row.accelerators,
        "gangs": lambda row: row.gangs,
        "since": lambda row: row.since.timestamp(),
    }
)
REASON_ORDERINGS = ("stage", *(f"{sign}{name}" for name in _MEASURES for sign in ("", "-")))
"""What `ordering` may be. `stage`: in the order of stages, in each those with the most accelerators first."""
GROUPED = ("severity", "stage", "code", "bottleneck", "health")
"""What a row tells apart, in the order of an index: nothing is sorted to be counted."""


@dataclass(frozen=True, slots=True)
class HealthCount:
    """How many gangs have one health."""

    face: Face
    gangs: int


@dataclass(frozen=True, slots=True)
class Example:
    """A gang that has the reason."""

    id: str
    kind: str
    namespace: str
    name: str
    cluster: str


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """One reason code in one stage."""

    stage: str
    stage_label: str
    code: str
    title: str
    healths: tuple[HealthCount, ...]
    """Worst first."""
    gangs: int
    pods: int
    """Pods of these gangs that are not ready, held ones left out."""
    accelerators: float
    """What these gangs ask for in all, placed or not."""
    share: float
    """Of the accelerators of all reasons, in percent; of the gangs where nobody asks for any."""
    since: datetime
    """Since when the first of them has had this verdict."""
    since_first_seen: bool
    """Of some of them `since` is only when gangboard saw it first: one may have it for longer."""
    examples: tuple[Example, ...]
    next_step: str
    """What would let the first example go, or empty."""
    limits: tuple[Bottleneck, ...]
    """What the nodes lack that could host the waiting pods."""
    several_stages: bool
    """The same code stands in another stage too."""


@dataclass(frozen=True, slots=True)
class StageReasons:
    """The reasons of one stage, those with the most accelerators first."""

    stage: str
    label: str
    rows: tuple[ReasonRow, ...]
    gangs: int
    accelerators: float


@dataclass(frozen=True, slots=True)
class Reasons:
    """Everything on the Reasons page but the frame around every page."""

    stages: tuple[StageReasons, ...]
    gangs: int | None
    """None, as the next two: no gang was seen, and no cluster that was asked for was read yet."""
    accelerators: float | None
    dearest: ReasonRow | None
    """The reason with the most accelerators over all stages; None when there is none."""
    commonest: ReasonRow | None
    """The reason with the most gangs."""
    apart: tuple[HealthCount, ...]
    unknown: int | None
    """Gangs of which nothing is known now."""
    clusters: int
    """How many clusters were asked for."""
    looked_at: int
    """How many of them have answered lately."""
    unseen: tuple[Unseen, ...]
    namespaces: tuple[str, ...]
    """Choices of the filter."""

    @property
    def rows(self) -> tuple[ReasonRow, ...]:
        """The reasons of all stages, those with the most accelerators first."""
        return tuple(sorted((row for stage in self.stages for row in stage.rows), key=_heaviest))

    def place_of(self, ordering: str) -> Callable[[ReasonRow], Place]:
        """Return where a row stands in an order, which is one of REASON_ORDERINGS."""
        sign = -1 if ordering.startswith("-") else 1
        measure = _MEASURES.get(ordering.removeprefix("-"))

        def place(row: ReasonRow) -> Place:
            first = _stage_number(row.stage) if measure is None else sign * measure(row)
            heaviest = (-row.accelerators, -row.gangs, row.since.timestamp())
            return (first, *heaviest, row.stage, row.code)

        return place

    @property
    def all_looked_at(self) -> bool:
        """Whether every cluster that was asked for has answered lately."""
        return self.looked_at == self.clusters


def read_reasons(
    *,
    viewer: Viewer,
    cluster: str,
    namespace: str,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> Reasons:
    """Return the page (5 queries, 6 where something is not known). Empty filters mean all; `clusters` are all that the viewer sees."""
    silent = silent_ids(clusters)
    filters = GangFilters(cluster=cluster, namespace=namespace)
    gangs = select_gangs(viewer=viewer, filters=filters, silent=silent)
    # By the stored columns, of which an index has all that is counted.
    held_back = gangs.filter(
        severity__in=[health.severity for health in NOT_WHOLE], health__in=NOT_WHOLE
    ).exclude(cluster_id__in=silent)
    counted = _counted(held_back)
    rows = _rows(counted, _examples(counted, held_back, viewer, clusters, now))
    by_health = _by_health(gangs.exclude(cluster_id__in=silent))
    # A word from a newer release says nothing to this one.
    unknown = _unknown(gangs, silent, set(by_health) - set(APART))
    asked = {
        id_: found for id_, found in clusters.items() if not cluster or found.cluster == cluster
    }
    read = knows_zero(asked.values())
    gangs_here, unknown_here = sum(row.gangs for row in rows), sum(unknown.values())
    return Reasons(
        stages=_stages(rows),
        gangs=gangs_here if read or gangs_here else None,
        accelerators=sum(row.accelerators for row in rows) if read or gangs_here else None,
        dearest=min((row for row in rows if row.accelerators), key=_heaviest, default=None),
        commonest=min(rows, key=lambda row: (-row.gangs, *_heaviest(row)), default=None),
        apart=tuple(
            HealthCount(face_of(word), by_health[word]) for word in APART if word in by_health
        ),
        unknown=unknown_here if read or unknown_here else None,
        clusters=len(asked),
        looked_at=sum(not found.is_silent for found in asked.values()),
        unseen=find_unseen(asked, unknown),
        namespaces=_namespaces(viewer),
    )


def _counted(held_back: QuerySet[Any]) -> list[dict[str, Any]]:
    """Return the gangs counted by all that a row tells apart (1 query)."""
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
    """Return health → gangs of those that hold nothing back (1 query)."""
    found: dict[str, int] = {}
    others = gangs.exclude(health__in=NOT_WHOLE).values_list(*GROUPED)
    for *_, health, number in others.annotate(gangs=Count("*")):
        found[health] = found.get(health, 0) + number
    return found


def _unknown(
    gangs: QuerySet[Any], silent: Collection[int], words: Collection[str]
) -> dict[int, int]:
    """Return cluster → gangs of which nothing is known: of silent ones, and with such words (at most 1 query)."""
    if not silent and not words:
        return {}
    unknown = gangs.filter(Q(cluster_id__in=silent) | Q(health__in=words))
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
    found: dict[tuple[str, str], list[GangRow]] = {}
    largest = [gangs[key] for key in keys if key in gangs]
    rows = build_rows(largest, viewer=viewer, clusters=clusters, now=now)
    for gang, row in zip(largest, rows, strict=True):
        found.setdefault((gang.stage, gang.code), []).append(row)
    return {key: tuple(rows) for key, rows in found.items()}


def _rows(
    counted: Iterable[dict[str, Any]], examples: Mapping[tuple[str, str], tuple[GangRow, ...]]
) -> list[ReasonRow]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in counted:
        groups.setdefault((row["stage"], row["code"]), []).append(row)
    codes = [code for _, code in groups]
    measure = (
        "devices" if any(row["devices"] for found in groups.values() for row in found) else "gangs"
    )
    whole = sum(row[measure] for found in groups.values() for row in found)
    return [
        _row(
            found,
            examples.get((stage, code), ()),
            _limits(found) if stage == Stage.PLACEMENT else (),
            share=round(100 * sum(row[measure] for row in found) / whole, 1),
            several_stages=codes.count(code) > 1,
        )
        for (stage, code), found in groups.items()
    ]


def _limits(found: Iterable[dict[str, Any]]) -> tuple[Bottleneck, ...]:
    gangs: dict[str, int] = {}
    for row in found:
        gangs[row["bottleneck"]] = gangs.get(row["bottleneck"], 0) + row["gangs"]
    return most_frequent(gangs)


def _row(
    found: list[dict[str, Any]],
    examples: tuple[GangRow, ...],
    limits: tuple[Bottleneck, ...],
    *,
    share: float,
    several_stages: bool,
) -> ReasonRow:
    code = found[0]["code"]
    return ReasonRow(
        stage=found[0]["stage"],
        stage_label=_stage_label(found[0]["stage"]),
        code=printable(code),
        title=reason_title(code),
        healths=_healths(found, NOT_WHOLE),
        gangs=sum(row["gangs"] for row in found),
        pods=sum(row["pods"] for row in found),
        accelerators=sum(row["devices"] for row in found),
        share=share,
        since=min(row["first"] for row in found),
        since_first_seen=any(row["unsure"] for row in found),
        examples=tuple(
            Example(gang.id, gang.kind, gang.namespace, gang.name, gang.cluster)
            for gang in examples
        ),
        next_step=examples[0].next_step if examples else "",
        limits=limits,
        several_stages=several_stages,
    )


def _healths(counted: Iterable[dict[str, Any]], words: Iterable[Health]) -> tuple[HealthCount, ...]:
    numbers: dict[str, int] = {}
    for row in counted:
        numbers[row["health"]] = numbers.get(row["health"], 0) + row["gangs"]
    return tuple(
        HealthCount(face_of(word), numbers[word.value]) for word in words if numbers.get(word.value)
    )


def _heaviest(row: ReasonRow) -> tuple[float, int, datetime, str]:
    return (-row.accelerators, -row.gangs, row.since, row.code)


def _stages(rows: list[ReasonRow]) -> tuple[StageReasons, ...]:
    """Return the rows by stage, in the order in which stages are passed; a strange one comes last."""
    known = [stage.value for stage in Stage]
    names = [*known, *sorted({row.stage for row in rows} - set(known))]
    stages = []
    for name in names:
        mine = sorted((row for row in rows if row.stage == name), key=_heaviest)
        if mine:
            stages.append(
                StageReasons(
                    stage=printable(name),
                    label=_stage_label(name),
                    rows=tuple(mine),
                    gangs=sum(row.gangs for row in mine),
                    accelerators=sum(row.accelerators for row in mine),
                )
            )
    return tuple(stages)


def _stage_number(stage: str) -> int:
    known = [one.value for one in Stage]
    return known.index(stage) if stage in known else len(known)


def _stage_label(stage: str) -> str:
    known = [one.value for one in Stage]
    return STAGE_LABELS[Stage(stage)] if stage in known else printable(stage)


def _namespaces(viewer: Viewer) -> tuple[str, ...]:
    # With the cluster before it they come in the order of an index, and need not be sorted.
    found = Gang.objects.filter(viewer.gang_filter(), gone_at=None).values_list(
        "cluster_id", "namespace"
    )
    return tuple(sorted({namespace for _, namespace in found.distinct()}))
