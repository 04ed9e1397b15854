"""`deactivated`: the owner is suspended because its Workload of Kueue has `spec.active: false`.

A person sets that to stop the owner for good; Kueue does it itself when it gives up (too many
requeues, time limit, a rejected check). Kueue then says `QuotaReserved=False/Pending` as for any that
waits (observed with v0.19.2, real-control-plane.md §5), so the field decides, not the condition.
"""

from __future__ import annotations

from gangboard.domain.facts import GangFacts
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.queue import QueueEntry
from gangboard.domain.reading.findings import gang_finding
from gangboard.domain.reading.wording import names, pods_left, sentence, shorten
from gangboard.domain.registry import GangRule
from gangboard.domain.verdict import Evidence, Finding

# Reason of `Evicted`: `Deactivated` by a person, `DeactivatedDueTo<Cause>` by Kueue.
_REASON = "Deactivated"


def find(facts: GangFacts) -> Finding | None:
    """Return a finding when every entry that the suspended owner has in a queue is inactive."""
    owner = facts.owner
    entries = [entry for entry in facts.entries if _counts(facts, entry)]
    if not owner.suspended or owner.finish is not None or not entries:
        return None
    if any(entry.active for entry in entries):
        return None
    listed = names(entry.meta.ref.name for entry in entries)
    subject = f"Workload {listed} is" if len(entries) == 1 else f"Workloads {listed} are"
    queue = next((entry.queue for entry in entries if entry.queue), owner.queue)
    where = f", so queue {queue} does not admit it" if queue else ", so no queue admits it"
    evictions = [eviction for entry in entries if (eviction := _eviction(entry)) is not None]
    sentences = (
        f"{subject} deactivated (spec.active is false){where}.",
        _cause(evictions),
        sentence(pods_left(facts.pods)),
    )
    return gang_finding(
        RULE,
        Health.SUSPENDED,
        " ".join(filter(None, sentences)),
        advice=(f"Set spec.active of {subject.rpartition(' ')[0]} to true to queue it again.",),
        evidence=(
            *(Evidence("spec.active", "false", entry.meta.ref) for entry in entries),
            *(
                Evidence(f"Evicted: {eviction.reason}", eviction.message)
                for eviction in evictions
                if eviction.message
            ),
        ),
        since=max((one.since for one in evictions if one.since is not None), default=None),
    )


def _counts(facts: GangFacts, entry: QueueEntry) -> bool:
    """Whether the entry is the owner's own and still in use."""
    return entry.owner_uid == facts.owner.meta.ref.uid and entry.is_in_use


def _eviction(entry: QueueEntry) -> Condition | None:
    """Return the condition by which Kueue says that it deactivated the entry, if it does."""
    evicted = find_condition(entry.conditions, "Evicted")
    if evicted is None or not evicted.is_true or not evicted.reason.startswith(_REASON):
        return None
    return evicted


def _cause(evictions: list[Condition]) -> str:
    """Return Kueue's own words when it was Kueue that gave up."""
    for eviction in evictions:
        if eviction.reason != _REASON:
            return f"Kueue: “{shorten(eviction.message or eviction.reason)}”"
    return ""


RULE = GangRule("deactivated", Stage.ADMISSION, "Deactivated", 35, find)
