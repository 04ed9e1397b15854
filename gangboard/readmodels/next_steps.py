"""What to do next about a gang: each step with the links in it, and what carries it out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from gangboard.domain.action import Verb
from gangboard.domain.advice import TO_RESUME, TO_SUSPEND, TO_UNCORDON
from gangboard.domain.objects import ObjectRef
from gangboard.domain.shell import is_safe_in_shell
from gangboard.domain.verdict import Finding
from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gangs import build_row
from gangboard.readmodels.redaction import Redactor, mention_pattern
from gangboard.store.access import Viewer
from gangboard.store.models import Gang

_COMMAND = ": kubectl "
"""Before the command at the end of a step that is to read something."""
_WHOM = re.compile(r", which |: | until ")
"""Ends the part of a step that says whom to suspend."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some words of a sentence, which may be the name of a node or of a gang."""

    text: str
    node: str = ""
    gang_id: str = ""


@dataclass(frozen=True, slots=True)
class NextStep:
    """One step: its words, and what carries it out where there is such."""

    text: str
    pieces: tuple[TextPiece, ...]
    command: str = ""
    """To copy: for what gangboard does not do itself."""
    offers: tuple[OfferRow, ...] = ()
    """Buttons of what is to be suspended or resumed."""


@dataclass(frozen=True, slots=True)
class NamedObjects:
    """What the texts of one gang name and its reader may follow: nodes, and other gangs with their buttons."""

    own: str = ""
    """The name of the gang itself."""
    nodes: tuple[ObjectRef, ...] = ()
    gangs: Mapping[ObjectRef, str] = field(default_factory=dict)
    """Owner → id of its gang."""
    offers: Mapping[str, OfferRow] = field(default_factory=dict)
    """Id of a gang → the button of its owner."""

    def pieces(self, text: str) -> tuple[TextPiece, ...]:
        """Return the text cut where it names something."""
        found = sorted(
            (match.start(), -match.end(), piece)
            for ref, piece in self._links()
            for match in mention_pattern(ref, self.own).finditer(text)
            for piece in (replace(piece, text=match.group()),)
        )
        pieces, at = [], 0
        for start, end, piece in found:
            if start < at:
                continue
            pieces += [TextPiece(text[at:start]), piece]
            at = -end
        return tuple(piece for piece in (*pieces, TextPiece(text[at:])) if piece.text)

    def _links(self) -> Iterable[tuple[ObjectRef, TextPiece]]:
        yield from ((ref, TextPiece("", node=ref.name)) for ref in self.nodes)
        yield from ((ref, TextPiece("", gang_id=id_)) for ref, id_ in self.gangs.items())


def named_objects(
    findings: Iterable[Finding],
    gang: Gang,
    *,
    redactor: Redactor,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> NamedObjects:
    """Return what findings of a gang name (1 query, and those of the buttons where gangs are named)."""
    refs = {
        item.source
        for finding in findings
        for item in finding.evidence
        if item.source is not None and redactor.may_name(item.source)
    }
    nodes = tuple(sorted((ref for ref in refs if ref.kind == "Node"), key=lambda ref: ref.name))
    others = {ref.uid: ref for ref in refs if ref.namespace and ref.uid and ref.uid != gang.uid}
    if not others:
        return NamedObjects(gang.name, nodes)
    rows = [
        build_row(one, viewer=viewer, clusters=clusters, now=now)
        for one in Gang.objects.filter(
            viewer.gang_filter(), cluster=gang.cluster_id, uid__in=list(others), gone_at=None
        )
    ]
    offers = board_offers(viewer=viewer, rows=rows, clusters=clusters)
    return NamedObjects(
        own=gang.name,
        nodes=nodes,
        gangs={others[row.uid]: row.id for row in rows},
        offers={id_: found[0] for id_, found in offers.items()},
    )


def make_steps_to_take(
    advice: Iterable[str], named: NamedObjects, own: Iterable[OfferRow]
) -> tuple[NextStep, ...]:
    """Return advice as steps; `own` are the buttons of the gang and its Jobs that change something."""
    resumes = {one.uid: one for one in own if one.allowed and one.verb == Verb.RESUME}
    return tuple(_step(text, named, resumes.values()) for text in advice)


def _step(text: str, named: NamedObjects, resumes: Iterable[OfferRow]) -> NextStep:
    step = NextStep(text, named.pieces(text))
    if _COMMAND in text:
        words, _, command = text.partition(_COMMAND)
        return NextStep(text, named.pieces(f"{words}."), command=f"kubectl {command}")
    if text.startswith(TO_UNCORDON):
        return replace(step, command=_uncordon(step.pieces, text))
    if text.startswith(TO_SUSPEND):
        whom = named.pieces(_WHOM.split(text, maxsplit=1)[0])
        ids = dict.fromkeys(piece.gang_id for piece in whom if piece.gang_id)
        offers = (named.offers[id_] for id_ in ids if id_ in named.offers)
        return replace(step, offers=tuple(one for one in offers if one.allowed))
    if text.startswith(TO_RESUME):
        return replace(step, offers=tuple(one for one in resumes if _names(text, one)))
    return step


def _uncordon(pieces: Iterable[TextPiece], text: str) -> str:
    """Return the command; none where the step names only some of the nodes."""
    nodes = tuple(dict.fromkeys(piece.node for piece in pieces if piece.node))
    if not nodes or "…" in text or not is_safe_in_shell(*nodes):
        return ""
    return f"kubectl uncordon {' '.join(nodes)}"


def _names(text: str, offer: OfferRow) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(offer.name)}(?![\w-]|\.\w)", text) is not None
