"""Members of a gang as the tree shows them: by Job or role, whole ones folded, equal ones counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.health import Health
from gangboard.domain.verdict import MemberState
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.state_labels import Face, face_of

ALIKE = 4
"""Pods in the same state that are shown before the rest of them is counted."""
FEW = 8
"""Pods of a Job that are all shown when one of them is not well."""
EVERY = "*"
"""Stands for all Jobs and roles where their names say which are open."""
_ORDER = [health.value for health in Health]
WELL = (Health.RUNNING, Health.SUCCEEDED)
"""States with which nothing is the matter."""


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
    face: Face
    part: str = ""
    """The role of its owner, such as a replica, where no Job made it."""

    @property
    def state(self) -> Face:
        """Its state in the word of its own: `Ready`, `Not starting`."""
        return replace(self.face, label=self.label[:1].upper() + self.label[1:])

    @property
    def end_text(self) -> str:
        """How its container ended last, or empty: `main ended with 137`."""
        return "" if self.exit_code is None else f"{self.container} ended with {self.exit_code}"

    @property
    def is_well(self) -> bool:
        """Whether nothing is the matter with it."""
        return self.health in WELL


@dataclass(frozen=True, slots=True)
class EqualMembers:
    """Pods of one Job or role in the same state that are counted, not named."""

    count: int
    state: Face
    reason: str


@dataclass(frozen=True, slots=True)
class Branch:
    """The pods of one Job, or of one role where there are no Jobs."""

    name: str
    """Of the Job or role; empty for pods that no known one made."""
    pods: int
    ready: int
    succeeded: int
    rows: tuple[MemberRow, ...]
    """Those that are named."""
    folded: tuple[EqualMembers, ...]
    """The others, counted by state."""
    nodes: tuple[str, ...]
    """Where its pods are, in the order of the pods."""
    restarts: int
    since: datetime | None
    """Whole: since when; else since when the first of its pods that is not well is as it is."""
    is_open: bool
    """All its pods were asked for."""

    @property
    def hides(self) -> bool:
        """Whether there is more to open."""
        return bool(self.folded)

    @property
    def worst(self) -> Face:
        """The state of the pods that are worst off."""
        words = [row.face.word for row in self.rows] + [one.state.word for one in self.folded]
        return face_of(min(words, key=_ORDER.index))


def member_row(member: MemberState) -> MemberRow:
    """Return one pod."""
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
    """Return the pods by Job or role, in the order in which they come; `opened` names what shows all."""
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
    )


def _named(pods: list[MemberRow]) -> tuple[MemberRow, ...]:
    """Return the pods that are shown unasked: none of a whole Job; of each state some, the bad ones first."""
    if all(row.is_well for row in pods):
        return ()
    if len(pods) <= FEW:
        return tuple(pods)
    seen: Counter[tuple[Face, str]] = Counter()
    named = []
    for row in pods:
        seen[_alike(row)] += 1
        if not row.is_well and seen[_alike(row)] <= ALIKE:
            named.append(row)
    return tuple(named)


def _alike(row: MemberRow) -> tuple[Face, str]:
    return row.state, row.reason
