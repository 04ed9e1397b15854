"""Invariants of every run. Each function yields its violations.

The names of the functions are the names of the invariants.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from gangboard.domain.action import ActionState, StepState, Verb
from gangboard.store.models import Action, ActionStep, AuditEntry
from tests.interleavings.cast import Cast
from tests.interleavings.disturbance import BY_HAND, Switches
from tests.interleavings.observer import Observer, last_action_id
from tests.interleavings.site import BEGAN, HOLDS, JOBS, JOBSET, JOBSETS
from tests.interleavings.wire import Applied, Sent

_SKEW = 1.5
"""Seconds that a worker's clock can be off."""


@dataclass(frozen=True)
class Evidence:
    """The results of a run that invariants check."""

    cast: Cast
    switches: Switches
    observer: Observer
    is_over: bool
    """No work was left at the end of the run."""


Invariant = Callable[[Evidence], Iterator[str]]


def every_accepted_request_ends(evidence: Evidence) -> Iterator[str]:
    """Every action confirmed to a person is a row and has ended: no action is lost."""
    rows = Action.objects.in_bulk(evidence.cast.accepted)
    for action in evidence.cast.accepted:
        row = rows.get(action)
        if row is None:
            yield f"{action} was accepted and is nowhere"
        elif row.finished_at is None or not ActionState(row.state).is_final:
            yield f"{action} is still {row.state}: {row.message}"


def every_end_has_a_sentence(evidence: Evidence) -> Iterator[str]:
    """A finished action has a sentence about its end, and no open step."""
    for row in Action.objects.exclude(finished_at=None):
        if len(row.message) < 15 or "." not in row.message:
            yield f"{row.pk} ended {row.state} with {row.message!r}"
        waiting = (StepState.PENDING.value, StepState.SENDING.value, StepState.UNKNOWN.value)
        for step in row.steps.filter(state__in=waiting) if row.due_at is None else ():
            yield f"{row.pk} is over and its step {step.name!r} is {step.state}"


def final_states_stay(evidence: Evidence) -> Iterator[str]:
    """A final state never changes, except from verified to reverted, and a finished action never
    reopens."""
    for action, moments in evidence.observer.history.items():
        for before, after in pairwise(moments):
            if before.is_open:
                continue
            allowed = (ActionState.VERIFIED, ActionState.REVERTED)
            if before.state != after.state and (before.state, after.state) != allowed:
                yield f"{action} went from {before.state} to {after.state} after its end"
            if after.is_open:
                yield f"{action} was over and is open again"


def one_open_action_per_object(evidence: Evidence) -> Iterator[str]:
    """At no moment two actions are open on one object."""
    yield from evidence.observer.crowds


def no_step_is_sent_twice(evidence: Evidence) -> Iterator[str]:
    """Each step sends at most one request, except dry runs, the removal of our own Hold, and what was refused.

    A relocation sends a request again that an API server refused for a missing right, because one that has just started
    does so.
    """
    counted: Counter[tuple[str, str, str, bytes]] = Counter()
    for sent in _changes(evidence):
        if sent.method != "DELETE" and not sent.is_refused:
            counted[sent.action, sent.method, sent.path, sent.body] += 1
    for (action, method, path, _), times in counted.items():
        if times > 1:
            yield f"{action} sent {method} {path} {times} times"
    for step in ActionStep.objects.filter(dry_run=False, sends__gt=1).exclude(method="DELETE"):
        yield f"{step.action_id} says itself that it sent {step.name!r} {step.sends} times"


def no_request_without_a_record(evidence: Evidence) -> Iterator[str]:
    """Every request was stored as a step of its action before it was sent."""
    known = {(step.action_id, step.path, step.method) for step in ActionStep.objects.all()}
    methods = {"POST": "POST", "DELETE": "DELETE", "PATCH": "PATCH"}
    for sent in _changes(evidence):
        if (sent.action, sent.path, methods[sent.method]) not in known:
            yield f"{sent.worker} sent {sent.method} {sent.path} for {sent.action}: no such step"


def only_the_target_is_changed(evidence: Evidence) -> Iterator[str]:
    """No sibling and no recreated object of the same name is ever changed, except Holds for it."""
    rows = Action.objects.in_bulk()
    for applied in evidence.cast.ledger.applied:
        sent, row = applied.sent, rows[applied.sent.action]
        if "/holds" in sent.path:
            if sent.method == "POST":
                job = json.loads(sent.body)["spec"]["jobName"]
                if job != row.name:
                    yield f"{sent.action} on {row.name} made a Hold on {job}"
        elif not _is_target(applied, row) and not _frees_its_heir(applied, row):
            yield (
                f"{sent.action} on {row.kind} {row.name} ({row.uid}) changed {sent.path} "
                f"({applied.subject})"
            )


