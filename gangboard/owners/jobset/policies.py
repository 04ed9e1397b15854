"""What a JobSet does with its child Jobs by itself: read before one of them is stopped.

Kept as text in `Owner.detail`: nobody else has such policies.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.owner import Owner

POLICIES = "policies"
"""Where they stand in `Owner.detail`."""


@dataclass(frozen=True, slots=True)
class FailureRule:
    """One rule of a failure policy, in JobSet's words."""

    action: str
    reasons: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    """ReplicatedJobs that it is about; empty for all."""
    patterns: tuple[str, ...] = ()
    """`onJobFailureMessagePatterns`: it is about failures with such a message only; empty for any."""


@dataclass(frozen=True, slots=True)
class Policies:
    """All of its policies, with what the API server fills in."""

    success_operator: str = "All"
    """`All` or `Any`."""
    success_roles: tuple[str, ...] = ()
    """Roles that count for success; empty for all."""
    failure_rules: tuple[FailureRule, ...] = ()
    restart_strategy: str = ""
    in_order: bool = False
    """`startupPolicy: InOrder`."""
    coordinator: str = ""
    """Name of the child Job that the coordinator's address points at, or empty."""
    ttl_seconds: int | None = None
    """`ttlSecondsAfterFinished`."""


def written(policies: Policies) -> str:
    """Return them as they are kept."""
    return msgspec.json.encode(policies).decode()


def policies_of(owner: Owner) -> Policies | None:
    """Return the policies of a JobSet; None of what has none."""
    text = owner.detail.get(POLICIES)
    return _read(text) if text is not None else None


@bounded_cache(256, MEBIBYTE)
def _read(text: str) -> Policies:
    return msgspec.json.decode(text, type=Policies)
