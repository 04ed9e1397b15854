"""Names that controllers write into their texts and that a viewer may not see.

Rules refer to the objects that they name. An event, a condition or an eviction is the text of a
controller, which may name any node, queue or object of another namespace. This module finds such
names among the stored objects of the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gangboard.decode.node_claims import NODE_CLAIM
from gangboard.domain.objects import ObjectRef
from gangboard.domain.quota import QueueLevel
from gangboard.domain.verdict import Finding
from gangboard.readmodels.queue_lines import read_queues
from gangboard.store.access import Viewer
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import BATCH

_NAME = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_WORD = re.compile(rf"(?<![\w.-]){_NAME}(?![\w-])")
_PAIR = re.compile(rf"(?<![\w./-])({_NAME})\s?/\s?({_NAME})")
"""NAMESPACE/NAME; also `0/5` and `kueue.x-k8s.io/v1beta1`, which no namespace is called."""
_ON_NODE = re.compile(rf"\bon node ({_NAME})")
"""The scheduler's words for a node, which may be gone from the cluster."""
OBJECT = "Object"
"""The kind of a reference to an object of which only namespace and name are known."""


def unseen_names(texts: Iterable[str], *, viewer: Viewer, cluster_id: int) -> tuple[ObjectRef, ...]:
    """Return the objects that the texts name and the viewer may not see, the longest name first.

    At most 5 queries for 500 words; none for a viewer who sees the whole cluster.
    """
    if viewer.sees_cluster(cluster_id):
        return ()
    words, pairs, nodes = set[str](), set[tuple[str, str]](), set[str]()
    for text in texts:
        words.update(_WORD.findall(text))
        pairs.update(_PAIR.findall(text))
        nodes.update(_ON_NODE.findall(text))
    if not words:
        return ()
    names = {
        *(ObjectRef("", "Node", "", name, "") for name in nodes),
        *_cluster_scoped(words, cluster_id),
        *_queues(words, viewer, cluster_id),
        *_elsewhere(pairs, viewer, cluster_id),
    }
    return tuple(sorted(names, key=lambda ref: (-len(ref.name), ref.kind, ref.namespace, ref.name)))


def finding_texts(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield the texts of findings in which a controller's words may stand."""
    for finding in findings:
        yield finding.message
        yield from (step.sentence for step in finding.advice)
        for item in finding.evidence:
            yield from (item.label, item.value)


def _cluster_scoped(words: set[str], cluster_id: int) -> Iterator[ObjectRef]:
    """Yield the nodes and the claims of nodes among the words."""
    kinds = {"nodes": ("", "Node"), NODE_CLAIM.key: (NODE_CLAIM.group, NODE_CLAIM.kind)}
    for names in _batches(words):
        rows = WatchedObject.objects.filter(
            cluster_id=cluster_id, resource__in=list(kinds), namespace="", name__in=names
        )
        for resource, name in rows.values_list("resource", "name"):
            group, kind = kinds[resource]
            yield ObjectRef(group, kind, "", name, "")


def _queues(words: set[str], viewer: Viewer, cluster_id: int) -> Iterator[ObjectRef]:
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
        if name is not None and name.name in words and name not in used
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
    """Yield the objects of namespaces that the viewer may not see; the objects may be gone."""
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
