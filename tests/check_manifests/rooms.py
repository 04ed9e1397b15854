"""Nodes of a case, empty or partly used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.controlplane.nodes import node
from tests.controlplane.objects import pod
from tests.decode.reading import Json
from tests.situations import POOL

TAINT = {"key": "test.gangboard.dev/reserved", "value": "yes", "effect": "NoSchedule"}
RACK = "test.gangboard.dev/rack"


@dataclass(frozen=True)
class Room:
    """Equal nodes."""

    nodes: int = 3
    cpu: int = 4
    used: int = 0
    """cpu of each node that a foreign pod uses."""
    gpus: int = 0
    tainted: bool = False
    racks: int = 0
    """Number of racks among which the nodes are divided."""
    labels: Mapping[str, str] = field(default_factory=dict)

    def manifests(self, name: str) -> tuple[Json, ...]:
        """Return the nodes of a case."""
        return tuple(
            node(
                f"{name}-{index}",
                cpu=str(self.cpu),
                gpus=self.gpus,
                labels={
                    POOL: name,
                    **self.labels,
                    **({RACK: f"{name}-r{index % self.racks}"} if self.racks else {}),
                },
                taints=[TAINT] if self.tainted else [],
            )
            for index in range(self.nodes)
        )

    def fillers(self, name: str) -> tuple[Json, ...]:
        """Return the foreign pods, each bound to its node."""
        if not self.used:
            return ()
        return tuple(
            pod(
                f"filler-{index}",
                name,
                cpu=str(self.used),
                tolerations=[{"operator": "Exists"}],
                spec={"nodeName": f"{name}-{index}"},
            )
            for index in range(self.nodes)
        )


FREE = Room()
"""Nine cpu in pods of three fit, one on each node."""
FULL = Room(used=3)
FRAGMENTED = Room(nodes=5, used=2)
"""Ten cpu are free, and no node has three."""
TAINTED = Room(tainted=True)
TOO_SMALL = Room(nodes=1)
