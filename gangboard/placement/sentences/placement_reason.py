"""What keeps members from their nodes, as one answer: the code, the sentence and the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit


@dataclass(frozen=True, slots=True)
class PlacementReason:
    """Why members that the scheduler refuses have no node."""

    code: str
    text: str
    """A sentence without its full stop; it may begin with a small letter."""
    blocked: bool
    """It will not go until somebody changes something."""
    evidence: tuple[Evidence, ...] = ()

    @property
    def sentence(self) -> str:
        """The text as a sentence of its own."""
        return f"{self.text[:1].upper()}{self.text[1:]}."


def node_ref(name: str) -> ObjectRef:
    """Return the reference by which a name of a node is shown only to who may see it."""
    return ObjectRef("", "Node", "", name, "")


def source_of(unit: Unit) -> ObjectRef:
    """Return the object that numbers about the unit are told of: its group, or its owner."""
    return unit.group.meta.ref if unit.group is not None else unit.owner.meta.ref
