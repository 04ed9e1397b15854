"""Lost and missing members of a unit: their number, the causes, and the advice."""

from __future__ import annotations

from datetime import timedelta

from gangboard.domain.node import Node
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import (
    count,
    does_not_fit,
    is_or_are,
    label,
    names,
    out_of,
    plural,
    sentence,
    shorten,
)
from gangboard.domain.verdict import Evidence
from gangboard.facts.attempts import has_lost, restart_under_way, was_whole_in_attempt
from gangboard.facts.creation_refusal import newest_creation_refusal, remedy
from gangboard.facts.overdue_pods import kept_pods, stuck_pods
from gangboard.facts.scheduler_text import (
    best_scheduler_message,
    has_rejected_pods,
    scheduler_errors,
    scheduler_messages,
)
from gangboard.facts.silent_nodes import kept_pods_step
from gangboard.facts.unit import Unit, pods_on_unready_nodes, ready_count

NODE_REASONS = frozenset({"DeletionByTaintManager", "DeletionByPodGC"})
"""Reasons of `DisruptionTarget` for a node that failed or was deleted."""

# API servers, kubelets and gangboard have clocks of their own.
_SKEW = timedelta(seconds=60)


def has_unrecovered_loss(unit: Unit) -> bool:
    """Return whether it lost members that no restart or retry brings back.

    A restart or retry has its own reason, unless the scheduler or an admission check refuses its pods. So has a member
    that cannot end (`termination-stuck`).
    """
    if not has_lost(unit) or stuck_pods(unit):
        return False
    if pods_on_unready_nodes(unit) or disrupted_pods(unit):
        return True
    return has_refused_members(unit) or restart_under_way(unit) is None


def has_refused_members(unit: Unit) -> bool:
    """Return whether the scheduler or an admission check refused missing members."""
    if has_rejected_pods(unit):
        return True
    return unit.missing > 0 and newest_creation_refusal(unit) is not None


