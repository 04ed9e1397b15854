"""The node-fit table: where the waiting pods of each shape could go, and why not elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from gangboard.domain.capacity import PODS
from gangboard.domain.placement_result import Constraint
from gangboard.domain.resources import is_accelerator, unit_word
from gangboard.domain.verdict import FitReason, FitRow
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.formatting import amount_text, printable

_CONSTRAINTS = {
    Constraint.TOPOLOGY: "outside the topology domain of its members",
    Constraint.HOST_PORTS: "host port is taken",
    Constraint.ANTI_AFFINITY: "kept away by a pod that is there",
    Constraint.SPREAD: "topology spread lets no more pods in",
}
SHOWN = 3
"""Names of equal shapes before the rest is counted."""
_OPEN, _FULL, _NEVER = "running", "waiting", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReasonRow:
    """Some nodes without a place, and why."""

    label: str = shown("What", "What is used up (a resource, `pods`), or the filter that excludes.")
    nodes: int = shown("Nodes")
    detail: str = shown("Detail", "Which taint, label or resource.", empty_is_null=True)
    examples: tuple[str, ...] = shown(
        "Examples", "Names of up to three nodes; none for who may not see the whole cluster."
    )
    text: str
    """The label as a person reads it."""
    tone: str

    @property
    def more(self) -> int:
        """How many of the nodes are not named."""
        return self.nodes - len(self.examples)


@dataclass(frozen=True, slots=True)
class BarSegment:
    """One stretch of the bar of all nodes, in percent of it."""

    start: float
    width: float
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FitShape:
    """Where the waiting pods of one shape could go, were this shape alone.

    `open_nodes`, `saturated` and `excluded` add up to `nodes`.
    """

    json_name: ClassVar[str] = "Fit"

    unit: str = shown("Unit", "The group or Job.", empty_is_null=True)
    shape: str = shown("Shape")
    waiting: int = shown("Waiting", "Pods of this shape that wait for a node.")

    @shown_property("Requests", "Of one pod, in base units.", api_name="requests", is_method=True)
    def requests_by_name(self) -> dict[str, str]:
        """Return the requests of one pod by resource."""
        return dict(self.requests)

    fits_now: int | None = shown("Fit now", "Null: see `why`.", default=None)
    fits_empty: int | None = shown(
        "Fit empty", "How many fit without the pods that can leave.", default=None
    )
    nodes: int | None = shown("Nodes", "All nodes of the cluster.", default=None)
    open_nodes: int | None = shown("Open", "Nodes that can take one more now.", default=None)
    saturated: tuple[FitReasonRow, ...] = shown(
        "Full", "Nodes that could host it and are full.", default=()
    )
    excluded: tuple[FitReasonRow, ...] = shown(
        "Excluded", "Nodes that never host it as things are.", default=()
    )
    unsupported: tuple[str, ...] = shown(
        "Not worked out",
        "What else a pod asks for and was not worked out: the numbers are at most so many.",
        default=(),
    )
    why: str = shown(
        "Why",
        "Why nothing can be told; the numbers are null then.",
        empty_is_null=True,
        default="",
    )
    requests: tuple[tuple[str, str], ...]
    """(resource, quantity in base units) of one pod."""

    @property
    def title(self) -> str:
        """The name of the shape; the unit's where it is the only one of it and has none."""
        return self.shape or self.unit

    @property
    def unit_besides(self) -> str:
        """The unit, where the title does not say it."""
        return "" if self.unit == self.title else self.unit

    @property
    def asks(self) -> str:
        """What one pod asks for, as a person reads it."""
        return requests_text(self.requests)

    @property
    def short(self) -> int:
        """How many of the waiting pods find no place now, were this shape alone."""
        return max(0, self.waiting - (self.fits_now or 0))

    @property
    def full_nodes(self) -> int:
        """How many nodes could host it and are full."""
        return sum(row.nodes for row in self.saturated)

    @property
    def excluded_nodes(self) -> int:
        """How many nodes never host it as things are."""
        return sum(row.nodes for row in self.excluded)

    @property
    def reasons(self) -> tuple[FitReasonRow, ...]:
        """The nodes without a place: the full ones, then those that never fit."""
        return (*self.saturated, *self.excluded)

    @property
    def bar(self) -> tuple[BarSegment, ...]:
        """All nodes as one bar."""
        parts = [(self.open_nodes or 0, _OPEN), *((row.nodes, row.tone) for row in self.reasons)]
        whole = max(1, sum(nodes for nodes, _ in parts))
        segments, at = [], 0.0
        for nodes, tone in parts:
            width = 100 * nodes / whole
            if nodes:
                segments.append(BarSegment(round(at, 2), round(width, 2), tone))
            at += width
        return tuple(segments)


