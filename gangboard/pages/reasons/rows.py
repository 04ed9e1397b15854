"""Rows of reasons, on the page and in the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import ClassVar

from gangboard.domain.health import Stage
from gangboard.pages.reasons.plan_rows import ClusterPlanRow
from gangboard.readmodels.cluster_visibility import UnobservedCluster
from gangboard.readmodels.cursors import Place
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.state_labels import HealthCount


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """A gang that has the reason."""

    id: str = shown("Id")
    cluster: str = shown("Cluster")
    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Name")


@dataclass(frozen=True, slots=True)
class LimitRow:
    """What most nodes lack for some of the gangs."""

    text: str = shown("Limit")
    gangs: int = shown("Gangs")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """One reason code in one stage."""

    stage: str = shown("Stage")
    stage_label: str
    code: str = shown("Code", "Reason code, such as `fragmented`.")
    title: str = shown("Reason")
    gangs: int = shown("Gangs")
    healths: tuple[HealthCount, ...]
    """Worst first."""

    @shown_property("Healths", "The same gangs; worst first.")
    def by_health(self) -> dict[str, int]:
        """Return health → gangs, healths without any left out."""
        return _numbers(self.healths)

    pods: int = shown(
        "Pods not ready",
        "Pods of these gangs that are not ready, held ones left out.",
        api_name="pods_not_ready",
    )
    accelerators: float = shown(
        "Accelerators requested",
        "Sum of the requests of these gangs, placed or not.",
        is_quantity=True,
    )
    share: float
    """Percent of the accelerators of all reasons, or of the gangs if no gang asks for accelerators."""
    since: datetime = shown("Longest", "Since when the first of them has had this verdict.")
    since_first_seen: bool = shown(
        "Seen since",
        "For some of them, `since` is only when gangboard first saw the verdict. The true time may be longer.",
    )
    next_step: str = shown("Next step", "What would let the first example run.", empty_is_null=True)
    limits: tuple[LimitRow, ...] = shown("Limits", "What is missing on nodes that could host them.")
    examples: tuple[ExampleRow, ...] = shown(
        "Largest gangs", "Up to three, those that ask for the most accelerators."
    )
    several_stages: bool
    """Whether another stage has the same code."""


_MEASURES: Mapping[str, Callable[[ReasonRow], float]] = MappingProxyType(
    {
        "accelerators": lambda row: row.accelerators,
        "gangs": lambda row: row.gangs,
        "since": lambda row: row.since.timestamp(),
    }
)
REASON_ORDERINGS = ("stage", *(f"{sign}{name}" for name in _MEASURES for sign in ("", "-")))
"""`stage`: in the order of stages, and in each stage by accelerators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """What is said of all reasons together, and of what is in none of them."""

    json_name: ClassVar = "ReasonTotals"
    rows: tuple[ReasonRow, ...]
    """Those with the most accelerators first."""
    gangs: int | None = shown(
        "Gangs", "Gangs of all reasons. Null if no selected cluster has been read yet."
    )
    accelerators: float | None = shown(
        "Accelerators", "Accelerators of all reasons; null as `gangs`.", is_quantity=True
    )
    dearest: ReasonRow | None
    """The reason with the most accelerators; None without one."""
    commonest: ReasonRow | None
    """The reason with the most gangs."""
    apart: tuple[HealthCount, ...]

    @shown_property("Not counted", "Gangs that run whole, have ended or are suspended on purpose.")
    def not_counted(self) -> dict[str, int]:
        """Return health → gangs in no reason, healths without any left out."""
        return _numbers(self.apart)

    unknown: int | None = shown("Unknown", "Gangs whose state is unknown now. Null like `gangs`.")
    clusters: int = shown("Clusters", "Selected clusters.")
    looked_at: int = shown(
        "Read",
        "Selected clusters that have answered lately.",
        api_name="clusters_looked_at",
    )
    unseen: tuple[UnobservedCluster, ...] = shown(
        "Unseen", "Clusters that could not be read completely."
    )
    plans: tuple[ClusterPlanRow, ...] = shown(
        "Plans",
        "For each selected cluster that answers, the few steps that let most waiting accelerators run. "
        "They are about whole clusters, so there are none with `namespace`.",
    )
    namespaces: tuple[str, ...]
    """Choices of the filter."""

    @property
    def all_looked_at(self) -> bool:
        """Whether every cluster of the filter has answered lately."""
        return self.looked_at == self.clusters


def place_of(ordering: str) -> Callable[[ReasonRow], Place]:
    """Return the function that returns the place of a row. `ordering` is one of REASON_ORDERINGS."""
    sign = -1 if ordering.startswith("-") else 1
    measure = _MEASURES.get(ordering.removeprefix("-"))

    def place(row: ReasonRow) -> Place:
        first = stage_number(row.stage) if measure is None else sign * measure(row)
        heaviest = (-row.accelerators, -row.gangs, row.since.timestamp())
        return (first, *heaviest, row.stage, row.code)

    return place


def stage_number(stage: str) -> int:
    """Return the place of a stage in the order in which gangs pass them; an unknown stage is last."""
    known = [known_stage.value for known_stage in Stage]
    return known.index(stage) if stage in known else len(known)


def _numbers(counts: tuple[HealthCount, ...]) -> dict[str, int]:
    return {count.face.word: count.gangs for count in counts}
