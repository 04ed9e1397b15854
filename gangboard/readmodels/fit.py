"""The node-fit table: the nodes on which the waiting pods of each shape fit, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from gangboard.domain.capacity import PODS
from gangboard.domain.placement_result import Constraint, Filter
from gangboard.domain.resources import is_accelerator, unit_word
from gangboard.domain.text import count, is_or_are
from gangboard.domain.verdict import FitBlocker, FitReason, FitRow
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.formatting import amount_text, printable

_CONSTRAINTS = {
    Constraint.TOPOLOGY: "outside the topology domain of its members",
    Constraint.HOST_PORTS: "host port is taken",
    Constraint.ANTI_AFFINITY: "pod anti-affinity with a pod on the node",
    Constraint.SPREAD: "topology spread allows no more pods",
}
SHOWN = 3
"""Equal shapes that are named. Further ones are counted."""
_OPEN, _FULL, _NEVER = "running", "waiting", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReasonRow:
    """Some nodes without a place, and why."""

    label: str = shown("What", "The exhausted resource (or `pods`), or the filter that excludes.")
    nodes: int = shown("Nodes")
    detail: str = shown("Detail", "Which taint, label or resource.", empty_is_null=True)
    examples: tuple[str, ...] = shown(
        "Examples",
        "Names of up to three nodes. Empty for callers who may not see the whole cluster.",
    )
    text: str
    """The label in words."""
    tone: str

    @property
    def more(self) -> int:
        """The number of nodes that are not named."""
        return self.nodes - len(self.examples)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitBlockerRow:
    """A cause that keeps nodes out now, and the nodes that it alone keeps out."""

    json_name: ClassVar[str] = "FitBlocker"

    label: str = shown(
        "What keeps nodes out", "The filter or constraint, or the exhausted resource (or `pods`)."
    )
    detail: str = shown(
        "Detail", "The key of the taint, the topology label or the resource.", empty_is_null=True
    )
    nodes: int = shown("Nodes", "All nodes that it keeps out, also if other causes do, too.")
    only_nodes: int | None = shown(
        "By it alone",
        "Nodes that take one more pod now but for this cause. Null: unknown, because amounts of these nodes are "
        "unknown.",
    )
    only_pods: int | None = shown(
        "Pods that fit there",
        "Most pods of the shape that `only_nodes` take now. Null: gangboard does not compute it for this cause.",
    )
    examples: tuple[str, ...] = shown(
        "Examples",
        "Names of up to three of `only_nodes`. Empty for callers who may not see the whole cluster.",
    )
    text: str
    """The label in words, with the detail."""

    @property
    def more(self) -> int:
        """The number of nodes of `only_nodes` that are not named."""
        return (self.only_nodes or 0) - len(self.examples)


@dataclass(frozen=True, slots=True)
class BarSegment:
    """A segment of the bar of all nodes, in percent."""

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
        "Fit if empty", "How many would fit if only DaemonSet and static pods ran.", default=None
    )
    nodes: int | None = shown("Nodes", "All nodes of the cluster.", default=None)
    open_nodes: int | None = shown("Open", "Nodes that can take one more now.", default=None)
    saturated: tuple[FitReasonRow, ...] = shown(
        "Full", "Nodes that could host it and are full.", default=()
    )
    excluded: tuple[FitReasonRow, ...] = shown(
        "Excluded", "Nodes that never host it as things are.", default=()
    )
    blockers: tuple[FitBlockerRow, ...] = shown(
        "Causes",
        "What keeps nodes out now, counted for each cause. A node can have several causes, so these numbers do not "
        "add up. Those that alone keep out most nodes come first.",
        default=(),
    )
    more_blockers: int = shown(
        "More causes", "Number of further causes that are not in `blockers`.", default=0
    )
    unsupported: tuple[str, ...] = shown(
        "Not checked",
        "Constraints of the pod that gangboard does not check: the numbers are upper bounds.",
        default=(),
    )
    why: str = shown(
        "Why",
        "Why the numbers are unknown and null.",
        empty_is_null=True,
        default="",
    )
    requests: tuple[tuple[str, str], ...]
    """(resource, quantity in base units) of one pod."""

    @property
    def title(self) -> str:
        """The name of the shape, or of its unit if the shape has no name."""
        return self.shape or self.unit

    @property
    def unit_besides(self) -> str:
        """The unit, if it differs from the title."""
        return "" if self.unit == self.title else self.unit

    @property
    def asks(self) -> str:
        """The requests of one pod in words."""
        return requests_text(self.requests)

    @property
    def short(self) -> int:
        """The number of waiting pods that do not fit now, if no other shape is placed."""
        return max(0, self.waiting - (self.fits_now or 0))

    @property
    def full_nodes(self) -> int:
        """The number of nodes that could host it and are full."""
        return sum(row.nodes for row in self.saturated)

    @property
    def excluded_nodes(self) -> int:
        """The number of nodes that cannot host it in their current state."""
        return sum(row.nodes for row in self.excluded)

    @property
    def reasons(self) -> tuple[FitReasonRow, ...]:
        """The rows of nodes without a place: full nodes, then excluded ones."""
        return (*self.saturated, *self.excluded)

    @property
    def blocker_sentence(self) -> str:
        """The cause that alone keeps out most nodes, in a sentence."""
        first = next((row for row in self.blockers if row.only_nodes), None)
        if first is None or first.only_nodes is None:
            return "No single cause is known to keep a node out."
        number = first.only_nodes
        are = is_or_are(number)
        text = f"{count(number, 'node')} {are} kept out by this cause alone: {first.text}."
        if first.only_pods is None:
            return text
        most = "at most " if self.unsupported else ""
        pods = f"{most}{min(first.only_pods, self.waiting)} of {count(self.waiting, 'pod')}"
        return f"{text} Capacity there: {pods}."

    @property
    def bar(self) -> tuple[BarSegment, ...]:
        """The bar of all nodes."""
        segments_of_nodes = [
            (self.open_nodes or 0, _OPEN),
            *((row.nodes, row.tone) for row in self.reasons),
        ]
        total = max(1, sum(nodes for nodes, _ in segments_of_nodes))
        segments, start = [], 0.0
        for nodes, tone in segments_of_nodes:
            width = 100 * nodes / total
            if nodes:
                segments.append(BarSegment(round(start, 2), round(width, 2), tone))
            start += width
        return tuple(segments)


@dataclass(frozen=True, slots=True)
class EqualShapes:
    """Shapes that are equal but for their names, shown as one row."""

    shape: FitShape
    """One of them."""
    names: tuple[str, ...]
    """Some of their titles."""
    count: int

    @property
    def more(self) -> int:
        """The number of shapes that are not named."""
        return self.count - len(self.names)


def fold_equal_shapes(shapes: Iterable[FitShape]) -> tuple[EqualShapes, ...]:
    """Return equal shapes as one. The numbers are those of each shape and not their sum."""
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
    """Return the rows of the table.

    `names_nodes`: the viewer may see the whole cluster, so the table names example nodes. `silence`: why the
    stored results are outdated, for example because the cluster does not answer.
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
        blockers=tuple(_blocker(item, names_nodes) for item in row.blockers),
        more_blockers=row.more_blockers,
        unsupported=tuple(printable(text) for text in row.unsupported),
    )


