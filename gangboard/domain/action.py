"""Actions on clusters: requests, plans with their steps, and states."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gangboard.domain.objects import ObjectRef


class Verb(StrEnum):
    """Kind of action that a user can request."""

    SUSPEND = "suspend"
    RESUME = "resume"
    RELOCATE = "relocate"
    """Restart one Job on other nodes. Its siblings keep running."""


class ActionState(StrEnum):
    """State of an action. A successful action passes the first seven in order. The others end it early."""

    REQUESTED = "requested"
    CHECKED = "checked"
    ARMED = "armed"
    PROVED = "proved"
    SENT = "sent"
    APPLIED = "applied"
    VERIFIED = "verified"
    REFUSED = "refused"
    CONFLICT = "conflict"
    GONE = "gone"
    EXPIRED = "expired"
    REVERTED = "reverted"
    UNKNOWN = "unknown"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        """Whether the actor has nothing left to do.

        `verified` is final, but becomes `reverted` if a poll sees the change undone. `unknown` is not
        final, because the actor resolves it by reading the object.
        """
        return self in _FINAL


_FINAL = frozenset(
    {
        ActionState.VERIFIED,
        ActionState.REFUSED,
        ActionState.CONFLICT,
        ActionState.GONE,
        ActionState.EXPIRED,
        ActionState.REVERTED,
        ActionState.FAILED,
    }
)


class StepState(StrEnum):
    """State of a step. `sending` is stored before the request, so a crash during it leaves `unknown`."""

    PENDING = "pending"
    SENDING = "sending"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


class StepKind(StrEnum):
    """Purpose of a step."""

    CREATE_HOLD = "create-hold"
    PROVE_HOLD = "prove-hold"
    """Dry run in which the API server must return an un-suspended Job as suspended."""
    PATCH = "patch"
    CREATE = "create"
    """Create an object that requests an action from a controller. The status of the target confirms it."""
    DELETE_HOLD = "delete-hold"
    PROVE_RELEASE = "prove-release"
    """Dry run in which the API server must return an un-suspended Job as un-suspended."""
    WAIT_STOPPED = "wait-stopped"
    """Reads until all pods of a suspended Job are gone. Until then its template cannot change."""
    EXCLUDE = "exclude"
    """Change of the node affinity in the template of a suspended Job."""
    RESTART = "restart"
    """Resume at the end of a relocation. Its controller may have resumed the Job already."""
    CORDON = "cordon"
    """Cordon of one node, with the id of the action in an annotation of the node."""
    WAIT_TAINTED = "wait-tainted"
    """Reads until the cordoned node has the taint that keeps pods away."""
    WAIT_REPLACED = "wait-replaced"
    """Reads until an admission system has assigned another node instead of the cordoned one."""
    UNCORDON = "uncordon"
    """End of the cordon. It is sent when the action does not need it any more, and repeated until it has worked."""


@dataclass(frozen=True, slots=True)
class Avoid:
    """Place that a relocated Job must leave: nodes by name, or the domain of one topology label.

    Without both it is empty: the Job restarts without the exclusion of an earlier relocation.
    """

    nodes: tuple[str, ...] = ()
    topology: tuple[str, str] | None = None
    """Key and value of a node label, such as (`rack`, `r1`)."""

    @property
    def is_empty(self) -> bool:
        """Whether no node is excluded."""
        return not self.nodes and self.topology is None

    @property
    def text(self) -> str:
        """The place for sentences: `node a100-2`, `nodes a, b`, `rack=r1`."""
        if self.topology is not None:
            return "=".join(self.topology)
        return f"node{'' if len(self.nodes) == 1 else 's'} {', '.join(self.nodes)}"


@dataclass(frozen=True, slots=True)
class ActionTarget:
    """Target of an action, as the caller saw it."""

    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """Request for an action, from a form or JSON, stored with the action and its audit entry.

    Its text is untrusted input, which `actions.requests` validates.
    """

    verb: Verb
    target: ActionTarget
    reason: str
    until: datetime | None = None
    idempotency_key: str = ""
    """Unique per user. Empty if the client sent no key."""
    forced: bool = False
    """Use a lever without a proof. Restricted to admins."""
    via: str = "api"
    """`page`, `api` or `gangboard`."""
    avoid: Avoid | None = None
    """The place to leave, for `relocate` only."""
    ended_hold: str = ""
    """uid of the expired Hold that an automatic resume removes. Empty for a user, whose resume removes all Holds."""


@dataclass(frozen=True, slots=True)
class Step:
    """Request to an API server, built completely before the first step is sent."""

    kind: StepKind
    name: str
    """Description for users, such as `Create the Hold`."""
    subject: ObjectRef
    method: str
    """`POST`, `PATCH` (JSON patch, tests first), `MERGE` (merge patch, for dry runs) or `DELETE`."""
    path: str
    """Path of the request at the API server."""
    patch: str = ""
    """Exact body as JSON. For `DELETE` it has the preconditions."""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps of an action with their expected effects, or the reason why it is not allowed."""

    verb: Verb
    subject: ObjectRef
    generation: int
    lever: str | None = None
    """Key of the lever. None if the action is not allowed."""
    why_not: str = ""
    """Sentence that says why the action is not allowed. Empty if it is."""
    needs: str = ""
    """Component to install or enable so that the action becomes allowed, or empty."""
    steps: tuple[Step, ...] = ()
    reactions: tuple[str, ...] = ()
    """Expected reactions of controllers and of the owner's policies, as sentences."""
    warnings: tuple[str, ...] = ()
    before: dict[str, str] = field(default_factory=dict)
    """Current values of the fields that the action changes, such as `spec.suspend` → `false`."""
    after: dict[str, str] = field(default_factory=dict)
    watch_seconds: float = 0.0
    """Shortest time between `sent` and `verified`."""
    label: str = ""
    """Text of the button, such as `Hold`. Empty if the verb is the text."""
    meaning: str = ""
    """Sentence that describes the button. Empty if the verb is clear enough."""

    @property
    def allowed(self) -> bool:
        """Whether users may request this action."""
        return not self.why_not