@dataclass(frozen=True, slots=True)
class EqualShapes:
    """Shapes of which everything but the name is the same: one row of the table."""

    shape: FitShape
    """One of them."""
    names: tuple[str, ...]
    """Some of their titles."""
    count: int

    @property
    def more(self) -> int:
        """How many are not named."""
        return self.count - len(self.names)


def fold_equal_shapes(shapes: Iterable[FitShape]) -> tuple[EqualShapes, ...]:
    """Return equal shapes as one; their numbers are those of each, never a sum."""
    alike: dict[FitShape, list[str]] = {}
    first: dict[FitShape, FitShape] = {}
    for shape in shapes:
        bare = replace(shape, unit="", shape="")
        alike.setdefault(bare, []).append(shape.title)
        first.setdefault(bare, shape)
    return tuple(
        EqualShapes(first[bare], tuple(titles[:SHOWN]), len(titles))
        for bare, titles in alike.items()
    )


def requests_text(requests: Iterable[tuple[str, str]]) -> str:
    """Return `8 GPUs, 64 cpu, 512 Gi memory`: accelerators first."""
    texts = [
        amount_text(resource, text)
        for resource, text in sorted(requests, key=lambda pair: accelerators_first(pair[0]))
    ]
    return ", ".join(texts)


def accelerators_first(resource: str) -> tuple[bool, bool, bool, str]:
    """Return a key that sorts accelerators before cpu, memory and everything else."""
    return (not is_accelerator(resource), resource != "cpu", resource != "memory", resource)


def fit_shapes(
    rows: Iterable[FitRow], *, names_nodes: bool, silence: str = ""
) -> tuple[FitShape, ...]:
    """Return the table.

    `names_nodes`: the reader may see the whole cluster, so examples are named. `silence`: why
    nothing that was worked out can be trusted now, such as that the cluster does not answer.
    """
    return tuple(_shape(row, names_nodes, silence) for row in rows)


def _shape(row: FitRow, names_nodes: bool, silence: str) -> FitShape:
    blank = FitShape(
        unit=printable(row.unit),
        shape=printable(row.shape),
        waiting=row.waiting,
        requests=tuple((printable(name), printable(text)) for name, text in row.requests.items()),
        why=printable(silence or row.why),
    )
    if blank.why:
        return blank
    return replace(
        blank,
        fits_now=row.fits_now,
        fits_empty=row.fits_empty,
        nodes=row.nodes,
        open_nodes=row.open_nodes,
        saturated=tuple(_reason(item, names_nodes, _FULL, full_text) for item in row.saturated),
        excluded=tuple(_reason(item, names_nodes, _NEVER, str) for item in row.excluded),
        unsupported=tuple(printable(text) for text in row.unsupported),
    )


def full_text(label: str) -> str:
    """Return what is used up on a node, in words."""
    if label in set(Constraint):
        return _CONSTRAINTS[Constraint(label)]
    if " " in label:
        return label  # of another release: no resource
    if label == PODS:
        return "no room for one more pod"
    # Extended resources, which have a domain in their name, are counted. Others are measured.
    return f"too {'few' if '/' in label else 'little'} free {unit_word(label, '')}"


def _reason(
    item: FitReason, names_nodes: bool, tone: str, words: Callable[[str], str]
) -> FitReasonRow:
    return FitReasonRow(
        label=printable(item.label),
        text=printable(words(item.label)),
        nodes=item.nodes,
        detail=printable(item.detail),
        examples=tuple(printable(name) for name in item.examples) if names_nodes else (),
        tone=tone,
    )
