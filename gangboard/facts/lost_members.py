"""Members that a running gang lost: the sentence about the numbers, and signs of why they left."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from gangboard.domain.pod import Pod
from gangboard.domain.text import label, out_of
from gangboard.facts.attempt_history import has_lost, restart_under_way, whole_in_attempt
from gangboard.facts.creation_refusal import newest_creation_refusal
from gangboard.facts.preemption import Preemption, takers_text
from gangboard.facts.scheduler_text import has_rejected_pods
from gangboard.facts.unit import Unit
from gangboard.facts.unit_counts import on_sick_nodes, ready_count

NODE_REASONS = frozenset({"DeletionByTaintManager", "DeletionByPodGC"})
"""Reasons of `DisruptionTarget` that say that the pod's node failed or is gone."""

_SAID = {
    "PreemptionByScheduler": "preempted by the scheduler",
    "EvictionByEvictionAPI": "evicted",
    "TerminationByKubelet": "ended by its kubelet",
}
# API servers, kubelets and gangboard have clocks of their own.
_SKEW = timedelta(seconds=60)


def is_loss(unit: Unit) -> bool:
    """Whether it lost members that no restart of its own is bringing back.

    A restart or retry has a word of its own, as long as nothing keeps its pods away.
    """
    if not has_lost(unit):
        return False
    if on_sick_nodes(unit) or disrupted(unit):
        return True
    return are_kept_away(unit) or restart_under_way(unit) is None


def are_kept_away(unit: Unit) -> bool:
    """Whether members that it lacks were tried and refused: by the scheduler, or when made."""
    if has_rejected_pods(unit):
        return True
    return unit.missing > 0 and newest_creation_refusal(unit) is not None


def disrupted(unit: Unit) -> tuple[Pod, ...]:
    """Return pods that were or are being taken away since the unit was last whole."""
    whole = unit.memory.whole_at if whole_in_attempt(unit) else None
    return tuple(
        pod
        for pod in unit.pods
        if pod.disruption is not None
        and pod.disruption.is_true
        and (pod.is_terminating or pod.is_finished)
        and (whole is None or pod.disruption.since is None or pod.disruption.since >= whole - _SKEW)
    )


def by_node(unit: Unit) -> tuple[Pod, ...]:
    """Return members that were lost with their node."""
    return tuple(
        pod
        for pod in disrupted(unit)
        if pod.disruption is not None and pod.disruption.reason in NODE_REASONS
    )


def how_many_run(unit: Unit) -> str:
    """Return `3 of 4 members run`, with the quorum where it is not the size, or how the gang stands."""
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
    """Return `, 1 of 2 of JobSet run`: how many run of the gang of which the unit is a part.

    Empty where none does, and where more are there than its owner asks for.
    """
    whole = unit.owner.desired
    running = unit.gang.ready
    if not 0 < running <= whole - unit.desired:
        return ""
    return f", {running} of {whole} of {label(unit.owner.meta.ref)}"


def how_they_left(unit: Unit, taken: Preemption | None = None) -> str:
    """Return ` 1 was evicted.`: what the pods that were taken away say of it; empty for none.

    `taken` names those who preempted some, which are gone at once; the caller has them as evidence.
    """
    said_of = _SAID.copy()
    for kind in unit.gang.kinds.values():
        said_of.update(kind.disruptions)
    reasons = Counter(
        said_of[pod.disruption.reason]
        for pod in disrupted(unit)
        if pod.disruption is not None and pod.disruption.reason in said_of
    )
    preempted = ""
    if taken is not None and taken.by:
        preempted = f" Members were preempted by {takers_text(taken)}."
        reasons.pop(_SAID["PreemptionByScheduler"], None)
    return preempted + "".join(
        f" {number} {'was' if number == 1 else 'were'} {said}."
        for said, number in sorted(reasons.items())
    )
