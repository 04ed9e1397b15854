"""`below-quorum`: fewer live pods than the quorum, and nothing says that the rest was refused.

It is said, too, of a group that nobody makes pods for, when all that it had are gone, and of a part of a group that
has a minimum of its own (a task, a subgroup).

The scheduler tries no member before the quorum exists, and writes neither a condition nor an event
about it (k/k#141900, by design; observed on 1.35.4 to 1.37.0). Until the count has not changed for
30 seconds the gang is still starting.
"""

from __future__ import annotations

from collections import Counter

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.group import label_of_group
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.text import count, label
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import restart_under_way
from gangboard.facts.builtin_controllers import reports_failed_creation
from gangboard.facts.creation_refusal import newest_creation_refusal
from gangboard.facts.dependencies import waiting_roles
from gangboard.facts.findings import starting_finding, unit_finding
from gangboard.facts.grace_periods import COUNT_GRACE, unchanged_since
from gangboard.facts.job_holds import resume_step
from gangboard.facts.preemption import (
    has_lost_all_pods,
    last_preemption,
    preemptors_evidence,
    preemptors_text,
)
from gangboard.facts.state_since import not_formed_since
from gangboard.facts.unit import Unit, failing_jobs, is_bare_group, is_formed, live_count
from gangboard.placement.advice.change_methods import ChangedObject, change_method
from gangboard.plugins.rule import UnitRule

_CORE = "scheduling.k8s.io"


def find(unit: Unit) -> Finding | None:
    """Return a finding for a gang of which some pods exist, and not enough, or existed."""
    if unit.quorum is None or unit.is_full:
        return None
    if is_formed(unit):
        return _short_part(unit)
    if not live_count(unit) and not has_lost_all_pods(unit):
        return None
    if waiting_roles(unit) or failing_jobs(unit):
        return None
    if unit.missing and newest_creation_refusal(unit) is not None:
        return None
    since = unchanged_since(unit)
    due = since + COUNT_GRACE if since is not None else None
    name = unit.group_name or unit.name
    live = live_count(unit)
    part = _part_without_pods(unit)
    if part is not None:
        return part
    noun = "group" if unit.group_name else unit.noun
    counts = f"{live} of {count(unit.quorum, 'pod')} that {noun} {name} needs "
    counts += "exists" if live == 1 else "exist"
    evidence = _evidence(unit)
    if due is not None and due > unit.now:
        if restart_under_way(unit) is not None:
            return None
        return starting_finding(
            RULE,
            unit,
            f"{counts}.",
            evidence=evidence,
            recheck_at=due,
            since=not_formed_since(unit),
        )
    return unit_finding(
        RULE,
        unit,
        f"{counts}{_rest(unit)}",
        advice=_advice(unit),
        evidence=evidence,
        since=not_formed_since(unit),
    )


def _part_without_pods(unit: Unit) -> Finding | None:
    """Return a finding where the group lacks pods since the maker of a part of it is scaled to zero."""
    group = unit.group
    if group is None or not any(_idle_maker(unit, part.name) for part in group.templates):
        return None
    return _short_part(unit)


def _idle_maker(unit: Unit, part: str) -> Owner | None:
    """Return the object of that name that makes the pods of a part, and makes none on purpose."""
    makers = (one for one in unit.gang.makers if one.meta.ref.name == part)
    return next((one for one in makers if not one.desired), None)


