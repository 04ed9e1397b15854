"""Jobs of Volcano (batch.volcano.sh/v1alpha1), which consist of tasks and share the kind name of Kubernetes Jobs.

The controller creates a PodGroup and, once the queue has admitted it, the pods of all tasks, each with a task label. The
kind has no suspend field. A Command aborts a Job (`levers/volcano_command.py`), and only `status.state.phase` shows that.
An aborted Job has no PodGroup, and a resumed one gets a new PodGroup (job_controller_actions.go and state/ of v1.14.1,
observed).

Policies (`RestartJob`, `RestartTask`, `RestartPod`) and users can restart a Job. The controller deletes pods and the
PodGroup, creates a new PodGroup at once, and then the missing pods. The Job stays `Restarting` while so many pods
terminate that fewer than `minAvailable` remain (state/restarting.go of v1.14.1, observed).

The controller creates pods of a task with `dependsOn` while `minAvailable` pods of the named tasks have all containers
ready. Succeeded pods have none ready (isDependsOnPodsReady of v1.14.1). The webhook sets a missing `minAvailable` of a task
to all of its pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import Group, GroupFate
from gangboard.domain.objects import Condition
from gangboard.domain.owner import Dependency, Finish, Outcome, Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.traits import KindTraits
from gangboard.levers import volcano_command
from gangboard.levers.volcano_command import MAX_RETRIES, PHASE, RETRIES
from gangboard.owners.volcano_job import creation
from gangboard.owners.volcano_job.creation import TASK
from gangboard.owners.volcano_job.restart import RESTARTING, RESTARTING_PHASE
from gangboard.owners.volcano_job.staging import WAITING_TASK
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_QUORUM_FIELD = "minAvailable"
_DEFAULT_MAX_RETRIES = 3
"""Default of `spec.maxRetry` in the CRD."""
_STOPPED = ("Aborting", "Aborted")
_OUTCOMES = {
    "Completed": Outcome.SUCCEEDED,
    "Failed": Outcome.FAILED,
    "Terminated": Outcome.FAILED,
}


class _WireDependsOn(Wire):
    name: list[str] | None = None
    iteration: str | None = None


class _WireTask(Wire):
    name: str = ""
    depends_on: _WireDependsOn | None = None
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
        roles.append(
            Role(
                task.name,
                1,
                pods,
                requests,
                tuple(Dependency(name, "Ready") for name in _names(task)),
                noun="task",
                quorum=least,
                needs_any=_needs_any(task),
            )
        )
        faults += [f"in task {task.name} {fault}" for fault in malformed]
    return tuple(roles), tuple(faults)


def _names(task: _WireTask) -> list[str]:
    """Return the tasks that a task names in `dependsOn`."""
    return (task.depends_on.name or []) if task.depends_on is not None else []


def _needs_any(task: _WireTask) -> bool:
    """Return whether one of several tasks is enough for a task."""
    is_any = task.depends_on is not None and task.depends_on.iteration == "any"
    return is_any and len(_names(task)) > 1


def _finish(state: _WireState) -> Finish | None:
    outcome = _OUTCOMES.get(state.phase or "")
    if outcome is None:
        return None
    reason = state.reason or (state.phase if outcome is Outcome.FAILED else "") or ""
    return Finish(outcome, reason, read_text(state.message), read_time(state.last_transition_time))


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
            "PodGroup, and those of a task with `dependsOn` after the other tasks are ready"
        ),
        tested="Volcano 1.14 on 1.37",
    )
    traits = KindTraits(
        suspend_field="status.state.phase",
        suspended_detail=PHASE,
        ends_pods=True,
        quorum_field=_QUORUM_FIELD,
        number_paths={_QUORUM_FIELD: f"spec.{_QUORUM_FIELD}"},
    )
    makes = ()
    levers = (volcano_command.VolcanoCommand.key,)
    rules = (RESTARTING, WAITING_TASK)
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
        is_restarting = phase == RESTARTING_PHASE
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

    def group_fate(
        self, owner: Owner, group: Group, kubernetes: tuple[int, int] | None
    ) -> GroupFate | None:
        """Return that an aborted Job has no PodGroup (observed on 1.14.1)."""
        return GroupFate(is_kept=False)

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterable[Manifest]:
        """Return its PodGroup, and its pods as if its queue had admitted it."""
        return creation.children(manifest, context)

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterable[ManifestFault]:
        """Return what the webhook of Volcano refuses."""
        return creation.faults(manifest)

    def role_of(self, pod: Pod) -> str:
        """Return the task of a pod."""
        return pod.labels.get(TASK, "")

    def facts(self, owner: Owner) -> dict[str, str]:
        """Return the number of retries. Restarts and resumes count, and the Job fails at the maximum."""
        retries, most = owner.detail[RETRIES], owner.detail[MAX_RETRIES]
        return (
            {"Retries": f"{retries} of {most} (a resume counts as one)"} if retries != "0" else {}
        )
