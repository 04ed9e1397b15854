"""The base class of levers: one way to stop an object and start it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gangboard.domain.action import ClusterLevers
from gangboard.domain.owner import Owner

if TYPE_CHECKING:
    from gangboard.facts.gang import Gang
    from gangboard.policy.decision import Decision, DesiredAction, PlanRefusal


class Readiness(StrEnum):
    """Readiness of a lever in one cluster."""

    READY = "ready"
    UNPROVED = "unproved"
    REFUTED = "refuted"
    OFF = "off"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class LeverState:
    """State of a lever in one cluster."""

    readiness: Readiness
    sentence: str
    usable: bool = False
    """People can use it now."""
    proved_at: datetime | None = None
    """Last time that a suspension by it was seen to last. None for levers without such a proof."""
    refuted_at: datetime | None = None
    """Time of its last failed proof, if no proof has succeeded since."""

    @classmethod
    def ready(cls, sentence: str, closed_reason: str) -> LeverState:
        """Return the state of a lever that only needs permission. `closed_reason`: why nothing may be sent; empty if it may."""
        return cls(
            Readiness.OFF if closed_reason else Readiness.READY, sentence, usable=not closed_reason
        )


@dataclass(frozen=True, slots=True)
class AdmissionRule:
    """A condition for writes of the actor, in CEL, the language of admission policies."""

    expression: str
    message: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """The values that the actor may give to a field."""

    variables: Mapping[str, str]
    """Name → expression in CEL, for the rule."""
    rule: AdmissionRule


@dataclass(frozen=True, slots=True)
class CreatedResource:
    """A resource of which a lever creates objects, and the conditions for these."""

    group: str
    plural: str
    kind: str
    verbs: tuple[str, ...]
    """Verbs of RBAC that the lever needs: `create` and others."""
    rules: tuple[AdmissionRule, ...]


class Lever:
    """A way to stop an object and start it again. The registry instantiates each subclass in `levers/`.

    A lever that changes one field and needs no proof sets its names and `writes`, and implements `decide`.
    """

    # Names

    key: str
    """Its name in the database and the API."""
    position: int
    """Its place in lists; lower comes first."""
    label: str
    """The name of its actions: `spec.suspend`."""
    title: str
    """Its name in the list of a cluster's levers: `Hold one Job`."""
    description = ""
    """The sentence of `readiness`. Not needed by a lever that has a `readiness` of its own."""
    done = "Suspended"
    """State of an object that it has stopped, in the list of actions."""
    state = "suspended"
    """The same in a sentence."""
    after_restart = ""
    """What becomes of a stopped Job when its owner restarts: half a sentence."""
    renewals = ""
    """Events of the owner that a Job stays stopped through: `a restart or a resume`."""
    undo_buttons: Mapping[str, str] = {}
    """Word on the button of an action → word on the button that undoes it, unless that is the other verb."""

    @property
    def applied(self) -> str:
        """`done` while the action is still watched."""
        return self.done

    @property
    def forced_label(self) -> str:
        """`label` of an action that was forced."""
        return self.label

    # What it does

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        """Return what is done to suspend or resume the subject, the gang's owner or one of its Jobs, or why not."""
        raise NotImplementedError

    def readiness(self, levers: ClusterLevers, kinds: str, closed_reason: str) -> LeverState:
        """Return its state in a cluster.

        `kinds` are the labels of the kinds that have it, `closed_reason` is why nothing may be sent there; empty if it may.
        """
        return LeverState.ready(self.description, closed_reason)

    def unavailable(self, levers: ClusterLevers) -> PlanRefusal | None:
        """Return why it works for no object of a cluster: half a sentence."""
        return None

    def why_not(self, gang: Gang, subject: Owner, levers: ClusterLevers) -> PlanRefusal | None:
        """Return why it does not work for this object: half a sentence."""
        return self.unavailable(levers)

    def fallback_warnings(self, gang: Gang, levers: ClusterLevers) -> tuple[str, ...]:
        """Return warnings for an action by another lever, because this better one does not work."""
        return ()

    def applies_job_by_job(self, gang: Gang, levers: ClusterLevers) -> bool:
        """Return whether a lever for single Jobs is also the one for the whole owner, Job by Job."""
        return False

    def describe_stop(self, gang: Gang, job: Owner) -> str:
        """Return how it has stopped a Job already, such as `held already, by Hold x`; empty if it has not."""
        return ""

    def has_undoable_change(self, gang: Gang, job: Owner) -> bool:
        """Return whether a Job has a change by it that can be taken back, whatever the Job's state."""
        return False

    def confirms_action(self, raw: Mapping[str, Any], suspend: bool) -> bool | None:
        """Return whether the status of a served object confirms the suspend or resume.

        None for a lever whose field says it, or the controller of the kind.
        """
        return None

    # What the actor needs for it

    writes: tuple[str, ...] = ()
    """Path of the field that it changes; empty if it changes none."""
    optional = False
    """It is off until an admin enables it for a cluster."""

    def written_field(self, suspend_field: tuple[str, ...]) -> tuple[str, ...]:
        """Return the path of the field that it changes in objects of a kind with this suspend field."""
        return self.writes

    def bounds(self, kind: str) -> Bounds | None:
        """Return the values that the actor may give to the field in objects of a kind; None for any."""
        return None

    def created_resource(self, parents: Sequence[tuple[str, str]]) -> CreatedResource | None:
        """Return what it creates objects of; `parents` are the (API group, kind) of their possible owners."""
        return None

    # How it behaves

    is_bare = False
    """It is a plain change of the suspend field, which people can force where the controller may undo it."""
    lasts = False
    """A Job that its owner re-creates under the same name is stopped, too."""
    supports_end = False
    """It can suspend until a given time."""
    can_always_resume = False
    """A resume needs nothing of the owner, so it is possible where no other action is."""
    counts_as_ready = False
    """The controller above counts a stopped Job as ready."""
    depends_on_build = False
    """It works with some builds of the controller only, so proofs are stored per build."""
