"""Waiting gangs that would fit on one node, and the filter or resource that excludes each of the others."""

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
from gangboard.placement.node_fit import NodeFit, NodeFitCheck
from gangboard.plugins import registry
from gangboard.readmodels.fit import requests_text
from gangboard.readmodels.formatting import printable, quantity_text
from gangboard.readmodels.gangs import GangRow
from gangboard.store.models import Gang
from gangboard.store.objects import read_objects

MAX_SAMPLED_PODS = 12
"""Maximum number of waiting pods read per gang. Pods of one Job have the same requests."""


@dataclass(frozen=True, slots=True)
class _WaitingDetail:
    """The fields of a stored Detail about waiting pods. The decoder skips all others."""

    fit: tuple[FitRow, ...] = ()
    members: tuple[MemberState, ...] = ()


_decoder = msgspec.msgpack.Decoder(_WaitingDetail)


def waiting_rows(
    cluster_id: int,
    gangs: Sequence[tuple[Gang, GangRow]],
    node: Node,
    pods_on_node: Sequence[Pod],
) -> tuple[WaitingRow, ...]:
    """Return whether each waiting gang fits on a node (1 query), the gangs that fit first.

    `gangs` are the stored gangs with their rows.
    """
    details = [(row, _decoder.decode(bytes(gang.detail))) for gang, row in gangs]
    samples = {row.id: _sample_waiting(detail.members) for row, detail in details if detail.fit}
    models = {registry.pods().key: Pod}
    pods = read_objects(cluster_id, {uid for uids in samples.values() for uid in uids}, models)
    placement = NodeFitCheck(node, pods_on_node, pods.values())
    rows = [
        _row(row, detail.fit, placement, [pods[uid] for uid in samples[row.id] if uid in pods])
        for row, detail in details
        if row.id in samples
    ]
    return tuple(sorted(rows, key=lambda row: ANSWERS.index(row.answer)))


def _sample_waiting(members: Iterable[MemberState]) -> list[str]:
    """Return uids of waiting pods: one of each Job or role first, then further ones."""
    samples: dict[tuple[str, str, str], str] = {}
    duplicates: list[str] = []
    for member in members:
        if member.node or member.label != "waiting":
            continue
        key = (member.job, member.part, member.group)
        if key in samples:
            duplicates.append(member.ref.uid)
        else:
            samples[key] = member.ref.uid
    return [*samples.values(), *duplicates][:MAX_SAMPLED_PODS]


def _row(
    gang: GangRow, fit: Sequence[FitRow], node: NodeFitCheck, pods: Sequence[Pod]
) -> WaitingRow:
    answers = [(shape, node.check(shape)) for shape in node.shapes_of(pods)]
    shape, best = min(answers, key=_rank_of, default=(None, None))
    largest = max(fit, key=lambda row: row.waiting)
    waiting = sum(row.waiting for row in fit)
    request_text = requests_text(
        tuple((printable(name), text) for name, text in largest.requests.items())
    )
    if shape is None or best is None:
        sentence = "The requests of its waiting pods have not been read."
        return WaitingRow(
            gang=gang,
            pods=waiting,
            request_text=request_text,
            answer=UNCLEAR,
            fitting=0,
            sentence=sentence,
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
        request_text=request_text,
        answer=_answer(best),
        fitting=fitting,
        sentence=printable(_sentence(best, shape, fitting, waiting)),
        unsupported=unsupported if best.pods else (),
    )


def _answer(answer: NodeFit) -> str:
    if answer.unclear:
        return UNCLEAR
    if not answer.pods:
        return OUT
    return UNCORDON if answer.cordoned else FITS


def _rank_of(pair: tuple[Shape, NodeFit]) -> tuple[int, bool]:
    """Return a sort key: shapes that fit come first, then those that would fit on an empty node."""
    _, answer = pair
    return ANSWERS.index(_answer(answer)), answer.filter is not None


_SENTENCES = {
    Filter.POD_AFFINITY: "Must be near pods that are elsewhere.",
    Filter.UNSAID: "This node has not reported its resources yet.",
    Filter.NOT_READY: "This node is not ready.",
    Filter.HOST_PORT: "A host port that it needs is taken by a pod that stays.",
    Filter.ANTI_AFFINITY: "A pod that stays here keeps it away.",
}
_LIMITS = {
    PODS: "This node has as many pods as it takes.",
    Constraint.HOST_PORTS: "A host port that it needs is taken.",
    Constraint.ANTI_AFFINITY: "A pod that is here keeps it away.",
}


def _sentence(answer: NodeFit, shape: Shape, fitting: int, waiting: int) -> str:
    if answer.unclear:
        return f"Unknown: {', '.join(answer.unclear)}."
    if answer.pods:
        once = "once uncordoned" if answer.cordoned else "now"
        if waiting == 1:
            return f"Its pod fits {once}."
        if fitting == waiting:
            return f"{sentence_case(all_of(waiting, 'pod'))} fit {once}."
        return f"{fitting} of {waiting} pods fit {once}."
    if answer.filter is not None:
        return _filter_sentence(answer, answer.filter, shape)
    if answer.limit in _LIMITS:
        return _LIMITS[answer.limit]
    request, free = (
        _amount(answer.limit, answer.requested),
        _amount(answer.limit, max(0, answer.available)),
    )
    return f"Needs {request} {unit_word(answer.limit, request)}; {free} free."


def _filter_sentence(answer: NodeFit, node_filter: Filter, shape: Shape) -> str:
    if node_filter is Filter.SELECTOR:
        pairs = [f"{label}={value}" for label, value in sorted(shape.node_selector.items())]
        if pairs and shape.affinity is None:
            return f"Wants nodes with {', '.join(pairs)}."
        return "Its node selector or affinity leaves this node out."
    if node_filter is Filter.MISSING_RESOURCE:
        return f"This node has no {answer.detail}."
    if node_filter is Filter.TOO_SMALL:
        request, total = (
            _amount(answer.detail, answer.requested),
            _amount(answer.detail, max(0, answer.available)),
        )
        unit = unit_word(answer.detail, request)
        return f"Needs {request} {unit}; this node has {total}, even empty."
    if node_filter is Filter.TAINT:
        return f"Does not tolerate the taint {answer.detail}."
    if node_filter is Filter.UNREADABLE:
        return f"The amount of {answer.detail} on this node could not be read."
    return _SENTENCES[node_filter]


def _amount(resource: str, units: int) -> str:
    return quantity_text(resource, decimal_text(base_units(resource, units)))
