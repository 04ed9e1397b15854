"""Types of fleet scripts: gangs as data.

A `Gang` has the objects that a person created (kind, roles, quorum) and the state of each pod. The builder
creates the objects that a real cluster would have then. It computes the texts of the scheduler, so a pod that
is declared unschedulable must not fit on the fleet's nodes. Otherwise the build fails.

To add a gang, append a `Gang` to a tuple in `fleets/`:

    Gang(
        "team-nlp", "Job", "bert-ft", "running",       # namespace, kind, name, expected code
        age="5h",                                      # created five hours ago
        roles=(Role("", PodTemplate(gpus=2, pool="a100"), pods=4),),
        quorum=4,                                      # a gang; without: basic (1.37)
    )

`states` of a role lists one state per pod, Job by Job, and the last one repeats. The states are those of
`pod_status.WORDS`, and `absent` for a pod that was never created. The expected code is the one that design.md
defines for these objects. Take it from there, not from the product's output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from simulator.manifests import PodTemplate

Json = dict[str, Any]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_duration(text: str) -> timedelta:
    """Return a duration written as `90s`, `10m`, `1d12h`."""
    amounts = re.findall(r"(\d+)([smhd])", text)
    return timedelta(**{_UNITS[unit]: int(number) for number, unit in amounts})


@dataclass(frozen=True, slots=True)
class Role:
    """`jobs` Jobs of `pods` pods each. A Job or a PodGroup has one role without a name."""

    name: str
    template: PodTemplate
    jobs: int = 1
    pods: int = 1
    states: tuple[str, ...] = ("running",)
    nodes: tuple[str, ...] = ()
    """Nodes of its pods in order, if not the first that fits."""
    depends_on: Mapping[str, str] = field(default_factory=dict)
    jobs_exist: bool = True
    """Whether its Jobs exist."""
    held: tuple[int, ...] = ()
    """Indexes of Jobs with a Hold."""
    backoff_limit: int = 0
    quorum: int | None = None
    """Creates a PodGroup for each Job, under the CompositePodGroup of the gang."""

    def state(self, position: int) -> str:
        """Return the state of a pod by its position in the role."""
        return self.states[min(position, len(self.states) - 1)]


@dataclass(frozen=True, slots=True)
class ScriptedEvent:
    """An event on the gang's own object (`on="pods"`: on each of its unplaced pods)."""

    reason: str
    note: str
    source: str
    warning: bool = True
    on: str = "owner"
    count: int = 1


@dataclass(frozen=True, slots=True)
class Gang:
    """One gang of a fleet and its expected verdict code."""

    namespace: str
    kind: str
    name: str
    code: str
    age: str = "3h"
    roles: tuple[Role, ...] = ()
    quorum: int | None = None
    """The quorum of a Job or PodGroup, or of the PodGroup that all pods of a JobSet share."""
    topology: str = ""
    started: str = ""
    """Time since its pods entered their states; by default almost its age."""
    suspended: bool = False
    restarts: int = 0
    max_restarts: int | None = None
    finish: str = ""
    """Reason of its end: CompletionsReached, BackoffLimitExceeded, AllJobsCompleted, …"""
    restarting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    events: tuple[ScriptedEvent, ...] = ()
    group: str = "made"
    """`made`, `none` (no group although one was requested), `missing`, `going` or `error`."""
    error: str = ""
    """The scheduler's text for `group="error"`."""
    failed_pods: int = 0
    """Failures that its Job has counted."""
    made_by: Json | None = None
    """The object of a person whose controller created this Job (a CronJob): kind, name and spec."""
    api: str = ""
    """Its API group, if another kind has the same name."""
    minors: tuple[str, ...] = ("1.37", "1.36", "plain")
    """Kubernetes minors on which this gang can exist."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return namespace, kind and name."""
        return self.namespace, self.kind, self.name


@dataclass(frozen=True, slots=True)
class NodePool:
    """Identical nodes `<name>-1` to `<name>-<count>`, some of them faulty."""

    name: str
    count: int
    gpus: int = 0
    cpu: str = "96"
    memory: str = "1Ti"
    product: str = ""
    rack_size: int = 4
    rack_label: str = ""
    """An additional label for its racks, beside the common one."""
    taint: str = ""
    cordoned: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A ClusterQueue with GPU quotas, and a LocalQueue of its name in each namespace.

    JobSets and Jobs with its name in label `kueue.x-k8s.io/queue-name` are in it: admitted, or suspended and waiting.
    """

    name: str
    gpus: Mapping[str, int]
    """Flavor, which is a node pool, → nominal quota."""
    namespaces: tuple[str, ...]
    cohort: str
    stop_policy: str = "None"


@dataclass(frozen=True, slots=True)
class Fleet:
    """Nodes, namespaces and gangs of one cluster, and the parameters of its story."""

    name: str
    pools: tuple[NodePool, ...]
    gangs: tuple[Gang, ...]
    story_pool: str = ""
    """Pool of the story's gangs. Without it there is no story."""
    story_namespaces: tuple[str, ...] = ()
    story_gpus: tuple[int, ...] = (4, 4, 8)
    """Sizes of the story's pods, chosen at random."""
    queues: tuple[QueueSpec, ...] = ()
    story_gangs: int = 8
    """Maximum number of story gangs: a few more than fit."""
    has_captures: bool = False
    """True if the fleet contains the objects of `captures/`."""

    def gangs_of(self, minor: str) -> tuple[Gang, ...]:
        """Return the gangs that can exist on a minor."""
        return tuple(gang for gang in self.gangs if minor in gang.minors)

    def expected(self, minor: str) -> dict[tuple[str, str, str], str]:
        """Return the verdict code of each gang on a minor, by namespace, kind and name."""
        return {gang.key: gang.code for gang in self.gangs_of(minor)}

    def namespaces(self) -> tuple[str, ...]:
        """Return the namespaces of all its gangs and of its story."""
        named = dict.fromkeys(gang.namespace for gang in self.gangs)
        return ("default", *dict.fromkeys((*named, *self.story_namespaces)))
