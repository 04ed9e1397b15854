"""The last eviction of a Workload, by its condition `Evicted`.

The condition is False again once the Workload has quota (observed on v0.19.2).
"""

from __future__ import annotations

import re

from gangboard.domain.eviction import EntryEviction, EvictionCode
from gangboard.domain.objects import Condition, find_condition

PODS_LATE = "PodsReadyTimeout"
CHECK_RETRIES = "AdmissionCheck"
NODE_FAILURES = "NodeFailures"  # not observed
PREEMPTED = "Preempted"
_FOR_JOB = re.compile(r"JobUID: ([^\s,)]+)")
_CODES = {
    PREEMPTED: EvictionCode.PREEMPTED,
    PODS_LATE: EvictionCode.REQUEUED,
    CHECK_RETRIES: EvictionCode.REQUEUED,
    NODE_FAILURES: EvictionCode.REQUEUED,
}


def last_eviction(conditions: tuple[Condition, ...]) -> EntryEviction | None:
    """Return the eviction of a Workload that has no quota since."""
    evicted = find_condition(conditions, "Evicted")
    if evicted is None or not evicted.is_true or evicted.since is None:
        return None
    code = _CODES.get(evicted.reason, EvictionCode.EVICTED)
    taker = preemptor_uid(evicted.message) if code is EvictionCode.PREEMPTED else ""
    return EntryEviction(code, evicted.reason, evicted.since, taker)


def preemptor_uid(text: str) -> str:
    """Return the uid of the owner for which Kueue preempted a Workload. Empty if the text has none."""
    job = _FOR_JOB.search(text)
    return job[1] if job is not None else ""
