"""Refusals: one sentence each that names the object, and the command that would make the action possible."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from gangboard.domain.action import ClusterLevers, Verb
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Outcome, Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.text import label, names, sentence, sentence_case, shorten
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.plugins.queue_system import QueueSystem
from gangboard.policy.decision import PlanRefusal
from gangboard.policy.registry_lookups import described_kind, kind_of, unknown_versions


def not_in_gang(gang: Gang, uid: str) -> PlanRefusal:
    """Refuse an object that is not the owner or one of its current Jobs."""
    old = next((job for job in gang.old_jobs if job.meta.ref.uid == uid), None)
    if old is None:
        return PlanRefusal(
            f"{gang.name} has no object with uid {uid}: another object may have its name now."
        )
    return PlanRefusal(
        f"{label(old.meta.ref)} belongs to restart attempt {old.attempt or 'unknown'}: {gang.name} "
        f"is at attempt {gang.owner.restarts} and deletes it."
    )


def made_by_owner(gang: Gang, middle: Owner) -> PlanRefusal:
    """Refuse an object between the owner and its Jobs, because the owner's controller writes it again."""
    return PlanRefusal(
        f"{label(middle.meta.ref)} belongs to {gang.name}, which would undo this: act on that one."
    )


def cluster_closed(levers: ClusterLevers) -> PlanRefusal | None:
    """Refuse every action in a cluster that is read-only or has no actor."""
    if levers.read_only:
        return PlanRefusal(sentence(levers.read_only), levers.read_only_command)
    if not levers.has_actor:
        place = f"Cluster {levers.cluster}" if levers.cluster else "This cluster"
        return PlanRefusal(
            f"{place} has no actor: gangboard may only read it.",
            f"manage.py set_actor {_cluster_argument(levers)} --kubeconfig FILE",
        )
    return None


def unknown_version(gang: Gang) -> PlanRefusal | None:
    """Refuse a gang with objects of an API version that this release does not know.

    Such objects are read as an older version, so the effect of a change is unknown.
    """
    versions = unknown_versions(gang)
    if not versions:
        return None
    owners = (*gang.makers, *gang.jobs)
    metas = (*(owner.meta for owner in owners), *(entry.meta for entry in gang.entries))
    for ref in (meta.ref for meta in metas):
        version = versions.get((ref.group, ref.kind))
        if version is not None:
            return PlanRefusal(
                f"{label(ref)} is served as {version}, which this release does not know: gangboard reads "
                "it, and changes nothing of its gang."
            )
    return None


def owner_out_of_reach(gang: Gang) -> PlanRefusal | None:
    """Refuse an owner that is being deleted, has ended, or belongs to another controller."""
    return _ended(gang.owner, gang.name) or _foreign_owner(gang)


def job_out_of_reach(gang: Gang, job: Owner) -> PlanRefusal | None:
    """Refuse a child Job that is ending or has ended, or whose owner is out of reach."""
    name = label(job.meta.ref)
    refusal = _ended(job, name) or owner_out_of_reach(gang) or _managed(job, name)
    if refusal is None and job.ending:
        return PlanRefusal(f"{name} is about to end ({job.ending}): its pods are on their way out.")
    return refusal


def _ended(owner: Owner, name: str) -> PlanRefusal | None:
    if owner.meta.deleting_since is not None:
        return PlanRefusal(f"{name} is being deleted.")
    if owner.finish is None:
        return None
    succeeded = owner.finish.outcome is Outcome.SUCCEEDED
    return PlanRefusal(
        f"{name} has {'succeeded' if succeeded else 'failed'}: there is nothing left to suspend or resume."
    )


def no_lever(gang: Gang) -> PlanRefusal:
    """Refuse a kind without a lever, with the kind's reason if it has one."""
    kind = kind_of(gang.owner)
    why = kind.no_lever if kind is not None else ""
    if why:
        return PlanRefusal(f"{gang.name} cannot be suspended: {why}")
    return PlanRefusal(unowned_sentence(gang.owner.meta.ref))


