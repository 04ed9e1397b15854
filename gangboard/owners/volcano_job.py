"""Jobs of Volcano (batch.volcano.sh/v1alpha1), which consist of tasks and share the kind name of Kubernetes Jobs.

The controller creates a PodGroup and, once the queue has admitted it, the pods of all tasks, each with a task label. The
kind has no suspend field. A Command aborts a Job (`levers/volcano_command.py`), and only `status.state.phase` shows that.
An aborted Job has no PodGroup, and a resumed one gets a new PodGroup (job_controller_actions.go and state/ of v1.14.1,
observed).

Policies (`RestartJob`, `RestartTask`, `RestartPod`) and users can restart a Job. The controller deletes pods and the
PodGroup, creates a new PodGroup at once, and then the missing pods. The Job stays `Restarting` while so many pods
terminate that fewer than `minAvailable` remain (state/restarting.go of v1.14.1, observed).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gangboard.decode.annotations import WireActionAnnotations
from gangboard.decode.jobs import (
    DEFAULT_GRACE,
    WirePodTemplate,
    WireTemplateSpec,
    requests_of,
    size_of,
    template_spec,
)
from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta, decode_annotations
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.wire import Int32, Wire, read_text, read_time
from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.node import Node
from gangboard.domain.objects import Condition
from gangboard.domain.owner import Finish, Outcome, Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.text import is_or_are, label, names, out_of
from gangboard.domain.traits import KindTraits
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.attempts import latest, restart_under_way
from gangboard.facts.creation_refusal import newest_creation_refusal
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import COUNT_GRACE, CREATION_GRACE, newest_creation
from gangboard.facts.lost_members import force_delete_advice, recover_nodes_advice
from gangboard.facts.unit import Unit, unready_nodes
from gangboard.levers import volcano_command
from gangboard.levers.volcano_command import MAX_RETRIES, PHASE, RETRIES
from gangboard.plugins.owner_kind import KindNotes, OwnerKind
from gangboard.plugins.rule import UnitRule

_TASK = "volcano.sh/task-spec"
_DEFAULT_MAX_RETRIES = 3
"""Default of `spec.maxRetry` in the CRD."""
_STOPPED = ("Aborting", "Aborted")
_RESTARTING = "Restarting"
_OUTCOMES = {
    "Completed": Outcome.SUCCEEDED,
    "Failed": Outcome.FAILED,
    "Terminated": Outcome.FAILED,
}
_CONTROLLER = "Volcano's controller (vc-controller-manager)"


class _WireTask(Wire):
    name: str = ""
    replicas: Int32 | None = None
    min_available: Int32 | None = None
    template: KeyField[WirePodTemplate | None] = None

    @property
    def pod(self) -> WireTemplateSpec:
        """The spec of its pods."""
        return template_spec(self.template)


class _WireSpec(Wire):
    tasks: list[_WireTask] | None = None
    min_available: Int32 | None = None
    max_retry: Int32 | None = None
    priority_class_name: str | None = None


class _WireState(Wire):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class _WireStatus(Wire):
    state: _WireState | None = None
    retry_count: Int32 | None = None


class WireJob(Wire):
    """The fields of a Job of Volcano that gangboard reads."""

    metadata: WireOwnerMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _roles(tasks: list[_WireTask]) -> tuple[tuple[Role, ...], tuple[str, ...]]:
    """Return a role for each task, and the faults of their templates."""
    roles, faults = list[Role](), list[str]()
    for task in tasks:
        requests, malformed = pod_requests(task.pod)
        pods = max(0, task.replicas or 0)
        # The field is a pointer in Go. An explicit 0 makes the task optional (getMinTaskMember).
        least = pods if task.min_available is None else min(pods, max(0, task.min_available))
        roles.append(Role(task.name, 1, pods, requests, noun="task", quorum=least))
        faults += [f"in task {task.name} {fault}" for fault in malformed]
    return tuple(roles), tuple(faults)


def _finish(state: _WireState) -> Finish | None:
    outcome = _OUTCOMES.get(state.phase or "")
    if outcome is None:
        return None
    reason = state.reason or (state.phase if outcome is Outcome.FAILED else "") or ""
    return Finish(outcome, reason, read_text(state.message), read_time(state.last_transition_time))


# A restart


def _find_restart(unit: Unit) -> Finding | None:
    """Return a finding while old pods terminate, or new ones do not exist yet."""
    restart = restart_under_way(unit) if unit.owner.restarting else None
    if restart is None:
        return None
    leaving = [pod for pod in unit.pods if pod.is_live and pod.is_terminating]
    is_refused = newest_creation_refusal(unit) is not None
    if not leaving and (is_refused or not unit.missing):
        return None  # other rules report why the pods wait
    ready = len(unit.ready)
    counts = f"{restart.text}: {out_of(ready, unit.wanted, 'pod')} {is_or_are(ready)} ready"
    due = _restart_due(unit, leaving)
    is_stuck = bool(_sick_nodes_of(leaving, unit)) or (due is not None and due <= unit.now)
    return unit_finding(
        RESTARTING,
        unit,
        f"{counts}; {_deletion_text(leaving, unit) if leaving else _creation_text(unit)}.",
        health=Health.BLOCKED if is_stuck and not unit.ready else None,
        advice=_advice(unit, leaving) if is_stuck else (),
        evidence=(
            Evidence("status.state.phase", "Restarting", unit.owner.meta.ref),
            *(
                Evidence("metadata.deletionTimestamp", _deletion_time(pod), pod.meta.ref)
                for pod in leaving[:1]
            ),
        ),
        recheck_at=due if due is not None and due > unit.now else None,
        since=_restarting_since(unit),
        stage=Stage.RUN,
    )


def _deletion_text(leaving: list[Pod], unit: Unit) -> str:
    """Return `pod run-0 is still being deleted on node n0, which is NotReady`."""
    pods = names(pod.meta.ref.name for pod in leaving)
    noun = "pod" if len(leaving) == 1 else "pods"
    text = f"{noun} {pods} {is_or_are(len(leaving))} still being deleted"
    sick = _sick_nodes_of(leaving, unit)
    if not sick:
        return text
    nodes = "node" if len(sick) == 1 else "nodes"
    listed = names(node.meta.ref.name for node in sick)
    return f"{text} on {nodes} {listed}, which {is_or_are(len(sick))} NotReady"


def _sick_nodes_of(pods: list[Pod], unit: Unit) -> tuple[Node, ...]:
    nodes = {pod.node for pod in pods}
    return tuple(node for node in unready_nodes(unit) if node.meta.ref.name in nodes)


def _creation_text(unit: Unit) -> str:
    number = unit.missing
    rest = "the other pod" if number == 1 else f"the other {number} pods"
    text = f"{_CONTROLLER} has not created {rest} yet"
    if unit.gang.cluster.events_known:
        return text
    return f"{text}. Events cannot be read, so a refusal would not be seen"


def _restart_due(unit: Unit, leaving: list[Pod]) -> datetime | None:
    """Return the time by which pods should be deleted or created. After that, the restart is stuck."""
    if leaving:
        # `deletionTimestamp` is the end of the grace period.
        grace_ends = latest(pod.meta.deleting_since for pod in leaving)
        return grace_ends + COUNT_GRACE if grace_ends is not None else None
    since = latest((_restarting_since(unit), newest_creation(unit.current)))
    return since + CREATION_GRACE if since is not None else None


def _restarting_since(unit: Unit) -> datetime | None:
    """Return the time at which the Job entered the phase `Restarting`."""
    return latest(condition.since for condition in unit.owner.conditions)


def _advice(unit: Unit, leaving: list[Pod]) -> tuple[AdvisedStep | str, ...]:
    if not leaving and not unit.gang.cluster.events_known:
        return ()
    if not leaving:
        return (f"Start {_CONTROLLER} if it does not run, and check its log.",)
    sick = _sick_nodes_of(leaving, unit)
    if sick:
        return (*recover_nodes_advice(sick), *force_delete_advice(unit))
    first = label(leaving[0].meta.ref)
    return (
        f"Check why {first} does not end: its finalizers, and the kubelet of node {leaving[0].node}.",
    )


def _deletion_time(pod: Pod) -> str:
    return pod.meta.deleting_since.isoformat() if pod.meta.deleting_since is not None else ""


RESTARTING = UnitRule(
    "restarting", Stage.FORMATION, "Restarting", 30, _find_restart, health=Health.DEGRADED
)


class VolcanoJob(OwnerKind):
    """A Job of Volcano."""

    group = "batch.volcano.sh"
    kind = "Job"
    versions = ("v1alpha1",)
    wire = WireJob
    label = "Volcano Job"
    notes = KindNotes(
        gang="the Job with the pods of its tasks",
        units="its Volcano PodGroup; without one, each task",
        queues="queues of Volcano",
        limits=(
            "It has no suspend field: a Command aborts and resumes it. Each resume counts "
            "as a retry, and the Job fails at `maxRetry`. A Command is lost while the Job "
            "restarts. The controller creates the pods after the queue has admitted the "
            "PodGroup"
        ),
        tested="Volcano 1.14 on 1.37",
    )
    traits = KindTraits(suspend_field="status.state.phase", suspended_detail=PHASE, ends_pods=True)
    makes = ()
    levers = (volcano_command.VolcanoCommand.key,)
    rules = (RESTARTING,)
    event_reasons: Mapping[str, str] = {
        "PluginError": "",
        "PVCError": "Failed to create PVC, err:",
        "PodGroupError": "Failed to create PodGroup, err:",
    }

    def build(self, wire: WireJob, version: str) -> Owner:
        """Return the Job with a role for each task."""
        spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
        state = status.state or _WireState()
        phase = state.phase or ""
        roles, faults = _roles(spec.tasks or [])
        retries = max(0, status.retry_count or 0)
        most = _DEFAULT_MAX_RETRIES if spec.max_retry is None else spec.max_retry
        is_restarting = phase == _RESTARTING
        changed_at = read_time(state.last_transition_time)
        annotations = decode_annotations(wire.metadata, WireActionAnnotations)
        owner = Owner(
            meta=self.read_meta(wire, version),
            suspended=phase in _STOPPED,
            suspend_set_at=changed_at if phase in _STOPPED else None,
            desired=size_of(roles),
            roles=roles,
            pod_requests=requests_of(roles),
            finish=_finish(state),
            # A resume also counts as a retry, so the phase tells whether it is a restart.
            restarts=retries if is_restarting else 0,
            counted_restarts=retries if is_restarting else 0,
            max_restarts=most,
            restarting=is_restarting,
            conditions=(Condition(phase, "True", since=changed_at),) if is_restarting else (),
            priority_class=spec.priority_class_name or "",
            last_action=annotations.last_action,
            grace_seconds=max(
                (task.pod.grace_seconds for task in spec.tasks or ()), default=DEFAULT_GRACE
            ),
            detail={PHASE: phase, RETRIES: str(retries), MAX_RETRIES: str(most)},
        )
        return raise_for_faults(owner, faults)

    def role_of(self, pod: Pod) -> str:
        """Return the task of a pod."""
        return pod.labels.get(_TASK, "")

    def facts(self, owner: Owner) -> dict[str, str]:
        """Return the number of retries. Restarts and resumes count, and the Job fails at the maximum."""
        retries, most = owner.detail[RETRIES], owner.detail[MAX_RETRIES]
        return (
            {"Retries": f"{retries} of {most} (a resume counts as one)"} if retries != "0" else {}
        )
