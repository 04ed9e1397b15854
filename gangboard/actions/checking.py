"""requested → checked: check the rights again, read the live objects, plan, and store a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from gangboard.actions import hold_expiry, patches, preconditions, refusals, relocation
from gangboard.actions.actor_client import object_path
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, exit_early
from gangboard.actions.live_objects import LiveOwner, LiveReader
from gangboard.actions.previews import surroundings_of
from gangboard.decode.holds import HOLD
from gangboard.domain.action import (
    ActionState,
    ClusterLevers,
    Plan,
    StepKind,
    StepState,
    Verb,
)
from gangboard.domain.hold import HOLD_LEVER
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.text import label
from gangboard.facts.gang import Gang as GangModel
from gangboard.facts.surroundings import Surroundings
from gangboard.plugins import registry
from gangboard.policy.plan import plan
from gangboard.store import actions, gang_objects
from gangboard.store.access import viewer_of
from gangboard.store.levers import read_levers
from gangboard.store.models import ActionStep, Cluster, Gang


def check(execution: ActionExecution) -> float:
    """Check the action against the live cluster and store its steps, or refuse it. Raises KubeError."""
    exit_ = preconditions.check_preconditions(execution)
    cluster = execution.action.cluster
    if exit_ is not None:
        return exit_early(execution, exit_)
    if cluster is None:
        name = execution.action.cluster_name
        return exit_early(
            execution, ActionExit(ActionState.FAILED, f"Cluster {name} is no longer watched.")
        )
    stored = _stored_gang(execution, cluster)
    levers = read_levers(cluster, forced=execution.action.forced)
    if not levers.has_actor:
        if stored is None:
            return exit_early(execution, _refused(f"Cluster {cluster.name} has no actor.", ""))
        refused = _plan(execution, stored, levers)
        return exit_early(execution, _refused(refused.why_not, refused.needs))
    view = stored.cluster if stored else gang_objects.read_cluster_view(cluster.pk)
    live = LiveReader(execution.client, dict(view.api_versions))
    target = _read_target(execution, live)
    if isinstance(target, ActionExit):
        return exit_early(execution, target)
    gang = live.read_gang(target, stored, view)
    if execution.action.via == preconditions.VIA_GANGBOARD:
        ended_hold = execution.context.get("ended_hold", "")
        not_due = hold_expiry.reason_not_due(gang, execution.action.name, ended_hold, execution.now)
        if not_due:
            return exit_early(execution, _refused(not_due, ""))
    surroundings = _surroundings(execution, cluster, gang)
    planned = _plan(execution, gang, levers, surroundings)
    if not planned.allowed:
        return exit_early(execution, _refused(planned.why_not, planned.needs))
    if (exit_ := preconditions.exit_if_already_applied(execution, gang, planned)) is not None:
        return exit_early(execution, exit_)
    execution.context.update(_baseline(live, gang, planned, surroundings))
    _write_steps(execution, planned)
    return 0.0


def _stored_gang(execution: ActionExecution, cluster: Cluster) -> GangModel | None:
    gang = Gang.objects.filter(pk=execution.action.gang_id, cluster=cluster).first()
    return gang_objects.read_gang(cluster.pk, gang) if gang is not None else None


def _read_target(execution: ActionExecution, live: LiveReader) -> LiveOwner | ActionExit:
    action = execution.action
    kind = registry.owner_kind(action.api_group, action.kind)
    assert kind is not None  # noqa: S101  # checked when the request was made
    target = live.read_owner(kind, action.namespace, action.name)
    if target is None:
        return ActionExit(ActionState.GONE, f"{execution.object_name} is gone. Nothing was sent.")
    meta = target.owner.meta
    if meta.ref.uid != action.uid:
        sentence = refusals.another_object(execution.object_name, action.uid, meta.ref.uid)
        return ActionExit(ActionState.GONE, f"{sentence} Nothing was sent.")
    if action.generation is not None and meta.generation != action.generation:
        sentence = refusals.changed(execution.object_name, action.generation, meta.generation)
        return ActionExit(ActionState.CONFLICT, f"{sentence} Nothing was sent.")
    return target


def _surroundings(
    execution: ActionExecution, cluster: Cluster, gang: GangModel
) -> Surroundings | None:
    """Return the nodes and pods that a relocation needs, with the rights of its requester."""
    user = execution.action.user
    if user is None:
        return None
    action_request = actions.read_request(execution.action)
    return surroundings_of(viewer_of(user), cluster.pk, gang, action_request, is_stored=True)


def _plan(
    execution: ActionExecution,
    gang: GangModel,
    levers: ClusterLevers,
    surroundings: Surroundings | None = None,
) -> Plan:
    action = execution.action
    return plan(
        gang,
        levers,
        actions.read_request(action),
        by=action.actor_name,
        action=action.pk,
        now=execution.now,
        surroundings=surroundings,
    )


def _refused(why_not: str, needs: str) -> ActionExit:
    remedy = f" What is needed: {needs}" if needs else ""
    return ActionExit(ActionState.REFUSED, f"{why_not}{remedy}")


def _write_steps(execution: ActionExecution, planned: Plan) -> None:
    def add_steps() -> None:
        ActionStep.objects.bulk_create(
            ActionStep(
                action=execution.action,
                position=position,
                kind=step.kind.value,
                name=step.name[:200],
                subject=asdict(step.subject),
                method=step.method,
                path=step.path,
                patch=step.patch,
                dry_run=step.dry_run,
                state=StepState.PENDING.value,
            )
            for position, step in enumerate(planned.steps)
        )

    assert planned.lever is not None  # noqa: S101  # an allowed plan has one
    execution.checkpoint("check:before-writing")
    execution.write(
        ActionState.CHECKED,
        f"Checked: {label(planned.subject)} has not changed since it was seen, and may be acted on.",
        context=True,
        in_transaction=add_steps,
        lever=planned.lever,
        warnings=list(planned.warnings),
        reactions=list(planned.reactions),
        before=planned.before,
        after=planned.after,
    )
    execution.checkpoint("check:written")
    execution.reload_steps()


def _baseline(
    live: LiveReader, gang: GangModel, planned: Plan, surroundings: Surroundings | None
) -> dict[str, Any]:
    """Return the state before the change, with which verification compares."""
    uid = planned.subject.uid
    own = {job.meta.ref.uid: job for job in gang.jobs if job.meta.ref.uid == uid}
    if not own:  # the owner as a whole
        own = {job.meta.ref.uid: job for job in gang.jobs if job.finish is None}
    sibling_jobs = {job.meta.ref.uid: job for job in gang.jobs if job.meta.ref.uid not in own}
    namespace = planned.subject.namespace
    sibling_pods = live.pods(namespace, _names(sibling_jobs))
    found_hold = _existing_hold(gang, planned, live)
    own_pods = [pod for pod in live.pods(namespace, _names(own)) if pod.is_live]
    nodes = {pod.node for pod in own_pods if pod.node}
    return {
        **(
            relocation.baseline(planned, own_pods, surroundings)
            if planned.verb is Verb.RELOCATE
            else {}
        ),
        **({"found_hold": found_hold} if found_hold else {}),
        "button": planned.label,
        "nodes": sorted(nodes),
        "versions": live.versions,
        "watch": planned.watch_seconds,
        "grace": _grace_seconds(gang, planned, own.values()),
        "subjects": _subjects(live, planned),
        "selector": _pod_selector(gang, planned.subject),
        "jobs": _names(own),
        "siblings": {
            "jobs": _names(sibling_jobs),
            "pods": {
                pod.meta.ref.uid: [pod.meta.ref.name, _pod_restarts(pod), _controller_uid(pod)]
                for pod in sibling_pods
            },
        },
        "above": _owner_baseline(live, owner)
        if (owner := _owner_of(gang, uid)) is not None
        else None,
        "claim": gang.owner.independent_claim,
    }


def _grace_seconds(gang: GangModel, planned: Plan, jobs: Iterable[Owner]) -> int:
    """Return the longest grace period of the pods. An owner can also have pods without a Job."""
    owner = gang.owner if planned.subject.uid == gang.owner.meta.ref.uid else None
    return max(workload.grace_seconds for workload in (*jobs, *filter(None, (owner,))))


def _owner_of(gang: GangModel, uid: str) -> Owner | None:
    """Return the controlling owner of a Job of the gang; None for the gang's owner itself."""
    job = next((job for job in gang.jobs if job.meta.ref.uid == uid), None)
    controller = job.meta.controller if job is not None else None
    controller_uid = controller.uid if controller is not None else ""
    return next((owner for owner in gang.makers if owner.meta.ref.uid == controller_uid), None)


