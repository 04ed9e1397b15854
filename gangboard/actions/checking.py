"""requested → checked: authorised again, looked at live, planned again, and what to compare with."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from gangboard.actions import ends, gate, known, patches, refusals
from gangboard.actions.actor_client import object_path
from gangboard.actions.leaving import Exit, leave
from gangboard.actions.live import Live, Seen
from gangboard.actions.run import Run
from gangboard.decode.holds import HOLD
from gangboard.diagnosis.policy.plan import plan
from gangboard.domain.action import (
    ActionContext,
    ActionState,
    ClusterLevers,
    Lever,
    Plan,
    StepKind,
    StepState,
    Verb,
)
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.reading.holding import hold_on
from gangboard.domain.reading.wording import label
from gangboard.store import action_context
from gangboard.store.levers import read_levers
from gangboard.store.models import ActionStep, Cluster, Gang


def check(run: Run) -> float:
    """Look at everything again and write down the steps, or refuse. Raises KubeError."""
    closed = gate.closed(run)
    cluster = run.action.cluster
    if closed is not None:
        return leave(run, closed)
    if cluster is None:
        name = run.action.cluster_name
        return leave(run, Exit(ActionState.FAILED, f"Cluster {name} is not watched any more."))
    stored = _stored_ground(run, cluster)
    levers = replace(read_levers(cluster), forced=run.action.forced)
    if not levers.has_actor:
        if stored is None:
            return leave(run, _refused(f"Cluster {cluster.name} has no actor.", ""))
        why = _plan(run, stored, levers)
        return leave(run, _refused(why.why_not, why.needs))
    versions = stored.api_versions if stored else action_context.served_versions(cluster.pk)
    live = Live(run.client, versions)
    found = _target(run, live)
    if isinstance(found, Exit):
        return leave(run, found)
    ground = live.ground(found, stored)
    if run.action.via == gate.OWN and ends.was_prolonged(ground, run.action.name, run.now):
        return leave(run, _refused("The end of the Hold was moved meanwhile.", ""))
    planned = _plan(run, ground, levers)
    if not planned.allowed:
        return leave(run, _refused(planned.why_not, planned.needs))
    run.context.update(_to_compare_with(live, ground, planned))
    _write(run, planned)
    return 0.0


def _stored_ground(run: Run, cluster: Cluster) -> ActionContext | None:
    gang = Gang.objects.filter(pk=run.action.gang_id, cluster=cluster).first()
    return (
        action_context.read_action_context(cluster.pk, gang, known.models())
        if gang is not None
        else None
    )


def _target(run: Run, live: Live) -> Seen | Exit:
    action = run.action
    kind = known.owner_kind(action.api_group, action.kind)
    assert kind is not None  # noqa: S101  # checked when it was asked
    seen = live.seen(kind, action.namespace, action.name)
    if seen is None:
        return Exit(ActionState.GONE, f"{run.object_name} is gone. Nothing was sent.")
    meta = seen.owner.meta
    if meta.ref.uid != action.uid:
        sentence = refusals.another_object(run.object_name, action.uid, meta.ref.uid)
        return Exit(ActionState.GONE, f"{sentence} Nothing was sent.")
    if action.generation is not None and meta.generation != action.generation:
        sentence = refusals.changed(run.object_name, action.generation, meta.generation)
        return Exit(ActionState.CONFLICT, f"{sentence} Nothing was sent.")
    return seen


def _plan(run: Run, ground: ActionContext, levers: ClusterLevers) -> Plan:
    action = run.action
    return plan(
        ground,
        levers,
        verb=Verb(action.verb),
        uid=action.uid,
        until=action.until,
        by=action.actor_name,
        reason=action.reason,
        action=action.pk,
        now=run.now,
    )


def _refused(why: str, needs: str) -> Exit:
    more = f" What is needed: {needs}" if needs else ""
    return Exit(ActionState.REFUSED, f"{why}{more}")


def _write(run: Run, planned: Plan) -> None:
    def add_steps() -> None:
        ActionStep.objects.bulk_create(
            ActionStep(
                action=run.action,
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
    run.checkpoint("check:before-writing")
    run.write(
        ActionState.CHECKED,
        f"Checked: {label(planned.subject)} is as it was seen and may be changed.",
        context=True,
        also=add_steps,
        lever=planned.lever.value,
        warnings=list(planned.warnings),
        reactions=list(planned.reactions),
        before=planned.before,
        after=planned.after,
    )
    run.checkpoint("check:written")
    run.reload_steps()


def _to_compare_with(live: Live, ground: ActionContext, planned: Plan) -> dict[str, Any]:
    """Return what verification needs to know of the time before."""
    uid = planned.subject.uid
    own = {job.meta.ref.uid: job for job in ground.jobs if job.meta.ref.uid == uid}
    if not own:  # the owner as a whole
        own = {job.meta.ref.uid: job for job in ground.jobs if job.finish is None}
    others = {job.meta.ref.uid: job for job in ground.jobs if job.meta.ref.uid not in own}
    namespace = planned.subject.namespace
    siblings = live.pods(namespace, _names(others))
    found_hold = _found_hold(ground, planned, live)
    nodes = {pod.node for pod in live.pods(namespace, _names(own)) if pod.is_live and pod.node}
    return {
        **({"found_hold": found_hold} if found_hold else {}),
        "nodes": sorted(nodes),
        "versions": live.versions,
        "watch": planned.watch_seconds,
        "grace": max((job.grace_seconds for job in own.values()), default=30),
        "subjects": [
            _subject(step.path, step.patch, label(step.subject), step.subject.uid)
            for step in planned.steps
            if step.kind is StepKind.PATCH
        ],
        "jobs": _names(own),
        "siblings": {
            "jobs": _names(others),
            "pods": {
                pod.meta.ref.uid: [pod.meta.ref.name, _restarts(pod), _maker(pod)]
                for pod in siblings
            },
        },
        "above": _above(live, ground.owner) if ground.owner.meta.ref.uid != uid else None,
        "claim": ground.owner.independent_claim,
    }


def _found_hold(ground: ActionContext, planned: Plan, live: Live) -> dict[str, Any] | None:
    """Return the Hold that is there already and is relied on; it is not ours to remove."""
    kinds = {step.kind for step in planned.steps}
    if planned.lever is not Lever.HOLD or planned.verb is not Verb.SUSPEND:
        return None
    if StepKind.CREATE_HOLD in kinds:
        return None
    job = next((job for job in ground.jobs if job.meta.ref.uid == planned.subject.uid), None)
    hold = hold_on(job, ground.holds) if job is not None else None
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


def _subject(path: str, patch: str, name: str, uid: str) -> dict[str, Any]:
    return {
        "name": name,
        "path": path,
        "uid": uid,
        "wanted": patches.wanted_fields(patch),
        "generation": patches.tested(patch, "/metadata/generation"),
    }


def _names(jobs: dict[str, Owner]) -> dict[str, str]:
    return {uid: job.meta.ref.name for uid, job in jobs.items()}


def _maker(pod: Pod) -> str:
    return pod.meta.controller.uid if pod.meta.controller is not None else ""


def _restarts(pod: Pod) -> int:
    return sum(container.restarts for container in pod.containers)


def _above(live: Live, owner: Owner) -> dict[str, Any] | None:
    """Return where the owner is and how often it has restarted."""
    ref = owner.meta.ref
    kind = known.owner_kind(ref.group, ref.kind)
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
    """Return how often an owner has restarted, its single Jobs included."""
    return owner.restarts + sum(owner.job_restarts.values())
