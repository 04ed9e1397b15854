"""The base class of levers. A lever is one way to stop an object and start it again."""

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
    """How far a lever can be used in one cluster."""

    READY = "ready"
    UNPROVED = "unproved"
    REFUTED = "refuted"
    OFF = "off"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class LeverState:
    """State of a lever in one cluster, as the page of the cluster shows it."""

    readiness: Readiness
    sentence: str
    usable: bool = False
    """People can use it now."""
    proved_at: datetime | None = None
    """Time of the last suspension by it that lasted, or None for levers without such a proof."""
    refuted_at: datetime | None = None
    """Time of its last failed proof, if no proof has succeeded since."""

    @classmethod
    def ready(cls, sentence: str, closed_reason: str) -> LeverState:
        """Return the state of a lever that only needs permission.

        `closed_reason` says why gangboard may not write in the cluster, and is empty if it may.
        """
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
    """The values that the actor may write to a field."""

    variables: Mapping[str, str]
    """Name of a variable → its expression in CEL, for the rule."""
    rule: AdmissionRule


@dataclass(frozen=True, slots=True)
class CreatedResource:
    """A resource whose objects a lever creates, with the conditions for these."""

    group: str
    plural: str
    kind: str
    verbs: tuple[str, ...]
    """RBAC verbs that the lever needs: `create` and others."""
    rules: tuple[AdmissionRule, ...]


class Lever:
    """A way to stop an object and start it again. The registry instantiates each subclass in `levers/`.

    A lever that changes one field and needs no proof sets its names and `writes`, and implements `decide`.
    """

    # Texts

    key: str
    """The lever's name in the database and the API."""
    position: int
    """The lever's place in lists. Lower comes first."""
    label: str
    """The name of its actions: `spec.suspend`."""
    title: str
    """The lever's name in the list of a cluster's levers: `Hold one Job`."""
    description = ""
    """The sentence of `readiness`. A lever that overrides `readiness` does not need it."""
    done = "Suspended"
    """The state of an object that the lever has stopped, in the list of actions."""
    state = "suspended"
    """The same state in a sentence."""
    after_restart = ""
    """The effect of a restart of the owner on a stopped Job: half a sentence."""
    renewals = ""
    """Events of the owner after which a Job is still stopped: `a restart or a resume`."""
    undo_buttons: Mapping[str, str] = {}
    """Word on the button of an action → word on the button that undoes it, unless that is the other verb."""

    @property
    def applied(self) -> str:
        """The state in the list of actions while the action is still watched."""
        return self.done

    @property
    def forced_label(self) -> str:
        """The name of a forced action."""
        return self.label

    # Decisions

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        """Return the requests that suspend or resume the subject, or why that is impossible.

        The subject is the gang's owner or one of its Jobs.
        """
        raise NotImplementedError

    def readiness(self, levers: ClusterLevers, kinds: str, closed_reason: str) -> LeverState:
        """Return the state of the lever in a cluster.

        `kinds` are the labels of the kinds that have it. `closed_reason` says why gangboard may not write
        there, and is empty if it may.
        """
        return LeverState.ready(self.description, closed_reason)

    def unavailable(self, levers: ClusterLevers) -> PlanRefusal | None:
        """Return why the lever works for no object of a cluster (half a sentence), or None."""
        return None

    def why_not(self, gang: Gang, subject: Owner, levers: ClusterLevers) -> PlanRefusal | None:
        """Return why the lever does not work for this object (half a sentence), or None."""
        return self.unavailable(levers)

    def fallback_warnings(self, gang: Gang, levers: ClusterLevers) -> tuple[str, ...]:
        """Return warnings for an action by another lever, because this better one does not work."""
        return ()

    def applies_job_by_job(self, gang: Gang, levers: ClusterLevers) -> bool:
        """Return whether a lever for single Jobs also suspends the whole owner, Job by Job."""
        return False

    def describe_stop(self, gang: Gang, job: Owner) -> str:
        """Return how the lever has already stopped a Job, such as `held already, by Hold x`; empty if it has not."""
        return ""

    def has_undoable_change(self, gang: Gang, job: Owner) -> bool:
        """Return whether the lever has changed a Job in a way that it can undo, in any state of the Job."""
        return False

    def confirms_action(self, raw: Mapping[str, Any], suspend: bool) -> bool | None:
        """Return whether the status of a served object confirms the suspend or resume.

        Returns None if the lever's field confirms it, or the controller of the kind.
        """
        return None

    # Permissions of the actor

    writes: tuple[str, ...] = ()
    """Path of the field that the lever changes; empty if it changes none."""
    optional = False
    """The lever is off until an admin enables it for a cluster."""

    def written_field(self, suspend_field: tuple[str, ...]) -> tuple[str, ...]:
        """Return the path of the field that the lever changes in objects of a kind with this suspend field."""
        return self.writes

    def bounds(self, kind: str, topology_keys: Sequence[str]) -> Bounds | None:
        """Return the values that the actor may write to the field in objects of a kind, or None for any.

        `topology_keys` are the node labels by which a relocation may exclude nodes.
        """
        return None

    def created_resource(self, parents: Sequence[tuple[str, str]]) -> CreatedResource | None:
        """Return the resource whose objects the lever creates, or None.

        `parents` are the (API group, kind) of the possible owners of such an object.
        """
        return None

    # Behaviour

    cordons = False
    """The lever cordons a node, for a Job whose nodes an admission system has chosen."""
    suspends = True
    """The controller counts a stopped object as suspended."""
    is_bare = False
    """The lever is a plain change of the suspend field. Users can force it if the controller may undo it."""
    lasts = False
    """A Job that its owner re-creates under the same name stays stopped."""
    supports_end = False
    """The lever can suspend until a given time."""
    can_always_resume = False
    """A resume does not depend on the owner, so it is possible even if no other action is."""
    counts_as_ready = False
    """The controller above counts a stopped Job as ready."""
    depends_on_build = False
    """The lever works only with some builds of the controller, so proofs are stored per build."""
