"""What is needed and there, and crowds of pods, as a sentence has them."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.domain.capacity import Shape
from gangboard.domain.placing import Assessment
from gangboard.domain.text import count, names, plural
from gangboard.placement.amount_words import amount_of, bare, is_bytes


def needed_and_there(resource: str, needed: int, there: int) -> tuple[str, str]:
    """Return what is needed, and without its name what is there, never looking alike."""
    if bare(resource, needed) != bare(resource, there):
        return amount_of(resource, needed), bare(resource, there)
    return amount_of(resource, needed, exact=True), bare(resource, there, exact=True)


def are_free(resource: str, text: str) -> str:
    """Return `none is free`, `1 is free`, `8 are free`, `64Gi is free`."""
    if text == "0":
        return "none is free"
    is_one = text == "1" or is_bytes(resource) or text.endswith("m")
    return f"{text} is free" if is_one else f"{text} are free"


@dataclass(frozen=True, slots=True)
class Crowd:
    """The pods that a sentence is about."""

    number: int
    of: int
    """How many wait; more than `number` where a quorum of them is enough."""
    shape: str = ""
    """Name of their shape, where the gang has several and only one is meant; `2 Jobs` where they are
    of several."""

    def __str__(self) -> str:
        """Return `6 pods`, `at least 4 of 6 pods`, `2 pods of run-workers-0`."""
        whose = f" of {self.shape}" if self.shape else ""
        if self.number == self.of:
            return f"{count(self.of, 'pod')}{whose}"
        return f"at least {self.number} of {count(self.of, 'pod')}{whose}"

    def verb(self, word: str) -> str:
        """Return the subject with its verb: `6 pods need`, `1 pod needs`."""
        return f"{self} {plural(self.number, word)}"

    @property
    def them(self) -> str:
        """Return `them` or `it`."""
        return "it" if self.number == 1 else "them"

    @property
    def they(self) -> str:
        """Return `they` or `it`."""
        return "it" if self.number == 1 else "they"

    @property
    def each(self) -> str:
        """Return ` each` for several."""
        return "" if self.number == 1 else " each"


def crowd_of(assessment: Assessment) -> Crowd:
    """Return what must be placed at once: all that wait, or the quorum's part of them."""
    request = assessment.request
    return Crowd(request.needed, request.size, request.whose)


def nodes_that(number: int, verb: str = "have") -> str:
    """Return `2 nodes have`, `1 node has`, `3 nodes are`."""
    singular = {"have": "has", "are": "is", "take": "takes"}[verb]
    return f"{count(number, 'node')} {singular if number == 1 else verb}"


def not_said(number: int) -> str:
    """Return what is the matter with so many nodes that have just registered."""
    return "has not said what it offers yet" if number == 1 else "have not said what they offer yet"


def usable_nodes(number: int, labels: str = "") -> str:
    """Return `the only usable node`, `the 4 usable nodes (pool=gpu)`: those that could host one if empty."""
    what = "the only usable node" if number == 1 else f"the {number} usable nodes"
    return f"{what}{f' ({labels})' if labels else ''}"


def labels_of(shape: Shape) -> str:
    """Return `pool=gpu and rack=a`, the node selector; empty where more than that selects nodes."""
    if shape.affinity is not None or shape.pod_affinity is not None:
        return ""
    return names(f"{key}={value}" for key, value in sorted(shape.node_selector.items()))
