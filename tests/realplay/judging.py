"""The invariants of a played case. Each function yields its violations; its name is the invariant's name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime

from tests.realplay.cases import RESTARTS, STOPS, DeedKind
from tests.realplay.history import Job, Moment, with_requirement
from tests.realplay.play import JOB, Played, Record, is_left_suspended, is_outdated

_BEFORE, _AFTER = 6.0, 5.0
"""Seconds around the time of a final state within which the witness sees what the worker has read.

If the API server is killed right then, the witness lists a few seconds later.
"""
_GONE = 20.0
"""Seconds after the end within which it has seen that a Hold is gone."""

_NOTHING = ("Nothing was sent", "nothing was sent", "Nothing was changed", "nothing was changed")

Invariant = Callable[[Record], Iterator[str]]


def every_action_ends(record: Record) -> Iterator[str]:
    """Each action has a final state with a sentence within END_SECONDS."""
    for action in record.actions:
        if action.state == "open":
            yield f"{action.verb} is still {action.row['state']}: {action.message}"
        elif len(action.message) < 15 or "." not in action.message:
            yield f"{action.verb} ended {action.state} with {action.message!r}"


def the_jobset_comes_to_rest(record: Record) -> Iterator[str]:
    """Once people and kills have ended, the JobSet runs again, unless it has finished."""
    yield from record.problems


def siblings_are_untouched(record: Record) -> Iterator[str]:
    """No pod of a sibling is replaced, unless people or a restart of the JobSet did that."""
    for since, until, deeds in _spans(record):
        first, last = record.history.at(since), record.history.at(until)
        before, after = first.jobset, last.jobset
        if before is None or after is None or after.restarts > before.restarts:
            continue
        if after.is_finished or RESTARTS.intersection(deeds):
            continue
        kept = {pod.uid for pod in last.pods if pod.is_live and not pod.is_ending}
        for pod in first.pods:
            if pod.job != JOB and pod.is_live and not pod.is_ending and pod.uid not in kept:
                yield f"a pod of sibling {pod.job} on {pod.node} is gone"


def no_index_runs_twice(record: Record) -> Iterator[str]:
    """No new pod of an index appears beside an old one, unless people stopped or started the Job."""
    known: set[str] = set()
    for since, until, deeds in _spans(record):
        if STOPS.intersection(deeds):
            continue
        for moment in record.history.moments(since, until):
            by_index: dict[tuple[str, str], list[str]] = {}
            for pod in moment.pods:
                if pod.job == JOB and pod.is_live:
                    by_index.setdefault((pod.job_uid, pod.index), []).append(pod.uid)
            for (_, index), uids in by_index.items():
                if len(uids) > 1 and not known.issuperset(uids):
                    known.update(uids)
                    yield f"index {index} has {len(uids)} live pods {_after(record, moment)}"


def _spans(record: Record) -> Iterator[tuple[float, float, frozenset[DeedKind]]]:
    """Yield begin and end of the time before each deed, between deeds and the first rest, and after it.

    Each has the kinds of the deeds that may have their effect in it.
    """
    since, kinds = record.began_at, frozenset[DeedKind]()
    for deed in record.deeds:
        if deed.at > since:
            yield since, deed.at, kinds
            since = deed.at
        kinds |= {deed.kind}
    rested_at = record.rested_at[0] if record.rested_at else float("inf")
    yield since, rested_at, kinds
    if record.rested_at:
        yield rested_at, float("inf"), frozenset()


def no_hold_is_left(record: Record) -> Iterator[str]:
    """At rest there is no Hold, unless the Job was suspended on purpose or an action says that one stays."""
    for action, rested_at in zip(_last_actions(record), record.rested_at, strict=False):
        for hold in record.history.at(rested_at).holds:
            is_wanted = action.verb == "suspend" or is_left_suspended(action)
            if not is_wanted and "could not be removed yet" not in action.message:
                yield f"Hold {hold.name} is left after {_end_of(action)}"


def no_job_stays_suspended(record: Record) -> Iterator[str]:
    """At rest no Job is suspended, unless a suspend did it or a relocation says so."""
    for action, rested_at in zip(_last_actions(record), record.rested_at, strict=False):
        moment = record.history.at(rested_at)
        is_wanted = action.verb == "suspend" or is_left_suspended(action)
        for job in moment.jobs:
            if job.is_suspended and not (is_wanted and job.name == JOB):
                yield f"{job.name} is suspended after {_end_of(action)}"


def verified_is_true(record: Record) -> Iterator[str]:
    """When an action is verified, the Job is as its sentence says."""
    for action in record.actions:
        if action.state != "verified":
            continue
        moments = list(_around_end(record, action))
        if not any(_agrees(record, action, moment) for moment in moments):
            yield f"{_end_of(action)}, and in no moment it was so"
        if "siblings untouched" in action.message and _lost_siblings(record, action):
            yield f"{_end_of(action)}, and a sibling's pod was replaced"


def a_failure_tells_what_is_true(record: Record) -> Iterator[str]:
    """The sentence of an action that was not verified agrees with the cluster."""
    for action in record.actions:
        if action.state in ("verified", "open"):
            continue
        yield from _false_words(record, action)


def no_right_is_missing(record: Record) -> Iterator[str]:
    """No action that has changed something ends for want of a right: the actor has all of them."""
    for action in record.actions:
        is_unchanged = any(word in action.message for word in _NOTHING)
        if "is forbidden: User" in action.message and not is_unchanged:
            yield _end_of(action)


def what_fits_is_not_refused(record: Record) -> Iterator[str]:
    """A relocation is refused for want of room exactly if there is none. In the calm nothing else ends it."""
    is_cordoned = any(deed.kind is DeedKind.CORDON for deed in record.deeds)
    for action in record.actions:
        no_room = action.state == "refused" and "Nothing else fits" in action.message
        if no_room and action.fits and (action.in_calm or not is_cordoned):
            yield f"it fits elsewhere: {_end_of(action)}"
        if not action.fits and action.state == "verified":
            yield f"it fits nowhere else: {_end_of(action)}"
        if (
            action.in_calm
            and action.fits
            and action.state != "verified"
            and not is_outdated(action)
        ):
            yield f"undisturbed, and {_end_of(action)}"


def the_exclusion_is_as_noted(record: Record) -> Iterator[str]:
    """At rest the template of each Job has the terms of its user and the exclusion that its annotation names."""
    for rested_at in record.rested_at:
        for job in record.history.at(rested_at).jobs:
            if job.terms != _expected_terms(record, job):
                yield f"{job.name} has terms {job.terms} and the annotation {job.exclusion!r}"


def the_exclusion_goes(record: Record) -> Iterator[str]:
    """After a verified resume or `allow all nodes` neither the exclusion nor its annotation is there."""
    for action in record.actions:
        if action.state != "verified" or action.requirement is not None or action.verb == "suspend":
            continue
        job = record.history.at(ended_at(action) + _AFTER).job(JOB)
        if job is not None and (job.exclusion or job.terms != record.own_terms):
            yield f"{_end_of(action)}, and {JOB} has {job.terms} {job.exclusion!r}"


INVARIANTS: tuple[Invariant, ...] = (
    every_action_ends,
    the_jobset_comes_to_rest,
    siblings_are_untouched,
    no_index_runs_twice,
    no_hold_is_left,
    no_job_stays_suspended,
    verified_is_true,
    a_failure_tells_what_is_true,
    no_right_is_missing,
    what_fits_is_not_refused,
    the_exclusion_is_as_noted,
    the_exclusion_goes,
)


def broken(record: Record) -> dict[str, list[str]]:
    """Return name → violations, for each broken invariant."""
    known = INVARIANTS if record.actions else (the_jobset_comes_to_rest,)
    violations = {invariant.__name__: list(invariant(record)) for invariant in known}
    return {name: wrong for name, wrong in violations.items() if wrong}


def ended_at(action: Played) -> float:
    """Return when an action got its final state, in seconds since the epoch."""
    return datetime.fromisoformat(action.row["finished_at"]).timestamp()


def _end_of(action: Played) -> str:
    return f"{action.verb} ended {action.state}: {action.message}"


def _after(record: Record, moment: Moment) -> str:
    return f"{moment.at - record.began_at:.2f} s after the request"


def _last_actions(record: Record) -> list[Played]:
    """Return the action before each rest. An outdated request was repeated."""
    return [action for action in record.actions if not is_outdated(action) or not action.in_calm]


def _around_end(record: Record, action: Played) -> Iterator[Moment]:
    at = ended_at(action)
    return record.history.moments(max(action.requested_at, at - _BEFORE), at + _AFTER)


def _agrees(record: Record, action: Played, moment: Moment) -> bool:
    job = moment.job(JOB)
    if job is None:
        return False
    if action.verb == "suspend":
        return job.is_suspended and not moment.pods_of(job)
    if not moment.is_whole(job):
        return False
    if action.requirement is None:
        return job.terms == record.own_terms
    nodes = {pod.node for pod in moment.pods_of(job)}
    is_named = action.row["after"]["nodes"].split(", ") == sorted(nodes)
    return (
        is_named
        and not nodes & action.left
        and job.terms == _with_exclusion(record, action.requirement)
    )


def _with_exclusion(record: Record, requirement: dict[str, object]) -> tuple[str, ...]:
    return tuple(with_requirement(term, requirement) for term in record.own_terms or ("{}",))


def _expected_terms(record: Record, job: Job) -> tuple[str, ...]:
    if not job.exclusion:
        return record.own_terms
    note = json.loads(job.exclusion)
    requirement = {"key": note["key"], "operator": "NotIn", "values": note["values"]}
    return _with_exclusion(record, requirement)


def _lost_siblings(record: Record, action: Played) -> bool:
    before = record.history.at(action.requested_at)
    after = record.history.at(ended_at(action))
    kept = {pod.uid for pod in after.pods}
    # A pod that ended before the worker took its baseline is not its sibling.
    return any(
        pod.uid not in kept and not pod.is_ending for pod in before.pods if pod.job != JOB
    ) and not any(deed.at < ended_at(action) for deed in record.deeds)


def _false_words(record: Record, action: Played) -> Iterator[str]:
    """Yield the claims of a sentence that the history contradicts."""
    message, identity = action.message, action.row["id"]
    moments = list(record.history.moments(action.requested_at, ended_at(action) + _AFTER))
    last = moments[-1]
    job = last.job(JOB)
    later = record.history.at(ended_at(action) + _GONE)
    is_held = any(hold.action == identity for hold in later.holds)
    if any(word in message for word in _NOTHING) or action.state == "refused":
        if any(job.action == identity for moment in moments for job in moment.jobs):
            yield f"it changed the Job, and {_end_of(action)}"
        if is_held:
            yield f"its Hold exists, and {_end_of(action)}"
    if "removed again" in message and is_held:
        yield f"its Hold exists, and {_end_of(action)}"
    uids = {job.uid for moment in moments for job in moment.jobs if job.name == JOB}
    if "created again" in message and len(uids) == 1:
        yield f"it is the same Job, and {_end_of(action)}"
    is_told_running = message.rstrip(".").endswith(("was resumed", "is resumed", "runs again"))
    around = [moment.job(JOB) for moment in _around_end(record, action)]
    if is_told_running and all(job is None or job.is_suspended for job in around):
        yield f"it does not run, and {_end_of(action)}"
    is_told_stopped = "stays suspended" in message or "is still suspended" in message
    if is_told_stopped and not any(job is not None and job.is_suspended for job in around):
        yield f"it is not suspended, and {_end_of(action)}"
    is_told_excluded = (
        "exclu" in message.lower() or "Restarted" in message or "restarted" in message
    )
    has_exclusion = job is not None and job.exclusion and job.action == identity
    if (
        action.requirement
        and has_exclusion
        and not is_told_excluded
        and "runs again, but" not in message
    ):
        yield f"its exclusion is in the template, and {_end_of(action)}"