def _existing_hold(gang: GangModel, planned: Plan, live: LiveReader) -> dict[str, Any] | None:
    """Return the existing Hold that the action relies on and must not remove, or None."""
    kinds = {step.kind for step in planned.steps}
    if planned.lever != HOLD_LEVER or planned.verb is not Verb.SUSPEND:
        return None
    if StepKind.CREATE_HOLD in kinds:
        return None
    job = next((job for job in gang.jobs if job.meta.ref.uid == planned.subject.uid), None)
    hold = gang.hold_of(job) if job is not None else None
    if hold is None:
        return None
    ref = hold.meta.ref
    path = object_path(ref.group, live.version(HOLD), HOLD.plural, ref.namespace, ref.name)
    return {
        "name": ref.name,
        "path": path,
        "uid": ref.uid,
        "job": hold.job_name,
        "owner_uid": hold.owner_uid,
    }


def _subjects(live: LiveReader, planned: Plan) -> list[dict[str, Any]]:
    """Return the objects to watch: those that are patched.

    If a step creates an object for a controller, also the object that the controller will change.
    """
    if planned.verb is Verb.RELOCATE:
        return [relocation.subject(planned)]
    subjects = [
        _subject(step.path, step.patch, label(step.subject), step.subject.uid)
        for step in planned.steps
        if step.kind in (StepKind.PATCH, StepKind.RESTART)
    ]
    ref = planned.subject
    kind = registry.owner_kind(ref.group, ref.kind)
    if kind is None or not any(step.kind is StepKind.CREATE for step in planned.steps):
        return subjects
    version, plural = live.version(kind.resource), kind.resource.plural
    indirect = {
        "name": label(ref),
        "path": object_path(ref.group, version, plural, ref.namespace, ref.name),
        "uid": ref.uid,
        "wanted": {},
        "generation": planned.generation,
    }
    return [*subjects, indirect]


