"""A lever: one way to stop something and start it again. What a file in `levers/` offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gangboard.domain.action import ClusterLevers
from gangboard.domain.owner import Owner

if TYPE_CHECKING:
    from gangboard.facts.gang import Gang
    from gangboard.policy.decision import Decision, DesiredAction, PlanRefusal

    Decide = Callable[[Gang, Owner, DesiredAction], Decision | PlanRefusal]
    """(gang, what is suspended or resumed: its owner or one of its Jobs, what is asked) → what is done."""


class Readiness(StrEnum):
    """How ready a lever is in one cluster."""

    READY = "ready"
    UNPROVED = "unproved"
    REFUTED = "refuted"
    OFF = "off"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class LeverState:
    """What is known of a lever in one cluster."""

    readiness: Readiness
    sentence: str
    usable: bool = False
    """It may be pulled now."""
    proved_at: datetime | None = None
    """When it was last seen to hold; None for levers that nobody undoes, and where it never was."""
    refuted_at: datetime | None = None
    """When its last proof failed, if none has held since."""

    @classmethod
    def ready(cls, sentence: str, shut: str) -> LeverState:
        """Return one that needs no more than to be allowed; `shut`: why nobody may pull it now."""
        return cls(Readiness.OFF if shut else Readiness.READY, sentence, usable=not shut)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a write of the actor must fulfil, in CEL, the language of admission policies."""

    expression: str
    message: str


@dataclass(frozen=True, slots=True)
class Made:
    """A resource of which a lever makes objects, and what these must be like."""

    group: str
    plural: str
    kind: str
    verbs: tuple[str, ...]
    """Of RBAC: `create` and what else it does with them."""
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Lever:
    """A way to stop something and start it again. One file in `levers/` each, in a constant named LEVER."""

    key: str
    """How it is stored and named in the API."""
    position: int
    """Where it stands in lists; lower comes first."""
    label: str
    """What an action by it is called: `spec.suspend`."""
    title: str
    """What it does, for the list of a cluster's levers: `Hold one Job`."""
    suspend: Decide
    resume: Decide
    readiness: Callable[[ClusterLevers, str, str], LeverState]
    """(the cluster, labels of the kinds that have it, why nothing may be sent or empty) → its state there."""
    unavailable: Callable[[ClusterLevers], PlanRefusal | None] | None = None
    """Why it cannot be pulled anywhere in that cluster: half a sentence. None where it always can."""
    missing: Callable[[Gang, Owner, ClusterLevers], PlanRefusal | None] | None = None
    """Why it cannot be pulled on this very object: half a sentence. None where it always can."""
    stopped: Callable[[Gang, Owner], str] | None = None
    """How it has stopped a Job already, `held already, by Hold x`, or empty."""
    undoes: Callable[[Gang, Owner], bool] | None = None
    """Whether there is something of it to be taken back from a Job, whatever state that is in."""
    passed_over: Callable[[Gang, ClusterLevers], tuple[str, ...]] | None = None
    """What to warn of where another lever is pulled because this one, which comes before it, is missing."""
    goes_first: Callable[[Gang, ClusterLevers], bool] | None = None
    """Of a lever for one Job: whether it is the one for the owner as a whole, too, all Jobs one by one."""
    writes: tuple[str, ...] | None = ()
    """The field that it changes; None for the suspend field of the kind, empty where it changes none."""
    bounds: Callable[[str], tuple[Mapping[str, str], Rule]] | None = None
    """(kind) → variables in CEL, and what is checked of a change of its field beside its name."""
    makes: Callable[[Sequence[tuple[str, str]]], Made] | None = None
    """((API group, kind) of what may own them) → what it makes objects of, by POST."""
    optional: bool = False
    """It is off until somebody switches it on for a cluster."""
    in_effect: Callable[[Mapping[str, Any], bool], bool] | None = None
    """(the object as served, whether it was to be suspended) → whether its status says that it has come
    into effect. None where the changed field says it, or the controller of the kind."""
    is_bare: bool = False
    """It is a plain change of the field, which can be tried where nothing keeps it so."""
    lasts: bool = False
    """What is made anew under the same name is stopped, too."""
    takes_end: bool = False
    """It can be pulled until a given time."""
    needs_nothing: bool = False
    """To take it back needs nothing of the owner: it is possible also where nothing else is."""
    counts_as_ready: bool = False
    """A controller above goes on counting what it stopped as ready."""
    told_by_build: bool = False
    """Whether it holds depends on the build of the controller above, so what was seen is remembered of that."""
    done: str = "Suspended"
    """What was stopped by it is called, once that has held."""
    applied: str = ""
    """The same while it is watched; empty for the same word."""
    forced_label: str = ""
    """`label` where it was forced; empty for the same."""
    undo_buttons: Mapping[str, str] = field(default_factory=dict)
    """Word on the button of an action by it → the word on the button that undoes it, where that is not the
    other verb."""
    state: str = "suspended"
    """The word in a sentence about a Job that it has stopped."""
    after_restart: str = ""
    """What becomes of a stopped Job when its owner restarts: half a sentence."""
    renewals: str = ""
    """What of its owner a Job stays stopped through: `a restart or a resume`. Then its absence counts anew."""

    def why_not(self, gang: Gang, subject: Owner, levers: ClusterLevers) -> PlanRefusal | None:
        """Return why it cannot be pulled on an object in its cluster: half a sentence."""
        closed = self.unavailable(levers) if self.unavailable is not None else None
        if closed is not None or self.missing is None:
            return closed
        return self.missing(gang, subject, levers)
