"""What is asked for, and what was decided about it before it is written out as a Plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from gangboard.diagnosis.policy.refusals import PlanRefusal
from gangboard.domain.action import ClusterLevers, Lever, Step, Verb

PROVED_SECONDS = 3.0
"""A proved Hold: the revert that it turns back came after 0.1 s (observed)."""
_WATCH_SECONDS, _WATCH_BEYOND_GRACE = 15.0, 10.0


@dataclass(frozen=True, slots=True)
class DesiredAction:
    """What somebody asks for, of which cluster and when."""

    verb: Verb
    levers: ClusterLevers
    now: datetime
    by: str = ""
    """Who asks, for a new Hold; empty, as what follows, where only a button is judged."""
    reason: str = ""
    until: datetime | None = None
    """When the Hold ends; with an offset."""
    action: str = ""
    """The id that is left in annotations."""
    chosen: frozenset[str] = frozenset()
    """uids that are suspended with one confirmation, its own among them: what is true of them as a
    set is then said once, by `selection`. It is empty for an object alone, of which all is said."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A lever and what comes of it. The steps are made when they are needed."""

    lever: Lever
    steps: Callable[[], tuple[Step, ...]]
    before: dict[str, str]
    after: dict[str, str]
    watch_seconds: float
    reactions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """Reasons gathered while levers are tried, best first."""

    reasons: list[PlanRefusal] = field(default_factory=list)

    def refuse(self, begin: str, instead: str) -> PlanRefusal:
        """Return all reasons as one sentence, and the best of what would help."""
        whys = [reason.why for reason in self.reasons] + ([instead] if instead else [])
        needs = next((reason.needs for reason in self.reasons if reason.needs), "")
        return PlanRefusal(f"{begin}: {'; '.join(whys)}.", needs)


def watch(grace_seconds: int) -> float:
    """Return for how long an unproved lever is watched.

    With the startup policy InOrder JobSet reverts only when the pods are gone, so about their grace
    period later (jobset-kueue.md §2.2).
    """
    return max(_WATCH_SECONDS, grace_seconds + _WATCH_BEYOND_GRACE)


def shown(value: bool | int) -> str:
    """Return a value of a field as it is written in YAML."""
    return str(value).lower()
