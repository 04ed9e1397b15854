"""Rows of the plan of a cluster, on the page and in the API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.cluster_plan import PlanStepKind
from gangboard.domain.text import count
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.advice import StoppedGang
from gangboard.readmodels.declarations import shown


@dataclass(frozen=True, slots=True)
class PlanGangRow:
    """A waiting gang of the plan."""

    gang_id: str = shown("Gang", "Its id.", api_name="gang")
    kind: str = shown("Kind")
    namespace: str = shown("Namespace")
    name: str = shown("Name")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGainRow:
    """Gangs that run: `count` of `of` gangs with the same requests and priority."""

    count: int = shown("Run", "How many of them run.")
    of: int = shown(
        "Of", "How many gangs request the same. The scheduler decides which of them run."
    )
    accelerators: int = shown("Accelerators", "Accelerators that one of them still waits for.")
    gangs: tuple[PlanGangRow, ...] = shown(
        "Gangs", "The oldest of these gangs, at most 20, without those that the caller may not see."
    )

    @property
    def lead(self) -> str:
        """The words before the names: `1 of 3 gangs with 8 accelerators: `."""
        size = f" with {count(self.accelerators, 'accelerator')}" if self.accelerators else ""
        each = " each" if size and self.of > 1 else ""
        total = count(self.of, "gang")
        return f"{total if self.count == self.of else f'{self.count} of {total}'}{size}{each}"

    @property
    def unnamed(self) -> int:
        """The number of these gangs without a name here."""
        return self.of - len(self.gangs)


@dataclass(frozen=True, slots=True)
class PlanPodRow:
    """A pod to move."""

    namespace: str = shown("Namespace")
    name: str = shown("Name")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStepRow:
    """One step. Its gains are true after the steps before it."""

    kind: str = shown(
        "Kind", "`uncordon`, `remove-taint`, `end-incomplete`, `move-pods` or `stop-whole`."
    )
    text: str = shown("Step", "What to do, as a sentence.")
    cost: str = shown("Cost", "What it costs others, as a sentence.", empty_is_null=True)
    accelerators: int = shown(
        "Accelerators",
        "Accelerators of the gangs that run then, in the worst of the orders in which gangboard tried them.",
    )
    gains: tuple[PlanGainRow, ...] = shown(
        "Gains", "Gangs that run then, in whatever order the scheduler tries them."
    )
    commands: tuple[str, ...] = shown(
        "Commands", "Commands in their order. Empty if the caller may not see all objects."
    )
    nodes: tuple[str, ...] = shown(
        "Nodes", "Nodes that the step changes. Empty if the caller may not see nodes."
    )
    pods: tuple[PlanPodRow, ...] = shown("Pods", "Pods to move that the caller may see.")
    victims: tuple[StoppedGang, ...] = shown(
        "Gangs to suspend", "Those that the caller may see, with what it costs."
    )
    hidden: int = shown("Hidden", "Nodes, pods and gangs of the step that the caller may not see.")
    offers: tuple[OfferRow, ...] = ()
    """The buttons of the gangs to suspend."""

    @property
    def stops_whole_gangs(self) -> bool:
        """Whether it stops gangs that run completely."""
        return self.kind == PlanStepKind.STOP_WHOLE

    @property
    def rest(self) -> int:
        """Accelerators of gangs that run then besides those of `gains`. The order decides which gangs these are."""
        return self.accelerators - sum(gain.count * gain.accelerators for gain in self.gains)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanUntriedRow:
    """Waiting gangs for which no step of a kind was tried."""

    kind: str = shown("Kind", "The kind of step.")
    gangs: int = shown("Gangs", "Waiting gangs for which it was not tried.")
    accelerators: int = shown("Accelerators", "Accelerators that these gangs request.")
    text: str = shown("Untried", "The same as a sentence.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlanRow:
    """The few steps that let most waiting accelerators of a cluster run, computed together."""

    cluster: str = shown("Cluster")
    made_at: datetime | None = shown("Made", "When the plan was made. Null without a plan.")
    why: str = shown(
        "Unknown", "Why there is no plan, such as `nodes: forbidden`.", empty_is_null=True
    )
    waiting_gangs: int | None = shown(
        "Waiting gangs", "Gangs that wait for nodes. Null without a plan."
    )
    waiting_accelerators: int | None = shown(
        "Waiting accelerators", "Accelerators that their waiting pods request."
    )
    undecided: int | None = shown(
        "Undecided",
        "Waiting gangs about which gangboard cannot decide. The plan never promises them.",
    )
    complete: bool | None = shown(
        "Complete",
        "False if steps were not tried for some gangs, so that further steps may help. Null without a plan.",
    )
    untried: tuple[PlanUntriedRow, ...] = shown(
        "Untried",
        "Gangs for which steps were not tried before the time was over, for each kind of step.",
    )
    outdated: bool = shown(
        "Outdated", "A gang has changed since the plan was made, so later steps are left out."
    )
    steps: tuple[PlanStepRow, ...] = shown(
        "Steps",
        "In their order, the least harm first. Those that stop complete gangs only on request.",
    )
    without_steps: tuple[PlanGainRow, ...] = shown(
        "Without steps", "Gangs for which there is room already, or soon without any step."
    )

    @property
    def is_told(self) -> bool:
        """Whether the page shows it: gangs wait for nodes, or it is unknown."""
        return self.waiting_gangs != 0

    @property
    def accelerators(self) -> int:
        """Accelerators that run after all steps."""
        return sum(step.accelerators for step in self.steps)
