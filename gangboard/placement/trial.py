"""What advice is tried on: the waiting members, the nodes as they are, and one change of either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gangboard.domain.capacity import GangRequest, NodeRoom, Shape
from gangboard.domain.facts import Unit
from gangboard.domain.objects import ObjectRef
from gangboard.domain.placing import Answer, Assessment, Fit, When
from gangboard.placement.amounts import wanted
from gangboard.placement.eligibility import is_eligible, pods_that_fit
from gangboard.placement.fits import fits

STEPS = 5_000
"""Of the search, for one trial: advice that is hard to check is not given."""


@dataclass(frozen=True, slots=True)
class Slots:
    """How many pods of one shape each node takes, each node by itself."""

    now: Mapping[str, int]
    """Eligible nodes only."""

    @property
    def total(self) -> int:
        """Return the sum over all nodes."""
        return sum(self.now.values())


@dataclass(slots=True)
class Trial:
    """One unit whose members do not fit, and what would be different."""

    unit: Unit
    request: GangRequest
    assessment: Assessment
    nodes: Sequence[NodeRoom]
    by_name: Mapping[str, NodeRoom] = field(default_factory=dict)
    _slots: dict[str, Slots] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_name = {node.name: node for node in self.nodes}

    @property
    def is_one_shape(self) -> bool:
        """Whether all members ask for the same: then slots add up and nothing has to be searched."""
        return len([party for party in self.request.parties if party.count]) == 1

    @property
    def shape(self) -> Shape:
        """Return the shape with the most members."""
        return max(self.request.parties, key=lambda party: party.count).shape

    def fit(
        self,
        changed: Mapping[str, NodeRoom] | None = None,
        request: GangRequest | None = None,
        target: int | None = None,
    ) -> Fit:
        """Return whether the members fit after the change.

        `changed` are nodes by name, `target` another number than the request needs.
        """
        request = request or self.request
        target = request.needed if target is None else target
        nodes = [changed.get(node.name, node) for node in self.nodes] if changed else self.nodes
        return fits(request, nodes, When.NOW, target, steps=STEPS)

    def fits(
        self,
        changed: Mapping[str, NodeRoom] | None = None,
        request: GangRequest | None = None,
        target: int | None = None,
    ) -> bool:
        """Whether it is proven that they fit after the change."""
        return self.fit(changed, request, target).answer is Answer.YES

    def slots(self, shape: Shape) -> Slots:
        """Return how many pods of the shape fit on each eligible node now."""
        found = self._slots.get(shape.name)
        if found is None:
            asked = wanted(shape)
            keys = self.request.topology_keys
            found = self._slots[shape.name] = Slots(
                {
                    node.name: pods_that_fit(node, shape, When.NOW, asked)[0]
                    for node in self.nodes
                    if is_eligible(node, shape, keys, asked)
                }
            )
        return found

    def domains(self) -> dict[tuple[str, ...], list[NodeRoom]]:
        """Return the nodes of each topology domain that is open to the members; one without keys."""
        keys = self.request.topology_keys
        found: dict[tuple[str, ...], list[NodeRoom]] = {}
        for node in self.nodes:
            if all(key in node.labels for key in keys):
                found.setdefault(tuple(node.labels[key] for key in keys), []).append(node)
        if self.request.domain is not None:
            return {self.request.domain: found.get(self.request.domain, [])}
        return found


def node_ref(name: str) -> ObjectRef:
    """Return a reference to a node, by which its name is hidden from who may not see nodes."""
    return ObjectRef("", "Node", "", name, "")
