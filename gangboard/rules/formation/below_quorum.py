"""`below-quorum`: a group has fewer live pods than its quorum, and no controller reports a refusal of the rest.

The rule also covers two other cases: a group without a known controller that has lost all its pods, and a part
of a group with a minimum of its own (a task, a subgroup).

The scheduler tries no member before the quorum exists, and writes neither a condition nor an event about it
(k/k#141900, by design; observed on 1.35.4 to 1.37.0). The gang is still starting until the count has not
changed for 30 seconds.
"""

from __future__ import annotations

from collections import Counter

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.group import label_of_group
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.text import count, label, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import restart_under_way
from gangboard.facts.builtin_controllers import reports_failed_creation
from gangboard.facts.copied_commands import patch_command
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
from gangboard.facts.suspensions import authors_text, pause_of
from gangboard.facts.unit import Unit, failing_jobs, is_bare_group, is_formed, live_count
from gangboard.placement.advice.change_methods import ChangedObject, change_method
from gangboard.plugins.rule import UnitRule

_CORE = "scheduling.k8s.io"
_MIN_MEMBER = "minMember"
_QUORUMS = ("minCount", _MIN_MEMBER)
"""Names of the quorum in `KindTraits.number_paths`: of core groups and Jobs, and of groups of other APIs."""


def find(unit: Unit) -> Finding | None:
    """Return a finding for a gang with some pods but fewer than its quorum, or that has lost all its pods."""
    if unit.quorum is None or unit.is_full:
        return None
    if is_formed(unit):
        return _find_short_part(unit)
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
    part = _find_part_without_pods(unit)
    if part is not None:
        return part
    noun = "group" if unit.group_name else unit.noun
    counts = f"{noun} {name} has {live} of the {count(unit.quorum, 'pod')} that it needs"
    counts = f"{counts[:1].upper()}{counts[1:]}"
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
        f"{counts}{_rest_text(unit)}",
        advice=_advice(unit),
        evidence=evidence,
        since=not_formed_since(unit),
    )


def _find_part_without_pods(unit: Unit) -> Finding | None:
    """Return a finding if the group lacks pods because the maker of a part is scaled to zero."""
    group = unit.group
    if group is None or not any(_idle_maker(unit, template.name) for template in group.templates):
        return None
    return _find_short_part(unit)


def _idle_maker(unit: Unit, name: str) -> Owner | None:
    """Return the object with this name if it makes the pods of a part and is scaled to zero."""
    makers = (maker for maker in unit.gang.makers if maker.meta.ref.name == name)
    return next((maker for maker in makers if not maker.desired), None)


def _find_short_part(unit: Unit) -> Finding | None:
    """Return a finding if one part of the group has fewer pods than its minimum."""
    group = unit.group
    if group is None or not group.part_label or unit.placed:
        return None
    live = [pod for pod in (*unit.pods, *unit.foreign_pods) if pod.is_live]
    live_by_part = Counter(pod.labels.get(group.part_label, "") for pod in live)
    short = [
        (template.name, live_by_part[template.name], template.quorum)
        for template in group.templates
        if template.quorum is not None and live_by_part[template.name] < template.quorum
    ]
    since = unchanged_since(unit)
    idle = [
        (maker, shortage)
        for shortage in short
        if (maker := _idle_maker(unit, shortage[0])) is not None
    ]
    # An object that is scaled to 0 never makes a pod, so there is no grace period.
    is_young = not idle and since is not None and since + COUNT_GRACE > unit.now
    if not short or is_young:
        return None
    name, number, minimum = idle[0][1] if idle else short[0]
    needed = count(minimum, "pod")
    message = f"Group {unit.group_name} has {number} of the {needed} of {name} that it needs."
    if idle:
        maker = idle[0][0]
        authors = authors_text([pause_of(unit.gang, maker)])
        scaled = sentence(f"scaled to 0 {authors}".strip())
        message = (
            f"Group {unit.group_name} needs {needed} of {label(maker.meta.ref)}, which is {scaled}"
        )
    return unit_finding(
        RULE,
        unit,
        message,
        advice=[f"Scale {label(maker.meta.ref)} to {shortage[2]}." for maker, shortage in idle],
        evidence=tuple(
            Evidence(f"pods of {role}", f"{pods} of at least {required}", group.meta.ref)
            for role, pods, required in short
        ),
        since=not_formed_since(unit),
    )