def disrupted_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return pods that were or are being removed since the unit was last whole."""
    whole_at = unit.memory.whole_at if was_whole_in_attempt(unit) else None
    return tuple(
        pod
        for pod in unit.pods
        if pod.disruption is not None
        and pod.disruption.is_true
        and (pod.is_terminating or pod.is_finished)
        and (
            whole_at is None
            or pod.disruption.since is None
            or pod.disruption.since >= whole_at - _SKEW
        )
    )


def lost_with_node(unit: Unit) -> tuple[Pod, ...]:
    """Return members that were lost with their node."""
    return tuple(
        pod
        for pod in disrupted_pods(unit)
        if pod.disruption is not None and pod.disruption.reason in NODE_REASONS
    )


def running_members_text(unit: Unit) -> str:
    """Return `3 of 4 members run`, with the quorum if that is not the size."""
    ready = ready_count(unit)
    text = f"{out_of(ready, unit.wanted, 'member')} {'runs' if ready == 1 else 'run'}"
    done = unit.succeeded
    if done:
        text = f"{text}, {done} {'has' if done == 1 else 'have'} succeeded"
    elif not ready and unit.quorum is None:
        text = f"{text}{_of_the_gang(unit)}"
    if unit.quorum is not None and unit.quorum != unit.wanted:
        text = f"{text} (quorum {unit.quorum})"
    return text


def _of_the_gang(unit: Unit) -> str:
    """Return `, 1 of 2 of JobSet run` with the running members of the whole gang.

    Empty if none runs, or if more exist than the owner requests.
    """
    size = unit.owner.desired
    running = unit.gang.ready
    if not 0 < running <= size - unit.desired:
        return ""
    return f", {running} of {size} of {label(unit.owner.meta.ref)}"


def missing_reason(unit: Unit, reason: str = "") -> str:
    """Return why members are missing, or their state. Empty if unknown.

    `reason` is the sentence of the arithmetic about members without a node. It replaces the scheduler's text.
    """
    return " ".join(filter(None, (_failed_indexes_text(unit), _pending_members_text(unit, reason))))


def _failed_indexes_text(unit: Unit) -> str:
    """Return which indexes failed for good, and the consequence for their Job."""
    jobs = _without_indexes(unit)
    if not jobs:
        return ""
    several = sum(job.failed_index_count for job in jobs) > 1
    noun, verb = ("Indexes", "are") if several else ("Index", "is")
    listed = ", ".join(_indexes_of(unit, job) for job in jobs)
    outcome = (
        ""
        if any(job.has_success_policy for job in jobs)
        else "; "
        + ("the Job fails when the others end" if len(jobs) == 1 else "the Jobs fail in the end")
    )
    return f"{noun} {listed} failed and {verb} not retried{outcome}."


def _without_indexes(unit: Unit) -> list[Owner]:
    return [job for job in unit.active_jobs if job.failed_index_count] if unit.given_up else []


def _indexes_of(unit: Unit, job: Owner) -> str:
    """Return `3`, or `3 of Job run-workers-0` in a gang with several Jobs."""
    several = len(unit.gang.jobs) > 1
    return f"{job.failed_indexes} of {label(job.meta.ref)}" if several else job.failed_indexes


def _pending_members_text(unit: Unit, reason: str) -> str:
    """Return the reason for missing members whose index has not failed."""
    if unit.missing:
        refusal = newest_creation_refusal(unit)
        if refusal is not None:
            return refusal.about("the rest")
    if unit.unplaced:
        return _unplaced_text(unit, reason)
    if unit.missing:
        return _not_created_text(unit)
    starting = [pod for pod in unit.placed if not pod.is_ready]
    if not starting:
        return ""
    return f"{count(len(starting), 'pod')} {is_or_are(len(starting))} not ready."


def _not_created_text(unit: Unit) -> str:
    """Return the number of pods that do not exist yet, and of old pods that are still being deleted."""
    number = unit.missing
    leaving = min(number, len(unit.terminating))
    texts = []
    if leaving:
        texts.append(f"{count(leaving, 'pod')} {is_or_are(leaving)} still being deleted.")
    if number > leaving:
        rest = number - leaving
        texts.append(f"{count(rest, 'pod')} {'has' if rest == 1 else 'have'} not been created yet.")
    return " ".join(texts)


def _unplaced_text(unit: Unit, reason: str) -> str:
    gated = [pod for pod in unit.unplaced if pod.gates]
    ungated = len(unit.unplaced) - len(gated)
    if not gated:
        return _scheduler_report(unit, ungated, reason)
    gates = sorted({gate for pod in gated for gate in pod.gates})
    noun = "scheduling gate" if len(gates) == 1 else "scheduling gates"
    text = f"{_wait(len(gated))} for {noun} {names(gates)}."
    return f"{text} {_scheduler_report(unit, ungated, reason)}" if ungated else text


def _scheduler_report(unit: Unit, waiting: int, reason: str) -> str:
    """Return the scheduler's report about the waiting members without gates."""
    message = best_scheduler_message(scheduler_messages(unit, "Unschedulable"))
    if message is not None and reason:
        return reason
    if message is not None:
        # The scheduler tries the members of a gang together. Without a quorum it reports about each pod.
        tried = waiting - sum(pod.is_waiting_for_group and not pod.gates for pod in unit.unplaced)
        refused = tried if unit.quorum is not None else len(unit.refused) or tried
        if not refused:
            return sentence(f"{_wait(waiting)} for the rest of the group: {message.quoted_reasons}")
        text = sentence(f"{does_not_fit(refused)}: {message.quoted_reasons}")
        rest = waiting - refused
        return f"{text} {_wait(rest)} for the scheduler." if rest else text
    failed = best_scheduler_message(scheduler_errors(unit))
    if failed is not None:
        return sentence(f"The scheduler reports an error: {shorten(failed.text)}")
    return f"{_wait(waiting)} for the scheduler."


def _wait(number: int) -> str:
    return f"{count(number, 'pod')} {plural(number, 'wait')}"


def missing_advice(unit: Unit) -> tuple[str, ...]:
    """Return the remedy for members whose creation is refused, or that a working node keeps. Empty for other causes."""
    refusal = newest_creation_refusal(unit) if unit.missing else None
    if refusal is not None:
        return remedy(unit, refusal)
    kept = kept_pods(unit)
    return (kept_pods_step(kept),) if kept else ()


def missing_evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return the original texts behind the sentence of `missing_reason`."""
    evidence = [
        Evidence("status.failedIndexes", job.failed_indexes, job.meta.ref)
        for job in _without_indexes(unit)
    ]
    refusal = newest_creation_refusal(unit) if unit.missing else None
    if refusal is not None:
        evidence.append(Evidence("refused", refusal.event.note, refusal.event.regarding))
    message = best_scheduler_message(scheduler_messages(unit, "Unschedulable"))
    if message is not None:
        evidence.append(Evidence("scheduler says", message.raw, message.source))
    return tuple(evidence)


def recover_nodes_advice(sick: tuple[Node, ...]) -> tuple[str, ...]:
    """Return the step to recover the nodes. The evidence has the nodes as its sources."""
    if not sick:
        return ()
    listed = names(node.meta.ref.name for node in sick)
    if len(sick) == 1:
        return (f"Bring node {listed} back: a member is still bound to it.",)
    return (f"Bring nodes {listed} back: members are still bound to them.",)
