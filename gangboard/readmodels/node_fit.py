"""Which waiting gangs would fit on one node, and the one thing that keeps each of the others out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from gangboard.domain.capacity import PODS, Shape
from gangboard.domain.node import Node
from gangboard.domain.placement_result import Constraint, Filter
from gangboard.domain.pod import Pod
from gangboard.domain.resource_units import base_units, decimal_text
from gangboard.domain.resources import unit_word
from gangboard.domain.text import all_of, sentence_case
from gangboard.domain.verdict import FitRow, MemberState
from gangboard.placement.one_node import NodeAnswer, OneNode
from gangboard.plugins import registry
from gangboard.readmodels.fit import asks_text
from gangboard.readmodels.gangs import GangRow
from gangboard.readmodels.printable import printable
from gangboard.readmodels.quantities import quantity_text
from gangboard.store.models import Gang
from gangboard.store.objects import read_objects

PODS_ASKED = 12
"""Waiting pods of one gang that are read at the most: pods of one Job ask for the same."""
FITS, UNCORDON, OUT, UNCLEAR = "fits", "fits-uncordoned", "kept-out", "cannot-tell"
ANSWERS = (FITS, UNCORDON, OUT, UNCLEAR)
"""What a node can say, as the API spells it."""
_MARKS = {FITS: "✓", UNCORDON: "✓", OUT: "✕", UNCLEAR: "?"}
_TONES = {FITS: "running", UNCORDON: "degraded", OUT: "unknown", UNCLEAR: "unknown"}


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A gang of which pods wait for a node, and what this node says to it."""

    gang: GangRow
    pods: int
    """Its pods that wait."""
    asks: str
    """What one of them asks for, as a person reads it; of several shapes that which asks for the most."""
    answer: str
    """One of ANSWERS."""
    fitting: int
    """Pods that fit here now, or once it is uncordoned."""
    sentence: str
    at_most: tuple[str, ...] = ()
    """What else its pods ask for and was not worked out: it may still not fit."""

    @property
    def shown(self) -> tuple[object, ...]:
        """All that is printed of it."""
        return self.gang.shown, self.pods, self.asks, self.answer, self.sentence, self.at_most

    @property
    def would_fit(self) -> bool:
        """Whether some of its pods would, now or once the node is uncordoned."""
        return self.answer in (FITS, UNCORDON)

    @property
    def mark(self) -> str:
        """The sign beside the sentence."""
        return _MARKS[self.answer]

    @property
    def tone(self) -> str:
        """The pair of colours of the sign."""
        return _TONES[self.answer]


@dataclass(frozen=True, slots=True)
class KeptOut:
    """Gangs that the same thing keeps out, or of which the same cannot be told."""

    mark: str
    tone: str
    sentence: str
    rows: tuple[WaitingRow, ...]