class PolicyState(StrEnum):
    """Installation of the Hold CRD and its policy. An installed policy may not be in force yet."""

    INSTALLED = "installed"
    MISSING = "missing"
    CHANGED = "changed"
    NOT_SEEN = "not-seen"
    """The reader has no permission to read the policy, so a proof must decide."""


@dataclass(frozen=True, slots=True)
class ClusterLevers:
    """Levers that a cluster allows, whatever the target is."""

    cluster: str = ""
    """Name of the cluster in gangboard, for commands in sentences."""
    context: str = ""
    """Name of the kubectl context of the cluster, for the same commands. Empty if unknown."""
    has_actor: bool = False
    read_only: str = ""
    """Sentence that says why gangboard is read-only here. Empty if it is not."""
    read_only_command: str = ""
    """Command that ends the read-only mode."""
    parallelism: bool = False
    hold: PolicyState = PolicyState.MISSING
    hold_sentence: str = ""
    """Sentence about a defect of the Hold's installation, or empty."""
    hold_proved_at: datetime | None = None
    hold_refuted_at: datetime | None = None
    """Time of the last failed proof, if no proof succeeded after it."""
    native_honoured: bool = False
    """gangboard saw this build of JobSet leave a child Job suspended on request."""
    build: str = ""
    """Identifier of this build of JobSet, for display."""
    topology_keys: tuple[str, ...] = ()
    """Node labels besides the host name whose domains a relocation may exclude."""
    exclusion_proved_at: datetime | None = None
    """Time at which the API server last accepted the template change of a relocation."""
    exclusion_refuted_at: datetime | None = None
    """Time at which it last refused one, if it accepted none after that."""
    cordon: bool = False
    """An admin lets gangboard cordon nodes (`GANGBOARD_CORDON`)."""
    cordon_proved_at: datetime | None = None
    """Time at which an admission system last replaced a cordoned node."""
    cordon_refuted_at: datetime | None = None
    """Time at which it last replaced none, if it replaced none after that."""
    forced: bool = False
    """An admin requested an unproved lever, a plain suspend that gangboard watches like any other."""
