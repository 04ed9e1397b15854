"""Building blocks of sentences: the reason, its pods, and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gangboard.domain.capacity import Shape
from gangboard.domain.objects import ObjectRef
from gangboard.domain.placement_result import Assessment, ShapeFit, When
from gangboard.domain.text import count, names, plural
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import format_amount, format_quantity, is_bytes
from gangboard.placement.anti_affinity import is_anti_affinity_unsupported
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for


@dataclass(frozen=True, slots=True)
class PlacementReason:
    """Why members that the scheduler refuses have no node."""

    code: str
    text: str
    """A sentence without its full stop. It may begin with a lower-case letter."""
    blocked: bool
    """True if the reason stays until a person changes something."""
    evidence: tuple[Evidence, ...] = ()

    @property
    def sentence(self) -> str:
        """The text as a sentence of its own."""
        return f"{self.text[:1].upper()}{self.text[1:]}."


def source_of(unit: Unit) -> ObjectRef:
    """Return the source of numbers about the unit: its group, or its owner."""
    return unit.group.meta.ref if unit.group is not None else unit.owner.meta.ref


def needed_and_available(resource: str, needed: int, available: int) -> tuple[str, str]:
    """Return the needed and the available amount as texts that differ. The latter has no unit."""
    if format_quantity(resource, needed) != format_quantity(resource, available):
        return format_amount(resource, needed), format_quantity(resource, available)
    return format_amount(resource, needed, exact=True), format_quantity(
        resource, available, exact=True
    )


def free_text(resource: str, text: str) -> str:
    """Return `none is free`, `1 is free`, `8 are free`, `64Gi is free`."""
    if text == "0":
        return "none is free"
    is_one = text == "1" or is_bytes(resource) or text.endswith("m")
    return f"{text} is free" if is_one else f"{text} are free"


@dataclass(frozen=True, slots=True)
class PodCount:
    """The number of pods that a sentence is about."""

    number: int
    total: int
    """Number of waiting pods. It is larger than `number` if a quorum of them is enough."""
    shape: str = ""
    """Name of their shape if the gang has several, or `2 Jobs` if they belong to several."""

    def __str__(self) -> str:
        """Return `6 pods`, `at least 4 of 6 pods`, `2 pods of run-workers-0`."""
        suffix = f" of {self.shape}" if self.shape else ""
        if self.number == self.total:
            return f"{count(self.total, 'pod')}{suffix}"
        return f"at least {self.number} of {count(self.total, 'pod')}{suffix}"

    def verb(self, infinitive: str) -> str:
        """Return the subject with its verb: `6 pods need`, `1 pod needs`."""
        return f"{self} {plural(self.number, infinitive)}"

    @property
    def object_pronoun(self) -> str:
        """`them` or `it`."""
        return "it" if self.number == 1 else "them"

    @property
    def subject_pronoun(self) -> str:
        """`they` or `it`."""
        return "it" if self.number == 1 else "they"

    @property
    def each(self) -> str:
        """` each` for several pods."""
        return "" if self.number == 1 else " each"


def pod_count_of(assessment: Assessment) -> PodCount:
    """Return the pods that must be placed together: all waiting pods, or the rest of the quorum."""
    request = assessment.request
    return PodCount(request.needed, request.size, request.owners_text)


def nodes_with_verb(number: int, verb: str = "have") -> str:
    """Return `2 nodes have`, `1 node has`, `3 nodes are`."""
    singular = {"have": "has", "are": "is", "take": "takes"}[verb]
    return f"{count(number, 'node')} {singular if number == 1 else verb}"


def unreported_text(number: int) -> str:
    """Return the verb phrase about nodes that have not reported `status.allocatable` yet."""
    return "has not said what it offers yet" if number == 1 else "have not said what they offer yet"


def usable_nodes_text(number: int, labels: str = "") -> str:
    """Return `the only usable node`, `the 4 usable nodes (pool=gpu)`. Usable nodes could host a pod if drained."""
    noun = "the only usable node" if number == 1 else f"the {number} usable nodes"
    return f"{noun}{f' ({labels})' if labels else ''}"


def selector_labels_text(shape: Shape) -> str:
    """Return the node selector as `pool=gpu and rack=a`. Empty: affinity also selects nodes."""
    if shape.affinity is not None or shape.pod_affinity is not None:
        return ""
    return names(f"{key}={value}" for key, value in sorted(shape.node_selector.items()))


# Numbers of pods that fit


def fit_clause(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], when: When) -> str:
    """Return `: only 3 of 4 fit`. Empty: `fit_text` is empty, or there are several shapes."""
    fit = fit_text(unit, assessment, shapes[0], when) if len(shapes) == 1 else ""
    return f": {fit}" if fit else ""


def fit_text(unit: Unit, assessment: Assessment, shape_fit: ShapeFit, when: When) -> str:
    """Return `only 3 of 4 fit` for pods of one shape. Empty: none or all fit.

    With unsupported requirements it is `at most 3 of 4 fit`.
    """
    pod_count, most = pod_count_of(assessment), max_pods_of(unit, shape_fit, when)
    if not 0 < most < pod_count.number:
        return ""
    is_bound = (
        shape_fit.shape.unsupported
        or unit_keys(unit)
        or is_anti_affinity_unsupported(assessment.request)
    )
    only = "at most" if is_bound else "only"
    return f"{only} {most} of {pod_count.total} {'fits' if most == 1 else 'fit'}"


def max_pods_of(unit: Unit, shape_fit: ShapeFit, when: When) -> int:
    """Return how many pods of the shape fit, including nodes outside the domain of placed members.

    The sentences that use this number are not about that domain.
    """
    if unit.placing is None or unit.placing.request.domain is None:
        return shape_fit.now if when is When.CURRENT else shape_fit.empty
    now, empty, *_ = feasible_nodes_of(nodes_for(unit), shape_fit.shape).summary(unit_keys(unit))
    return now if when is When.CURRENT else empty


def unit_keys(unit: Unit) -> tuple[str, ...]:
    """Return the topology keys of the unit's request."""
    return unit.placing.request.topology_keys if unit.placing is not None else ()
