"""Members of a gang for its tree: grouped by Job or role, with healthy groups folded and equal pods counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.health import Health
from gangboard.domain.verdict import MemberState
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.state_labels import Face, face_of, past_face

ALIKE = 4
"""Pods in the same state that are shown. Further ones are counted."""
FEW = 8
"""A Job with at most this many pods shows all of them if one is unhealthy."""
EVERY = "*"
"""Placeholder for all Jobs and roles in a list of opened ones."""
_ORDER = [health.value for health in Health]
WELL = (Health.RUNNING, Health.SUCCEEDED)
"""Healthy states of a pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A pod."""

    name: str = shown("Pod")
    uid: str = shown("UID")
    job: str = shown("Job", empty_is_null=True)
    node: str = shown("Node", empty_is_null=True)
    health: str = shown("State", api_name="state", choices=Health)
    label: str = shown("Word", "Its state in a word of Kubernetes.")
    reason: str = shown("Reason", empty_is_null=True)
    group: str = shown("Group", empty_is_null=True)
    since: datetime | None = shown("Since", "Since when it is in this state.", default=None)
    restarts: int = shown("Restarts", "Of all its containers.", default=0)
    container: str = shown(
        "Container",
        "The one that ended with an error or does not come up.",
        empty_is_null=True,
        default="",
    )
    exit_code: int | None = shown(
        "Exit code", "With which that container ended last.", default=None
    )
    is_past: bool = shown(
        "Past",
        "True for its last state: its gang was deleted, or its cluster does not answer.",
        api_name="past",
        default=False,
    )
    face: Face
    part: str = ""
    """Its role in the owner, such as a replica, if no Job made it."""

    @property
    def state(self) -> Face:
        """Its state with its own label: `Ready`, `Not starting`."""
        return replace(self.face, label=self.label[:1].upper() + self.label[1:])

    @property
    def end_text(self) -> str:
        """The last exit of its container: `main ended with 137`. Empty without one."""
        return "" if self.exit_code is None else f"{self.container} ended with {self.exit_code}"

    @property
    def is_well(self) -> bool:
        """Whether it is healthy."""
        return self.health in WELL


@dataclass(frozen=True, slots=True)
class EqualMembers:
    """Pods of one Job or role in the same state that are only counted."""

    count: int
    state: Face
    reason: str


@dataclass(frozen=True, slots=True)
class Branch:
    """The pods of one Job, or of one role without Jobs."""

    name: str
    """Name of the Job or role. Empty for pods that no known Job or role made."""
    pods: int
    ready: int
    succeeded: int
    rows: tuple[MemberRow, ...]
    """Pods that are shown by name."""
    folded: tuple[EqualMembers, ...]
    """The other pods, counted by state."""
    nodes: tuple[str, ...]
    """The nodes of its pods, in the order of the pods."""
    restarts: int
    since: datetime | None
    """Since when all its pods are healthy, or since when the first unhealthy pod is in its state."""
    is_open: bool
    """Whether the user has opened it to see all pods."""
    is_past: bool
    """Whether the states of its pods are their last ones."""

    @property
    def hides(self) -> bool:
        """Whether some pods are folded."""
        return bool(self.folded)

    @property
    def worst(self) -> Face:
        """The worst state of its pods. A last state is grey."""
        healths = [row.face.word for row in self.rows] + [pods.state.word for pods in self.folded]
        face = face_of(min(healths, key=_ORDER.index))
        return past_face(face) if self.is_past else face


def member_row(member: MemberState) -> MemberRow:
    """Return a pod as a row."""
    return MemberRow(
        name=printable(member.ref.name),
        uid=member.ref.uid,
        job=printable(member.job),
        group=printable(member.group),
        node=printable(member.node),
        health=member.state.value,
        face=face_of(member.state),
        label=printable(member.label),
        reason=printable(member.reason),
        part=printable(member.part),
        since=member.since,
        restarts=member.restarts,
        container=printable(member.container),
        exit_code=member.exit_code,
    )


def make_branches(
    members: Iterable[MemberRow], *, opened: Collection[str] = ()
) -> tuple[Branch, ...]:
    """Return the pods by Job or role in their order. `opened` are the names of those that show all pods."""
    makers: dict[str, list[MemberRow]] = {}
    for member in members:
        makers.setdefault(member.job or member.part, []).append(member)
    return tuple(
        _branch(name, pods, name in opened or EVERY in opened) for name, pods in makers.items()
    )


def _branch(name: str, pods: list[MemberRow], is_open: bool) -> Branch:
    rows = tuple(pods) if is_open else _named(pods)
    named = {row.uid for row in rows}
    states = Counter(_alike(row) for row in pods if row.uid not in named)
    unwell = [row for row in pods if not row.is_well]
    times = [row.since for row in unwell or pods if row.since is not None]
    return Branch(
        name=name,
        pods=len(pods),
        ready=sum(row.health == Health.RUNNING for row in pods),
        succeeded=sum(row.health == Health.SUCCEEDED for row in pods),
        rows=rows,
        folded=tuple(EqualMembers(count, *state) for state, count in states.items()),
        nodes=tuple(dict.fromkeys(row.node for row in pods if row.node)),
        restarts=sum(row.restarts for row in pods),
        since=(min(times) if unwell else max(times)) if times else None,
        is_open=is_open,
        is_past=any(row.is_past for row in pods),
    )


def _named(pods: list[MemberRow]) -> tuple[MemberRow, ...]:
    """Return the pods to show in a Job that is not opened: none of a healthy Job, else some of each unhealthy state."""
    if all(row.is_well for row in pods):
        return ()
    if len(pods) <= FEW:
        return tuple(pods)
    counts: Counter[tuple[Face, str]] = Counter()
    named = []
    for row in pods:
        counts[_alike(row)] += 1
        if not row.is_well and counts[_alike(row)] <= ALIKE:
            named.append(row)
    return tuple(named)


def _alike(row: MemberRow) -> tuple[Face, str]:
    return row.state, row.reason
