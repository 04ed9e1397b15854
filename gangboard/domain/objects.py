"""Parts of every Kubernetes object: identity, controller and conditions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


def is_job(group: str, kind: str) -> bool:
    """Return whether the kind is batch/v1 Job. Other API groups also have a kind named Job."""
    return (group, kind) == ("batch", "Job")


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """Reference to an object of a cluster. It has the API group, because four kinds are named PodGroup."""

    group: str
    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def is_job(self) -> bool:
        """Whether it is a batch/v1 Job."""
        return is_job(self.group, self.kind)


def job_ref(namespace: str, name: str, uid: str) -> ObjectRef:
    """Return a reference to a batch/v1 Job."""
    return ObjectRef("batch", "Job", namespace, name, uid)


def node_ref(name: str) -> ObjectRef:
    """Return a reference to a node. Pages use it to hide the name from users who may not see nodes."""
    return ObjectRef("", "Node", "", name, "")


@dataclass(frozen=True, slots=True)
class Controller:
    """Owner reference with `controller: true`."""

    group: str
    kind: str
    name: str
    uid: str

    @property
    def is_job(self) -> bool:
        """Whether it is a batch/v1 Job."""
        return is_job(self.group, self.kind)


@dataclass(frozen=True, slots=True)
class Condition:
    """Entry of `status.conditions`, with its texts as served."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: datetime | None = None

    @property
    def is_true(self) -> bool:
        """Whether the status is `True`. An unknown status is neither true nor false."""
        return self.status == "True"

    @property
    def is_false(self) -> bool:
        """Whether the status is `False`. An unknown status is neither true nor false."""
        return self.status == "False"


@dataclass(frozen=True, slots=True)
class Meta:
    """Fields of `metadata` that gangboard stores."""

    api_version: str
    """Version without the group, such as `v1` or `v1alpha2`."""
    ref: ObjectRef
    resource_version: str
    generation: int
    created_at: datetime | None
    deleting_since: datetime | None = None
    controller: Controller | None = None
    owner_uids: tuple[str, ...] = ()
    """uids of all owner references, including the controller."""
    annotated: bool = False
    """Whether `metadata.annotations` exists. A JSON patch cannot add a key to a missing map."""


def find_condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """Return the condition with this type, or None."""
    return next((condition for condition in conditions if condition.type == type_), None)


def first_true_condition(conditions: tuple[Condition, ...], *types: str) -> Condition | None:
    """Return the first true condition, in the order of the types, or None."""
    candidates = (find_condition(conditions, type_) for type_ in types)
    return next(
        (condition for condition in candidates if condition is not None and condition.is_true), None
    )


def resumed_at(conditions: tuple[Condition, ...]) -> datetime | None:
    """Return when a Job or JobSet was last resumed, or None if it has never been suspended."""
    suspended = find_condition(conditions, "Suspended")
    return suspended.since if suspended is not None and suspended.is_false else None
