"""Our answer to a case: the product's decoders, usage and arithmetic on the served objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.diagnosis.gang_units import units_of
from gangboard.domain.capacity import ClusterCapacity, Shape
from gangboard.domain.placement_result import FitAnswer
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodTerm
from gangboard.facts.unit import Unit
from gangboard.placement.matching import matches_pod
from gangboard.placement.unit_placement import placing_of
from gangboard.placement.usage import Usage
from gangboard.plugins.registry import grouping_apis
from tests.agreement.arena import Look
from tests.decode.reading import model
from tests.domain_objects import with_cluster
from tests.gangs import assemble

GROUPS = {resource.key: resource for grouping in grouping_apis() for resource in grouping.resources}


@dataclass(frozen=True)
class Ours:
    """Result of the arithmetic for one case."""

    answer: FitAnswer
    why: str
    """The cause with its details, or the cause of an unknown answer."""
    unit: Unit
    """With its placing, as the rules and advice get it."""
    placement: Mapping[str, str] = field(default_factory=dict)
    """With YES: pod → node for as many members as must be placed."""


class Reading:
    """Everything of one look through the product's decoders. Made once for all cases of a look."""

    def __init__(self, look: Look) -> None:
        """Decode the nodes and pods."""
        usage = Usage()
        for obj in look.nodes:
            usage.put_node(model(NODE, obj))
        pods: list[Pod] = [model(POD, obj) for obj in look.pods]
        for pod in pods:
            usage.put_pod(pod)
        self.room: ClusterCapacity = usage.capacity()
        self._members: dict[str, list[Pod]] = {}
        for pod in pods:
            self._members.setdefault(pod.group_name, []).append(pod)

    def unit(self, group: Mapping[str, Any]) -> Unit:
        """Return the gang of a PodGroup as the rules get it."""
        root = model(GROUPS["podgroups.scheduling.k8s.io"], dict(group), "v1beta1")
        facts = assemble(root, self._members.get(root.meta.ref.name, []), now=datetime.now(UTC))
        (unit,) = units_of(with_cluster(facts, room=self.room, kubernetes=(1, 37)))
        return replace(unit, placing=placing_of(unit))


def ours(reading: Reading, group: Mapping[str, Any]) -> Ours:
    """Return whether the quorum of the waiting members fits, as the product works it out."""
    unit = reading.unit(group)
    result = unit.placing
    if result is None:
        return Ours(FitAnswer.YES, "nobody waits", unit)
    if result.assessment is None:
        return Ours(FitAnswer.CANNOT_TELL, result.why, unit)
    message = result.assessment
    why = " ".join(
        filter(None, (message.cause, message.deciding, ", ".join(message.constraints), message.why))
    )
    return Ours(message.now.answer, why, unit, _by_pod(unit, message.now.placement))


def _by_pod(unit: Unit, placement: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Return pod → node for a placement by shapes."""
    assert unit.placing is not None
    pod_sets = unit.placing.request.pod_sets
    terms = frozenset(term for pod_set in pod_sets for term in pod_set.shape.matched_terms)
    waiting = {
        pod_set.shape.name: [pod for pod in unit.unplaced if _is_of(pod, pod_set.shape, terms)]
        for pod_set in unit.placing.request.pod_sets
    }
    result = {}
    for node, taken in placement.items():
        for name, count in taken.items():
            for pod in _take(waiting[name], count):
                result[pod.meta.ref.name] = node
    return result


def _is_of(pod: Pod, shape: Shape, terms: frozenset[PodTerm]) -> bool:
    needs, ref = pod.needs, pod.meta.ref
    return (
        pod.requests,
        dict(needs.node_selector),
        needs.affinity,
        needs.tolerations,
        needs.host_ports,
        frozenset(needs.anti_affinity),
        frozenset(term for term in terms if matches_pod(term, ref.namespace, pod.labels)),
    ) == (
        shape.requests,
        shape.node_selector,
        shape.affinity,
        shape.tolerations,
        shape.host_ports,
        shape.anti_affinity,
        shape.matched_terms,
    )


def _take(pods: list[Pod], count: int) -> Sequence[Pod]:
    taken = pods[:count]
    del pods[:count]
    return taken
