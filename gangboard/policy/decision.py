"""Decisions: a desired action, and the decision about it from which a Plan is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gangboard.domain.action import Avoid, ClusterLevers, Step, Verb
from gangboard.domain.objects import Meta
from gangboard.domain.queue import NodeReplacement
from gangboard.domain.text import label
from gangboard.facts.surroundings import Surroundings
from gangboard.plugins.lever import Lever

if TYPE_CHECKING:
    from gangboard.policy.exclusions import Exclusion

PROVED_SECONDS = 3.0
"""The watch time of a proved Hold. It rejected the revert after 0.1 s (observed)."""
_WATCH_SECONDS, _WATCH_AFTER_GRACE = 15.0, 10.0


@dataclass(frozen=True, slots=True)
class PlanRefusal:
    """The reason why an action is impossible."""

    why: str
    """One sentence."""
    needs: str = ""
    """The command that would make the action possible, or empty."""
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
    """The user who requests it, for a new Hold. This field and the next ones are empty for buttons."""
    reason: str = ""
    until: datetime | None = None
    """The end of the Hold, with a UTC offset."""
    avoid: Avoid | None = None
    """The place that a relocated Job must leave. None for its button."""
    exclusion: Exclusion | None = None
    """The node requirement for that place. None for a button, or if a relocation removes an earlier one."""
    replacement: NodeReplacement | None = None
    """The pods for which an admission system replaces the node. None for other levers, and for a button."""
    surroundings: Surroundings | None = None
    """Nodes and pods for a relocation. None for its button."""
    ended_hold: str = ""
    """The uid of a Hold whose end has come. The resume removes only this Hold; empty for all Holds of the object."""
    action: str = ""
    """The action's id, which goes into annotations."""
    blocked: PlanRefusal | None = None
    """Why the owner allows no action. An undo that does not depend on the owner is still possible."""
    chosen: frozenset[str] = frozenset()
    """The uids of all objects in the same confirmation; empty for a single object.

    `selection` explains the consequences of a set. The plan for a single object explains all its consequences.
    """


@dataclass(frozen=True, slots=True)
class Decision:
    """The requests of a lever and their consequences."""

    steps: Callable[[], tuple[Step, ...]]
    """A function that makes the requests. Buttons do not need them."""
    before: dict[str, str]
    after: dict[str, str]
    watch_seconds: float
    reactions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """Warnings about the lever, after all other warnings."""
    resumes: bool = True
    """The object runs after a resume, as far as the lever can tell."""
    label: str = ""
    """The word on the button, such as `Hold`; empty for the verb."""
    meaning: str = ""
    """A sentence about the button; empty if the word on it is enough."""


@dataclass(frozen=True, slots=True)
class LeverDecision:
    """A decision, with the lever that made it."""

    lever: Lever
    decision: Decision


def watch_seconds(grace_seconds: int) -> float:
    """Return how many seconds an action by an unproved lever is watched.

    With the startup policy InOrder, JobSet reverts a suspend only after the pods are deleted, which takes about
    their grace period (jobset-kueue.md §2.2).
    """
    return max(_WATCH_SECONDS, grace_seconds + _WATCH_AFTER_GRACE)


def yaml_value(value: bool | int) -> str:
    """Return the value of a field as YAML."""
    return str(value).lower()