def unowned_sentence(ref: ObjectRef) -> str:
    """Return why a gang without a known owner cannot be suspended: a bare pod, or a group of bare pods."""
    name = label(ref)
    if (ref.group, ref.kind) == ("", "Pod"):
        return f"{name} cannot be suspended: no controller would re-create it."
    if ref.group in {resource.group for resource in registry.queue_resources(QueueEntry)}:
        return f"{name} cannot be suspended: no known controller would re-create its pods."
    if ref.group in {api.group for api in registry.grouping_apis()}:
        return (
            f"{name} cannot be suspended: it has no suspend field, and nothing known owns its pods."
        )
    return f"gangboard knows no way to suspend {name}."


def queue_decides(gang: Gang, system: QueueSystem | None) -> PlanRefusal:
    """Refuse an owner in a queue whose system has no lever."""
    place = f"queue {gang.queue.queue}" if gang.queue.queue else "a queue"
    if system is None:
        return PlanRefusal(
            f"{gang.name} is in {place}, which gangboard does not read: it may undo this."
        )
    return PlanRefusal(
        f"{gang.name} is in {place} of {system.label}, which decides when it runs: gangboard knows no way "
        "to stop it there."
    )


def no_job_lever(gang: Gang, job: Owner) -> PlanRefusal:
    """Refuse a Job of an owner without a lever for single Jobs."""
    above = f"a {job.meta.controller.kind}" if job.meta.controller is not None else gang.name
    name = label(job.meta.ref)
    controller = job.meta.controller
    kind = registry.owner_kind(controller.group, controller.kind) if controller else None
    if kind is not None and kind.no_child_lever:
        return PlanRefusal(f"{name} cannot be suspended alone: {kind.no_child_lever}.")
    return PlanRefusal(f"gangboard knows no way to suspend one Job of {above}: {name} stays.")


def all_of(beginning: str, reasons: Sequence[PlanRefusal], instead: str) -> PlanRefusal:
    """Return a refusal with one sentence per reason, then the alternative, and the first command that would help.

    A lever that is off is named only if there is no other reason.
    """
    texts = [reason.why for reason in reasons if not reason.opt_in] or [
        reason.why for reason in reasons
    ]
    sentences = [f"{beginning}: {texts[0]}", *texts[1:], *([instead] if instead else [])]
    needs = next((reason.needs for reason in reasons if reason.needs), "")
    return PlanRefusal(" ".join(f"{sentence_case(text)}." for text in sentences), needs)


def _foreign_owner(gang: Gang) -> PlanRefusal | None:
    above = gang.owner.meta.controller
    if above is not None and not registry.makes_gangs(above.group, above.kind):
        return PlanRefusal(
            f"{gang.name} is owned by {above.kind}/{above.name}; it would undo this."
        )
    if kind_of(gang.owner) is None:
        return no_lever(gang)
    return _dispatched(gang) or _managed(gang.owner, gang.name)


def _dispatched(gang: Gang) -> PlanRefusal | None:
    """Refuse a gang whose admission system runs it in another cluster."""
    running = (entry for entry in gang.entries if entry.is_in_use and entry.has_quota)
    clusters = names(dict.fromkeys(shorten(entry.cluster) for entry in running if entry.cluster))
    return PlanRefusal(f"{gang.name} runs in cluster {clusters}: act there.") if clusters else None


def _managed(owner: Owner, name: str) -> PlanRefusal | None:
    for system in registry.queue_systems():
        if owner.managed_by in system.mirrors:
            return PlanRefusal(f"{name} {system.mirrors[owner.managed_by]}")
    if owner.managed_by:
        field = ".".join(described_kind(owner).managed_by_field)
        return PlanRefusal(
            f"{name} is managed by {owner.managed_by} ({field}), whose way to suspend it gangboard does "
            "not know."
        )
    return None


def until_misplaced(verb: Verb, name: str) -> PlanRefusal:
    """Refuse an end for an action that creates no Hold."""
    if verb is Verb.RESUME:
        return PlanRefusal(f"Only a suspend by a Hold can have an end; {name} is to be resumed.")
    return PlanRefusal(f"Only a Hold can have an end; {name} would be suspended in another way.")


def _cluster_argument(levers: ClusterLevers) -> str:
    return quote(levers.cluster) if levers.cluster else "NAME"
