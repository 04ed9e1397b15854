"""No node could ever host a member: what the owner asked for, or what was done to the nodes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gangboard.domain.capacity import NodeRoom, PodTerm, Requirement, Shape, Toleration
from gangboard.domain.placing import Assessment, Excluded, Filter, ShapeFit
from gangboard.domain.resources import is_gpu
from gangboard.domain.suspension import FieldWriter
from gangboard.domain.text import count, listed, names
from gangboard.domain.verdict import Evidence
from gangboard.facts.node_label_sources import (
    added_labels,
    sources_evidence,
    sources_text,
)
from gangboard.facts.suspensions import author_of, writers_words
from gangboard.facts.unit import Unit
from gangboard.placement.amount_words import amount_of, amounts_of, bare
from gangboard.placement.amounts import wanted
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.members import nodes_for
from gangboard.placement.node_snapshot import Mask, NodeSnapshot
from gangboard.placement.sentences.anti_affinity import shared
from gangboard.placement.sentences.numbers import (
    Crowd,
    crowd_of,
    labels_of,
    not_said,
)
from gangboard.placement.sentences.placement_reason import PlacementReason, node_ref
from gangboard.placement.sentences.withheld import withheld_devices

# What was done to a node, with the code of each. The order is that of a tie.
_CODES: Mapping[Filter, str] = {
    Filter.UNSAID: "nodes-unschedulable",
    Filter.CORDON: "nodes-unschedulable",
    Filter.NOT_READY: "nodes-unschedulable",
    Filter.TAINT: "untolerated-taint",
    Filter.HOST_PORT: "port-conflict",
    Filter.ANTI_AFFINITY: "pod-anti-affinity",
}


def homeless(shapes: Sequence[ShapeFit]) -> ShapeFit | None:
    """Return the shape with most members that has no eligible node; None when each has one."""
    found = [one for one in shapes if one.count and not one.eligibility.eligible]
    return max(found, key=lambda one: one.count, default=None)


def code_of_excluded(unit: Unit, shapes: Sequence[ShapeFit]) -> str:
    """Return the code: first what the owner asked for, then the filter that removes most nodes."""
    if not unit.gang.cluster.room.nodes:
        return "no-nodes"
    shape = homeless(shapes)
    if shape is None:
        return ""
    decisive = _decisive(shape)
    return _CODES[decisive] if decisive is not None else "no-matching-node"


def _decisive(shape: ShapeFit) -> Filter | None:
    """Return the filter that removes most of the nodes that suit the owner; None if none does."""
    out = shape.eligibility.excluded
    left = {one: found for one, found in out.items() if one in _CODES and one is not Filter.UNSAID}
    if left:
        return max(left, key=lambda one: left[one].count)
    # Nobody knows whether these would do: they are the cause where nothing is known to be.
    is_known = Filter.MISSING_RESOURCE in out or Filter.TOO_SMALL in out
    return Filter.UNSAID if Filter.UNSAID in out and not is_known else None


def excluded(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], code: str
) -> PlacementReason:
    """Return why a shape has no eligible node."""
    if code == "no-nodes":
        text = f"{crowd_of(assessment).verb('wait')}, and the cluster has no node at all"
        return PlacementReason(code, text, True)
    shape = homeless(shapes)
    if shape is None:
        return PlacementReason(code, "no node could host a member", True)
    whose = shape.shape.name if len(shapes) > 1 else ""
    crowd = Crowd(shape.count, shape.count, whose)
    if code == "no-matching-node":
        unmatched = _unmatched(unit, shape, crowd)
        withheld, named = withheld_devices(unit, [shape], unmatched)
        added = {key: one for key, one in added_labels(unit).items() if one.text in unmatched}
        text = f"{unmatched}{sources_text(added)}{_unsaid(shape)}{withheld}"
        evidence = (*_labels(shape.shape), *sources_evidence(added), *named)
        return PlacementReason(code, text, True, evidence)
    if _decisive(shape) is Filter.UNSAID:
        number = shape.eligibility.excluded[Filter.UNSAID].count
        text = f"no node is known that could host {crowd}, and {count(number, 'node')}"
        text = f"{text} {not_said(number)}"
    else:
        text = f"{_barred(nodes_for(unit), shape, crowd)}{_unsaid(shape)}"
    return PlacementReason(code, text, True, _examples(nodes_for(unit), shape))


def _unsaid(shape: ShapeFit) -> str:
    """Return what is to be said of nodes that might do, beside those that would not."""
    found = shape.eligibility.excluded.get(Filter.UNSAID)
    if found is None:
        return ""
    noun = "node" if found.count == 1 else "nodes"
    return f"; {found.count} more {noun} {not_said(found.count)}"


# What was done to the nodes


def _barred(snapshot: NodeSnapshot, shape: ShapeFit, crowd: Crowd) -> str:
    out = shape.eligibility.excluded
    found = {one: of for one, of in out.items() if one in _CODES and one is not Filter.UNSAID}
    total = sum(one.count for one in found.values())
    if len(found) > 1:
        parts = [
            f"{one.count} {_state(snapshot, why, one, one.count, shape, crowd)}"
            for why, one in found.items()
        ]
        return f"of {count(total, 'node')} for {crowd}, {listed(parts)}"
    ((why, one),) = found.items()
    state = _state(snapshot, why, one, total, shape, crowd)
    if total == 1:
        return f"the only node that could host {crowd} {state}"
    return f"{count(total, 'node')} could host {crowd}, and all {state}"


def _state(
    snapshot: NodeSnapshot, why: Filter, found: Excluded, number: int, shape: ShapeFit, crowd: Crowd
) -> str:
    """Return what is the matter with these nodes, with the verb for their number."""
    be, have = ("is", "has") if number == 1 else ("are", "have")
    taints = names(taint for taint, _ in found.details)
    if why is Filter.CORDON:
        by = _authors(found, snapshot)
        return f"{be} cordoned ({_named(found)}{f', {by}' if by else ''})"
    if why is Filter.NOT_READY:
        return f"{be} not ready ({_named(found)})"
    if why is Filter.TAINT:
        noun = "taint" if len(found.details) == 1 else "taints"
        by = _authors(found, snapshot, taints=True)
        changed = f" (taints last changed {by})" if by else ""
        return f"{have} the untolerated {noun} {taints}{changed}"
    if why is Filter.HOST_PORT:
        ports = names(str(port) for port in sorted({one.port for one in shape.shape.host_ports}))
        return f"{have} host port {ports} taken by a pod that stays"
    places = shared(snapshot, [shape.shape])
    there = have if places == "a node" else f"{be} near"
    return f"{there} a pod that stays and that must not share {places} with {crowd.them}"


def _named(found: Excluded) -> str:
    """Return `n1 and n2`, `n1, n2 and 5 more`: the examples go with their references."""
    if found.count <= len(found.examples):
        return listed(found.examples)
    return f"{', '.join(found.examples[:2])} and {found.count - 2} more"


def _authors(found: Excluded, snapshot: NodeSnapshot, *, taints: bool = False) -> str:
    """Return who cordoned these nodes, or set their taints; empty if it is not one author of all of them."""
    if found.count > len(found.examples):
        return ""
    rooms = [_room(snapshot, name) for name in found.examples]
    return writers_words(_person_tainted(room) if taints else room.cordoned_by for room in rooms)


def _room(snapshot: NodeSnapshot, name: str) -> NodeRoom:
    return snapshot[bisect_left(snapshot.names, name)]


def _person_tainted(room: NodeRoom) -> FieldWriter | None:
    """Return who wrote the list of taints last, if that was a person.

    Controllers write that list, too: their name does not tell who set the other taints in it.
    """
    writer = room.tainted_by
    return writer if writer is not None and author_of(writer).by_person else None


def _examples(snapshot: NodeSnapshot, shape: ShapeFit) -> tuple[Evidence, ...]:
    return tuple(
        line
        for why, found in shape.eligibility.excluded.items()
        if why in _CODES
        for name in found.examples
        for line in _example(snapshot, why, name)
    )


def _example(snapshot: NodeSnapshot, why: Filter, name: str) -> Iterator[Evidence]:
    """Yield the node, and the field of it that somebody set with its author."""
    yield Evidence(f"node: {why.value}", name, node_ref(name))
    room = _room(snapshot, name)
    if why is Filter.CORDON and (by := writers_words([room.cordoned_by])):
        yield Evidence("spec.unschedulable", f"true, set {by}", node_ref(name))
    if why is Filter.TAINT and (by := writers_words([_person_tainted(room)])):
        yield Evidence("spec.taints", f"last changed {by}", node_ref(name))


# What the owner asked for


def _unmatched(unit: Unit, one: ShapeFit, crowd: Crowd) -> str:
    """Return what no node offers; where nodes fall short of several things, of the last one."""
    snapshot, shape = nodes_for(unit), one.shape
    found = one.eligibility.excluded
    if Filter.TOO_SMALL in found:
        return _too_small(snapshot, one, crowd)
    if Filter.MISSING_RESOURCE in found:
        resource = found[Filter.MISSING_RESOURCE].details[0][0]
        # No node has it: often its name is the cause.
        asked = amount_of(resource, wanted(shape)[resource], named=True)
        separate = (Filter.SELECTOR, Filter.POD_AFFINITY, Filter.UNSAID)
        left = sum(of.count for why, of in found.items() if why not in separate)
        text = f"{crowd.verb('ask')} for {asked}{crowd.each}, and"
        if not {Filter.SELECTOR, Filter.POD_AFFINITY} & found.keys():
            return f"{text} no node has any"
        if left == 1:
            return f"{text} the only node that matches {_selector(shape, crowd)} has none"
        return f"{text} none of the {left} nodes that match {_selector(shape, crowd)} has any"
    if Filter.TOPOLOGY_LABEL in found:
        keys = names(key for key, _ in found[Filter.TOPOLOGY_LABEL].details)
        return f"{crowd.verb('need')} a node with the label {keys}, and no node that suits has it"
    if shape.pod_affinity is not None and Filter.POD_AFFINITY in found:
        return f"{crowd.verb('need')} {_beside(shape.pod_affinity)}"
    return f"{crowd.verb('ask')} for {_selected(snapshot, shape)}"


def _beside(term: PodTerm) -> str:
    """Return near which pods they must be, and that there is none where it suits."""
    pods = listed([_requirement_text(entry) for entry in term.selector]) or "any labels"
    place = "the node" if term.is_by_host else f"the value of {term.topology_key}"
    text = f"{place} of a pod with {pods} (pod affinity)"
    return f"{text}, and no node that suits has such a pod{'' if term.is_by_host else ' near'}"


def _selector(shape: Shape, crowd: Crowd) -> str:
    """Return `their node selector (rack=edge)`, with its labels if it is all that selects nodes."""
    labels = labels_of(shape)
    text = f"{'its' if crowd.number == 1 else 'their'} node selector"
    return f"{text} ({labels})" if labels else text


def _too_small(snapshot: NodeSnapshot, one: ShapeFit, crowd: Crowd) -> str:
    asked = wanted(one.shape)
    short = one.eligibility.excluded[Filter.TOO_SMALL].details
    resource = short[0][0]
    amount = amount_of(resource, asked[resource], named=_has_other_gpus(snapshot, resource))
    suiting = np.flatnonzero(_selecting(snapshot, one.shape))
    stock = snapshot.stock(resource)
    largest = max(suiting.tolist(), key=lambda at: stock.empty[at])
    left, there = int(stock.empty[largest]), int(stock.allocatable[largest])
    if left >= asked[resource]:
        wants = listed(amounts_of({name: asked[name] for name, _ in short}))
        return f"{crowd.verb('ask')} for {wants}{crowd.each}, and no node has all of it"
    text = f"{crowd.verb('ask')} for {amount}{crowd.each}, and"
    if len(suiting) == _known(one):
        text = f"{text} the largest node"
    elif len(suiting) == 1:
        text = f"{text} the only node that matches {_selector(one.shape, crowd)}"
    else:
        many = f"{len(suiting)} nodes that match {_selector(one.shape, crowd)}"
        text = f"{text} the largest of the {many}"
    if there >= asked[resource]:
        beside = bare(resource, there - left)
        return f"{text} has {bare(resource, there)}, {beside} of it taken by pods that stay"
    return f"{text} has {bare(resource, max(0, left))}"


def _has_other_gpus(snapshot: NodeSnapshot, resource: str) -> bool:
    """Whether nodes have GPUs under another name: then `GPUs` would not tell which are meant."""
    if not is_gpu(resource):
        return False
    return any(
        is_gpu(name) and name != resource for node in snapshot.nodes for name in node.allocatable
    )


def _selecting(snapshot: NodeSnapshot, shape: Shape) -> Mask:
    """Return the nodes that the owner selects, whatever they have and whatever was done to them."""
    everywhere = (Toleration(operator="Exists"),)
    bare_shape = Shape(
        shape.name,
        {},
        shape.node_selector,
        shape.affinity,
        everywhere,
        pod_affinity=shape.pod_affinity,
    )
    return feasible_nodes_of(snapshot, bare_shape).eligible()


def _known(one: ShapeFit) -> int:
    """Return how many nodes have said what they offer."""
    silent = one.eligibility.excluded.get(Filter.UNSAID)
    return one.eligibility.nodes - (silent.count if silent is not None else 0)


def _selected(nodes: NodeSnapshot, shape: Shape) -> str:
    """Return the labels or the affinity that no node answers to."""
    total = f"none of the {len(nodes)} nodes" if len(nodes) > 1 else "the only node"
    has = "has" if len(nodes) > 1 else "does not have"
    labels = [f"{key}={value}" for key, value in sorted(shape.node_selector.items())]
    absent = [
        f"{key}={value}"
        for key, value in sorted(shape.node_selector.items())
        if value not in nodes.labels(key).places
    ]
    if absent:
        noun, them = ("label", "it") if len(absent) == 1 else ("labels", "them")
        return f"a node with the {noun} {names(absent)}, and {total} {has} {them}"
    if shape.affinity is None:
        return f"a node with the labels {names(labels)}, and {total} {has} all of them"
    terms = " or ".join(
        listed([_requirement(entry) for entry in (*term.expressions, *term.fields)]) or "nothing"
        for term in shape.affinity[:2]
    )
    more = f" (and {len(shape.affinity) - 2} more terms)" if len(shape.affinity) > 2 else ""
    noun = "label" if len(labels) == 1 else "labels"
    wants = f" and the {noun} {names(labels)}" if labels else ""
    return f"a node by required affinity ({terms}{more}){wants}, and {total} {_answers(nodes)}"


def _answers(nodes: NodeSnapshot) -> str:
    return "matches" if len(nodes) > 1 else "does not match"


def _requirement_text(entry: Requirement) -> str:
    """Return it as people write labels: `app=cache`, `app In (a, b)`."""
    if entry.operator == "In" and len(entry.values) == 1:
        return f"{entry.key}={entry.values[0]}"
    return _requirement(entry)


def _requirement(entry: Requirement) -> str:
    values = f" ({', '.join(entry.values)})" if entry.values else ""
    return f"{entry.key} {entry.operator}{values}"


def _labels(shape: Shape) -> tuple[Evidence, ...]:
    found = [
        Evidence("node selector", f"{key}={value}")
        for key, value in sorted(shape.node_selector.items())
    ]
    for term in shape.affinity or ():
        text = listed([_requirement(entry) for entry in (*term.expressions, *term.fields)])
        found.append(Evidence("required node affinity", text))
    return tuple(found)