def kept_out(rows: Iterable[WaitingRow]) -> tuple[KeptOut, ...]:
    """Return those that would not fit by what keeps them out, in the order of their first gangs."""
    alike: dict[tuple[str, str, str], list[WaitingRow]] = {}
    for row in rows:
        if not row.would_fit:
            alike.setdefault((row.mark, row.tone, row.sentence), []).append(row)
    return tuple(KeptOut(*what, tuple(of)) for what, of in alike.items())


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What is needed of a stored Detail; the decoder skips everything else."""

    fit: tuple[FitRow, ...] = ()
    members: tuple[MemberState, ...] = ()


_decoder = msgspec.msgpack.Decoder(_Waiting)


def waiting_rows(
    cluster_id: int,
    gangs: Sequence[tuple[Gang, GangRow]],
    node: Node,
    there: Sequence[Pod],
) -> tuple[WaitingRow, ...]:
    """Return what a node says to each gang of which pods wait (1 query): those that fit first.

    `gangs` with their rows as the viewer is shown them; `there`: the pods on the node.
    """
    details = [(row, _decoder.decode(bytes(gang.detail))) for gang, row in gangs]
    chosen = {row.id: _some_waiting(detail.members) for row, detail in details if detail.fit}
    models = {registry.pods().key: Pod}
    pods = read_objects(cluster_id, {uid for some in chosen.values() for uid in some}, models)
    asked = OneNode(node, there, pods.values())
    rows = [
        _row(row, detail.fit, asked, [pods[uid] for uid in chosen[row.id] if uid in pods])
        for row, detail in details
        if row.id in chosen
    ]
    return tuple(sorted(rows, key=lambda row: ANSWERS.index(row.answer)))


def _some_waiting(members: Iterable[MemberState]) -> list[str]:
    """Return the uids of one waiting pod of each Job or role, then of others."""
    firsts: dict[tuple[str, str, str], str] = {}
    others: list[str] = []
    for member in members:
        if member.node or member.label != "waiting":
            continue
        kind = (member.job, member.part, member.group)
        if kind in firsts:
            others.append(member.ref.uid)
        else:
            firsts[kind] = member.ref.uid
    return [*firsts.values(), *others][:PODS_ASKED]


def _row(gang: GangRow, fit: Sequence[FitRow], node: OneNode, pods: Sequence[Pod]) -> WaitingRow:
    answers = [(shape, node.ask(shape)) for shape in node.shapes(pods)]
    shape, best = min(answers, key=lambda one: _rank(one[1]), default=(None, None))
    largest = max(fit, key=lambda row: row.waiting)
    waiting = sum(row.waiting for row in fit)
    asks = asks_text(tuple((printable(name), text) for name, text in largest.requests.items()))
    if shape is None or best is None:
        sentence = "What its waiting pods ask for has not been read."
        return WaitingRow(gang, waiting, asks, UNCLEAR, 0, sentence)
    fitting = min(best.pods, waiting)
    beside = tuple(
        dict.fromkeys(
            printable(text) for row in fit for text in (*shape.unsupported, *row.unsupported)
        )
    )
    return WaitingRow(
        gang,
        waiting,
        asks,
        _answer(best),
        fitting,
        printable(_sentence(best, shape, fitting, waiting)),
        beside if best.pods else (),
    )


def _answer(found: NodeAnswer) -> str:
    if found.unclear:
        return UNCLEAR
    if not found.pods:
        return OUT
    return UNCORDON if found.cordoned else FITS


def _rank(found: NodeAnswer) -> tuple[int, bool]:
    """Sort what fits first, then what has only no room now."""
    return ANSWERS.index(_answer(found)), found.filter is not None


_SENTENCES = {
    Filter.POD_AFFINITY: "Must be near pods that are elsewhere.",
    Filter.UNSAID: "This node has not said yet what it offers.",
    Filter.NOT_READY: "This node is not ready.",
    Filter.HOST_PORT: "A host port that it needs is taken by a pod that stays.",
    Filter.ANTI_AFFINITY: "A pod that stays here keeps it away.",
}
_LIMITS = {
    PODS: "This node has as many pods as it takes.",
    Constraint.HOST_PORTS: "A host port that it needs is taken.",
    Constraint.ANTI_AFFINITY: "A pod that is here keeps it away.",
}


def _sentence(found: NodeAnswer, shape: Shape, fitting: int, waiting: int) -> str:
    if found.unclear:
        return f"Cannot be told: {', '.join(found.unclear)}."
    if found.pods:
        once = "once uncordoned" if found.cordoned else "now"
        if waiting == 1:
            return f"Its pod fits {once}."
        if fitting == waiting:
            return f"{sentence_case(all_of(waiting, 'pod'))} fit {once}."
        return f"{fitting} of {waiting} pods fit {once}."
    if found.filter is not None:
        return _never(found, found.filter, shape)
    if found.limit in _LIMITS:
        return _LIMITS[found.limit]
    asked, there = _amount(found.limit, found.asked), _amount(found.limit, max(0, found.there))
    return f"Needs {asked} {unit_word(found.limit, asked)}; {there} free."


def _never(found: NodeAnswer, why: Filter, shape: Shape) -> str:
    if why is Filter.SELECTOR:
        pairs = [f"{label}={value}" for label, value in sorted(shape.node_selector.items())]
        if pairs and shape.affinity is None:
            return f"Wants nodes with {', '.join(pairs)}."
        return "Its node selector or affinity leaves this node out."
    if why is Filter.MISSING_RESOURCE:
        return f"This node has no {found.detail}."
    if why is Filter.TOO_SMALL:
        asked, there = (
            _amount(found.detail, found.asked),
            _amount(found.detail, max(0, found.there)),
        )
        unit = unit_word(found.detail, asked)
        return f"Needs {asked} {unit}; this node has {there}, even empty."
    if why is Filter.TAINT:
        return f"Does not tolerate the taint {found.detail}."
    if why is Filter.UNREADABLE:
        return f"How much {found.detail} this node has could not be read."
    return _SENTENCES[why]


def _amount(resource: str, units: int) -> str:
    return quantity_text(resource, decimal_text(base_units(resource, units)))
