"""`termination-stuck`: a member terminates past its grace period on a silent node, and its controller waits for it.

Only the kubelet of a node ends a pod, so such a pod stays for ever. A controller that needs its name or its end creates
no replacement meanwhile (jobset#576, kubernetes/enhancements#6262). Nothing changes until the node reports again, or
a person declares it to be off. A gang that has its quorum runs on, and its code is `below-size`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import MOST_NAMED, is_or_are, names, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import latest
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import running_members_text
from gangboard.facts.overdue_pods import stuck_pods, waiting_object
from gangboard.facts.silent_nodes import (
    deletion_evidence,
    nodes_of,
    readiness_evidence,
    silence_text,
    silent_node_steps,
)
from gangboard.facts.suspensions import minute_text
from gangboard.facts.unit import Unit, has_ready_quorum, is_failure_reason, ready_count
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while the unit lacks a member whose former pod cannot end."""
    stuck = stuck_pods(unit)
    if not stuck or has_ready_quorum(unit):
        return None
    nodes = nodes_of(unit.gang, stuck)
    counts = f"{running_members_text(unit)}: " if ready_count(unit) else ""
    return unit_finding(
        RULE,
        unit,
        f"{counts}{_wait_text(unit, stuck)}. {silence_text(unit.gang, stuck)}",
        advice=silent_node_steps(unit.gang, stuck),
        evidence=(
            *readiness_evidence(nodes),
            *deletion_evidence(stuck[:MOST_NAMED]),
            *_policy_evidence(unit, stuck),
        ),
        since=min(pod.meta.deleting_since for pod in stuck if pod.meta.deleting_since is not None),
    )


def _wait_text(unit: Unit, stuck: Sequence[Pod]) -> str:
    """Return `Job train waits for pod train-3, which should have ended by 2026-11-27 02:19 UTC`."""
    objects = [waiting_object(unit.gang, pod) for pod in stuck]
    waiting = list(dict.fromkeys(f"{item.kind} {item.name}" for item in objects))
    failing = [job for job in _jobs_of(unit, stuck) if is_failure_reason(job.ending)]
    number = len(waiting)
    fails = f"{is_or_are(number)} failing and " if failing else ""
    noun = "pod" if len(stuck) == 1 else "pods"
    ends = latest(pod.meta.deleting_since for pod in stuck)
    by = f", which should have ended by {minute_text(ends)}" if ends is not None else ""
    pods = names(pod.meta.ref.name for pod in stuck)
    return f"{names(waiting)} {fails}{plural(number, 'wait')} for {noun} {pods}{by}"


def _jobs_of(unit: Unit, pods: Sequence[Pod]) -> tuple[Owner, ...]:
    makers = {pod.meta.controller.uid for pod in pods if pod.meta.controller is not None}
    return tuple(job for job in unit.gang.jobs if job.meta.ref.uid in makers)


def _policy_evidence(unit: Unit, stuck: Sequence[Pod]) -> tuple[Evidence, ...]:
    """Return why the Jobs of the pods create no replacement."""
    return tuple(
        Evidence("spec.podReplacementPolicy", "Failed", job.meta.ref)
        for job in _jobs_of(unit, stuck)[:MOST_NAMED]
        if job.waits_for_terminating
    )


RULE = UnitRule(
    "termination-stuck", Stage.FORMATION, "Termination stuck", 5, find, health=Health.BLOCKED
)
