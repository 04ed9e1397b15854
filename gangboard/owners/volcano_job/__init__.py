"""Jobs of Volcano (batch.volcano.sh/v1alpha1): called as those of Kubernetes are, and made of tasks.

Its controller makes a PodGroup for it and, once its queue has let that in, the pods of all tasks, each labelled with
its task. It has no field to suspend it: `status.state.phase` alone says that it is aborted, and a Command brings
that about (`levers/volcano_command.py`). An aborted one has no PodGroup, a resumed one gets another
(job_controller_actions.go, state/ of v1.14.1; brought about). `restarts` tells of restarts.
"""

from __future__ import annotations

from gangboard.decode.annotations import WireActed
from gangboard.decode.fitting import KeyField, key_fields
from gangboard.decode.jobs import DEFAULT_GRACE, WirePodTemplate, WireTemplateSpec
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import deliver
from gangboard.decode.wire import Int32, Wire, read_meta, read_text, read_time
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import Condition
from gangboard.domain.owner import Finish, Outcome, Owner, PodRequests, Role
from gangboard.domain.pod import Pod
from gangboard.domain.traits import KindTraits
from gangboard.levers import volcano_command
from gangboard.levers.volcano_command import MOST_RETRIES, PHASE, RETRIES
from gangboard.owners.volcano_job.restarts import RESTARTING
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_GROUP = "batch.volcano.sh"
_TASK = "volcano.sh/task-spec"
_MOST_RETRIES = 3
"""`spec.maxRetry` where nobody set it (default of the CRD)."""
_STOPPED = ("Aborting", "Aborted")
_RESTARTING = "Restarting"
_ENDS = {
    "Completed": Outcome.SUCCEEDED,
    "Failed": Outcome.FAILED,
    "Terminated": Outcome.FAILED,
}


class _WireMeta(WireOwnerMeta):
    annotations: WireActed | None = None


class _WireTask(Wire):
    name: str = ""
    replicas: Int32 | None = None
    min_available: Int32 | None = None
    template: KeyField[WirePodTemplate | None] = None

    @property
    def pod(self) -> WireTemplateSpec:
        """The spec of its pods."""
        return (self.template and self.template.spec) or WireTemplateSpec()


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
    """A Job of Volcano as narrow as it is kept."""

    metadata: _WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WireJob, version: str) -> Owner:
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    state = status.state or _WireState()
    phase = state.phase or ""
    roles, faults = _roles(spec.tasks or [])
    retries = max(0, status.retry_count or 0)
    most = _MOST_RETRIES if spec.max_retry is None else spec.max_retry
    is_restarting = phase == _RESTARTING
    changed_at = read_time(state.last_transition_time)
    owner = Owner(
        meta=read_meta(wire.metadata, _GROUP, "Job", version),
        suspended=phase in _STOPPED,
        suspend_set_at=changed_at if phase in _STOPPED else None,
        desired=sum(role.pods for role in roles),
        roles=roles,
        pod_requests=tuple(PodRequests(role.pods, role.requests) for role in roles if role.pods),
        finish=_finish(state),
        # A resume counts as one, too: only while it restarts is that news.
        restarts=retries if is_restarting else 0,
        counted_restarts=retries if is_restarting else 0,
        max_restarts=most,
        restarting=is_restarting,
        conditions=(Condition(phase, "True", since=changed_at),) if is_restarting else (),
        priority_class=spec.priority_class_name or "",
        last_action=wire.metadata.annotations.last_action if wire.metadata.annotations else "",
        grace_seconds=max((_grace(one.pod) for one in spec.tasks or ()), default=DEFAULT_GRACE),
        detail={PHASE: phase, RETRIES: str(retries), MOST_RETRIES: str(most)},
    )
    return deliver(owner, faults)


def _roles(tasks: list[_WireTask]) -> tuple[tuple[Role, ...], tuple[str, ...]]:
    """Return a role for each task, and what is wrong with their templates."""
    roles, faults = list[Role](), list[str]()
    for task in tasks:
        requests, malformed = pod_requests(task.pod)
        pods = max(0, task.replicas or 0)
        # A pointer in Go: 0 was written on purpose, and the task is optional (getMinTaskMember).
        least = pods if task.min_available is None else min(pods, max(0, task.min_available))
        roles.append(Role(task.name, 1, pods, requests, noun="task", quorum=least))
        faults += [f"in task {task.name} {fault}" for fault in malformed]
    return tuple(roles), tuple(faults)


def _finish(state: _WireState) -> Finish | None:
    outcome = _ENDS.get(state.phase or "")
    if outcome is None:
        return None
    reason = state.reason or (state.phase if outcome is Outcome.FAILED else "") or ""
    return Finish(outcome, reason, read_text(state.message), read_time(state.last_transition_time))


def _grace(spec: WireTemplateSpec) -> int:
    grace = spec.termination_grace_period_seconds
    return DEFAULT_GRACE if grace is None else grace


def _role_of(pod: Pod) -> str:
    """Return the task that a pod belongs to."""
    return pod.labels.get(_TASK, "")


def _facts(owner: Owner) -> dict[str, str]:
    """Return how often it was restarted or resumed: both count, and at the most it fails."""
    retries, most = owner.detail[RETRIES], owner.detail[MOST_RETRIES]
    return {"Retries": f"{retries} of {most} (a resume counts as one)"} if retries != "0" else {}


OWNER = OwnerKind(
    resource=Resource(
        group=_GROUP,
        plural="jobs",
        kind="Job",
        versions=("v1alpha1",),
        wire=WireJob,
        model=Owner,
        build=_build,
        needed=True,
        decoder_version=4,
        fields=key_fields(WireJob),
    ),
    label="Volcano Job",
    traits=KindTraits(suspend_field="status.state.phase", suspended_detail=PHASE, ends_pods=True),
    levers=(volcano_command.LEVER.key,),
    makes=(),
    role_of=_role_of,
    facts=_facts,
    rules=(RESTARTING,),
    event_reasons={
        "PluginError": "",
        "PVCError": "Failed to create PVC, err:",
        "PodGroupError": "Failed to create PodGroup, err:",
    },
    notes=KindNotes(
        gang="the Job with the pods of its tasks",
        units="its Volcano PodGroup, else each task",
        queues="queues of Volcano",
        limits=(
            "it has no suspend field: a Command aborts and resumes it. Each resume counts as a retry, and "
            "at `maxRetry` it fails; while it restarts a Command is lost. Its pods are made only once its "
            "queue has let it in"
        ),
        tested="Volcano 1.14 on 1.37",
    ),
)
