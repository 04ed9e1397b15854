"""Decisions about the relocation of one Job: restart it on other nodes while its siblings run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gangboard.domain.action import Avoid, ClusterLevers
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import NodeReplacement
from gangboard.domain.text import count, label, names, plural
from gangboard.facts.gang import Gang
from gangboard.facts.silent_nodes import node_removal
from gangboard.facts.surroundings import Surroundings
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever
from gangboard.policy import refusals
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    LeverDecision,
    PlanRefusal,
    generation_unknown,
)
from gangboard.policy.exclusions import Exclusion, read_exclusion
from gangboard.policy.phrases import moment, pods_deleted, wait_of
from gangboard.policy.registry_lookups import kind_above, kind_of, queue_system
from gangboard.policy.relocation_fit import (
    Destination,
    excluded_nodes,
    exclusion_of,
    find_destination,
    find_replacement,
    rivals_warning,
)


def has_lever(gang: Gang, uid: str) -> bool:
    """Return whether the kind of an object has a lever for relocations."""
    return bool(_levers(gang, uid))


def _levers(gang: Gang, uid: str) -> tuple[Lever, ...]:
    job = gang.child_jobs.get(uid)
    if job is not None:
        kind = kind_above(job.meta.controller)
        keys = kind.child_relocation_levers if kind is not None else ()
    else:
        kind = kind_of(gang.owner)
        keys = kind.relocation_levers if kind is not None else ()
        if keys and gang.queue.is_managed:
            return _queue_levers(gang)
    return tuple(lever for key in keys if (lever := registry.lever(key)) is not None)


def _queue_levers(gang: Gang) -> tuple[Lever, ...]:
    system = queue_system(gang)
    lever = system.relocation_lever if system is not None else None
    return (lever,) if lever is not None else ()


def decide(gang: Gang, job: Owner, desired: DesiredAction) -> LeverDecision | PlanRefusal:
    """Return the relocation of a child Job or of an owner that is a Job, or why it is impossible.

    Without a place to avoid (for a button) the nodes are not considered.
    """
    name = label(job.meta.ref)
    if desired.until is not None:
        return PlanRefusal(f"A relocation has no end; {name} runs again at once.")
    refused = _out_of_reach(gang, job) or generation_unknown(job.meta) or _not_running(gang, job)
    if refused is not None:
        return refused
    is_assigned = any(entry.assigned for entry in gang.entries)
    levers = [lever for lever in _levers(gang, job.meta.ref.uid) if lever.cordons is is_assigned]
    if not levers:
        return PlanRefusal(
            f"{gang.queue_system} pins new pods of {name} to their former nodes. {_whole_instead(gang)}."
            if is_assigned
            else f"gangboard knows no way to relocate {name}."
        )
    reasons = []
    for lever in levers:
        missing = lever.why_not(gang, job, desired.levers)
        if missing is None:
            return _decide_with(lever, gang, job, desired)
        reasons.append(missing)
    instead = _whole_instead(gang) if is_assigned else ""
    return refusals.all_of(f"{name} cannot be relocated here", reasons, instead)


def _whole_instead(gang: Gang) -> str:
    """Return the other way to get new nodes from the admission system."""
    return (
        f"Suspend and resume the whole {gang.owner.meta.ref.kind} instead, or evict it: {gang.queue_system} then "
        "chooses all nodes again, maybe the same ones"
    )


def _out_of_reach(gang: Gang, job: Owner) -> PlanRefusal | None:
    if job.meta.ref.uid in gang.child_jobs:
        return refusals.job_out_of_reach(gang, job)
    return refusals.owner_out_of_reach(gang)


def _not_running(gang: Gang, job: Owner) -> PlanRefusal | None:
    """Refuse a Job that has no pods to move: held, suspended, paused, or not admitted."""
    name = label(job.meta.ref)
    for lever in registry.levers():
        how = lever.describe_stop(gang, job)
        if how:
            return PlanRefusal(f"{name} is {how}: resume it first.")
    holds = gang.holds_on(job)
    if holds:
        return PlanRefusal(f"Hold {holds[0].meta.ref.name} is on {name}: remove it first.")
    wait = wait_of(gang, job) if job.meta.ref.uid in gang.child_jobs else None
    if wait is not None:
        return PlanRefusal(f"{wait.why}: {name} has no pods to move.")
    if job.suspended:
        return PlanRefusal(f"{name} is suspended: it has no pods to move.")
    return None


def _decide_with(
    lever: Lever, gang: Gang, job: Owner, desired: DesiredAction
) -> LeverDecision | PlanRefusal:
    pods = _pods(job, desired.surroundings)
    refused = _queue_refusal(gang, job, pods)
    if refused is not None:
        return refused
    avoid = desired.avoid
    place = _place(gang, job, desired, avoid, lever) if avoid is not None else _Place()
    if isinstance(place, PlanRefusal):
        return place
    wanted = replace(desired, exclusion=place.exclusion, replacement=place.replacement)
    decision = lever.decide(gang, job, wanted)
    if isinstance(decision, PlanRefusal):
        return decision
    return LeverDecision(lever, _explain(decision, lever, gang, job, desired, place))


@dataclass(frozen=True, slots=True)
class _Place:
    """The place that a Job leaves, and where it fits instead."""

    exclusion: Exclusion | None = None
    """None if an earlier exclusion is removed."""
    destination: Destination = field(default_factory=Destination)
    replacement: NodeReplacement | None = None
    """For a lever that cordons."""


def _pods(job: Owner, surroundings: Surroundings | None) -> tuple[Pod, ...]:
    return surroundings.pods_of(job.meta.ref.uid) if surroundings is not None else ()


def _queue_refusal(gang: Gang, job: Owner, pods: Sequence[Pod]) -> PlanRefusal | None:
    is_queued = gang.queue.is_managed or job.meta.ref.uid in gang.queued_jobs
    system = queue_system(gang)
    if not is_queued or system is None:
        return None
    why = system.relocation_refusal(gang, job, pods)
    return PlanRefusal(why) if why else None


def _place(
    gang: Gang, job: Owner, desired: DesiredAction, avoid: Avoid, lever: Lever
) -> _Place | PlanRefusal:
    """Return the node requirement and the expected nodes."""
    name = label(job.meta.ref)
    if lever.cordons and len(avoid.nodes) != 1:
        return PlanRefusal(
            f"{gang.queue_system} replaces one node at a time, and would evict the whole "
            f"{gang.owner.meta.ref.kind} for more: choose one node."
        )
    if avoid.is_empty:
        if read_exclusion(job.exclusion) is None:
            return PlanRefusal(f"No relocation has excluded nodes for {name}: nothing to remove.")
        return _Place()
    surroundings = desired.surroundings or Surroundings(why="nodes: not read yet")
    if surroundings.why:
        return PlanRefusal(f"Whether {name} fits elsewhere is unknown: {surroundings.why}.")
    pods = surroundings.pods_of(job.meta.ref.uid)
    if not pods:
        return PlanRefusal(f"{name} has no pod on a node: nothing to move.")
    exclusion = exclusion_of(avoid, surroundings, desired.levers.topology_keys, pods)
    if isinstance(exclusion, PlanRefusal):
        return exclusion
    left = excluded_nodes(exclusion, surroundings.nodes)
    if not any(pod.node in left for pod in pods):
        return PlanRefusal(f"No pod of {name} is on {exclusion.text}: nothing to move.")
    why = _silent_node(pods, surroundings) or _conduct_refusal(gang, job, exclusion, surroundings)
    if why:
        return PlanRefusal(why)
    if lever.cordons:
        return _replaced_place(gang, job, exclusion, avoid.nodes[0], surroundings)
    destination = find_destination(gang, job, exclusion, surroundings)
    return destination if isinstance(destination, PlanRefusal) else _Place(exclusion, destination)


def _replaced_place(
    gang: Gang, job: Owner, exclusion: Exclusion, node: str, surroundings: Surroundings
) -> _Place | PlanRefusal:
    """Return the node that an admission system may assign instead of this one, or refuse."""
    system = queue_system(gang)
    assert system is not None  # noqa: S101  # only an entry of a system assigns nodes
    replacement = system.node_replacement(gang, job, node, surroundings)
    if isinstance(replacement, str):
        return PlanRefusal(replacement)
    destination = find_replacement(job, exclusion, node, replacement, surroundings)
    if isinstance(destination, PlanRefusal):
        return destination
    return _Place(exclusion, destination, replacement)


def _silent_node(pods: Sequence[Pod], surroundings: Surroundings) -> str:
    """Refuse to stop pods on a node that is not ready, because they never end by themselves."""
    nodes = {node.name: node for node in surroundings.nodes}
    silent = sorted({pod.node for pod in pods if pod.node in nodes and not nodes[pod.node].ready})
    if not silent:
        return ""
    subject, its = (
        (f"Node {silent[0]} is", "its")
        if len(silent) == 1
        else (f"Nodes {names(silent)} are", "their")
    )
    return (
        f"{subject} not ready, and {its} pods do not end by themselves. {node_removal(silent)}, and the Job "
        "controller replaces them."
    )


def _conduct_refusal(
    gang: Gang, job: Owner, exclusion: Exclusion, surroundings: Surroundings
) -> str:
    kind = kind_above(job.meta.controller)
    if kind is None:
        return ""
    return kind.conduct.relocation_refusal(gang, job, exclusion, surroundings)


# Texts before the click


def _explain(
    decision: Decision,
    lever: Lever,
    gang: Gang,
    job: Owner,
    desired: DesiredAction,
    place: _Place,
) -> Decision:
    """Return a decision with the effects on the Job, its siblings and other pods."""
    exclusion, destination = place.exclusion, place.destination
    pods = _pods(job, desired.surroundings)
    reactions = []
    if destination.nodes:
        places = _place_names(destination, desired.surroundings)
        chooser = gang.queue_system if lever.cordons else "the scheduler"
        reactions.append(f"It fits now on {places}; {chooser} chooses.")
    reactions.append(pods_deleted(job.active_pods, job.grace_seconds))
    is_child = job.meta.ref.uid in gang.child_jobs
    siblings = gang.unfinished_beside(job, frozenset()) if is_child else 0
    if siblings:
        reactions.append(
            f"The other {count(siblings, 'Job')} of {gang.name} {plural(siblings, 'keep')} running, and "
            f"{plural(siblings, 'wait')} for it; a long wait may end {'it' if siblings == 1 else 'them'}."
        )
    reactions += decision.reactions
    conducts = [
        kind.conduct for kind in (kind_above(job.meta.controller), kind_of(job)) if kind is not None
    ]
    for conduct in conducts:
        reactions += conduct.relocation_reactions(gang, job, lever)
    if exclusion is not None and not lever.cordons:
        reactions.append(
            f"The exclusion of {exclusion.text} stays in this Job's template while it runs. gangboard "
            "removes it when it next resumes or relocates the Job."
        )
    warnings = [*decision.warnings]
    if not lever.cordons:
        warnings += _proof_warnings(desired.levers)
    if destination.why:
        otherwise = f" {place.replacement.refusal}" if place.replacement is not None else ""
        warnings.append(
            f"Whether it fits elsewhere is not certain: {destination.why}.{otherwise and ' If not:' + otherwise}"
        )
    if exclusion is not None and desired.surroundings is not None:
        rivals = rivals_warning(pods, exclusion, desired.surroundings)
        warnings += [rivals] if rivals else []
    for conduct in conducts:
        warnings += conduct.relocation_warnings(gang, job, pods)
    warnings += _queue_warnings(gang, job, lever)
    before = ", ".join(sorted({pod.node for pod in pods}))
    return replace(
        decision,
        before={**decision.before, "nodes": before} if before else decision.before,
        after={
            **decision.after,
            "nodes": _planned_nodes(exclusion, destination, desired.surroundings),
        }
        if before
        else decision.after,
        reactions=tuple(text for text in reactions if text),
        warnings=tuple(warnings),
    )


def _place_names(destination: Destination, surroundings: Surroundings | None) -> str:
    """Return the names of the expected nodes, or their number if not every reader may see the names."""
    may_name = surroundings is not None and surroundings.names_nodes and not surroundings.is_stored
    return names(destination.nodes) if may_name else count(len(destination.nodes), "node")


def _planned_nodes(
    exclusion: Exclusion | None, destination: Destination, surroundings: Surroundings | None
) -> str:
    if destination.nodes:
        return f"such as {_place_names(destination, surroundings)}"
    return f"not {exclusion.text}" if exclusion is not None else "any that suit"


def _proof_warnings(levers: ClusterLevers) -> list[str]:
    """Warn if this cluster has not accepted such a change of a template, or has refused the last one."""
    if levers.exclusion_refuted_at is not None:
        return [
            f"The API server refused the last such change, at {moment(levers.exclusion_refuted_at)}: its pods "
            "would restart for nothing. Apply the output of manage.py print_rbac first."
        ]
    if levers.exclusion_proved_at is None:
        return [
            "No Job was relocated in this cluster yet. Only a suspended Job shows whether the API server and "
            "the actor's policy accept the change; if not, it restarts where it was."
        ]
    return []


def _queue_warnings(gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
    system = queue_system(gang)
    is_queued = gang.queue.is_managed or job.meta.ref.uid in gang.queued_jobs
    if not is_queued or system is None or lever in system.levers:
        return ()
    return system.relocation_warnings(gang, job, lever)
