"""Random cases: a JobSet on nodes of its own, a relocation of one of its Jobs, and disturbances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from random import Random

AT_ONCE = 5
"""Cases that play side by side and share the kills of processes."""
RACKS = 2
_MOST_NODES = 6
_DEED_SECONDS = 4.0
"""Seconds after the request within which a deed begins. A relocation takes 2 to 8 s."""
_KILL_SECONDS = 8.0


class FollowUp(StrEnum):
    """A second action, in the calm after the first one."""

    NONE = "none"
    ALLOW = "allow all nodes"
    RESUME = "suspend and resume"
    AGAIN = "leave the new node"


class DeedKind(StrEnum):
    """A write by a person who is not gangboard."""

    RESUME_JOB = "resumes the Job"
    SUSPEND_JOB = "suspends the Job"
    SUSPEND_JOBSET = "suspends the JobSet"
    PAUSE_JOBSET = "suspends the JobSet and resumes it"
    FAIL_SIBLING = "a pod of a sibling fails"
    DELETE_HOLD = "deletes the Hold"
    CORDON = "cordons the node that is left"
    TOUCH_JOB = "labels the Job"


STOPS = frozenset(
    {
        DeedKind.RESUME_JOB,
        DeedKind.SUSPEND_JOB,
        DeedKind.SUSPEND_JOBSET,
        DeedKind.PAUSE_JOBSET,
        DeedKind.DELETE_HOLD,
    }
)
"""Deeds that can stop or start pods of the relocated Job."""
RESTARTS = frozenset(
    {DeedKind.SUSPEND_JOBSET, DeedKind.PAUSE_JOBSET, DeedKind.FAIL_SIBLING},
)
"""Deeds that replace pods of siblings."""

ACT_WORKER, GANGBOARD = "act worker", "gangboard"
"""Names of kills that do not concern the control plane: the act worker, and every process of gangboard."""
PLANE_PROCESSES = ("jobset", "kube-controller-manager", "kube-apiserver", "kube-scheduler")


@dataclass(frozen=True)
class Deed:
    """A write of a person, `after` seconds after the request of its case."""

    kind: DeedKind
    after: float


@dataclass(frozen=True)
class Kill:
    """SIGKILL of a process, `after` seconds after the beginning of its batch. It is started again at once."""

    process: str
    after: float


@dataclass(frozen=True)
class Case:
    """One JobSet and what happens to it."""

    seed: int
    number: int
    jobs: int
    pods: int
    """Pods of each Job."""
    nodes: int
    pods_per_node: int
    racks: bool
    group: bool
    """One PodGroup over all pods, where pods can name one. On 1.36 each Job is a gang by itself."""
    max_restarts: int | None
    grace: int
    """Seconds that a pod takes to end."""
    own_affinity: bool
    leaves_rack: bool
    request_after: float
    follow_up: FollowUp
    deeds: tuple[Deed, ...] = ()

    @property
    def name(self) -> str:
        """Name for namespaces and reports."""
        return f"play-{self.seed}-{self.number}"

    def __str__(self) -> str:
        size = f"{self.jobs} x {self.pods} pods, {self.nodes} nodes of {self.pods_per_node}"
        words = [
            size,
            f"grace {self.grace} s",
            *(["group"] if self.group else []),
            *(["own affinity"] if self.own_affinity else []),
            *([f"{self.max_restarts} restarts"] if self.max_restarts is not None else []),
            "leaves a rack" if self.leaves_rack else "leaves a node",
            *[f"{deed.kind} after {deed.after:.1f} s" for deed in self.deeds],
            f"then: {self.follow_up}",
        ]
        return f"case {self.number}: {'; '.join(words)}"


@dataclass(frozen=True)
class Batch:
    """Cases that play at the same time."""

    seed: int
    number: int
    cases: tuple[Case, ...]
    kills: tuple[Kill, ...]


def make_batches(
    seed: int, cases: int, *, at_once: int = AT_ONCE, kills_gangboard: bool = True
) -> Iterator[Batch]:
    """Yield batches with so many cases in all, each batch with one to three kills."""
    for number, first in enumerate(range(0, cases, at_once)):
        numbers = range(first, min(cases, first + at_once))
        random = Random(f"{seed} kills {number}")
        names = (*PLANE_PROCESSES, *((ACT_WORKER, GANGBOARD) if kills_gangboard else ()))
        kills = sorted(
            (
                Kill(random.choice(names), random.uniform(0.0, _KILL_SECONDS))
                for _ in range(random.choice((1, 2, 2, 3)))
            ),
            key=lambda kill: kill.after,
        )
        drawn = tuple(make_case(seed, case) for case in numbers)
        yield Batch(seed, number, drawn, tuple(kills))


def make_case(seed: int, number: int) -> Case:
    """Return the case of a number. It depends on nothing else, so that it can be played alone."""
    random = Random(f"{seed} case {number}")
    jobs, pods = random.choice((1, 2, 2, 3)), random.randint(1, 3)
    nodes, pods_per_node = random.randint(3, _MOST_NODES), random.choice((1, 2, 2))
    if nodes * pods_per_node < jobs * pods:
        pods_per_node = 2
        nodes = max(nodes, ceil(jobs * pods / pods_per_node))
    racks = random.random() < 0.4
    return Case(
        seed=seed,
        number=number,
        jobs=jobs,
        pods=pods,
        nodes=nodes,
        pods_per_node=pods_per_node,
        racks=racks,
        group=random.random() < 0.4,
        max_restarts=random.choice((None, 3, 3)),
        grace=random.randint(0, 3),
        own_affinity=random.random() < 0.3,
        leaves_rack=racks and random.random() < 0.6,
        request_after=random.uniform(0.0, 3.0),
        follow_up=random.choice(list(FollowUp)),
        deeds=_deeds(random, jobs),
    )


def _deeds(random: Random, jobs: int) -> tuple[Deed, ...]:
    kinds = [kind for kind in DeedKind if jobs > 1 or kind is not DeedKind.FAIL_SIBLING]
    chosen = [random.choice(kinds) for _ in range(random.choice((0, 1, 1, 2)))]
    deeds = [Deed(kind, random.uniform(0.0, _DEED_SECONDS)) for kind in chosen]
    return tuple(sorted(deeds, key=lambda deed: deed.after))
