"""Which Jobs of a gang are in which of its groups, where one group has Jobs of several roles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gangboard.domain.text import natural
from gangboard.domain.verdict import JobState, MemberState
from gangboard.readmodels.printable import printable

_MOST_COLUMNS = 12
"""Of more Jobs a column is a role, so that the table can be read."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The pods of one Job, or of all Jobs of a role, in one group."""

    pods: int
    ready: int


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One group; empty name for the pods in none."""

    group: str
    cells: tuple[MatrixCell, ...]
    """One for each column."""


@dataclass(frozen=True, slots=True)
class GroupMatrix:
    """Groups in rows, Jobs or roles in columns."""

    of_roles: bool
    """The columns are roles, as there are too many Jobs."""
    columns: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


def group_matrix(jobs: Sequence[JobState], members: Sequence[MemberState]) -> GroupMatrix | None:
    """Return who is in which group; None where each group is for the Jobs of one role alone."""
    parts = {job.ref.name: job.part for job in jobs}
    spanned: dict[str, set[str]] = defaultdict(set)
    for member in members:
        if member.group and member.job in parts:
            spanned[member.group].add(parts[member.job])
    if not any(len(found) > 1 for found in spanned.values()):
        return None
    of_roles = len(jobs) > _MOST_COLUMNS
    column_of = parts if of_roles else {name: name for name in parts}
    columns = tuple(dict.fromkeys(column_of.values()))
    pods: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for member in members:
        if member.job in column_of:
            pods[member.group, column_of[member.job]].append(member.label == "ready")
    groups = sorted({group for group, _ in pods}, key=lambda group: (not group, natural(group)))
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
