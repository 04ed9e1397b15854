"""A small cluster with one gang: plain numbers, no objects yet."""

from __future__ import annotations

from dataclasses import dataclass

RACKS = ("a", "b")
DISKS = ("ssd", "hdd")
PORT = 7077


@dataclass(frozen=True)
class Ask:
    """Requests of one pod."""

    cpu: int = 0
    """Thousandths of a core."""
    memory: int = 0
    """MiB."""
    gpus: int = 0
    port: bool = False
    """It wants the one host port that these tests use."""
    bystander: bool = False
    """It has the label of its set and no rule of its own."""
    shuns: str = ""
    """Name of a set that it has a rule about, whatever set it is of itself."""
    udp: bool = False
    """By UDP: another port than the same number by TCP."""
    init: int = 0
    """Thousandths of a core of a container that runs before the others: the larger number counts."""
    apart: str = ""
    """Name of its set of pods, with which it shares no node by required anti-affinity."""
    counted: bool = False
    """It has the label by which topology spread counts pods."""

    @property
    def amounts(self) -> tuple[int, int, int]:
        """All that is counted."""
        return max(self.cpu, self.init), self.memory, self.gpus

    @property
    def avoided(self) -> frozenset[str]:
        """The sets that it has a rule about."""
        own = "" if self.bystander else self.apart
        return frozenset({own, self.shuns}) - {""}


@dataclass(frozen=True)
class NodeSpec:
    """A node and the pods that run on it."""

    name: str
    cpu: int
    memory: int
    gpus: int
    pods: int
    disk: str
    rack: str = ""
    """Empty: it has no such label."""
    tainted: bool = False
    cordoned: bool = False
    runs: tuple[Ask, ...] = ()


@dataclass(frozen=True)
class SpreadSpec:
    """A hard topology spread constraint."""

    key: str
    """`rack`, `disk` or `host`."""
    skew: int = 1
    least: int = 1
    """`minDomains`."""
    honours_taints: bool = False


@dataclass(frozen=True)
class PodSetSpec:
    """Members of a gang that ask the same."""

    name: str
    count: int
    ask: Ask
    disk: str = ""
    """The label that its nodes must have; empty: any."""
    tolerates: bool = False
    affinity: str = ""
    """A required node affinity: `no hdd`, `some rack`, or none."""
    spread: SpreadSpec | None = None
    also: SpreadSpec | None = None
    """A second constraint beside it."""

    @property
    def needs(self) -> tuple[Ask, str, bool, str]:
        """Return all by which members can differ."""
        return self.ask, self.disk, self.tolerates, self.affinity


@dataclass(frozen=True)
class Case:
    """One cluster and one gang. `name` is all that is needed to make it again."""

    seed: int
    number: int
    nodes: tuple[NodeSpec, ...]
    pod_sets: tuple[PodSetSpec, ...]
    quorum: int
    topology: bool = False
    """All members in one rack."""
    order: tuple[str, ...] = ()
    """The pod set of each member, in the order in which they are made."""
    by_rack: bool = False
    """Pods of a set share no rack, where others share no node."""

    @property
    def name(self) -> str:
        """Return the name of its pool, its gang and everything else."""
        return f"s{self.seed}-c{self.number}"

    @property
    def size(self) -> int:
        """How many members it has."""
        return sum(pod_set.count for pod_set in self.pod_sets)

    @property
    def is_spread(self) -> bool:
        """Members must be spread."""
        return any(pod_set.spread is not None for pod_set in self.pod_sets)

    @property
    def is_mixed(self) -> bool:
        """Members have different requests."""
        return len({pod_set.needs for pod_set in self.pod_sets if pod_set.count}) > 1
