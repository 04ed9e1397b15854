"""What every Kubernetes object has: identity, controller, conditions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


def is_job(group: str, kind: str) -> bool:
    """Whether it is the kind of Jobs of Kubernetes itself: others are called so, too."""
    return (group, kind) == ("batch", "Job")


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """Names one object of one cluster. The API group is part of it: four kinds are called PodGroup."""

    group: str
    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def is_job(self) -> bool:
        """Whether it is a Job of Kubernetes itself."""
        return is_job(self.group, self.kind)


def job_ref(namespace: str, name: str, uid: str) -> ObjectRef:
    """Return what names a Job of Kubernetes itself."""
    return ObjectRef("batch", "Job", namespace, name, uid)


def node_ref(name: str) -> ObjectRef:
    """Return a reference to a node. Pages use it to hide the name from users who may not see nodes."""
    return ObjectRef("", "Node", "", name, "")


@dataclass(frozen=True, slots=True)
class Controller:
    """The owner reference with `controller: true`."""

    group: str
    kind: str
    name: str
    uid: str

    @property
    def is_job(self) -> bool:
        """Whether it is a Job of Kubernetes itself."""
        return is_job(self.group, self.kind)


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of `status.conditions`; texts as they were on the wire."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None

    @property
    def is_true(self) -> bool:
        """Whether the status is the word `True`; any unknown word is not."""
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        """Whether the status is the word `False`; any unknown word is not."""
        return self.status == "False"


@dataclass(frozen=True, slots=True)
class Meta:
    """The part of `metadata` that gangboard keeps."""

    api_version: str
    """Version without the group, such as `v1` or `v1alpha2`."""
    ref: ObjectRef
    resource_version: str
    generation: int
    created_at: datetime | None
    deleting_since: datetime | None = None
    controller: Controller | None = None
    owner_uids: tuple[str, ...] = ()
    """uids of all owner references, the controller's included."""
    annotated: bool = False
    """Whether `metadata.annotations` is there at all: a JSON patch cannot add into what is not."""


def find_condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """Return the condition of that type, or None."""
    return next((condition for condition in conditions if condition.type == type_), None)


def first_true_condition(conditions: tuple[Condition, ...], *types: str) -> Condition | None:
    """Return the first of these conditions that is true, in the order of the types; None without one."""
    found = (find_condition(conditions, type_) for type_ in types)
    return next((one for one in found if one is not None and one.is_true), None)


def resumed_at(conditions: tuple[Condition, ...]) -> datetime | None:
    """Return when a Job or JobSet was resumed last; one that never was suspended has no such condition."""
    found = find_condition(conditions, "Suspended")
    return found.since if found is not None and found.is_false else None