def _rest_text(unit: Unit) -> str:
    if has_lost_all_pods(unit):
        preemption = last_preemption(unit)
        loss = (
            f"were preempted by {preemptors_text(preemption)}"
            if preemption is not None
            else "are gone"
        )
        return f"; its former pods {loss}."
    foreign_pods = sum(pod.is_live for pod in unit.foreign_pods)
    if (
        unit.expected_pods + foreign_pods < (unit.quorum or 0)
        and not unit.succeeded
        and not unit.held
    ):
        return f", and its owner requests only {unit.expected_pods}."
    if not unit.gang.cluster.events_known:
        return ". Events cannot be read, so a refusal would not be seen."
    if not _are_refusals_reported(unit):
        return "; no known controller creates the rest."
    return "; no refusal of the rest is reported."


def _are_refusals_reported(unit: Unit) -> bool:
    """Return whether the observed events would report a refusal. The maker of bare pods is unknown."""
    if unit.jobs or not is_bare_group(unit):
        return True
    makers = {pod.meta.controller for pod in unit.current}
    return all(maker is not None and reports_failed_creation(maker) for maker in makers)


def _advice(unit: Unit) -> tuple[AdvisedStep, ...]:
    """Return how the group can reach its quorum: by held pods, by more pods, or by a lower quorum."""
    foreign_pods = sum(pod.is_live and not pod.is_terminating for pod in unit.foreign_pods)
    quorum, possible = unit.quorum or 0, unit.expected_pods + foreign_pods
    held = [job for job in unit.jobs if job.suspended and job.finish is None]
    if held and possible < quorum <= possible + unit.held:
        return (resume_step(unit.gang, held, "."),)
    existing = len(unit.current) + foreign_pods
    if is_bare_group(unit):
        number = quorum - existing
        new = count(number, "more pod" if existing else "pod")
        creation = AdvisedStep(f"Create {new} in {_group_label(unit)}.")
        return (creation, *_lower(unit, existing))
    if possible < quorum:
        # A quorum derived from the size of the Job grows with it.
        more = () if _has_derived_quorum(unit) else (_request_more(unit, quorum - possible),)
        return _in_place_first(more, _lower(unit, possible))
    if any(job.retries for job in unit.jobs):
        return ()  # the Job controller is in its back-off
    return _lower(unit, existing)


def _in_place_first(
    more: tuple[AdvisedStep, ...], lower: tuple[AdvisedStep, ...]
) -> tuple[AdvisedStep, ...]:
    """Return both steps. A quorum that can be lowered in place comes before an owner that must be re-created."""
    if any(map(_is_in_place, lower)) and not any(map(_is_in_place, more)):
        return (*lower, *more)
    return (*more, *lower)


def _is_in_place(step: AdvisedStep) -> bool:
    return step.text.endswith(f"({ChangeMethod.IN_PLACE}).")


def _request_more(unit: Unit, number: int) -> AdvisedStep:
    owner, traits = unit.owner, unit.gang.traits
    ref = owner.meta.ref
    request = f"Scale {label(ref)} up by {count(number, 'pod')}"
    has_parts = bool(traits.role_size_field)
    if not ref.is_job and not has_parts:
        return AdvisedStep(f"{request}.")
    is_immutable = has_parts or _has_too_few_completions(owner, unit.expected_pods + number)
    method = change_method(AdviceKind.SIZE, ChangedObject.GANG_JOB, unit.gang.cluster.kubernetes)
    if is_immutable or method is not ChangeMethod.IN_PLACE:
        return AdvisedStep(f"{request} ({ChangeMethod.RECREATE}).")
    size = _size_for(owner, number, unit.expected_pods + number)
    return AdvisedStep(f"{request} ({method}).", AdviceKind.SIZE, patch_command(traits, ref, size))


def _size_for(job: Owner, more: int, pods: int) -> dict[str, int]:
    """Return the fields with which a Job has so many `more` active pods, `pods` in all. Empty if no change is enough.

    The completions of an Indexed Job can only be changed to its new parallelism.
    """
    parallelism = (job.parallelism or 0) + more
    ended = job.succeeded_pods + job.failed_index_count
    if job.completions is None or job.completions - ended >= pods:
        return {"parallelism": parallelism}
    if parallelism - ended < pods:
        return {}
    return {"parallelism": parallelism, "completions": parallelism}


def _has_too_few_completions(job: Owner, pods: int) -> bool:
    """Return whether the remaining completions limit the Job to fewer active pods, and cannot be changed.

    A Job never has more active pods than remaining completions (manageJob in pkg/controller/job). The
    completions of an Indexed Job can change together with its parallelism, those of other Jobs never
    (validateCompletions in pkg/apis/batch/validation).
    """
    if job.indexed or job.completions is None:
        return False
    return job.completions - job.succeeded_pods < pods