def no_hold_is_left_that_nobody_asked_for(evidence: Evidence) -> Iterator[str]:
    """Every Hold of ours belongs to a verified suspend, or to one that reports a problem."""
    rows = Action.objects.in_bulk()
    for hold in evidence.observer.site.objects(HOLDS):
        row = rows.get(last_action_id(hold))
        if row is None and hold["metadata"]["name"].startswith(BY_HAND):
            continue
        if row is None:
            yield f"Hold {hold['metadata']['name']} bears no action that is known"
            continue
        states = {moment.state for moment in evidence.observer.history.get(row.pk, ())}
        asked_for = ActionState.VERIFIED in states or row.guarded
        if row.verb != Verb.SUSPEND or not asked_for:
            yield f"Hold {hold['metadata']['name']} is left by {row.pk}, which is {row.state}"


def no_hold_goes_before_its_end(evidence: Evidence) -> Iterator[str]:
    """gangboard itself removes no Hold but one whose end a person gave to gangboard, and that end is over."""
    until_by_hold: dict[str, float] = {}
    for row in Action.objects.filter(verb=Verb.SUSPEND.value, until__isnull=False):
        hold = row.context.get("hold") or row.context.get("found_hold") or {}
        until = (row.until - BEGAN).total_seconds() if row.until else inf
        until_by_hold[hold.get("uid", "")] = min(until, until_by_hold.get(hold.get("uid", ""), inf))
    by_itself = set(Action.objects.filter(via="gangboard").values_list("pk", flat=True))
    for sent in _changes(evidence):
        if sent.action in by_itself and sent.method == "DELETE":
            uid = json.loads(sent.body)["preconditions"]["uid"]
            if sent.at < until_by_hold.get(uid, inf) - _SKEW:
                yield f"{sent.action} removed {sent.path} at {sent.at:.3f}, its end is {until_by_hold.get(uid)}"


def no_relocated_job_stays_suspended(evidence: Evidence) -> Iterator[str]:
    """A relocation leaves its Job running, whatever happens, unless others keep it suspended."""
    observer = evidence.observer
    owner = observer.site.find(JOBSETS, JOBSET)
    if owner is None or owner["spec"].get("suspend"):
        return
    relocations = set(Action.objects.filter(verb=Verb.RELOCATE.value).values_list("pk", flat=True))
    for job in observer.site.objects(JOBS):
        last = last_action_id(job)
        row = Action.objects.filter(pk=last).first() if last in relocations else None
        if row is None or not job["spec"].get("suspend") or observer.truth(row).hold:
            continue
        writers = [
            entry["manager"]
            for entry in job["metadata"]["managedFields"]
            if "f:suspend" in json.dumps(entry.get("fieldsV1", {}))
        ]
        if writers == ["gangboard"]:
            yield f"{job['metadata']['name']} is suspended by {last}, which is {row.state}"


def verified_was_true(evidence: Evidence) -> Iterator[str]:
    """When an action was called verified, its worker's last look had met a cluster that agreed."""
    rows = Action.objects.in_bulk()
    for action, truths in evidence.observer.at_verified.items():
        wrong = evidence.observer.agrees(rows[action], truths)
        if wrong:
            yield f"{action} ({rows[action].lever}) was called verified, but {wrong}"


def what_stays_verified_is_still_so(evidence: Evidence) -> Iterator[str]:
    """A suspend that is still called verified and watched over is so in the cluster at the end."""
    for row in Action.objects.filter(state=ActionState.VERIFIED.value, guarded=True):
        truth = evidence.observer.truth(row)
        if evidence.observer.is_gone(row):
            continue  # deleted, so there is no Job to hold
        wrong = evidence.observer.agrees(row, [truth])
        if wrong:
            yield f"{row.pk} is called verified at the end, but {wrong}"


def nothing_is_sent_while_forbidden(evidence: Evidence) -> Iterator[str]:
    """No request begins after a switch to read-only, or after the role of its person was revoked.

    The removal of an action's own Hold goes on, and so does the resume of its early suspension:
    both restore the earlier state.
    """
    names = dict(Action.objects.values_list("pk", "actor_name"))
    switches = evidence.switches
    for sent in _changes(evidence):
        if _gives_back(sent):
            continue
        for since, until in switches.read_only:
            if since < sent.decided_at and sent.at <= until:
                yield f"{sent.action} sent {sent.method} at {sent.at:.3f}, read-only since {since:.3f}"
        for since, until in switches.withdrawn.get(names[sent.action], ()):
            if since < sent.decided_at and sent.at <= until:
                yield f"{sent.action} sent {sent.method} at {sent.at:.3f}, no role since {since:.3f}"


