"""Waiting gangs that would fit on one node, and the filter or resource that keeps each of the others out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from gangboard.domain.capacity import PODS, Shape
from gangboard.domain.node import Node
from gangboard.domain.placement_result import Constraint, Filter
from gangboard.domain.pod import Pod
from gangboard.domain.resources import base_units, decimal_text, unit_word
from gangboard.domain.text import all_of, sentence_case
from gangboard.domain.verdict import FitRow, MemberState
from gangboard.pages.nodes.rows import ANSWERS, FITS, OUT, UNCLEAR, UNCORDON, WaitingRow
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


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The part of a stored Detail that is needed. The decoder skips the rest."""

    fit: tuple[FitRow, ...] = ()
    members: tuple[MemberState, ...] = ()


_decoder = msgspec.msgpack.Decoder(_Waiting)


def waiting_rows(
    cluster_id: int,
    gangs: Sequence[tuple[Gang, GangRow]],
    node: Node,
    pods_on_node: Sequence[Pod],
) -> tuple[WaitingRow, ...]:
    """Return the answer of a node to each waiting gang (1 query), the gangs that fit first.

    `gangs` are the stored gangs with their rows.
    """
    details = [(row, _decoder.decode(bytes(gang.detail))) for gang, row in gangs]
    chosen = {row.id: _some_waiting(detail.members) for row, detail in details if detail.fit}
    models = {registry.pods().key: Pod}
    pods = read_objects(cluster_id, {uid for uids in chosen.values() for uid in uids}, models)
    placement = OneNode(node, pods_on_node, pods.values())
    rows = [
        _row(row, detail.fit, placement, [pods[uid] for uid in chosen[row.id] if uid in pods])
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
    shape, best = min(answers, key=_rank_of, default=(None, None))
    largest = max(fit, key=lambda row: row.waiting)
    waiting = sum(row.waiting for row in fit)
    asks = asks_text(tuple((printable(name), text) for name, text in largest.requests.items()))
    if shape is None or best is None:
        sentence = "What its waiting pods ask for has not been read."
        return WaitingRow(
            gang=gang, pods=waiting, asks=asks, answer=UNCLEAR, fitting=0, sentence=sentence
        )
    fitting = min(best.pods, waiting)
    unsupported = tuple(
        dict.fromkeys(
            printable(text) for row in fit for text in (*shape.unsupported, *row.unsupported)
        )
    )
    return WaitingRow(
        gang=gang,
        pods=waiting,
        asks=asks,
        answer=_answer(best),
        fitting=fitting,
        sentence=printable(_sentence(best, shape, fitting, waiting)),
        at_most=unsupported if best.pods else (),
    )


def _answer(answer: NodeAnswer) -> str:
    if answer.unclear:
        return UNCLEAR
    if not answer.pods:
        return OUT
    return UNCORDON if answer.cordoned else FITS


def _rank_of(pair: tuple[Shape, NodeAnswer]) -> tuple[int, bool]:
    """Return a key that sorts shapes that fit first, then those that only have no room now."""
    _, answer = pair
    return ANSWERS.index(_answer(answer)), answer.filter is not None


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


def _sentence(answer: NodeAnswer, shape: Shape, fitting: int, waiting: int) -> str:
    if answer.unclear:
        return f"Cannot be told: {', '.join(answer.unclear)}."
    if answer.pods:
        once = "once uncordoned" if answer.cordoned else "now"
        if waiting == 1:
            return f"Its pod fits {once}."
        if fitting == waiting:
            return f"{sentence_case(all_of(waiting, 'pod'))} fit {once}."
        return f"{fitting} of {waiting} pods fit {once}."
    if answer.filter is not None:
        return _never(answer, answer.filter, shape)
    if answer.limit in _LIMITS:
        return _LIMITS[answer.limit]
    request, free = _amount(answer.limit, answer.asked), _amount(answer.limit, max(0, answer.there))
    return f"Needs {request} {unit_word(answer.limit, request)}; {free} free."


def _never(answer: NodeAnswer, why: Filter, shape: Shape) -> str:
    if why is Filter.SELECTOR:
        pairs = [f"{label}={value}" for label, value in sorted(shape.node_selector.items())]
        if pairs and shape.affinity is None:
            return f"Wants nodes with {', '.join(pairs)}."
        return "Its node selector or affinity leaves this node out."
    if why is Filter.MISSING_RESOURCE:
        return f"This node has no {answer.detail}."
    if why is Filter.TOO_SMALL:
        request, total = (
            _amount(answer.detail, answer.asked),
            _amount(answer.detail, max(0, answer.there)),
        )
        unit = unit_word(answer.detail, request)
        return f"Needs {request} {unit}; this node has {total}, even empty."
    if why is Filter.TAINT:
        return f"Does not tolerate the taint {answer.detail}."
    if why is Filter.UNREADABLE:
        return f"How much {answer.detail} this node has could not be read."
    return _SENTENCES[why]


def _amount(resource: str, units: int) -> str:
    return quantity_text(resource, decimal_text(base_units(resource, units)))
