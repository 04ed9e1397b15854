"""A desired action, and the decision about it from which a Plan is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import ClusterLevers, Step, Verb
from gangboard.domain.objects import Meta
from gangboard.domain.text import label
from gangboard.plugins.lever import Lever

PROVED_SECONDS = 3.0
"""A proved Hold: the revert that it turns back came after 0.1 s (observed)."""
_WATCH_SECONDS, _WATCH_BEYOND_GRACE = 15.0, 10.0


@dataclass(frozen=True, slots=True)
class PlanRefusal:
    """The reason why an action is impossible."""

    why: str
    """One sentence."""
    needs: str = ""
    """The command that would make it possible, or empty."""
    opt_in: bool = False
    """The lever is off until an admin enables it."""


def nothing_to_do(state: str) -> PlanRefusal:
    """Refuse an action without effect: `Job train is suspended already`."""
    return PlanRefusal(f"{state}: nothing to do.")


def generation_unknown(meta: Meta) -> PlanRefusal | None:
    """Refuse a patch that cannot be tied to the state that was read."""
    if meta.generation > 0:
        return None
    return PlanRefusal(
        f"The API server gives no generation for {label(meta.ref)}: a change that came in between "
        "would not be noticed."
    )


@dataclass(frozen=True, slots=True)
class DesiredAction:
    """A requested action, with the levers of its cluster."""

    verb: Verb
    levers: ClusterLevers
    now: datetime
    by: str = ""
    """The requester, for a new Hold. This and the next fields are empty if only a button is judged."""
    reason: str = ""
    until: datetime | None = None
    """When the Hold ends; with an offset."""
    ended_hold: str = ""
    """uid of a Hold that has reached its end. The resume removes only this Hold; empty for all Holds of the object."""
    action: str = ""
    """The action's id, which goes into annotations."""
    blocked: PlanRefusal | None = None
    """Why only an undo is possible that needs nothing of the owner."""
    chosen: frozenset[str] = frozenset()
    """uids of all objects in the same confirmation. `selection` then explains the consequences of the set. Empty for a
    single object, whose plan explains all consequences."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The requests of a lever, and their consequences."""

    steps: Callable[[], tuple[Step, ...]]
    """Makes the requests. Buttons do not need them."""
    before: dict[str, str]
    after: dict[str, str]
    watch_seconds: float
    reactions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """Warnings about the lever, after all other warnings."""
    resumes: bool = True
    """The object runs after a resume, as far as its lever can tell."""
    label: str = ""
    """The word on the button, such as `Hold`; empty for the verb."""
    meaning: str = ""
    """A sentence about the button; empty if the verb says it all."""


@dataclass(frozen=True, slots=True)
class LeverDecision:
    """A decision and the lever that made it."""

    lever: Lever
    decision: Decision


def watch_seconds(grace_seconds: int) -> float:
    """Return how many seconds an action by an unproved lever is watched.

    With the startup policy InOrder JobSet reverts a suspend only when the pods are gone, so about their grace
    period later (jobset-kueue.md §2.2).
    """
    return max(_WATCH_SECONDS, grace_seconds + _WATCH_BEYOND_GRACE)


def yaml_value(value: bool | int) -> str:
    """Return the value of a field as YAML."""
    return str(value).lower()
