"""Advice: the steps that a finding advises, and the changes that arithmetic worked out to make a gang fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.shell import command_line, in_context


class ChangeMethod(StrEnum):
    """How a change of the gang's own object is made. The values are the words at the end of advice, in brackets."""

    IN_PLACE = "no restart"
    RECREATE = "needs re-creating"


class AdviceKind(StrEnum):
    """What advice can be about."""

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
        """Return OTHER for a kind that a newer release has stored."""
        return cls.OTHER


class Harm(StrEnum):
    """The cost of a step and who pays it, least harm first."""

    NOTHING = "nothing"
    """A person waits or looks at something."""
    NODES = "nodes"
    """Cordoned or tainted nodes take pods again."""
    BROKEN_GANGS = "broken gangs"
    """Other gangs lose room that they hold without being whole."""
    OWN_GANG = "own gang"
    """The gang itself changes."""
    WHOLE_GANGS = "whole gangs"
    """Other gangs stop that run whole."""

    @property
    def rank(self) -> int:
        """Its place in the order: 0 is the least harm."""
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
    """Return the harm of a kind of step. Kinds that are not listed change the gang itself."""
    return _HARMS.get(kind, Harm.OWN_GANG)


@dataclass(frozen=True, slots=True)
class AdvisedStep:
    """A step that a person can take next: a sentence, and as fields what carries the step out.

    Sentences quote names that tenants choose. No code may read a command or an object out of a sentence.
    """

    text: str
    """One sentence in the imperative, without the command."""
    kind: AdviceKind = AdviceKind.OTHER
    command: tuple[str, ...] = ()
    """The words that `shell.command` made; empty if the step has no command."""
    objects: tuple[ObjectRef, ...] = ()
    """Nodes to uncordon, gangs to suspend or Jobs to resume.

    Empty if the sentence names only some of them, because some would not be enough."""

    @property
    def sentence(self) -> str:
        """The text with the command at its end."""
        if not self.command:
            return self.text
        return f"{self.text.removesuffix('.')}: {command_line(self.command)}"


def in_cluster(step: AdvisedStep, cluster: str, context: str) -> AdvisedStep:
    """Return the step with a command that names its cluster, or with the name of the cluster in its text."""
    text, words = with_cluster_name(step.text, step.command, cluster, context)
    return replace(step, text=text, command=words)


def with_cluster_name(
    text: str, command: tuple[str, ...], cluster: str, context: str
) -> tuple[str, tuple[str, ...]]:
    """Return a sentence and its command, one of which names the cluster: the command, if it can."""
    words = in_context(command, context)
    if not words or words != command:
        return text, words
    return f"{text.removesuffix('.')} (in cluster {cluster}).", words


def advised_steps(advice: Iterable[AdvisedStep | str]) -> tuple[AdvisedStep, ...]:
    """Return the advice as steps. A plain sentence becomes a step without a command and without objects."""
    return tuple(one if isinstance(one, AdvisedStep) else AdvisedStep(one) for one in advice)


@dataclass(frozen=True, slots=True)
class Advice:
    """One change that makes the gang fit, checked by arithmetic, and minimal."""

    change: AdviceKind
    text: str
    """One sentence in the imperative, with numbers and names; `method` is its last word, where there is
    one."""
    method: ChangeMethod | None = None
    """None where nothing of the gang's own object changes."""
    nodes: tuple[ObjectRef, ...] = ()
    """The nodes that have to change."""
    named: tuple[ObjectRef, ...] = ()
    """The nodes that the sentence names."""
    free: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """WAIT_FOR_ROOM: node → resource → how much more must become free there, in scheduler units."""
    taint: Taint | None = None
    count: int | None = None
    """The new size or quorum."""
    label: str = ""
    """SELECT: the label of nodes whose value is to be another."""
    values: tuple[str, ...] = ()
    """SELECT: the values of it that do, each by itself."""
    gangs: tuple[ObjectRef, ...] = ()
    """SUSPEND_GANGS and SUSPEND_BROKEN: the smallest set; WAIT_FOR_END: whose pods they are, as far as the sentence names
    them. Names only for who may see them."""
    at: datetime | None = None
    """WAIT_FOR_END: when all of it has ended at the latest."""
    command: tuple[str, ...] = ()
    """SIZE and QUORUM: the words of the command that makes the change, where it is made in place and the kind
    says where the number stands."""
    until: datetime | None = None
    """It counts on an end that must have come by then: it is to be worked out again."""
