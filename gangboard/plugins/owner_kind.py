"""The base class of the files in `owners/`. Each describes one kind of object that people create."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gangboard.decode.annotations import WireActionAnnotations
from gangboard.decode.jobs import read_managed_by
from gangboard.decode.key_fields import key_fields
from gangboard.decode.managed_fields import field_writer, last_writer
from gangboard.decode.owner_meta import WireOwnerMeta, decode_annotations, first_label
from gangboard.decode.wire import read_meta, read_time
from gangboard.domain.action import Verb
from gangboard.domain.api_resource import Resource
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import Group, GroupFate
from gangboard.domain.objects import Meta
from gangboard.domain.owner import Blueprint, Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.suspension import FieldWriter
from gangboard.domain.traits import NO_TRAITS, KindTraits
from gangboard.domain.verdict import Evidence
from gangboard.plugins.lever import Lever
from gangboard.plugins.rule import UnitRule

if TYPE_CHECKING:
    from gangboard.facts.gang import Gang
    from gangboard.facts.surroundings import Surroundings
    from gangboard.facts.unit import Unit
    from gangboard.policy.exclusions import Exclusion


Jobs = Collection[Owner]
"""Unfinished child Jobs of one gang that are stopped together. There is at least one."""


@dataclass(frozen=True, slots=True)
class KindNotes:
    """Columns of the table of kinds in docs/kinds.md that do not follow from the class, in Markdown."""

    gang: str = ""
    """A description of one gang."""
    units: str = ""
    """The groups that place its pods together, and the units of a gang without such groups."""
    queues: str = ""
    """The admission systems that support it, and how; empty for none."""
    limits: str = ""
    """Restrictions of its controller, and its automatic actions."""
    tested: str = ""
    """The tested controller or CRDs, and the version of Kubernetes."""


class JobConduct:
    """Behaviour of a kind's controller while some of its Jobs are stopped alone. The defaults mean unknown."""

    manager: str = ""
    """The field manager that undoes a plain suspend of a Job; empty if unknown."""

    def undone_when(self, gang: Gang) -> str:
        """Return when the controller undoes a plain suspend, such as `within a second`; empty if unknown."""
        return ""

    def reactions(
        self, gang: Gang, job: Owner, lever: Lever, chosen: frozenset[str]
    ) -> tuple[str, ...]:
        """Return the controller's actions on a Job that a lever stops. `chosen` are the uids stopped with it."""
        return ()

    def outcome(self, gang: Gang, jobs: Jobs, lever: Lever) -> tuple[str, ...]:
        """Return the effect on the owner while these Jobs are stopped, and on the Jobs when it ends."""
        return ()

    def warnings(
        self, gang: Gang, job: Owner, lever: Lever, chosen: frozenset[str]
    ) -> tuple[str, ...]:
        """Return warnings for the user before a Job is stopped. Arguments as for `reactions`."""
        return ()

    def relocation_refusal(
        self, gang: Gang, job: Owner, exclusion: Exclusion, surroundings: Surroundings
    ) -> str:
        """Return why a Job must not leave a place alone (a sentence), or empty."""
        return ""

    def relocation_reactions(self, gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
        """Return the controller's behaviour while one of its Jobs moves, and when the exclusion is lost.

        The kind Job describes the Job controller here, for each Job.
        """
        return ()

    def relocation_warnings(self, gang: Gang, job: Owner, pods: Sequence[Pod]) -> tuple[str, ...]:
        """Return warnings before one of its Jobs moves. `pods` are the present pods of the Job."""
        return ()


class OwnerKind:
    """A kind of object that people create. The registry instantiates each subclass in `owners/` that has a `kind`.

    A simple kind sets `group`, `kind`, `versions` and `wire` and overrides `build`. Attributes hold for every
    object, methods depend on one object.
    """

    # Resource

    group: str
    kind: str = ""
    """The name of the kind; empty for a class that is only a base of others."""
    plural: str = ""
    """The name in URLs. The default is the kind in lower case with an `s`."""
    versions: tuple[str, ...]
    """API versions that `build` can read, the preferred one first."""
    wire: type[Any]
    """The narrow msgspec struct for decoding. Mark its typical fields as `KeyField`."""
    needed: bool = True
    """Gangs of the kind are unknown while the cluster serves the kind and gangboard cannot read it."""
    blueprints: tuple[Resource, ...] = ()
    """Resources of the templates that an object names and is made from. Their model is `Blueprint`."""

    # Texts

    label: str = ""
    """The kind's name on pages. The default is the kind."""
    notes: KindNotes = KindNotes()
    """The kind's row in the table of kinds. Required if the kind is a gang or makes gangs."""
    traits: KindTraits = NO_TRAITS
    """The kind's terms in reasons and advice."""

    # Ownership

    makes: tuple[tuple[str, str], ...] | None = None
    """(API group, kind) of the owners that it makes, directly or through each other.

    While one of them cannot be read, its gangs are unknown. Without a list (None), any kind that cannot be read
    makes its gangs unknown.
    """
    makes_gangs: bool = False
    """Objects of the kind make one gang after the other, as a CronJob does, and are not gangs themselves."""
    stands_alone: bool = True
    """False for a kind between an owner and its pods, which is never a gang.

    Without a known owner above it, its pods count as pods of an unknown owner.
    """
    needs_group: bool = False
    """An object is a gang only while its template, or one of its pods, names a group that keeps pods together.

    Objects are listed only while such a pod may exist.
    """
    child_label: str = ""
    """Label of its child Jobs with its name as the value. It reduces the listed Jobs. Empty for none."""
    pod_label: str = ""
    """Label of its pods with its name as the value; empty for none.

    The owner adopts pods of its namespace by this label if no owner reference leads from them to a known owner.
    """
    pod_marks: Mapping[str, tuple[str, ...]] = {}
    """Further labels of its pods → allowed values, if pods of other kinds also have `pod_label`."""
    selector_label: str = ""
    """Label of all its pods with its name as the value, for kubectl commands.

    Empty if `pod_label` or `child_label` is one.
    """

    # Actions

    levers: tuple[str, ...] = ()
    """Keys of the levers that suspend the whole owner outside of queues, the best first; empty for none."""
    no_lever: str = ""
    """A sentence that says why no lever suspends it. Empty if it has levers."""
    child_levers: tuple[str, ...] = ()
    """Keys of the levers that suspend one of its child Jobs, the best first."""
    no_child_lever: str = ""
    """End of a sentence that says why its child Jobs cannot be suspended alone; empty if that needs no reason."""
    relocation_levers: tuple[str, ...] = ()
    """Keys of the levers that relocate an object of this kind without an owner, the best first."""
    child_relocation_levers: tuple[str, ...] = ()
    """Keys of the levers that relocate one of its child Jobs, the best first."""
    conduct: JobConduct = JobConduct()
    """Behaviour of its controller while one of its Jobs is stopped."""
    suspend_field: tuple[str, ...] = ("spec", "suspend")
    """The field that lever `suspend` writes."""
    suspended_condition: str = ""
    """Type of the condition that reports a finished suspension; see `has_acted`."""
    own_managers: tuple[str, ...] = ()
    """Values of `managed_by_field` that mean its own controller. With other values no lever changes the object."""
    managed_by_field: tuple[str, ...] = ("spec", "managedBy")
    """The field that names the controller of an object."""

    # Rules

    rules: tuple[UnitRule, ...] = ()
    """Rules that only this kind has. They use shared codes if possible.

    They run together with those of `rules/`, by stage and order, for units of its gangs.
    """
    event_reasons: Mapping[str, str] = {}
    """Reasons of the events in which its controller reports a failed creation → the prefix of the message.

    NAMESPACE/NAME in a prefix stands for the object.
    """

    def __init__(self, queue_labels: Sequence[str] = ()) -> None:
        """Store the labels of the admission systems whose value is the queue of an owner."""
        self._queue_labels = tuple(queue_labels)
        self.label = self.label or self.kind
        self.plural = self.plural or f"{self.kind.lower()}s"

    # Decoding

    @property
    def all_levers(self) -> tuple[str, ...]:
        """Keys of the levers for its objects and for their child Jobs."""
        return (
            *self.levers,
            *self.relocation_levers,
            *self.child_levers,
            *self.child_relocation_levers,
        )

    @cached_property
    def resource(self) -> Resource:
        """The resource for listing and decoding its objects."""
        return Resource(
            group=self.group,
            plural=self.plural,
            kind=self.kind,
            versions=self.versions,
            wire=self.wire,
            model=Owner,
            build=self.build,
            needed=self.needed,
            reads=self._queue_labels,
            fields=key_fields(self.wire),
        )

    def build(self, wire: Any, version: str) -> Owner:
        """Return the owner that a decoded object describes. Raises DecodeError and PartlyDecoded."""
        raise NotImplementedError

    def read_meta(self, wire: Any, version: str) -> Meta:
        """Return the metadata of an object of this kind. Raises DecodeError."""
        return read_meta(wire.metadata, self.group, self.kind, version)

    def read_control(self, wire: Any, managed_by: str | None = None) -> dict[str, Any]:
        """Return the fields of an Owner about its control: queue, manager, last writer and action.

        `managed_by` is the value of `managed_by_field`. Raises ValueError for annotations that are no text.
        """
        metadata = wire.metadata
        writer, set_at = last_writer(metadata.managed_fields, f"/{'/'.join(self.suspend_field)}")
        return {
            "queue": self.read_queue(metadata),
            "managed_by": read_managed_by(managed_by, self.own_managers),
            "suspend_set_by": writer,
            "suspend_set_at": read_time(set_at),
            "last_action": decode_annotations(metadata, WireActionAnnotations).last_action,
        }

    def read_pause(
        self, wire: Any, pods: int, pointer: str = "/spec/replicas"
    ) -> FieldWriter | None:
        """Return who set the number of pods at `pointer` to 0, or None if it is not 0.

        None also if `managedFields` names nobody, as after `kubectl scale --replicas=0` (observed on 1.37.2).
        """
        return None if pods else field_writer(wire.metadata.managed_fields, pointer)

    def read_queue(self, metadata: WireOwnerMeta) -> str:
        """Return the queue that a label of an admission system names; empty for none."""
        return first_label(metadata, self._queue_labels)

    def complete(
        self, owner: Owner, children: Sequence[Owner], blueprints: Sequence[Blueprint]
    ) -> Owner:
        """Return the owner with the size, roles and policies that its own spec does not have.

        `children` are the known owners that it made for its current attempt, `blueprints` the known ones of
        `Owner.blueprints`.
        """
        return owner

    # Manifests that no cluster has yet

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return the objects that the controller creates from a new object at once, as it would write them.

        These are its direct children only, such as the child Jobs of an owner or the pods of a Job, with its groups.
        They have no uid and no owner reference, which the caller adds. Children that wait for others
        (`Role.depends_on`) are not among them, unless the context says that they are created. A manifest that another
        object created has its owner reference, which decides whether a controller creates a group for it. Raises
        CreationUnknownError.
        """
        return ()

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return why the API server, a webhook or the controller would refuse the object."""
        return ()

    # Ownership of objects

    def is_current(self, owner: Owner, child: Owner) -> bool:
        """Return whether the child belongs to the current attempt of the owner."""
        return True

    def makers(self, owner: Owner) -> Iterable[tuple[str, str, str]]:
        """Return (API group, kind, name) of the objects that it makes and that make its Jobs or pods.

        They are in the namespace of the owner.
        """
        return ()

    def name_by_pod(self, pod: Pod) -> str:
        """Return the owner's name if a pod names an unread object between them; empty for none.

        It has the same effect as `pod_label`.
        """
        return ""

    def named_by(self, labels: Mapping[str, str]) -> str:
        """Return the name of the owner of this kind in the labels of a pod; empty for none."""
        name = labels.get(self.pod_label, "") if self.pod_label else ""
        marks = self.pod_marks.items() if name else ()
        return "" if any(labels.get(key) not in values for key, values in marks) else name

    # Roles and units

    def role_of(self, pod: Pod) -> str:
        """Return the role of the owner that a pod belongs to by its labels, or empty.

        Override it for a kind that makes pods without Jobs. Each role without Jobs then is a unit.
        """
        return ""

    def is_numbered(self, role: Role) -> bool:
        """Return whether each replica of a role is a unit: `<role>-<index>`, which `role_of` returns."""
        return False

    def placed_with(self, pod: Pod) -> str:
        """Return the object that places the pod's unit together with others, or empty.

        Units of such an object that wait for nodes are assessed together.
        """
        return ""

    @classmethod
    def overrides(cls, method: str) -> bool:
        """Return whether the kind has its own version of a method, so that callers can skip loops over pods."""
        return getattr(cls, method) is not getattr(OwnerKind, method)

    # Texts and evidence of an object

    def facts(self, owner: Owner) -> Mapping[str, str]:
        """Return label → text of further facts for its page and the API."""
        return {}

    def sentence(self, owner: Owner) -> str:
        """Return a sentence about it for the pages of its gangs, if it `makes_gangs`."""
        return ""

    def evidence(self, unit: Unit) -> tuple[Evidence, ...]:
        """Return evidence of its own objects, which the engine adds to any finding of the unit."""
        return ()

    def tries_again(self, owner: Owner) -> bool:
        """Return whether its controller replaces failed children. False if that is unknown."""
        return False

    # Suspending and resuming

    def refuses(self, owner: Owner, verb: Verb) -> str:
        """Return why its controller would not suspend or resume this object (a sentence), or empty."""
        return ""

    def suspend_map_missing(self, owner: Owner) -> bool:
        """Return whether the object lacks the map of `suspend_field`.

        A JSON patch cannot add a key to a missing map.
        """
        return False

    def has_acted(self, status: Mapping[str, Any]) -> bool:
        """Return whether `status` confirms a suspension. True if the kind does not report it."""
        condition_type = self.suspended_condition
        return not condition_type or any(
            condition["type"] == condition_type and condition["status"] == "True"
            for condition in status.get("conditions") or ()
        )

    def reactions(self, owner: Owner, target: Owner, verb: Verb) -> tuple[str, ...] | None:
        """Return the reactions of its controller when `target` is suspended or resumed.

        The target is the owner or an object of it. The page shows the reactions before the click. If this
        returns None, the page shows those of the lever.
        """
        return None

    def group_fate(
        self, owner: Owner, group: Group, kubernetes: tuple[int, int] | None
    ) -> GroupFate | None:
        """Return what happens to a group of the owner when the owner is suspended. None: it is not known.

        `kubernetes` is the version of the API server, such as (1, 37), or None if unknown.
        """
        return None


def copy_fields(owner: Owner, source: Owner, names: Iterable[str]) -> Owner:
    """Return the owner with these fields of another one."""
    fields: dict[str, Any] = {name: getattr(source, name) for name in names}
    return replace(owner, **fields)
