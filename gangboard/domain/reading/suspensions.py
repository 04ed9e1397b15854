"""Authors of suspensions, from gangboard's record or else the field manager in `managedFields`."""

from __future__ import annotations

from datetime import UTC, datetime

from gangboard.domain.facts import GangFacts
from gangboard.domain.owner import Owner
from gangboard.domain.reading.wording import quote
from gangboard.domain.suspension import RecordedSuspend, Suspension
from gangboard.domain.verdict import Evidence

_OURS = "gangboard"
_KUBECTL = "kubectl"


def suspension_of(facts: GangFacts, owner: Owner) -> Suspension | None:
    """Return the author of a suspension, or None if no source names one.

    A field manager other than gangboard wrote the field after our action, so it goes before the record.
    A kind without a suspend field has no field manager, and the record alone tells.
    """
    manager = owner.suspend_set_by
    record = facts.recorded_suspends.get(owner.meta.ref.uid)
    # A resume that a Hold turned back leaves the field and names who tried it, not who suspended
    # (observed on 1.37.0), so the field manager of such a Job tells nothing.
    turned_back = bool(owner.held_by)
    if record is not None and (manager in ("", _OURS) or turned_back):
        return recorded(record)
    if not manager or turned_back:
        return None
    by = _with_manager(manager)
    return Suspension(by, owner.suspend_set_at, by_person=by.startswith("with "))


def recorded(record: RecordedSuspend) -> Suspension:
    """Return the suspension in gangboard's record."""
    return Suspension(f"by {quote(record.actor)}", record.at, record.reason, by_person=True)


def _with_manager(manager: str) -> str:
    """Return `with kubectl`, `by night-saver`. A person uses the first two, other names are controllers."""
    if manager == _OURS:
        return "with gangboard"
    # kubectl-create, kubectl-patch, kubectl-client-side-apply: readers do not need the subcommand.
    is_kubectl = manager == _KUBECTL or manager.startswith(f"{_KUBECTL}-")
    return f"with {_KUBECTL}" if is_kubectl else f"by {quote(manager)}"


def suspension_words(suspension: Suspension, link: str = "at") -> str:
    """Return `by ada at 2026-11-27 02:19 UTC: make room`, without a full stop.

    The sentence is stored and can be days old when it is read, so it has the date. Its page shows the
    age beside it. `link` stands before the time: `since` after a state, `at` after an event.
    """
    at = f" {link} {minute_of(suspension.at)}" if suspension.at is not None else ""
    reason = f": {quote(suspension.reason)}" if suspension.reason.strip() else ""
    return f"{suspension.by}{at}{reason}"


def minute_of(at: datetime) -> str:
    """Return `2026-11-27 02:19 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def suspend_evidence(facts: GangFacts, owner: Owner) -> Evidence:
    """Return the field by which this kind says that it is suspended, with its value."""
    traits = facts.traits_of(owner.meta.ref)
    value = owner.detail.get(traits.suspended_detail, "true") if traits.suspended_detail else "true"
    return Evidence(traits.suspend_field or "spec.suspend", value, owner.meta.ref)