def _lower(unit: Unit, quorum: int) -> tuple[AdvisedStep, ...]:
    """Return the step that lowers the quorum, or none if its group, Job or owner does not set it explicitly."""
    if quorum < 1:
        return ()
    group, owner = unit.group, unit.owner
    changed = f"from {unit.quorum} to {quorum}"
    if group is not None and _is_unmanaged(unit):
        subject = f"the quorum of {_group_label(unit)}"
        return (_lower_step(unit, f"Lower {subject} {changed}", group.meta.ref, quorum),)
    if _is_set_by_owner(unit):
        field, ref = unit.gang.traits.quorum_field, owner.meta.ref
        return (
            _lower_step(
                unit, f"Lower {field} of {label(ref)} {changed}", ref, quorum, number=field
            ),
        )
    changed_object = _changed_object(unit)
    if group is None or changed_object is None:
        return ()
    method = change_method(AdviceKind.QUORUM, changed_object, unit.gang.cluster.kubernetes)
    ref, subject = group.meta.ref, _group_label(unit)
    if changed_object is ChangedObject.GANG_JOB:
        ref = unit.jobs[0].meta.ref
        subject = label(ref)
    text = f"Lower the quorum of {subject} {changed}"
    if _has_derived_quorum(unit):
        text = f"Set minCount of {subject}, which has none, to {quorum}"
    return (_lower_step(unit, text, ref, quorum, method),)


def _lower_step(
    unit: Unit,
    text: str,
    ref: ObjectRef,
    quorum: int,
    method: ChangeMethod = ChangeMethod.IN_PLACE,
    *,
    number: str = "",
) -> AdvisedStep:
    """Return the step with its command. `number` is the key of the quorum in `number_paths`, by default the usual one."""
    traits = unit.gang.traits_of(ref)
    name = number or next((name for name in _QUORUMS if name in traits.number_paths), "")
    has_parts = unit.group is not None and bool(unit.group.part_label)
    # The quorum of a group with parts can come from their minima.
    is_plain = method is ChangeMethod.IN_PLACE and not (has_parts and name == _MIN_MEMBER)
    command = patch_command(traits, ref, {name: quorum}) if is_plain else ()
    return AdvisedStep(f"{text} ({method}).", AdviceKind.QUORUM, command)


def _is_unmanaged(unit: Unit) -> bool:
    """Return whether the group is a custom resource that no controller changes after its creation."""
    group = unit.group
    if group is None or group.meta.ref.group == _CORE:
        return False
    maker = group.meta.controller
    if maker is None:
        return not group.meta.owner_uids
    return group.meta.ref.group in unit.gang.traits_of(maker).leaves_groups


def _is_set_by_owner(unit: Unit) -> bool:
    """Return whether the quorum is a number in the spec of the owner, which makes the group."""
    group, request = unit.group, unit.owner.gang_request
    if group is None or request is None or request.derived or not unit.gang.traits.quorum_field:
        return False
    maker = group.meta.controller
    is_made = maker is not None and maker.uid == unit.owner.meta.ref.uid
    return is_made and request.quorum == unit.quorum


def _changed_object(unit: Unit) -> ChangedObject | None:
    group = unit.group
    if group is None or group.meta.ref.group != _CORE:
        return None
    if group.meta.controller is None or group.meta.controller.kind == "Workload":
        return ChangedObject.POD_GROUP if group.entry is None else ChangedObject.WORKLOAD
    request = unit.jobs[0].gang_request if len(unit.jobs) == 1 else None
    return ChangedObject.GANG_JOB if request is not None and request.quorum is not None else None


def _has_derived_quorum(unit: Unit) -> bool:
    """Return whether the only Job of the unit states no quorum, so that the group follows its size."""
    request = unit.jobs[0].gang_request if len(unit.jobs) == 1 else None
    return (
        _changed_object(unit) is ChangedObject.GANG_JOB and request is not None and request.derived
    )


def _group_label(unit: Unit) -> str:
    return label_of_group(unit.group_name or unit.name)


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    source = unit.group.meta.ref if unit.group is not None else None
    preemption = last_preemption(unit) if has_lost_all_pods(unit) else None
    return (
        Evidence("quorum", str(unit.quorum), source),
        Evidence("live pods", str(live_count(unit)), source),
        Evidence("pods asked for", str(unit.wanted), unit.owner.meta.ref),
        *preemptors_evidence(preemption),
    )


RULE = UnitRule("below-quorum", Stage.FORMATION, "Below quorum", 80, find, health=Health.BLOCKED)
