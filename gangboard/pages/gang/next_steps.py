"""Next steps of a gang, each with its links, command and buttons."""

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
from gangboard.readmodels.advice import STOPPING, AdviceStepRow, StoppedGang
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gangs import build_rows
from gangboard.readmodels.redaction import Redactor, mention_pattern
from gangboard.store.access import Viewer
from gangboard.store.models import Gang


@dataclass(frozen=True, slots=True)
class TextSegment:
    """A segment of a sentence, which may link to a node, a gang or the Board of another cluster."""

    text: str
    node: str = ""
    gang_id: str = ""
    board_of: str = ""
    """Name of the cluster whose Board it links to."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """One step, with the command or the buttons that carry it out."""

    text: str
    segments: tuple[TextSegment, ...]
    command: str = ""
    """A command to copy, for changes that gangboard does not make itself."""
    offers: tuple[OfferRow, ...] = ()
    """Buttons of the objects to suspend or to resume."""
    note: str = ""
    """A sentence after the text."""
    victims: tuple[StoppedGang, ...] = ()
    stops_whole_gangs: bool = False
    """Whether it is in the last group, which is folded."""


@dataclass(frozen=True, slots=True)
class NamedObjects:
    """Objects in the texts of one gang that may become links: nodes, and other gangs with their buttons."""

    own: str = ""
    """The name of the gang itself."""
    cluster: str = ""
    context: str = ""
    """The kubectl context of its cluster. Empty if unknown."""
    nodes: tuple[ObjectRef, ...] = ()
    gangs: Mapping[ObjectRef, str] = field(default_factory=dict)
    """Owner → id of its gang."""
    offers: Mapping[str, OfferRow] = field(default_factory=dict)
    """Id of a gang → the button of its owner."""
    run_clusters: tuple[RunCluster, ...] = ()
    """Other clusters that run it."""

    def segments(self, text: str) -> tuple[TextSegment, ...]:
        """Return the text split at the names of these objects."""
        matches = sorted(
            (match.start(), -match.end(), link)
            for pattern, link in self._links()
            for match in pattern.finditer(text)
            for link in (replace(link, text=match.group()),)
        )
        segments, position = [], 0
        for start, negative_end, link in matches:
            if start < position:
                continue
            segments += [TextSegment(text[position:start]), link]
            position = -negative_end
        segments.append(TextSegment(text[position:]))
        return tuple(segment for segment in segments if segment.text)

    def _links(self) -> Iterable[tuple[re.Pattern[str], TextSegment]]:
        for ref in self.nodes:
            yield mention_pattern(ref, self.own), TextSegment("", node=ref.name)
        for ref, id_ in self.gangs.items():
            yield mention_pattern(ref, self.own), TextSegment("", gang_id=id_)
        for cluster in self.run_clusters:
            board_of = "" if cluster.gang_id else cluster.name
            yield cluster.pattern, TextSegment("", gang_id=cluster.gang_id, board_of=board_of)


def named_objects(
    findings: Sequence[Finding],
    gang: Gang,
    *,
    redactor: Redactor,
    viewer: Viewer,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> NamedObjects:
    """Return the objects that the findings of a gang name (2 queries, and those of buttons of named gangs)."""
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
    named_gangs = {
        # Anyone can write the uid of another gang into a reference, so compare the whole reference.
        ref: named_gang
        for named_gang in Gang.objects.filter(
            viewer.gang_filter(), cluster=gang.cluster_id, uid__in=uids, gone_at=None
        )
        if (ref := _ref_of(named_gang)) in refs
    }
    rows = build_rows(list(named_gangs.values()), viewer=viewer, clusters=clusters, now=now)
    offers = board_offers(viewer=viewer, rows=rows, clusters=clusters)
    return NamedObjects(
        gang.name,
        *place,
        nodes=nodes,
        gangs={ref: named_gang.pk for ref, named_gang in named_gangs.items()},
        offers={id_: gang_offers[0] for id_, gang_offers in offers.items()},
        run_clusters=run_clusters,
    )


def _ref_of(gang: Gang) -> ObjectRef:
    return ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)


def make_steps_to_take(
    advice: Iterable[AdviceStepRow], named: NamedObjects, own: Iterable[OfferRow]
) -> tuple[NextStep, ...]:
    """Return advice as steps. `own` are the current buttons of the gang and its Jobs."""
    own_offers = {(offer.uid, offer.verb): offer for offer in own if offer.allowed}
    steps = (_with_uncordon(step, named) for step in advice)
    return tuple(
        NextStep(
            step.text,
            named.segments(step.text),
            command_line(step.command),
            tuple(_offers(step, named, own_offers)),
            step.note,
            step.victims,
            step.stops_whole_gangs,
        )
        for step in steps
    )


def _with_uncordon(step: AdviceStepRow, named: NamedObjects) -> AdviceStepRow:
    """Return a step to uncordon nodes with its command, and other steps unchanged."""
    if step.kind != AdviceKind.UNCORDON or not step.objects or step.command:
        return step
    if not set(step.objects) <= set(named.nodes):
        return step
    names = [node.name for node in step.objects]
    arguments = command(f"kubectl uncordon{' {}' * len(names)}", *names)
    text, arguments = with_cluster_name(step.text, arguments, named.cluster, named.context)
    return replace(step, text=text, command=arguments)


def _offers(
    step: AdviceStepRow, named: NamedObjects, own: Mapping[tuple[str, str], OfferRow]
) -> Iterator[OfferRow]:
    """Yield the buttons for the objects of a step that suspends gangs or resumes Jobs.

    `own` are the possible buttons of the gang and its Jobs by uid and verb.
    """
    if step.kind != AdviceKind.RESUME and step.kind not in STOPPING:
        return
    verb = Verb.RESUME if step.kind == AdviceKind.RESUME else Verb.SUSPEND
    for ref in step.objects:
        offer = own.get((ref.uid, verb))
        if offer is None and step.kind in STOPPING and ref in named.gangs:
            offer = named.offers.get(named.gangs[ref])
        if offer is not None and offer.allowed and offer.verb == verb:
            yield offer


@dataclass(frozen=True, slots=True)
class RunCluster:
    """A watched cluster that runs a gang."""

    name: str
    gang_id: str = ""
    """Id of the gang with the same kind, namespace and name there. Empty if unknown."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of the cluster's name in a sentence."""
        return re.compile(rf"\bcluster {re.escape(self.name)}(?![\w-]|\.\w)")


def read_run_clusters(
    findings: Iterable[Finding], gang: Gang, *, viewer: Viewer, clusters: Mapping[int, Freshness]
) -> tuple[RunCluster, ...]:
    """Return the watched clusters that run the gang, according to its findings (at most 1 query).

    A dispatcher has its own names for clusters, so a watched cluster must have the same name to match.
    """
    labels = registry.run_cluster_fields()
    named = {
        item.value for finding in findings for item in finding.evidence if item.label in labels
    }
    watched = {
        cluster.cluster: id_
        for id_, cluster in clusters.items()
        if cluster.cluster in named and id_ != gang.cluster_id
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
