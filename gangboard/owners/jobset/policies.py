"""Policies by which a JobSet restarts, fails or completes.

The action policy reads them before a child Job is stopped. `Owner.detail` keeps them as JSON, because no other kind has
such policies.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from gangboard.decode.wire import read_text
from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.owner import Owner
from gangboard.owners.jobset.wire import (
    WireFailureRule,
    WireJobSetSpec,
    WireSuccessPolicy,
    child_name,
)

POLICIES = "policies"
"""Key in `Owner.detail`."""


@dataclass(frozen=True, slots=True)
class FailureRule:
    """One rule of `spec.failurePolicy`."""

    action: str
    reasons: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    """ReplicatedJobs that the rule applies to. Empty: all."""
    patterns: tuple[str, ...] = ()
    """`onJobFailureMessagePatterns`: the rule applies only to failures with such a message. Empty: all."""


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies of a JobSet, with the defaults of the API server."""

    success_operator: str = "All"
    """`All` or `Any`."""
    success_roles: tuple[str, ...] = ()
    """Roles that count for success. Empty: all."""
    failure_rules: tuple[FailureRule, ...] = ()
    restart_strategy: str = ""
    in_order: bool = False
    """`startupPolicy: InOrder`."""
    coordinator: str = ""
    """Name of the child Job behind the coordinator's address, or empty."""
    ttl_seconds: int | None = None
    """`ttlSecondsAfterFinished`."""


def read_policies(jobset: str, spec: WireJobSetSpec) -> Policies:
    """Return the policies of a JobSet.

    It applies the same defaults as the webhook and the CRD of JobSet v0.12. A JobSet that was created without them
    must not seem to have no policy.
    """
    success = spec.success_policy or WireSuccessPolicy()
    failure = spec.failure_policy
    coordinator = spec.coordinator
    return Policies(
        success_operator=success.operator or "All",
        success_roles=_texts(success.target_replicated_jobs),
        failure_rules=tuple(map(_rule, (failure.rules if failure else None) or ())),
        restart_strategy=(failure.restart_strategy or "Recreate") if failure else "",
        in_order=spec.in_order,
        coordinator=child_name(jobset, coordinator.replicated_job, coordinator.job_index or 0)
        if coordinator is not None and coordinator.replicated_job
        else "",
        ttl_seconds=spec.ttl_seconds_after_finished,
    )


def _rule(rule: WireFailureRule) -> FailureRule:
    return FailureRule(
        action=rule.action or "",
        reasons=_texts(rule.on_job_failure_reasons),
        roles=_texts(rule.target_replicated_jobs),
        patterns=_texts(rule.on_job_failure_message_patterns),
    )


def _texts(texts: list[str] | None) -> tuple[str, ...]:
    return tuple(map(read_text, texts or ()))


def encode_policies(policies: Policies) -> str:
    """Return the policies as JSON for `Owner.detail`."""
    return msgspec.json.encode(policies).decode()


def decode_policies(owner: Owner) -> Policies | None:
    """Return the policies of a JobSet. None: the owner is of another kind."""
    text = owner.detail.get(POLICIES)
    return _decode(text) if text is not None else None


@bounded_cache(256, MEBIBYTE)
def _decode(text: str) -> Policies:
    return msgspec.json.decode(text, type=Policies)
