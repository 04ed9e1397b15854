"""What is asked for, and what was decided about it before it is written out as a Plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import ClusterLevers, Step, Verb
from gangboard.domain.objects import Meta
from gangboard.domain.text import label

PROVED_SECONDS = 3.0
"""A proved Hold: the revert that it turns back came after 0.1 s (observed)."""
_WATCH_SECONDS, _WATCH_BEYOND_GRACE = 15.0, 10.0


@dataclass(frozen=True, slots=True)
class PlanRefusal:
    """Why not: one sentence; and what to install or switch on, or empty."""

    why: str
    needs: str = ""
    opt_in: bool = False
    """The lever works only where an admin has turned it on, and nobody has."""


def nothing_to_do(state: str) -> PlanRefusal:
    """Refuse what is so already: `Job train is suspended already`."""
    return PlanRefusal(f"{state}: nothing to do.")


def generation_unknown(meta: Meta) -> PlanRefusal | None:
    """Refuse a patch that could not be tied to what was seen."""
    if meta.generation > 0:
        return None
    return PlanRefusal(
        f"The API server gives no generation for {label(meta.ref)}: a change that came in between "
        "would not be noticed."
    )


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
    ended_hold: str = ""
    """uid of the Hold whose end came: a resume removes this Hold only. Empty: all of the object."""
    action: str = ""
    """The id that is left in annotations."""
    blocked: PlanRefusal | None = None
    """Why nothing may be done to it but to take back what needs nothing of its owner."""
    chosen: frozenset[str] = frozenset()
    """uids that are suspended with one confirmation, its own among them: what is true of them as a
    set is then said once, by `selection`. It is empty for an object alone, of which all is said."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a lever would do, and what comes of that. The steps are made when they are needed."""

    steps: Callable[[], tuple[Step, ...]]
    before: dict[str, str]
    after: dict[str, str]
    watch_seconds: float
    reactions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """Warnings that stand after all others: what the lever is not."""
    resumes: bool = True
    """Of a resume: whether the object runs after it, as far as its lever can tell."""
    label: str = ""
    """The word on the button, such as `Hold`. Empty where the verb is the right word."""
    meaning: str = ""
    """What the button does, in a sentence. Empty where the verb says it."""


def watch(grace_seconds: int) -> float:
    """Return for how long an unproved lever is watched.

    With the startup policy InOrder JobSet reverts only when the pods are gone, so about their grace
    period later (jobset-kueue.md §2.2).
    """
    return max(_WATCH_SECONDS, grace_seconds + _WATCH_BEYOND_GRACE)


def shown(value: bool | int) -> str:
    """Return a value of a field as it is written in YAML."""
    return str(value).lower()
