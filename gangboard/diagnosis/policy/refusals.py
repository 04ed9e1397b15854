"""Why something is not done: one sentence each that names the thing, and what would make it possible."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote

from gangboard.diagnosis import registry
from gangboard.diagnosis.policy.gang_index import GangIndex
from gangboard.domain.action import ClusterLevers, PolicyState, Verb
from gangboard.domain.group import Policy
from gangboard.domain.objects import Meta
from gangboard.domain.owner import Outcome, Owner
from gangboard.domain.reading.wording import label, sentence

_MULTIKUEUE = "kueue.x-k8s.io/multikueue"
_SMALL = ("The ", "A ", "An ", "No ", "It ", "Its ", "This ")
_IMMUTABLE = "v1alpha2"
"""Version of scheduling.k8s.io (1.36) with which a Job of a gang cannot change its parallelism."""


@dataclass(frozen=True, slots=True)
class PlanRefusal:
    """Why not: one sentence; and what to install or switch on, or empty."""

    why: str
    needs: str = ""


def not_of_gang(gang: GangIndex, uid: str) -> PlanRefusal:
    """Refuse an object that is neither the owner nor one of its current Jobs."""
    old = gang.old_jobs.get(uid)
    if old is None:
        return PlanRefusal(
            f"{gang.name} has no object with uid {uid}: another object may have its name now."
        )
    return PlanRefusal(
        f"{label(old.meta.ref)} belongs to restart attempt {old.attempt or 'unknown'}: {gang.name} "
        f"is at attempt {gang.owner.restarts} and deletes it."
    )


def made_by_owner(gang: GangIndex, made: Owner) -> PlanRefusal:
    """Refuse what stands between the owner and its Jobs: its controller writes it anew."""
    return PlanRefusal(
        f"{label(made.meta.ref)} is made by {gang.name}, which would undo this: act on that one."
    )


def cluster_closed(levers: ClusterLevers) -> PlanRefusal | None:
    """Refuse where nothing may be sent."""
    if levers.read_only:
        return PlanRefusal(sentence(levers.read_only))
    if not levers.has_actor:
        where = f"Cluster {levers.cluster}" if levers.cluster else "This cluster"
        return PlanRefusal(
            f"{where} has no actor: gangboard may only read it.",
            f"manage.py set_actor {_name(levers)} --kubeconfig FILE",
        )
    return None


def owner_out_of_reach(gang: GangIndex) -> PlanRefusal | None:
    """Refuse an owner that is going, done, or that somebody else decides about."""
    return _ended(gang.owner, gang.name) or _foreign(gang)


def job_out_of_reach(gang: GangIndex, job: Owner) -> PlanRefusal | None:
    """Refuse a child Job that is going or done, or whose owner is out of reach."""
    name = label(job.meta.ref)
    found = _ended(job, name) or owner_out_of_reach(gang) or _managed(job, name)
    if found is None and job.ending:
        return PlanRefusal(f"{name} is about to end ({job.ending}): its pods are on their way out.")
    return found


def _ended(owner: Owner, name: str) -> PlanRefusal | None:
    if owner.meta.deleting_since is not None:
        return PlanRefusal(f"{name} is being deleted.")
    if owner.finish is None:
        return None
    succeeded = owner.finish.outcome is Outcome.SUCCEEDED
    return PlanRefusal(
        f"{name} has {'succeeded' if succeeded else 'failed'}: nothing of it runs any more."
    )


def no_lever(gang: GangIndex) -> PlanRefusal:
    """Refuse what nothing suspends, with the reason where its kind tells one."""
    why = gang.kind.no_lever if gang.kind is not None else ""
    if why:
        return PlanRefusal(f"{gang.name} cannot be suspended: {why}")
    return PlanRefusal(f"gangboard knows no way to suspend {gang.name}.")


def _foreign(gang: GangIndex) -> PlanRefusal | None:
    above = gang.owner.meta.controller
    if above is not None and not registry.makes_gangs(above.group, above.kind):
        return PlanRefusal(
            f"{gang.name} is owned by {above.kind}/{above.name}; it would undo this."
        )
    return no_lever(gang) if gang.kind is None else _managed(gang.owner, gang.name)


def _managed(owner: Owner, name: str) -> PlanRefusal | None:
    if owner.managed_by == _MULTIKUEUE:
        return PlanRefusal(
            f"{name} mirrors a run in another cluster (MultiKueue): act in the cluster that runs it."
        )
    if owner.managed_by:
        return PlanRefusal(
            f"{name} is managed by {owner.managed_by} (spec.managedBy), whose way to suspend it "
            "gangboard does not know."
        )
    return None


def generation_unknown(meta: Meta) -> PlanRefusal | None:
    """Refuse a patch that could not be tied to what was seen."""
    if meta.generation > 0:
        return None
    return PlanRefusal(
        f"The API server gives no generation for {label(meta.ref)}: a change that came in between "
        "would not be noticed."
    )


def hold_unavailable(levers: ClusterLevers) -> PlanRefusal | None:
    """Say why no Hold can be made: half a sentence. One that may be there is tried and proved."""
    needs = f"manage.py print_rbac --cluster {_name(levers)} | kubectl apply -f -"
    if levers.hold is PolicyState.MISSING:
        return PlanRefusal(_half(levers.hold_sentence) or "the Hold is not installed here", needs)
    if levers.hold is PolicyState.CHANGED:
        found = _half(levers.hold_sentence)
        return PlanRefusal(found or "the policy of the Hold was changed and is not trusted", needs)
    return None


def parallelism_unavailable(
    gang: GangIndex, levers: ClusterLevers, job: Owner
) -> PlanRefusal | None:
    """Return why a Job cannot be paused by parallelism 0, in half a sentence."""
    if not levers.parallelism:
        return PlanRefusal(
            "pausing by parallelism 0 is not enabled here",
            f"manage.py set_lever {_name(levers)} parallelism on",
        )
    if not job.parallelism:
        return PlanRefusal("it asks for no pods already (parallelism 0)")
    group = gang.groups.get(job.group_name) or gang.groups_of.get(job.meta.ref.uid)
    if group is not None and group.policy is Policy.GANG and group.meta.api_version == _IMMUTABLE:
        # Observed on 1.36.3: 403 "cannot change parallelism for a Job referencing …".
        return PlanRefusal(
            f"Kubernetes 1.36 refuses parallelism 0 for a Job of gang PodGroup {group.meta.ref.name}"
        )
    return None


def native_unavailable(gang: GangIndex, levers: ClusterLevers) -> PlanRefusal | None:
    """Say why `spec.suspend` of a child Job alone would not stay: half a sentence."""
    owner = gang.owner
    if not owner.independent_claim:
        return PlanRefusal(f"{gang.name} resumes a Job that is suspended alone")
    if levers.native_honoured:
        return None
    return PlanRefusal(claim_not_honoured(gang, levers))


def claim_not_honoured(gang: GangIndex, levers: ClusterLevers) -> str:
    """Return what is to be said of a claim that nobody was seen to honour."""
    build = f" ({levers.build})" if levers.build else ""
    return (
        f"{gang.name} asked for Independent ({gang.owner.independent_claim}); "
        f"this controller{build} was not seen to honour it"
    )


def until_misplaced(verb: Verb, name: str) -> PlanRefusal:
    """Refuse an end for anything but a new Hold."""
    if verb is Verb.RESUME:
        return PlanRefusal(f"Only a suspend by a Hold can have an end; {name} is to be resumed.")
    return PlanRefusal(f"Only a Hold can have an end; {name} would be suspended in another way.")


def nothing_to_do(state: str) -> PlanRefusal:
    """Refuse what is so already: `Job train is suspended already`."""
    return PlanRefusal(f"{state}: nothing to do.")


def _name(levers: ClusterLevers) -> str:
    return quote(levers.cluster) if levers.cluster else "NAME"


def _half(text: str) -> str:
    """Return a sentence as part of another one: `The Hold …` begins small there, a name does not."""
    bare = text.strip().rstrip(".")
    return bare[:1].lower() + bare[1:] if bare.startswith(_SMALL) else bare
