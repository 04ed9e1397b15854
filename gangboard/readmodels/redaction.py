"""Redaction: names of objects that a viewer may not see are taken out of the texts about a gang.

Rules keep references in the evidence of a finding; here they become names or are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import msgspec

from gangboard.decode.node_claims import NODE_CLAIM
from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.objects import ObjectRef
from gangboard.domain.quota import Queue, QueueLevel
from gangboard.domain.verdict import Evidence, Finding
from gangboard.plugins import registry
from gangboard.readmodels.queue_lines import read_queues
from gangboard.store.access import Viewer
from gangboard.store.gangs import decode_detail
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import BATCH


@dataclass(frozen=True, slots=True)
class _StoredDetail:
    """The findings and members in a stored Detail. The decoder skips its other fields."""

    findings: tuple[Finding, ...] = ()
    members: tuple[_Member, ...] = ()


@dataclass(frozen=True, slots=True)
class _Member:
    node: str = ""


_WAITS = (AdviceKind.WAIT_FOR_END, AdviceKind.WAIT_FOR_ROOM)
_decoder = msgspec.msgpack.Decoder(_StoredDetail)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Redaction of the texts about one gang for one viewer."""

    viewer: Viewer
    cluster_id: int
    own: str
    """The name of the gang."""
    own_nodes: frozenset[str] = field(default_factory=frozenset)
    """Nodes with pods of the gang. Their names may be shown with the pods."""
    quoted: tuple[ObjectRef, ...] = ()
    """Objects that texts of controllers name and that the viewer may not see."""

    def may_name(self, ref: ObjectRef) -> bool:
        """Return whether the viewer may read the object's name."""
        if ref.namespace:
            return self.viewer.sees(self.cluster_id, ref.namespace)
        if ref.kind == "Node":
            return self.viewer.names_nodes(self.cluster_id) or ref.name in self.own_nodes
        return (ref.kind, ref.name) not in {(quoted.kind, quoted.name) for quoted in self.quoted}

    def hidden_refs(self, findings: Iterable[Finding]) -> tuple[ObjectRef, ...]:
        """Return the objects in the findings whose names are hidden, the longest name first."""
        hidden = {
            evidence.source
            for finding in findings
            for evidence in finding.evidence
            if evidence.source is not None and not self.may_name(evidence.source)
        }
        hidden.update(ref for ref in self.quoted if not self.may_name(ref))
        return tuple(sorted(hidden, key=lambda ref: (-len(ref.name), ref.namespace, ref.name)))

    def redact_finding(self, finding: Finding, hidden: tuple[ObjectRef, ...]) -> Finding:
        """Return the finding without the names of hidden objects and without advice about them."""
        if not hidden:
            return finding
        return replace(
            finding,
            message=self.redact_text(finding.message, hidden),
            advice=redact_advice(finding.advice, hidden, own=self.own),
            evidence=tuple(self._redact_evidence(item, hidden) for item in finding.evidence),
        )

    def redact_text(self, text: str, hidden: tuple[ObjectRef, ...]) -> str:
        """Return the text without the names of hidden objects."""
        return redact(text, hidden, own=self.own)

    def _redact_evidence(self, item: Evidence, hidden: tuple[ObjectRef, ...]) -> Evidence:
        source = item.source
        if source is not None and not self.may_name(source):
            return Evidence(self.redact_text(item.label, hidden), placeholder(source), None)
        return Evidence(
            self.redact_text(item.label, hidden), self.redact_text(item.value, hidden), source
        )


def hidden_refs_in_detail(
    viewer: Viewer, cluster_id: int, detail: bytes, quoted: tuple[ObjectRef, ...] = ()
) -> tuple[ObjectRef, ...]:
    """Return the objects in a stored Detail, and those of `quoted`, that the viewer may not read."""
    stored = decode_detail(_decoder, detail) if detail else _StoredDetail()
    own_nodes = frozenset(member.node for member in stored.members if member.node)
    return Redactor(viewer, cluster_id, "", own_nodes, quoted).hidden_refs(stored.findings)


