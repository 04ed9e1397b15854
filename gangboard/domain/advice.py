"""Advice of findings: steps for users, and the computed changes that make a gang fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.shell import command_line, in_context


class ChangeMethod(StrEnum):
    """How to change the gang's own object. The values appear in brackets at the end of advice."""

    IN_PLACE = "no restart"
    RECREATE = "needs re-creating"


class AdviceKind(StrEnum):
    """Kind of advice."""

    WAIT_FOR_ROOM = "wait for room"
    UNCORDON = "uncordon"
    RESTORE = "make devices allocatable again"
    TOLERATE = "tolerate a taint"
    SELECT = "select other nodes"
    SIZE = "lower the size"
    QUORUM = "lower the quorum"
    DROP_TOPOLOGY = "drop the topology constraint"
    OPT_OUT = "opt out of the gang"
    SUSPEND_GANGS = "suspend running gangs"
    SUSPEND_BROKEN = "suspend gangs that are not whole"
    WAIT_FOR_END = "wait for pods that end by themselves"
    RESUME = "resume suspended Jobs"
    LOOK = "look at something"
    REPLACE_PODS = "have failed pods made anew"
    OPEN_QUEUE = "open a queue"
    OTHER = "something else"

    @classmethod
    def _missing_(cls, value: object) -> AdviceKind:  # noqa: ARG003  # enum's signature
        """Return OTHER for a kind that a newer release stored."""
        return cls.OTHER


class Harm(StrEnum):
    """Side effects of a step on running work, least harm first."""

    NOTHING = "nothing"
    """The user waits or inspects an object."""
    NODES = "nodes"
    """Cordoned or tainted nodes accept pods again."""
    BROKEN_GANGS = "broken gangs"
    """Other gangs that do not run completely lose their nodes."""
    OWN_GANG = "own gang"
    """The gang itself changes."""
    WHOLE_GANGS = "whole gangs"
    """Other gangs stop that run completely."""

    @property
    def rank(self) -> int:
        """Position in the order above. 0 is the least harm."""
        return list(Harm).index(self)


_HARMS: Mapping[AdviceKind, Harm] = {
    AdviceKind.WAIT_FOR_END: Harm.NOTHING,
    AdviceKind.WAIT_FOR_ROOM: Harm.NOTHING,
    AdviceKind.LOOK: Harm.NOTHING,
    AdviceKind.UNCORDON: Harm.NODES,
    AdviceKind.SUSPEND_BROKEN: Harm.BROKEN_GANGS,
    AdviceKind.SUSPEND_GANGS: Harm.WHOLE_GANGS,
}


def harm_of(kind: AdviceKind) -> Harm:
    """Return the harm of a kind of step. Kinds without an entry change the gang itself."""
    return _HARMS.get(kind, Harm.OWN_GANG)


@dataclass(frozen=True, slots=True)
class AdvisedStep:
    """Next step for a user: a sentence, with its command and its objects in fields of their own.

    Sentences quote names that tenants choose. So code never parses a command or an object from a sentence.
    """

    text: str
    """Sentence in the imperative, without the command."""
    kind: AdviceKind = AdviceKind.OTHER
    command: tuple[str, ...] = ()
    """Arguments from `shell.command`. Empty if the step has no command."""
    objects: tuple[ObjectRef, ...] = ()
    """Nodes to uncordon, gangs to suspend or Jobs to resume.

    Empty if the sentence names only some of them, because changing a part would not be enough."""

    @property
    def sentence(self) -> str:
        """The text, followed by the command."""
        if not self.command:
            return self.text
        return f"{self.text.removesuffix('.')}: {command_line(self.command)}"


def in_cluster(step: AdvisedStep, cluster: str, context: str) -> AdvisedStep:
    """Return the step with the cluster in its command or, without a kubectl command, in its text."""
    text, command = with_cluster_name(step.text, step.command, cluster, context)
    return replace(step, text=text, command=command)


def with_cluster_name(
    text: str, command: tuple[str, ...], cluster: str, context: str
) -> tuple[str, tuple[str, ...]]:
    """Return a sentence and its command with the cluster named in one of them, preferably the command."""
    arguments = in_context(command, context)
    if not arguments or arguments != command:
        return text, arguments
    return f"{text.removesuffix('.')} (in cluster {cluster}).", arguments


def advised_steps(advice: Iterable[AdvisedStep | str]) -> tuple[AdvisedStep, ...]:
    """Return the advice as steps. A plain sentence becomes a step without a command and objects."""
    return tuple(step if isinstance(step, AdvisedStep) else AdvisedStep(step) for step in advice)


@dataclass(frozen=True, slots=True)
class Advice:
    """Minimal change that makes the gang fit, verified by the placement arithmetic."""

    change: AdviceKind
    text: str
    """Sentence in the imperative, with numbers and names. It ends with `method`, if there is one."""
    method: ChangeMethod | None = None
    """None if the gang's own object does not change."""
    nodes: tuple[ObjectRef, ...] = ()
    """The nodes to change."""
    named: tuple[ObjectRef, ...] = ()
    """The nodes that the sentence names."""
    free: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """WAIT_FOR_ROOM: node → resource → amount that must become free there, in scheduler units."""
    taint: Taint | None = None
    count: int | None = None
    """The new size or quorum."""
    label: str = ""
    """SELECT: the node label for which the gang must select another value."""
    values: tuple[str, ...] = ()
    """SELECT: values of that label, each of which is enough."""
    gangs: tuple[ObjectRef, ...] = ()
    """SUSPEND_GANGS and SUSPEND_BROKEN: the smallest set of gangs. WAIT_FOR_END: the gangs that the sentence names.

    Pages show the names only to users who may see these gangs."""
    at: datetime | None = None
    """WAIT_FOR_END: the time by which all these pods have terminated."""
    command: tuple[str, ...] = ()
    """SIZE and QUORUM: arguments of the command, for an in-place change of a number whose path the kind declares."""
    until: datetime | None = None
    """Deadline of the termination on which the advice relies. The advice must be computed again then."""
