"""The groups of a gang: as a tree, which Jobs are in which, and how the pods of each Job are scheduled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gangboard.domain.text import natural_key
from gangboard.domain.verdict import JobState, MemberState
from gangboard.facts.groups import COMPOSITE
from gangboard.pages.core.rows import shown
from gangboard.readmodels.groups import GroupOfGangRow
from gangboard.readmodels.printable import printable

_MOST_COLUMNS = 12
"""With more Jobs the columns are roles, so that the table stays readable."""


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
    """Return who is in which group; None where each group is for the Jobs of one role alone."""
    parts = {job.ref.name: job.part for job in jobs}
    spanned: dict[str, set[str]] = defaultdict(set)
    for member in members:
        if member.group and member.job in parts:
            spanned[member.group].add(parts[member.job])
    if not any(len(parts_of_group) > 1 for parts_of_group in spanned.values()):
        return None
    of_roles = len(jobs) > _MOST_COLUMNS
    column_of = parts if of_roles else {name: name for name in parts}
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
"""Steps that are drawn; core groups stand four deep at most, and another API's above them."""


def as_tree(rows: Sequence[GroupOfGangRow]) -> tuple[GroupOfGangRow, ...]:
    """Return the rows as a tree: each follows its parent or its Workload, with its depth.

    Rows of one gang, which are in one namespace. Those side by side stay in their order. Where groups own
    each other in a ring, the first of them stands on top.
    """
    labels = {f"{row.kind} {row.name}": row.uid for row in rows}
    below: dict[str, list[GroupOfGangRow]] = defaultdict(list)
    for row in rows:
        below[_above(row, labels)].append(row)
    ordered: dict[str, GroupOfGangRow] = {}
    for top in (*below[""], *rows):
        waiting = [(top, 0)]
        while waiting:
            row, depth = waiting.pop()
            if row.uid not in ordered:
                ordered[row.uid] = replace(row, depth=min(depth, _DEEPEST))
                waiting += [(child, depth + 1) for child in reversed(below[row.uid])]
    return tuple(ordered.values())


def _above(row: GroupOfGangRow, labels: dict[str, str]) -> str:
    """Return the uid of the group that a group names as its parent, else of its controller; empty for none."""
    parent = labels.get(f"{COMPOSITE} {row.parent}") if row.parent else None
    uid = parent or labels.get(row.controller, "")
    return "" if uid == row.uid else uid


SHOWN = 3
"""Names of Jobs before the rest is counted."""


@dataclass(frozen=True, slots=True)
class JobsScheduledAlike:
    """Some Jobs whose pods are scheduled in one way for one reason."""

    label: str
    reason: str
    names: tuple[str, ...]
    """Some of them."""
    count: int

    @property
    def more(self) -> int:
        """How many are not named."""
        return self.count - len(self.names)


def scheduled_alike(jobs: Iterable[tuple[str, str, str]]) -> tuple[JobsScheduledAlike, ...]:
    """Return the ways in which Jobs are scheduled, in the order of the first Job of each.

    A Job is given as its name, how its pods are scheduled, and why.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for name, label, reason in jobs:
        alike.setdefault((label, reason), []).append(name)
    return tuple(
        JobsScheduledAlike(label, reason, tuple(names[:SHOWN]), len(names))
        for (label, reason), names in alike.items()
        if label
    )