def placeholder(ref: ObjectRef) -> str:
    """Return the text that replaces the name of a hidden object."""
    gangs = {kind.resource.kind for kind in registry.owner_kinds()}
    queues = {resource.kind for resource in registry.queue_resources(Queue)}
    noun = ref.kind.lower() or "object"
    if ref.kind in gangs or ref.kind in ("PodGroup", "Workload"):
        noun = "gang"
    elif ref.kind in queues and noun.endswith("queue"):
        noun = "queue"
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun} you may not see"


def redact_advice(
    advice: Iterable[AdvisedStep], hidden: tuple[ObjectRef, ...], *, own: str
) -> tuple[AdvisedStep, ...]:
    """Return the steps that name no hidden object, because the viewer cannot act on hidden objects.

    Steps to wait need no action of the viewer. They stay, without the names.
    """
    if not hidden:
        return tuple(advice)
    return tuple(
        new
        for step in advice
        for new in (_redact_step(step, hidden, own),)
        if new == step or step.kind in _WAITS
    )


def _redact_step(step: AdvisedStep, hidden: tuple[ObjectRef, ...], own: str) -> AdvisedStep:
    line = step.sentence
    return replace(
        step,
        text=redact(step.text, hidden, own=own),
        command=step.command if redact(line, hidden, own=own) == line else (),
        objects=tuple(ref for ref in step.objects if ref not in hidden),
    )


def redact(text: str, hidden: tuple[ObjectRef, ...], *, own: str) -> str:
    """Return the text with every mention of the objects replaced.

    `own` is the name of the gang that the text is about. The name alone always means that gang.
    """
    for ref in hidden:
        if ref.name:
            text = mention_pattern(ref, own).sub(placeholder(ref), text)
    for marker in sorted({placeholder(ref) for ref in hidden}):
        text = _merge_placeholders(text, marker)
    return text


def _merge_placeholders(text: str, marker: str) -> str:
    """Return the text with `a pod you may not see and a pod you may not see` as `pods you may not see`."""
    _, noun, rest = marker.split(" ", 2)
    return re.sub(rf"(?:{noun}s )?{marker}(?:(?:, | and ){marker})+", f"{noun}s {rest}", text)


def mention_pattern(ref: ObjectRef, own: str) -> re.Pattern[str]:
    """Return the pattern of the mentions of an object in sentences and quoted texts, with the kind if it precedes.

    An object of another namespace is mentioned as `namespace/name`, because a bare name means an object of the
    gang's namespace. A cluster-scoped object is mentioned by its bare name, unless that is a number or the gang's
    own name.
    """
    kind, name = rf"(?i:{re.escape(ref.kind)})[ /]", re.escape(ref.name)
    if ref.namespace:
        before = [rf"(?:{kind})?{re.escape(ref.namespace)}\s?/\s?"]
        before += [kind] if ref.name != own else []
    elif ref.name == own or ref.name.isdecimal():
        before = [kind, "(?<==)"]
    else:
        before = [f"(?:{kind})?"]
    # A name ends where no further character of a Kubernetes name follows.
    return re.compile(rf"(?<![\w.-])(?:{'|'.join(before)}){name}(?![\w-]|\.\w)")


_NAME = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_WORD = re.compile(rf"(?<![\w.-]){_NAME}(?![\w-])")
_PAIR = re.compile(rf"(?<![\w./-])({_NAME})\s?/\s?({_NAME})")
"""NAMESPACE/NAME. It also matches `0/5` and `kueue.x-k8s.io/v1beta1`, which are no namespaces."""
_ON_NODE = re.compile(rf"\bon node ({_NAME})")
"""A node in the scheduler's words. The node may not exist any more."""
OBJECT = "Object"
"""The kind of a reference to an object of which only namespace and name are known."""


