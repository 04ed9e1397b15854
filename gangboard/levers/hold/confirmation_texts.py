"""Sentences about a Hold in the confirmation of an action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.text import label, shorten
from gangboard.facts.gang import Gang
from gangboard.policy.decision import DesiredAction
from gangboard.policy.phrases import moment, wait_of, wait_of_gang


def existing_hold_sentences(holds: Sequence[Hold]) -> tuple[str, ...]:
    """Name the Holds that exist already and are used."""
    return tuple(
        f"Hold {hold.meta.ref.name} exists already"
        f"{f', made by {hold.by}' if hold.by else ''}"
        f"{f', and ends at {moment(hold.until)}' if hold.until else ''}: no other is created."
        for hold in holds
    )


def proof_sentence(levers: ClusterLevers) -> str:
    """Announce the test of the Hold, with the time of the last passed test in this cluster."""
    last = levers.hold_proved_at
    test = f"last test passed at {moment(last)}" if last else "no test passed here yet"
    return f"The Hold is tested on this Job first ({test})."


def parent_of(job: Owner) -> str:
    """Return the owner of a Job as a sentence names it."""
    controller = job.meta.controller
    return f"{controller.kind} {controller.name}" if controller else "its owner"


def end_sentences(desired: DesiredAction) -> tuple[str, ...]:
    """Return when gangboard ends the Hold, if the request has an end."""
    if desired.until is None:
        return ()
    return (f"gangboard removes the Hold and resumes it at {moment(desired.until)}.",)


def cluster_warnings(levers: ClusterLevers) -> tuple[str, ...]:
    """Warn about doubts about the Hold in this cluster before its test."""
    warnings = []
    refuted, proved = levers.hold_refuted_at, levers.hold_proved_at
    if refuted is not None and (proved is None or refuted > proved):
        warnings.append(f"The last proof of the Hold failed, at {moment(refuted)}.")
    if levers.hold is PolicyState.INSTALLED and levers.hold_sentence:
        text = levers.hold_sentence
        warnings.append(f"{text[:1].upper()}{text[1:]}.")
    if levers.hold is PolicyState.NOT_SEEN:
        warnings.append(
            "gangboard may not read whether the Hold is installed here. The test will show it."
        )
    return tuple(warnings)


def hold_names(holds: Iterable[Hold]) -> str:
    """Return the names of Holds; `none` if there are none."""
    return ", ".join(hold.meta.ref.name for hold in holds) or "none"


def release_reactions(
    gang: Gang, job: Owner, remaining: Sequence[Hold], blocked: str
) -> tuple[str, ...]:
    """Explain why the Job does not run after the removal of the Hold."""
    name = label(job.meta.ref)
    if blocked:
        return ("Only the Hold is removed.", blocked)
    if not job.suspended:
        return (f"Only the Hold is removed: {name} is not suspended.",)
    if remaining:
        return (
            f"Only its Hold is removed: {_remaining_text(remaining)}, so {name} stays suspended.",
        )
    wait = wait_of(gang, job)
    if wait is None:
        return ("Only the Hold is removed.",)
    return (f"Only the Hold is removed: {wait.why}, and the Job starts when {wait.until}.",)


def meaning_of_hold(gang: Gang, job: Owner) -> str:
    """Explain a Hold on a Job that is suspended already."""
    text = f"Keep this {job.meta.ref.kind} suspended"
    if wait_of(gang, job) is None:
        return f"{text}."
    return f"{text} when {_start_event(gang)}."


def meaning_of_release(gang: Gang, job: Owner, remaining: Sequence[Hold], *, blocked: bool) -> str:
    """Explain the removal of a Hold that does not resume the Job."""
    kind = job.meta.ref.kind
    if blocked:
        return f"Remove the Hold; the {kind} is not changed."
    if not job.suspended:
        return f"Remove the Hold; the {kind} is not suspended."
    if remaining:
        return f"Remove the Hold; {_remaining_text(remaining)}."
    if wait_of_gang(gang) is not None:
        return f"Remove the Hold; the {kind} resumes with its {gang.owner.meta.ref.kind}."
    return f"Remove the Hold; the {kind} starts when {_start_event(gang)}."


def _start_event(gang: Gang) -> str:
    """Return what starts a waiting Job: its owner, or the queue that manages the Job."""
    if wait_of_gang(gang) is not None:
        return f"the {gang.owner.meta.ref.kind} resumes"
    return f"{gang.queue_system} admits it"


def removal_sentences(holds: Sequence[Hold]) -> tuple[str, ...]:
    """Name the removed Holds if there are several."""
    return (f"Holds {hold_names(holds)} are removed.",) if len(holds) > 1 else ()


def _remaining_text(holds: Sequence[Hold]) -> str:
    """Return `Hold a of ada stays`, or `Holds a, b stay`."""
    if len(holds) > 1:
        return f"Holds {hold_names(holds)} stay"
    by = f" of {shorten(holds[0].by)}" if holds[0].by else ""
    return f"Hold {holds[0].meta.ref.name}{by} stays"


def other_holder_warnings(holds: Iterable[Hold], by: str) -> tuple[str, ...]:
    """Name the users whose Hold another user removes."""
    return tuple(
        f"Hold {hold.meta.ref.name} was made by {hold.by}"
        + (f": “{shorten(hold.reason)}”" if hold.reason else ".")
        for hold in holds
        if hold.by and by and hold.by != by
    )
