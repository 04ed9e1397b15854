"""What a file in `owners/` offers: a kind of object that a person makes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gangboard.domain.action import Verb
from gangboard.domain.api_resource import Resource
from gangboard.domain.blueprint import Blueprint
from gangboard.domain.owner import Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.traits import NO_TRAITS, KindTraits
from gangboard.domain.verdict import Evidence
from gangboard.plugins.lever import Lever
from gangboard.plugins.rule import UnitRule

if TYPE_CHECKING:
    from gangboard.facts.gang import Gang
    from gangboard.facts.unit import Unit


Jobs = Collection[Owner]
"""Unfinished child Jobs of one gang that are stopped together; at least one."""


@dataclass(frozen=True, slots=True)
class JobConduct:
    """What the controller of a kind does by itself when some of its Jobs are stopped alone."""

    manager: str
    """Its field manager, which undoes a bare suspend of a Job."""
    undone_when: Callable[[Gang], str]
    """When it undoes that: `within a second`."""
    reactions: Callable[[Gang, Owner, Lever, frozenset[str]], tuple[str, ...]]
    """(gang, a Job, its lever, uids of those stopped with it) → what it will do with that Job."""
    outcome: Callable[[Gang, Jobs, Lever], tuple[str, ...]]
    """What becomes of the owner while these Jobs are stopped, and of them when it ends."""
    warnings: Callable[[Gang, Owner, Lever, frozenset[str]], tuple[str, ...]]
    """What to think about before a Job is stopped; as for `reactions`."""


@dataclass(frozen=True, slots=True)
class KindNotes:
    """What the table of kinds says of a kind beside what the registry tells (docs/kinds.md): Markdown."""

    gang: str = ""
    """What one gang of it is."""
    units: str = ""
    """Which groups place its pods together, and what stands for these where there are none."""
    queues: str = ""
    """The admission systems that take it, and how; empty where none does."""
    limits: str = ""
    """What its controller does not allow, or does by itself."""
    tested: str = ""
    """With which controller, or whose CRDs, and on which Kubernetes."""


@dataclass(frozen=True, slots=True)
class OwnerKind:
    """A kind of object a person makes. One file in `owners/` each, in a constant named OWNER."""

    resource: Resource
    label: str
    """How pages call it."""
    notes: KindNotes = KindNotes()
    """What the table of kinds says of it. Required of every kind that is a gang or makes gangs."""
    traits: KindTraits = NO_TRAITS
    """What reasons and advice say of it."""
    tries_again: Callable[[Owner], bool] | None = None
    """Owner → whether what fails of it is made anew. None where it never is, or nobody knows."""
    own_managers: tuple[str, ...] = ()
    """Values of `managed_by_field` that mean its own controller."""
    managed_by_field: tuple[str, ...] = ("spec", "managedBy")
    """Where it says which controller is to look after it."""
    levers: tuple[str, ...] = ()
    """Keys of the levers by which the owner as a whole is suspended where no queue manages it, the best
    first; none: not."""
    no_lever: str = ""
    """Why nothing suspends it, where its controller leaves no way: a sentence; empty where it has levers."""
    child_levers: tuple[str, ...] = ()
    """Keys of the levers by which one of its child Jobs is suspended, the best first."""
    no_child_lever: str = ""
    """Why none of its child Jobs is suspended alone: the end of a sentence; empty where that needs no reason."""
    conduct: JobConduct | None = None
    """What it does while one of its Jobs is stopped. None where nothing of the sort is known."""
    suspend_field: tuple[str, ...] = ("spec", "suspend")
    """Where lever `suspend` writes."""
    suspend_map_missing: Callable[[Owner], bool] | None = None
    """Owner → whether the map that its suspend field stands in is not there. None where it always is."""
    suspended_condition: str = ""
    """Type of the condition by which its controller says that it has acted on its suspension; empty where it
    says no such thing."""
    has_acted: Callable[[Mapping[str, Any]], bool] | None = None
    """`status` as served → whether its controller has acted on its suspension, where it says so in a field
    of its own and not in a condition."""
    refuses: Callable[[Owner, Verb], str] | None = None
    """(owner, verb) → why its controller would not do that with this very object, though the kind has
    levers: a sentence; empty where it would."""
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
    words of the note before the cause; NAMESPACE/NAME in them is the object itself."""
    makers: Callable[[Owner], Iterable[tuple[str, str, str]]] | None = None
    """Owner → (API group, kind, name) of the owners that it makes and that make its Jobs or its pods for it,
    in its namespace. None where it makes these itself, or none."""
    makes: tuple[tuple[str, str], ...] | None = None
    """(API group, kind) of the owners that it makes, directly or through each other: without them nothing can be
    said of its gangs. None where that is not known: then nothing is said while any kind cannot be read."""
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
    pod_marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further labels of its pods → their values, one of which each pod has, where pods of other kinds have
    `pod_label`, too."""
    name_by_pod: Callable[[Pod], str] | None = None
    """Pod → the name of its owner of this kind, where that is told by what stands between them and is not read;
    empty for none. It counts as `pod_label` does."""
    needs_group: bool = False
    """Its pods only take room: one of it is a gang only while its template, or a pod of it, names a group that
    keeps pods together. Its objects are listed only while some pod that may be of it does."""
    selector_label: str = ""
    """Label of all its pods whose value is its name, for commands that select them. Empty where `pod_label` or
    `child_label` is one."""
    rules: tuple[UnitRule, ...] = ()
    """Reasons that only this kind knows, told in codes that others share where there are such. They are asked
    among those of `rules/`, by stage and order, of units of its gangs."""
    evidence: Callable[[Unit], tuple[Evidence, ...]] | None = None
    """Unit of a gang of it → what its own objects say of that: stands behind what is found of the unit."""
    role_of: Callable[[Pod], str] | None = None
    """Pod → the role of the owner that it belongs to, by its labels, or empty: of a kind that makes pods
    without Jobs. Each of its roles is a unit of its own then, but those of which it makes Jobs. None where
    the pods are one unit."""
    placed_with: Callable[[Pod], str] | None = None
    """Pod → the name of the object by which its unit is placed together with others, or empty. Units of such an
    object that wait for nodes are judged together. None if each unit is placed by itself."""
    is_numbered: Callable[[Role], bool] | None = None
    """Role → whether each of its replicas is a unit of its own, `<role>-<index>`, which `role_of` returns. None
    for a kind without such roles."""

    def named_by(self, labels: Mapping[str, str]) -> str:
        """Return the name of the owner of this kind that labels of a pod name, empty for none."""
        name = labels.get(self.pod_label, "") if self.pod_label else ""
        marks = self.pod_marks.items() if name else ()
        return "" if any(labels.get(key) not in values for key, values in marks) else name
