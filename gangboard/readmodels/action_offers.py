"""Offers of actions on a gang and its Jobs: the buttons, with the reason if one is disabled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.action import ClusterLevers, Plan, Verb
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import JobState
from gangboard.facts.build_gang import NO_OBJECTS, build_gang
from gangboard.facts.cluster_view import NO_VIEW
from gangboard.facts.gang import Gang as GangModel
from gangboard.plugins import registry
from gangboard.policy.owner_decisions import job_by_job_levers
from gangboard.policy.plan import all_offers, offers
from gangboard.policy.refusals import cluster_closed, unowned_sentence
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.formatting import printable, printable_lines
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gangs import GangRow
from gangboard.store.access import Viewer
from gangboard.store.gang_objects import action_models, read_gang
from gangboard.store.levers import read_all_levers, read_levers
from gangboard.store.models import Cluster, Gang
from gangboard.store.uid_lookups import Reference, read_referenced

MAY_ONLY_LOOK = "You have only read access to this namespace."
MAY_ACT_OTHERWISE = "This token is read-only; create one with create_token --act."
_BASIC = (Verb.SUSPEND, Verb.RESUME)
"""Verbs of the main button of an object: the one with an effect in its state."""
_ALL_STOPPED = "suspended"
"""Code of a gang whose owner is suspended, or each of its unfinished Jobs."""


@dataclass(frozen=True, slots=True)
class ActionSubject:
    """An object with buttons: an owner, one of its Jobs, or the maker of such owners."""

    ref: ObjectRef
    generation: int
    stopped: bool
    """Whether it is suspended or held, so that resume is the verb with an effect."""


def job_subject(job: JobState) -> ActionSubject:
    """Return a child Job as the subject of its buttons."""
    return ActionSubject(job.ref, job.generation, job.suspended or job.held)


def maker_subject(maker: Owner) -> ActionSubject:
    """Return an object that makes gangs as the subject of its buttons."""
    return ActionSubject(maker.meta.ref, maker.meta.generation, maker.suspended)


def owner_subject(gang: Gang) -> ActionSubject:
    """Return the owner of a gang as the subject of its buttons (1 query if the gang is suspended, else none)."""
    ref = owner_ref(gang)
    reference = Reference(gang.cluster_id, gang.namespace, gang.uid)
    stopped = False
    if gang.health == Health.SUSPENDED:
        owner = _read_owners([reference]).get(reference)
        stopped = owner is not None and owner.suspended
    return ActionSubject(ref, gang.generation, stopped)


def owner_ref(gang: Gang) -> ObjectRef:
    """Return the reference to the owner of a gang."""
    return ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)


def _read_owners(references: Iterable[Reference]) -> dict[Reference, Owner]:
    """Return the stored owners (1 query, none without references)."""
    stored = read_referenced(references, action_models())
    return {reference: owner for reference, owner in stored.items() if isinstance(owner, Owner)}


def gang_offers(
    *,
    viewer: Viewer,
    gang: Gang,
    cluster: Freshness,
    subjects: Iterable[ActionSubject],
    now: datetime,
) -> dict[str, tuple[OfferRow, ...]]:
    """Return the offers to suspend, resume and relocate for each object of a gang, by uid.

    This takes about 10 queries for any number of Jobs, and none for a viewer who may not act there. A deleted
    owner has no buttons.
    """
    if gang.gone_at is not None:
        return {}
    builder = _OfferBuilder(cluster, gang.pk)
    listed = tuple(subjects)
    why_not = no_right(viewer, gang.cluster_id, gang.namespace) or cluster.why_closed
    if why_not:
        return {subject.ref.uid: builder.closed(subject, why_not) for subject in listed}
    model = read_gang(gang.cluster_id, gang)
    if model is None:
        unknown = unowned_sentence(owner_ref(gang))
        return {subject.ref.uid: builder.closed(subject, unknown) for subject in listed}
    levers = read_levers(Cluster.objects.get(pk=gang.cluster_id))
    plans = all_offers(model, levers, now)
    return {
        subject.ref.uid: builder.open(subject, _plans(plans, subject, model, levers, now))
        for subject in listed
    }


def board_offers(
    *, viewer: Viewer, rows: Iterable[GangRow], clusters: Mapping[int, Freshness]
) -> dict[str, tuple[OfferRow, ...]]:
    """Return the owner's button for each row of the Board, by gang id.

    This takes 5 queries for any number of rows, and 1 more with a suspended gang. The query reads the owners of
    suspended gangs. The confirmation chooses the lever and shows its warnings. A row has one button, for the verb with an
    effect.
    """
    listed = tuple(rows)
    ids = {cluster.cluster: id_ for id_, cluster in clusters.items()}
    refused = {
        (id_, namespace): no_right(viewer, id_, namespace)
        for id_, namespace in {(ids.get(row.cluster, 0), row.namespace) for row in listed}
    }
    levers = _read_levers({id_ for (id_, _), why_not in refused.items() if id_ and not why_not})
    closed = _closed_clusters(levers)
    owners = _read_owners(
        Reference(id_, row.namespace, row.uid)
        for row in listed
        if row.health == Health.SUSPENDED and (id_ := ids.get(row.cluster)) is not None
    )
    kinds = {
        (kind.resource.group, kind.resource.kind) for kind in registry.owner_kinds() if kind.levers
    }
    offers_by_gang: dict[str, tuple[OfferRow, ...]] = {}
    for row in listed:
        id_ = ids.get(row.cluster)
        if id_ is None or row.gone_at is not None or (row.api_group, row.kind) not in kinds:
            continue
        silent = clusters[id_].why_closed
        why_not = (
            refused[id_, row.namespace] or silent or _ended_sentence(row) or closed.get(id_, "")
        )
        owner = owners.get(Reference(id_, row.namespace, row.uid))
        stopped = owner is not None and _is_stopped(row, owner, levers.get(id_))
        offers_by_gang[row.id] = (_board_offer(row, clusters[id_], why_not, stopped=stopped),)
    return offers_by_gang


def no_right(viewer: Viewer, cluster_id: int, namespace: str) -> str:
    """Return why the viewer may not act in the namespace. Empty if the viewer may."""
    if viewer.may_operate(cluster_id, namespace):
        return ""
    able = replace(viewer, may_act=True).may_operate(cluster_id, namespace)
    return MAY_ACT_OTHERWISE if able else MAY_ONLY_LOOK


def _plans(
    plans: Mapping[str, tuple[Plan, ...]],
    subject: ActionSubject,
    model: GangModel,
    levers: ClusterLevers,
    now: datetime,
) -> tuple[Plan, ...]:
    # The Job on the page may have been replaced since. The plan then says so.
    return plans.get(subject.ref.uid) or offers(model, levers, subject.ref.uid, now)


@dataclass(frozen=True, slots=True)
class _OfferBuilder:
    """Builder of the buttons of one gang."""

    cluster: Freshness
    gang_id: str

    def closed(self, subject: ActionSubject, why_not: str) -> tuple[OfferRow, ...]:
        """Return both buttons, disabled for the same reason."""
        primary = Verb.RESUME if subject.stopped else Verb.SUSPEND
        return tuple(
            self._row(subject, verb, why_not=why_not, primary=verb == primary) for verb in _BASIC
        )

    def open(self, subject: ActionSubject, plans: tuple[Plan, ...]) -> tuple[OfferRow, ...]:
        """Return the buttons with their plans."""
        allowed = [plan.verb for plan in plans if plan.allowed and plan.verb in _BASIC]
        primary = Verb.RESUME if subject.stopped else Verb.SUSPEND
        if len(allowed) == 1:
            primary = allowed[0]
        return tuple(self._planned(subject, plan, plan.verb == primary) for plan in plans)

    def _planned(self, subject: ActionSubject, plan: Plan, primary: bool) -> OfferRow:
        warnings = plan.warnings
        if plan.allowed and self.cluster.is_stale:
            silence = f"Cluster {self.cluster.cluster} {self.cluster.does_not}"
            warnings = (f"{silence}: the data is old.", *warnings)
        row = self._row(subject, plan.verb, plan.lever or "", plan.why_not, primary)
        return replace(
            row,
            label=plan.label or row.label,
            meaning=plan.meaning,
            generation=plan.generation
            if plan.subject.uid == subject.ref.uid
            else subject.generation,
            warnings=tuple(printable(text) for text in warnings),
            needs=printable_lines(plan.needs),
            plan=plan,
        )

    def _row(
        self,
        subject: ActionSubject,
        verb: Verb,
        lever: str = "",
        why_not: str = "",
        primary: bool = True,
    ) -> OfferRow:
        ref = subject.ref
        return OfferRow(
            verb=verb.value,
            label=verb.capitalize(),
            allowed=not why_not,
            lever=str(lever),
            why_not=printable(why_not),
            warnings=(),
            cluster=self.cluster.cluster,
            api_group=printable(ref.group),
            kind=printable(ref.kind),
            namespace=printable(ref.namespace),
            name=printable(ref.name),
            uid=ref.uid,
            generation=subject.generation,
            gang_id=self.gang_id,
            primary=primary,
        )


def _is_stopped(row: GangRow, owner: Owner, levers: ClusterLevers | None) -> bool:
    """Return whether resume is the verb with an effect on the owner of a suspended gang.

    An owner whose Jobs are suspended one by one is never suspended itself.
    """
    if owner.suspended or levers is None or row.code != _ALL_STOPPED:
        return owner.suspended
    alone = build_gang(owner, NO_OBJECTS, NO_VIEW, row.observed_at)
    return bool(job_by_job_levers(alone, levers))


def _board_offer(row: GangRow, cluster: Freshness, why_not: str, *, stopped: bool) -> OfferRow:
    ref = ObjectRef(row.api_group, row.kind, row.namespace, row.name, row.uid)
    pair = _OfferBuilder(cluster, row.id).closed(
        ActionSubject(ref, row.generation, stopped), why_not
    )
    return next(offer for offer in pair if offer.primary)


def _ended_sentence(row: GangRow) -> str:
    if row.health not in (Health.SUCCEEDED, Health.FAILED):
        return ""
    return f"{row.kind} {row.name} has {row.health}: there is nothing left to suspend or resume."


def _read_levers(ids: Collection[int]) -> dict[int, ClusterLevers]:
    """Return the levers of each cluster by its id (4 queries, none without clusters)."""
    return read_all_levers(Cluster.objects.filter(pk__in=ids)) if ids else {}


def _closed_clusters(levers: Mapping[int, ClusterLevers]) -> dict[int, str]:
    """Return the reason for each cluster whose actor may send nothing, by id."""
    closed = {id_: cluster_closed(cluster_levers) for id_, cluster_levers in levers.items()}
    return {id_: refusal.why for id_, refusal in closed.items() if refusal is not None}