def _pod_selector(gang: GangModel, subject: ObjectRef) -> str:
    """Return the label selector of the pods that an owner and its children have without Jobs.

    It is empty if the subject is not the gang's owner, or has no such pods. The first pod label counts,
    because all owners of one gang use the same.
    """
    names_by_label: dict[str, list[str]] = {}
    marks: dict[str, Sequence[str]] = {}
    owners = gang.makers if subject.uid == gang.owner.meta.ref.uid else ()
    for owner in owners:
        ref = owner.meta.ref
        kind = registry.owner_kind(ref.group, ref.kind)
        if kind is not None and kind.pod_label:
            names_by_label.setdefault(kind.pod_label, []).append(ref.name)
            marks |= kind.pod_marks
    pod_label = next(iter(names_by_label), "")
    if not pod_label:
        return ""
    requirements = {pod_label: names_by_label[pod_label], **marks}
    return ",".join(f"{key} in ({','.join(values)})" for key, values in requirements.items())


def _subject(path: str, patch: str, name: str, uid: str) -> dict[str, Any]:
    return {
        "name": name,
        "path": path,
        "uid": uid,
        "wanted": patches.patched_fields(patch),
        "generation": patches.tested_value(patch, "/metadata/generation"),
    }


def _names(jobs: dict[str, Owner]) -> dict[str, str]:
    return {uid: job.meta.ref.name for uid, job in jobs.items()}


def _controller_uid(pod: Pod) -> str:
    return pod.meta.controller.uid if pod.meta.controller is not None else ""


def _pod_restarts(pod: Pod) -> int:
    return sum(container.restarts for container in pod.containers)


def _owner_baseline(live: LiveReader, owner: Owner) -> dict[str, Any] | None:
    """Return the path, uid and number of restarts of an owner."""
    ref = owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    if kind is None:
        return None
    version = live.version(kind.resource)
    return {
        "name": label(ref),
        "group": ref.group,
        "kind": ref.kind,
        "path": object_path(ref.group, version, kind.resource.plural, ref.namespace, ref.name),
        "uid": ref.uid,
        "restarts": restarts_of(owner),
    }


def restarts_of(owner: Owner) -> int:
    """Return how often an owner has restarted, including restarts of single Jobs."""
    return owner.restarts + sum(owner.job_restarts.values())