def _short_part(unit: Unit) -> Finding | None:
    """Return a finding where one part of the group has fewer pods than it needs."""
    group = unit.group
    if group is None or not group.part_label or unit.placed:
        return None
    live = [pod for pod in (*unit.pods, *unit.foreign_pods) if pod.is_live]
    there = Counter(pod.labels.get(group.part_label, "") for pod in live)
    short = [
        (part.name, there[part.name], part.quorum)
        for part in group.templates
        if part.quorum is not None and there[part.name] < part.quorum
    ]
    since = unchanged_since(unit)
    idle = [(one, part) for part in short if (one := _idle_maker(unit, part[0])) is not None]
    # What is scaled to 0 makes no pod, however long one waits.
    is_young = not idle and since is not None and since + COUNT_GRACE > unit.now
    if not short or is_young:
        return None
    name, number, least = idle[0][1] if idle else short[0]
    text = (
        f"{number} of {count(least, 'pod')} that group {unit.group_name} needs of {name} "
        f"{'exists' if number == 1 else 'exist'}"
    )
    if idle:
        text = f"{text}: {label(idle[0][0].meta.ref)} is scaled to 0"
    return unit_finding(
        RULE,
        unit,
        f"{text}.",
        advice=[f"Scale {label(one.meta.ref)} to {part[2]}." for one, part in idle],
        evidence=tuple(
            Evidence(f"pods of {part}", f"{pods} of at least {minimum}", group.meta.ref)
            for part, pods, minimum in short
        ),
        since=not_formed_since(unit),
    )


def _rest(unit: Unit) -> str:
    if has_lost_all_pods(unit):
        taken = last_preemption(unit)
        went = f"were preempted by {preemptors_text(taken)}" if taken is not None else "are gone"
        return f"; those that it had {went}."
    others = sum(pod.is_live for pod in unit.foreign_pods)
    if unit.expected_pods + others < (unit.quorum or 0) and not unit.succeeded and not unit.held:
        return f", and its owner asks for only {unit.expected_pods}."
    if not unit.gang.cluster.events_known:
        return ". Events cannot be read, so a refusal would not be seen."
    if not _would_tell(unit):
        return "; no known controller makes the rest."
    return "; nothing refuses the rest."


def _would_tell(unit: Unit) -> bool:
    """Whether the events that are read would tell of a refusal: nobody knows who makes bare pods."""
    if unit.jobs or not is_bare_group(unit):
        return True
    makers = {pod.meta.controller for pod in unit.current}
    return all(one is not None and reports_failed_creation(one) for one in makers)


def _advice(unit: Unit) -> tuple[AdvisedStep | str, ...]:
    """Return how the quorum is reached: by held pods, by more pods, or by a lower one."""
    others = sum(pod.is_live and not pod.is_terminating for pod in unit.foreign_pods)
    quorum, possible = unit.quorum or 0, unit.expected_pods + others
    held = [job for job in unit.jobs if job.suspended and job.finish is None]
    if held and possible < quorum <= possible + unit.held:
        return (resume_step(unit.gang, held, "."),)
    there = len(unit.current) + others
    if is_bare_group(unit):
        number = quorum - there
        new = count(number, "more pod" if there else "pod")
        more = f"Make {new} in {_whose(unit)}"
        return (_or_lower(unit, more, there),)
    if possible < quorum:
        # A quorum that follows from the size of the Job grows with it.
        more = "" if _has_derived_quorum(unit) else _ask_for_more(unit, quorum - possible)
        return (_or_lower(unit, more, possible),)
    if any(job.retries for job in unit.jobs):
        return ()  # then the Job controller waits before it makes the next ones
    lower = _lower(unit, there)
    return (f"{lower[:1].upper()}{lower[1:]}.",) if lower else ()


def _or_lower(unit: Unit, more: str, quorum: int) -> str:
    """Return both ways; a lower quorum in place goes before an owner that is to be made anew or scaled."""
    in_place = f"({ChangeMethod.IN_PLACE})"
    lower = _lower(unit, quorum)
    ways = [more, lower]
    if lower.endswith(in_place) and not more.endswith(in_place) and not is_bare_group(unit):
        ways.reverse()
    text = ", or ".join(filter(None, ways))
    return f"{text[:1].upper()}{text[1:]}."


def _ask_for_more(unit: Unit, number: int) -> str:
    owner = unit.owner
    more = f"let {label(owner.meta.ref)} ask for {count(number, 'pod')} more"
    is_of_parts = bool(unit.gang.traits.role_size_field)
    if not owner.meta.ref.is_job and not is_of_parts:
        return more
    fixed = is_of_parts or _is_list_too_short(owner, unit.expected_pods + number)
    method = change_method(AdviceKind.SIZE, ChangedObject.GANG_JOB, unit.gang.cluster.kubernetes)
    return f"{more} ({ChangeMethod.RECREATE if fixed else method})"