def hidden_names(texts: Iterable[str], *, viewer: Viewer, cluster_id: int) -> tuple[ObjectRef, ...]:
    """Return the objects that the texts name and the viewer may not see, the longest name first.

    Rules keep references to the objects that they name. The text of an event, a condition or an eviction comes
    from a controller and may name any node, queue or object of another namespace. This function finds such names
    among the stored objects of the cluster, with at most 5 queries for 500 words. A viewer of the whole cluster
    needs none.
    """
    if viewer.sees_cluster(cluster_id):
        return ()
    candidates, pairs, nodes = set[str](), set[tuple[str, str]](), set[str]()
    for text in texts:
        candidates.update(_WORD.findall(text))
        pairs.update(_PAIR.findall(text))
        nodes.update(_ON_NODE.findall(text))
    if not candidates:
        return ()
    names = {
        *(ObjectRef("", "Node", "", name, "") for name in nodes),
        *_cluster_scoped(candidates, cluster_id),
        *_queues(candidates, viewer, cluster_id),
        *_elsewhere(pairs, viewer, cluster_id),
    }
    return tuple(sorted(names, key=lambda ref: (-len(ref.name), ref.kind, ref.namespace, ref.name)))


def finding_texts(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the texts of findings that may quote a controller."""
    for finding in findings:
        yield finding.message
        yield from (step.sentence for step in finding.advice)
        for item in finding.evidence:
            yield from (item.label, item.value)


def _cluster_scoped(candidates: set[str], cluster_id: int) -> Iterator[ObjectRef]:
    """Yield the nodes and the claims of nodes among the words."""
    kinds = {"nodes": ("", "Node"), NODE_CLAIM.key: (NODE_CLAIM.group, NODE_CLAIM.kind)}
    for names in _batches(candidates):
        rows = WatchedObject.objects.filter(
            cluster_id=cluster_id, resource__in=list(kinds), namespace="", name__in=names
        )
        for resource, name in rows.values_list("resource", "name"):
            group, kind = kinds[resource]
            yield ObjectRef(group, kind, "", name, "")


def _queues(candidates: set[str], viewer: Viewer, cluster_id: int) -> Iterator[ObjectRef]:
    """Yield the cluster-scoped queues that the viewer does not use, and the cohorts of all queues.

    A queue may name a cohort that does not exist as an object.
    """
    tree = read_queues([cluster_id], with_entries=False)[cluster_id].tree
    aliases = [queue for queue in tree if queue.level is QueueLevel.ALIAS]
    used = {alias.parent for alias in aliases if viewer.sees(cluster_id, alias.meta.ref.namespace)}
    named = {
        name
        for queue in tree
        if queue.level is not QueueLevel.ALIAS
        for name in (queue.name, queue.parent)
        if name is not None and name.name in candidates and name not in used
    }
    with_aliases = {alias.name.group for alias in aliases}
    direct = {name.name for name in named if name.group not in with_aliases}
    if direct:
        gangs = Gang.objects.filter(viewer.gang_filter(), cluster_id=cluster_id, queue__in=direct)
        direct = set(gangs.values_list("queue", flat=True))
    for name in named:
        if name.group in with_aliases or name.name not in direct:
            yield ObjectRef(name.group, name.kind, "", name.name, "")


def _elsewhere(pairs: set[tuple[str, str]], viewer: Viewer, cluster_id: int) -> Iterator[ObjectRef]:
    """Yield the objects of namespaces that the viewer may not see. The objects may not exist any more."""
    hidden = {namespace for namespace, _ in pairs if not viewer.sees(cluster_id, namespace)}
    known = set[str]()
    for namespaces in _batches(hidden):
        place = {"cluster_id": cluster_id, "namespace__in": namespaces}
        for rows in (
            Gang.objects.filter(**place),
            WatchedObject.objects.filter(resource="pods", **place),
        ):
            known.update(rows.order_by().values_list("namespace", flat=True).distinct())
    for namespace, name in pairs:
        if namespace in known:
            yield ObjectRef("", OBJECT, namespace, name, "")


def _batches(names: set[str]) -> Iterator[list[str]]:
    ordered = sorted(names)
    for start in range(0, len(ordered), BATCH):
        yield ordered[start : start + BATCH]