def nothing_is_sent_after_its_time(evidence: Evidence) -> Iterator[str]:
    """An action's first request leaves before its time to live is over."""
    deadlines = dict(Action.objects.values_list("pk", "expires_at"))
    started: set[str] = set()
    for sent in _changes(evidence):
        latest = (deadlines[sent.action] - BEGAN).total_seconds() + _SKEW
        if sent.action not in started and sent.decided_at > latest:
            yield f"{sent.action} was first sent at {sent.at:.3f}, its time was over at {latest:.3f}"
        started.add(sent.action)


def the_audit_tells_every_state_in_order(evidence: Evidence) -> Iterator[str]:
    """The audit begins with the request, and has one line for each change of the state, in order."""
    for action, moments in evidence.observer.history.items():
        entries = AuditEntry.objects.filter(action_id=action).order_by("id")
        lines = [(entry.event, entry.details.get("state", "")) for entry in entries]
        if not lines or lines[0][0] != "requested":
            yield f"the audit of {action} begins with {lines[:1]}"
        audited = [
            ActionState.REQUESTED.value,
            *(state for event, state in lines if event == "state"),
        ]
        for before, after in pairwise(audited):
            if before == after:
                yield f"the audit of {action} tells {after} twice in a row"
        states = [moments[0].state.value]
        states += [
            after.state.value for before, after in pairwise(moments) if before.state != after.state
        ]
        if not _is_subsequence(states, audited) or audited[-1] != states[-1]:
            yield f"{action} went through {states}, the audit tells {audited}"


def nobody_crashes(evidence: Evidence) -> Iterator[str]:
    """No worker ends in an exception, and no request in order is called invalid."""
    yield from evidence.cast.crashes


def it_comes_to_rest(evidence: Evidence) -> Iterator[str]:
    """Once the disturbances end, all due work gets done."""
    if not evidence.is_over:
        due = list(Action.objects.exclude(due_at=None).values_list("pk", "state", "message"))
        yield f"after the calm there is still something to do: {due}"


INVARIANTS: tuple[Invariant, ...] = (
    nobody_crashes,
    it_comes_to_rest,
    every_accepted_request_ends,
    every_end_has_a_sentence,
    final_states_stay,
    one_open_action_per_object,
    no_step_is_sent_twice,
    no_request_without_a_record,
    only_the_target_is_changed,
    no_hold_is_left_that_nobody_asked_for,
    no_hold_goes_before_its_end,
    no_relocated_job_stays_suspended,
    verified_was_true,
    what_stays_verified_is_still_so,
    nothing_is_sent_while_forbidden,
    nothing_is_sent_after_its_time,
    the_audit_tells_every_state_in_order,
)


def broken(evidence: Evidence) -> dict[str, list[str]]:
    """Return name → violations, for each broken invariant."""
    violations = {invariant.__name__: list(invariant(evidence)) for invariant in INVARIANTS}
    return {name: wrong for name, wrong in violations.items() if wrong}


def _is_target(applied: Applied, row: Action) -> bool:
    """Return whether an action is about an object: the same one, or a child Job of its JobSet
    (native)."""
    if row.kind == "JobSet" and row.lever == "native":
        return row.uid in applied.owners and "/jobs/" in applied.sent.path
    return applied.subject == row.uid and applied.sent.path.endswith(f"/{row.name}")


def _frees_its_heir(applied: Applied, row: Action) -> bool:
    """Return whether a suspend resumes a recreated Job that its own Hold suspended at once."""
    return applied.sent.path.endswith(f"/jobs/{row.name}") and _gives_back(applied.sent)


def _changes(evidence: Evidence) -> Iterator[Sent]:
    return (sent for sent in evidence.cast.ledger.sent if not sent.dry_run)


def _gives_back(sent: Sent) -> bool:
    """Return whether a request of a suspend or relocation removes its own Hold, or resumes the Job that it
    suspended."""
    verb = Action.objects.values_list("verb", flat=True).get(pk=sent.action)
    undoes = verb in (Verb.SUSPEND.value, Verb.RELOCATE.value)
    return undoes and (sent.method == "DELETE" or _sets_suspend(sent) is False)


def _sets_suspend(sent: Sent) -> bool | None:
    """Return the value to which a JSON patch sets `spec.suspend`, None for other requests."""
    if sent.method != "PATCH":
        return None
    for operation in json.loads(sent.body):
        if operation["op"] in ("add", "replace") and operation["path"] == "/spec/suspend":
            return bool(operation["value"])
    return None


def _is_subsequence(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(item in rest for item in few)
