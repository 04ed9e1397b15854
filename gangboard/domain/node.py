"""A node: readiness and cordon."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.domain.objects import Condition, Meta


@dataclass(frozen=True, slots=True)
class Node:
    """What the rules of members that run need to know of a node."""

    meta: Meta
    ready: Condition | None
    """The condition `Ready`; `Unknown` when the kubelet went silent; None when never reported."""
    unschedulable: bool = False
    """Cordoned."""

    @property
    def is_ready(self) -> bool:
        """Whether the node says `Ready=True`."""
        return self.ready is not None and self.ready.is_true
