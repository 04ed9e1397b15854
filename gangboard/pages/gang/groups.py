"""The groups of a gang: their tree, the Jobs in each group, and how the pods of Jobs are scheduled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gangboard.domain.text import natural_key
from gangboard.domain.verdict import JobState, MemberState
from gangboard.facts.groups import COMPOSITE
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.groups import GroupOfGangRow

_MOST_COLUMNS = 12
"""Maximum number of Jobs as columns. With more, the columns are roles."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The pods of one Job, or of all Jobs of a role, in one group."""

    pods: int = shown("Pods")
    ready: int = shown("Ready")


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One group."""

    json_name: ClassVar[str] = "MatrixRow"

    group: str = shown("Group", "Its name; null: the pods in no group.", empty_is_null=True)
    cells: tuple[MatrixCell, ...] = shown("Cells")
    """One for each column."""


@dataclass(frozen=True, slots=True)
class GroupMatrix:
    """Groups in rows, Jobs in columns; roles where there are more than 12 Jobs."""

    of_roles: bool = shown("Roles")
    columns: tuple[str, ...] = shown("Columns")
    rows: tuple[MatrixRow, ...] = shown("Rows")


def group_matrix(jobs: Sequence[JobState], members: Sequence[MemberState]) -> GroupMatrix | None:
    """Return the pods per group and Job, or None if each group has Jobs of only one role."""
    roles = {job.ref.name: job.part for job in jobs}
    roles_by_group: dict[str, set[str]] = defaultdict(set)
    for member in members:
        if member.group and member.job in roles:
            roles_by_group[member.group].add(roles[member.job])
    if not any(len(group_roles) > 1 for group_roles in roles_by_group.values()):
        return None
    of_roles = len(jobs) > _MOST_COLUMNS
    column_of = roles if of_roles else {name: name for name in roles}
    columns = tuple(dict.fromkeys(column_of.values()))
    pods: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for member in members:
        if member.job in column_of:
            pods[member.group, column_of[member.job]].append(member.label == "ready")
    groups = sorted({group for group, _ in pods}, key=lambda group: (not group, natural_key(group)))
    return GroupMatrix(
        of_roles,
        tuple(map(printable, columns)),
        tuple(
            MatrixRow(
                printable(group),
                tuple(
                    MatrixCell(len(pods[group, column]), sum(pods[group, column]))
                    for column in columns
                ),
            )
            for group in groups
        ),
    )


_DEEPEST = 4
"""Levels of indentation. Core groups are at most four levels deep."""


def order_as_tree(rows: Sequence[GroupOfGangRow]) -> tuple[GroupOfGangRow, ...]:
    """Return the rows of one gang as a tree: each row follows its parent or Workload, and has its depth.

    Siblings keep their order. If groups own each other in a cycle, the first of them is the root.
    """
    labels = {f"{row.kind} {row.name}": row.uid for row in rows}
    children: dict[str, list[GroupOfGangRow]] = defaultdict(list)
    for row in rows:
        children[_parent_uid(row, labels)].append(row)
    ordered: dict[str, GroupOfGangRow] = {}
    for root in (*children[""], *rows):
        stack = [(root, 0)]
        while stack:
            row, depth = stack.pop()
            if row.uid not in ordered:
                ordered[row.uid] = replace(row, depth=min(depth, _DEEPEST))
                stack += [(child, depth + 1) for child in reversed(children[row.uid])]
    return tuple(ordered.values())


def _parent_uid(row: GroupOfGangRow, labels: dict[str, str]) -> str:
    """Return the uid of the group that a row names as its parent, else of its controller, or empty."""
    parent = labels.get(f"{COMPOSITE} {row.parent}") if row.parent else None
    uid = parent or labels.get(row.controller, "")
    return "" if uid == row.uid else uid


MAX_JOB_NAMES = 3
"""Jobs that are named before the rest is counted."""


@dataclass(frozen=True, slots=True)
class JobsScheduledAlike:
    """Jobs whose pods are scheduled in the same way for the same reason."""

    label: str
    reason: str
    names: tuple[str, ...]
    """The names of at most MAX_JOB_NAMES of them."""
    count: int

    @property
    def unnamed_count(self) -> int:
        """The number of Jobs that `names` does not contain."""
        return self.count - len(self.names)


def group_by_scheduling(jobs: Iterable[tuple[str, str, str]]) -> tuple[JobsScheduledAlike, ...]:
    """Return the Jobs grouped by how their pods are scheduled, in the order of the first Job of each group.

    A Job is a tuple of its name, how its pods are scheduled, and why.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for name, label, reason in jobs:
        groups.setdefault((label, reason), []).append(name)
    return tuple(
        JobsScheduledAlike(label, reason, tuple(names[:MAX_JOB_NAMES]), len(names))
        for (label, reason), names in groups.items()
        if label
    )