def _blocker(item: FitBlocker, names_nodes: bool) -> FitBlockerRow:
    text = item.label if item.label in set(Filter) else full_text(item.label)
    return FitBlockerRow(
        label=printable(item.label),
        detail=printable(item.detail),
        nodes=item.nodes,
        only_nodes=item.only_nodes,
        only_pods=item.only_pods,
        examples=tuple(printable(name) for name in item.examples) if names_nodes else (),
        text=printable(" ".join(filter(None, (text, item.detail)))),
    )


def full_text(label: str) -> str:
    """Return in words what is used up on a full node."""
    if label in set(Constraint):
        return _CONSTRAINTS[Constraint(label)]
    if " " in label:
        return label  # a text of another release, and no resource
    if label == PODS:
        return "no capacity for one more pod"
    # Extended resources, which have a domain in their name, are counted. Others are measured.
    return f"too {'few' if '/' in label else 'little'} free {unit_word(label, '')}"


def _reason(
    item: FitReason, names_nodes: bool, tone: str, label_text: Callable[[str], str]
) -> FitReasonRow:
    return FitReasonRow(
        label=printable(item.label),
        text=printable(label_text(item.label)),
        nodes=item.nodes,
        detail=printable(item.detail),
        examples=tuple(printable(name) for name in item.examples) if names_nodes else (),
        tone=tone,
    )
