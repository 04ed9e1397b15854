"""Members of a gang as the grid of squares shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gangboard.domain.health import Health
from gangboard.domain.verdict import MemberState
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face, face_of

BLOCK = 64
"""Squares of the member grid that are drawn, and replaced, together."""


@dataclass(frozen=True, slots=True)
class MemberRow:
    """One pod."""

    name: str
    uid: str
    job: str
    group: str
    node: str
    health: str
    face: Face
    label: str
    reason: str
    part: str = ""
    """The role of its owner, such as a replica, where no Job made it."""

    @property
    def sentence(self) -> str:
        """Everything about the square, for a tooltip and for who cannot see it."""
        where = f" on {self.node}" if self.node else ""
        return f"{self.name}: {self.label}{where}" + (f" – {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class MemberBlock:
    """Squares in a row: pods of one Job, or of one role where there are no Jobs, at most BLOCK of them."""

    key: str
    """Unique within the gang; part of an element's id."""
    title: str
    """Name of the Job or role; empty in the second and later blocks of the same."""
    ready: int | None
    """How many are ready now; None when the pods are those of the last look and nobody knows."""
    pods: int
    """Ready and all pods of it, given with its first block."""
    members: tuple[MemberRow, ...]


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
    )


def make_blocks(members: Iterable[MemberRow], *, past: bool = False) -> tuple[MemberBlock, ...]:
    """Return the pods by Job or role, in the order in which they come; `past`: as they were seen last."""
    makers: dict[str, list[MemberRow]] = {}
    for member in members:
        makers.setdefault(member.job or member.part, []).append(member)
    blocks: list[MemberBlock] = []
    for number, (title, pods) in enumerate(makers.items()):
        ready = None if past else sum(member.health == Health.RUNNING for member in pods)
        for start in range(0, len(pods), BLOCK):
            squares = tuple(pods[start : start + BLOCK])
            first = start == 0
            blocks.append(
                MemberBlock(
                    key=f"{number}-{start // BLOCK}",
                    title=(title or "no Job") if first else "",
                    ready=ready if first else 0,
                    pods=len(pods) if first else 0,
                    members=squares,
                )
            )
    return tuple(blocks)