def _is_list_too_short(job: Owner, pods: int) -> bool:
    """Whether too few completions are left for so many pods at a time, and nobody can add some.

    No more pods are active than completions are left (manageJob in pkg/controller/job). Those of
    an Indexed Job can be changed to another parallelism, all others not at all
    (validateCompletions in pkg/apis/batch/validation).
    """
    if job.indexed or job.completions is None:
        return False
    return job.completions - job.succeeded_pods < pods


def _lower(unit: Unit, quorum: int) -> str:
    """Return `lower the quorum of …`; nothing where it is not set by hand at its group or Job."""
    if quorum < 1:
        return ""
    if _is_left_alone(unit):
        return _lowered(unit, _whose(unit), quorum, ChangeMethod.IN_PLACE)
    if _is_stated_in_owner(unit):
        whose = f"{unit.gang.traits.quorum_field} of {label(unit.owner.meta.ref)}"
        return f"lower {whose} from {unit.quorum} to {quorum} ({ChangeMethod.IN_PLACE})"
    changed_object = _changed_object(unit)
    if changed_object is None:
        return ""
    method = change_method(AdviceKind.QUORUM, changed_object, unit.gang.cluster.kubernetes)
    if changed_object is not ChangedObject.GANG_JOB:
        return _lowered(unit, _whose(unit), quorum, method)
    whose = label(unit.jobs[0].meta.ref)
    if _has_derived_quorum(unit):
        return f"set minCount of {whose}, which has none, to {quorum} ({method})"
    return _lowered(unit, whose, quorum, method)


def _lowered(unit: Unit, whose: str, quorum: int, method: ChangeMethod) -> str:
    return f"lower the quorum of {whose} from {unit.quorum} to {quorum} ({method})"


def _is_left_alone(unit: Unit) -> bool:
    """Whether its group is a custom resource that no controller changes once it is made."""
    group = unit.group
    if group is None or group.meta.ref.group == _CORE:
        return False
    maker = group.meta.controller
    if maker is None:
        return not group.meta.owner_uids
    return group.meta.ref.group in unit.gang.traits_of(maker).leaves_groups


def _is_stated_in_owner(unit: Unit) -> bool:
    """Whether the quorum of its group is a number in the spec of its owner, which makes that group."""
    group, asked = unit.group, unit.owner.gang_request
    if group is None or asked is None or asked.derived or not unit.gang.traits.quorum_field:
        return False
    maker = group.meta.controller
    is_made = maker is not None and maker.uid == unit.owner.meta.ref.uid
    return is_made and asked.quorum == unit.quorum


def _changed_object(unit: Unit) -> ChangedObject | None:
    group = unit.group
    if group is None or group.meta.ref.group != _CORE:
        return None
    if group.meta.controller is None or group.meta.controller.kind == "Workload":
        return ChangedObject.POD_GROUP if group.entry is None else ChangedObject.WORKLOAD
    asked = unit.jobs[0].gang_request if len(unit.jobs) == 1 else None
    return ChangedObject.GANG_JOB if asked is not None and asked.quorum is not None else None


def _has_derived_quorum(unit: Unit) -> bool:
    """Whether its only Job states no quorum: then the group follows the size of the Job."""
    asked = unit.jobs[0].gang_request if len(unit.jobs) == 1 else None
    return _changed_object(unit) is ChangedObject.GANG_JOB and asked is not None and asked.derived


def _whose(unit: Unit) -> str:
    return label_of_group(unit.group_name or unit.name)


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    source = unit.group.meta.ref if unit.group is not None else None
    taken = last_preemption(unit) if has_lost_all_pods(unit) else None
    return (
        Evidence("quorum", str(unit.quorum), source),
        Evidence("live pods", str(live_count(unit)), source),
        Evidence("pods asked for", str(unit.wanted), unit.owner.meta.ref),
        *preemptors_evidence(taken),
    )


RULE = UnitRule("below-quorum", Stage.FORMATION, "Below quorum", 80, find, health=Health.BLOCKED)
