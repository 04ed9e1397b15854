"""What a file in `owners/`, `groups/`, `queues/` or `rules/` must offer to be found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gangboard.domain.action import Lever, Verb
from gangboard.domain.blueprint import Blueprint
from gangboard.domain.facts import GangFacts, Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Evidence, Finding


class DecodeError(ValueError):
    """An object that cannot be understood. The text is one sentence for the Clusters page."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource to list and watch, and how its objects become words of the domain."""

    group: str
    plural: str
    kind: str
    versions: tuple[str, ...]
    """Versions that we can decode, the preferred first."""
    wire: type[Any]
    """The narrow struct that the bytes are decoded into."""
    model: type[Any]
    """The class of the domain that `build` returns and that the store keeps."""
    build: Callable[[Any, str], Any]
    """(wire object, version) → model. Raises DecodeError."""
    needed: bool = False
    """A verdict about any gang needs it, where it is served."""
    query: tuple[tuple[str, str], ...] = ()
    """Extra query parameters, such as a field selector."""
    decoder_version: int = 1
    """Goes up by one with every change of what `wire`, `model` or `build` keep of an object, or how: rows
    that another version of the decoder has stored are read again at the next poll."""

    @property
    def key(self) -> str:
        """`pods`, `jobs.batch`: how kubectl and RBAC name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class OwnerKind:
    """A kind of object a person makes. One file in `owners/` each, in a constant named OWNER."""

    resource: Resource
    label: str
    """How pages call it."""
    own_managers: tuple[str, ...] = ()
    """Values of `spec.managedBy` that mean its own controller."""
    levers: tuple[Lever, ...] = ()
    """How the owner as a whole is suspended where no queue manages it, the best first; none: not."""
    no_lever: str = ""
    """Why nothing suspends it, where its controller leaves no way: a sentence; empty where it has levers."""
    child_levers: tuple[Lever, ...] = ()
    """How one of its child Jobs is suspended, the best first."""
    suspend_field: tuple[str, ...] = ("spec", "suspend")
    """Where lever `suspend` writes."""
    child_label: str = ""
    """Label of its child Jobs whose value is its name, so that few are listed; empty for none."""
    current: Callable[[Owner, Owner], bool] | None = None
    """(owner, child) → whether the child belongs to the owner's current attempt. None when it always does."""
    complete: Callable[[Owner, Sequence[Owner], Sequence[Blueprint]], Owner] | None = None
    """(owner, what it made of known kinds for its current attempt, those of `Owner.blueprints` that are known)
    → the owner with the size, the roles and the policies that it has by these. None where its own spec says
    all of it."""
    blueprints: tuple[Resource, ...] = ()
    """Resources of the objects that it names and is made by; their model is `Blueprint`."""
    facts: Callable[[Owner], Mapping[str, str]] | None = None
    """Owner → what its page says of it besides, such as the runtime it is made by: label → text."""
    event_reasons: Mapping[str, str] = field(default_factory=dict)
    """Reasons of the events by which its controller says that it could not make what it makes for it → the
    words of the note before the cause."""
    makers: Callable[[ObjectRef], Iterable[tuple[str, str, str]]] | None = None
    """Owner → (API group, kind, name) of the owners that it makes and that make its Jobs for it, in its
    namespace. None where it makes Jobs itself, or none."""
    makes_gangs: bool = False
    """What it makes are gangs of their own, one after the other: a CronJob. It is none itself."""
    stands_alone: bool = True
    """False for what only stands between an owner and its pods: it is never a gang of its own. Where
    nothing known is above it, its pods are as if it were unknown, too."""
    reactions: Callable[[Owner, Owner, Verb], tuple[str, ...]] | None = None
    """(owner, what is suspended or resumed: itself or what it made, the verb) → what its controller does then:
    sentences that are said before the click. Where there is none, what holds for every kind is said."""
    sentence: Callable[[Owner], str] | None = None
    """Owner → what its gangs' pages say of it, where it `makes_gangs`."""
    pod_label: str = ""
    """Label of its pods whose value is its name: they are adopted by it, in its namespace, where no
    reference leads from them to a known owner. Empty for none."""
    rules: tuple[UnitRule, ...] = ()
    """Reasons that only this kind knows, told in codes that others share where there are such. They are asked
    among those of `rules/`, by stage and order, of units of its gangs."""
    evidence: Callable[[Unit], tuple[Evidence, ...]] | None = None
    """Unit of a gang of it → what its own objects say of that: stands behind what is found of the unit."""
    role_of: Callable[[Pod], str] | None = None
    """Pod → the role of the owner that it belongs to, by its labels, or empty: of a kind that makes pods
    without Jobs. Each of its roles is a unit of its own then. None where the pods are one unit."""


@dataclass(frozen=True, slots=True)
class GroupingAPI:
    """An API that says which pods belong together. One file in `groups/`, constant GROUPING."""

    label: str
    group: str
    resources: tuple[Resource, ...]
    """Their models are domain.Group."""


@dataclass(frozen=True, slots=True)
class QueueSystem:
    """An admission system. One file in `queues/`, constant QUEUE."""

    label: str
    owner_label: str
    """The label on an owner that names its queue."""
    resources: tuple[Resource, ...] = ()
    takes_over: Callable[[str, str, bool], str] | None = None
    """(owner in a sentence, its queue, suspended) → what it will do with an owner that names a queue
    of it, once it is installed where it is not."""


@dataclass(frozen=True, slots=True)
class GangRule:
    """A reason that is judged at the owner: finished, suspended, not observed. Constant RULE."""

    code: str
    stage: Stage
    title: str
    order: int
    """Lower is tried first; the first that finds something decides the whole gang."""
    find: Callable[[GangFacts], Finding | None]
    of_unit: UnitRule | None = None
    """The same reason, code and title where it is true of a part of the gang only."""


@dataclass(frozen=True, slots=True)
class UnitRule:
    """A reason that is judged at one group, Job or part of a gang. Constant RULE, or in the tuple RULES."""

    code: str
    stage: Stage
    title: str
    order: int
    """Within its stage: lower is nearer to the cause."""
    find: Callable[[Unit], Finding | None]
    overrides: bool = False
    """It is judged before the stages: the unit ran and lost what it had (`quorum-lost`, `lost-members`)."""
    health: Health | None = None
    """The health that it normally has: for pages that list codes."""
    aside: bool = False
    """It is told beside what decides, and never decides itself."""
    of_room: bool = False
    """It tells what arithmetic finds of the members that wait. It is also asked of all workers without
    a group together, where several of them wait for nodes."""
