"""Settings of a queue that decide which entries it admits, and which flavors they get."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gangboard.domain.pod_constraints import Requirement


class PreemptionPolicy(StrEnum):
    """Admitted entries that a queue may preempt for a new entry. An unknown policy is stored as `UNKNOWN`."""

    NEVER = "Never"
    LOWER = "LowerPriority"
    LOWER_OR_NEWER = "LowerOrNewerEqualPriority"
    ANY = "Any"
    UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class RequiredCheck:
    """Admission check that an entry of the queue must pass."""

    name: str
    flavors: tuple[str, ...] = ()
    """Flavors for whose entries it is required. Empty means all."""


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Settings of one queue."""

    namespaces: tuple[Requirement, ...] | None = None
    """Requirements on the labels of the namespace of an entry. Empty admits all, and None admits no namespace."""
    checks: tuple[RequiredCheck, ...] = ()
    within_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    """PreemptionPolicy of entries in the same queue."""
    reclaim: PreemptionPolicy = PreemptionPolicy.NEVER
    """PreemptionPolicy of entries that use borrowed quota in queues that share quota with it."""
    borrows_by_preemption: bool = False
    """An entry may preempt others even if it needs borrowed quota after that."""
    stops_at_borrowing: bool = True
    """The first flavor in which an entry fits with borrowed quota is taken, and later flavors are not tried."""
    stops_at_preemption: bool = False
    """The first flavor in which an entry fits by preemption is taken, and later flavors are not tried."""
    prefers_preemption: bool = False
    """A flavor that needs preemption is preferred over a flavor that needs more borrowed quota."""
    is_by_variant: bool = False
    """Its system tries an entry in several flavors at once."""
