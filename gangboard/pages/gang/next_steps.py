"""Next steps of a gang, each with its links, its command and its buttons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from gangboard.domain.action import Verb
from gangboard.domain.advice import AdviceKind, with_cluster_name
from gangboard.domain.objects import ObjectRef
from gangboard.domain.shell import command, command_line
from gangboard.domain.verdict import Finding
from gangboard.plugins import registry
from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.advice import STOPPING, ShownStep, StoppedGang
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gangs import build_rows
from gangboard.readmodels.redaction import Redactor, mention_pattern
from gangboard.store.access import Viewer
from gangboard.store.models import Gang


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some words of a sentence, which may be the name of a node, of a gang or of another cluster."""

    text: str
    node: str = ""
    gang_id: str = ""
    board_of: str = ""
    """Name of a cluster whose Board it leads to."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """One step: its words, and what carries it out where there is such."""

    text: str
    pieces: tuple[TextPiece, ...]
    command: str = ""
    """To copy: for what gangboard does not do itself."""
    offers: tuple[OfferRow, ...] = ()
    """Buttons of the objects to suspend or to resume."""
    note: str = ""
    """A sentence behind the text."""
    victims: tuple[StoppedGang, ...] = ()
    stops_whole_gangs: bool = False
    """It is of the last group, which is folded."""


@dataclass(frozen=True, slots=True)
class NamedObjects:
    """Objects in the texts of one gang to which links may lead: nodes, and other gangs with their buttons."""

    own: str = ""
    """The name of the gang itself."""
    cluster: str = ""
    context: str = ""
    """The kubeconfig context of its cluster. Empty if unknown."""
    nodes: tuple[ObjectRef, ...] = ()
    gangs: Mapping[ObjectRef, str] = field(default_factory=dict)
    """Owner → id of its gang."""
    offers: Mapping[str, OfferRow] = field(default_factory=dict)
    """Id of a gang → the button of its owner."""
    run_clusters: tuple[RunCluster, ...] = ()
    """Other clusters that run it."""

    def pieces(self, text: str) -> tuple[TextPiece, ...]:
        """Return the text cut where it names something."""
        matches = sorted(
            (match.start(), -match.end(), piece)
            for pattern, piece in self._links()
            for match in pattern.finditer(text)
            for piece in (replace(piece, text=match.group()),)
        )
        pieces, end_of_last = [], 0
        for start, end, piece in matches:
            if start < end_of_last:
                continue
            pieces += [TextPiece(text[end_of_last:start]), piece]
            end_of_last = -end
        return tuple(piece for piece in (*pieces, TextPiece(text[end_of_last:])) if piece.text)

    def _links(self) -> Iterable[tuple[re.Pattern[str], TextPiece]]:
        for ref in self.nodes:
            yield mention_pattern(ref, self.own), TextPiece("", node=ref.name)
        for ref, id_ in self.gangs.items():
            yield mention_pattern(ref, self.own), TextPiece("", gang_id=id_)
        for cluster in self.run_clusters:
            board_of = "" if cluster.gang_id else cluster.name
            yield cluster.pattern, TextPiece("", gang_id=cluster.gang_id, board_of=board_of)


def named_objects(
    findings: Sequence[Finding],
    gang: Gang,
    *,
    redactor: Redactor,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> NamedObjects:
    """Return what findings of a gang name (2 queries, and those of the buttons where gangs are named)."""
    refs = {
        item.source
        for finding in findings
        for item in finding.evidence
        if item.source is not None and redactor.may_name(item.source)
    }
    nodes = tuple(sorted((ref for ref in refs if ref.kind == "Node"), key=lambda ref: ref.name))
    uids = {ref.uid for ref in refs if ref.namespace and ref.uid and ref.uid != gang.uid}
    cluster = clusters.get(gang.cluster_id)
    place = (cluster.cluster, cluster.context) if cluster is not None else ("", "")
    run_clusters = read_run_clusters(findings, gang, viewer=viewer, clusters=clusters)
    if not uids:
        return NamedObjects(gang.name, *place, nodes, run_clusters=run_clusters)
    others = {
        # Anyone can write the uid of another gang into a reference, so compare the whole reference.
        ref: other
        for other in Gang.objects.filter(
            viewer.gang_filter(), cluster=gang.cluster_id, uid__in=uids, gone_at=None
        )
        if (ref := _ref_of(other)) in refs
    }
    rows = build_rows(list(others.values()), viewer=viewer, clusters=clusters, now=now)
    offers = board_offers(viewer=viewer, rows=rows, clusters=clusters)
    return NamedObjects(
        gang.name,
        *place,
        nodes=nodes,
        gangs={ref: other.pk for ref, other in others.items()},
        offers={id_: found[0] for id_, found in offers.items()},
        run_clusters=run_clusters,
    )


def _ref_of(gang: Gang) -> ObjectRef:
    return ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)


def make_steps_to_take(
    advice: Iterable[ShownStep], named: NamedObjects, own: Iterable[OfferRow]
) -> tuple[NextStep, ...]:
    """Return advice as steps; `own` are the buttons of the gang and its Jobs that change something."""
    resumes = {offer.uid: offer for offer in own if offer.allowed and offer.verb == Verb.RESUME}
    steps = (_with_uncordon(step, named) for step in advice)
    return tuple(
        NextStep(
            step.text,
            named.pieces(step.text),
            command_line(step.command),
            tuple(_offers(step, named, resumes)),
            step.note,
            step.victims,
            step.stops_whole_gangs,
        )
        for step in steps
    )


def _with_uncordon(step: ShownStep, named: NamedObjects) -> ShownStep:
    """Return a step to uncordon nodes with its command; other steps unchanged."""
    if step.kind != AdviceKind.UNCORDON or not step.objects or step.command:
        return step
    if not set(step.objects) <= set(named.nodes):
        return step
    names = [node.name for node in step.objects]
    words = command(f"kubectl uncordon{' {}' * len(names)}", *names)
    text, words = with_cluster_name(step.text, words, named.cluster, named.context)
    return replace(step, text=text, command=words)


def _offers(
    step: ShownStep, named: NamedObjects, resumes: Mapping[str, OfferRow]
) -> Iterator[OfferRow]:
    """Yield the buttons for the objects of a step to suspend gangs or to resume Jobs."""
    for ref in step.objects:
        if step.kind == AdviceKind.RESUME and ref.uid in resumes:
            yield resumes[ref.uid]
        if step.kind in STOPPING and ref in named.gangs:
            offer = named.offers.get(named.gangs[ref])
            if offer is not None and offer.allowed:
                yield offer


@dataclass(frozen=True, slots=True)
class RunCluster:
    """A watched cluster that runs a gang."""

    name: str
    gang_id: str = ""
    """The gang of the same kind, namespace and name there. Empty if none is known."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """How a sentence names the cluster."""
        return re.compile(rf"\bcluster {re.escape(self.name)}(?![\w-]|\.\w)")


def read_run_clusters(
    findings: Iterable[Finding], gang: Gang, *, viewer: Viewer, clusters: Mapping[int, Freshness]
) -> tuple[RunCluster, ...]:
    """Return the watched clusters by which findings say that the gang runs there (at most 1 query).

    A dispatcher has names of its own for clusters, so the name of a watched cluster must equal that name.
    """
    labels = registry.run_cluster_fields()
    named = {
        item.value for finding in findings for item in finding.evidence if item.label in labels
    }
    watched = {
        found.cluster: id_
        for id_, found in clusters.items()
        if found.cluster in named and id_ != gang.cluster_id
    }
    if not watched:
        return ()
    same = Gang.objects.filter(
        viewer.gang_filter(),
        cluster__in=watched.values(),
        api_group=gang.api_group,
        kind=gang.kind,
        namespace=gang.namespace,
        name=gang.name,
        gone_at=None,
    )
    ids = dict(same.values_list("cluster_id", "pk"))
    return tuple(RunCluster(name, ids.get(id_, "")) for name, id_ in sorted(watched.items()))
