"""What is wanted in a cluster, and how the objects are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gangboard.domain.hold_manifest import POLICY_VERSIONS
from gangboard.kube.service_accounts import ACTOR, NAMESPACE, READER, user_name

__all__ = ["ACTOR", "NAMESPACE", "READER", "Manifest", "Wanted", "user_name"]

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one cluster is to allow."""

    policy_version: str = POLICY_VERSIONS[0]
    """In which version it serves mutating policies; empty when it does not, so there is no Hold."""
    not_served: frozenset[str] = frozenset()
    """Keys of resources that it does not serve: the actor gets no lever on those."""
    parallelism: bool = False
    """The lever `parallelism` is switched on."""
    namespaces: tuple[str, ...] = ()
    """Where gangboard may act; empty for everywhere."""
