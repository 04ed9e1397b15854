"""What may be done to a gang and its Jobs: the buttons, on or off with the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.action import ClusterLevers, Plan, Verb
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import JobState
from gangboard.facts.gang import Gang as GangModel
from gangboard.plugins import registry
from gangboard.policy.plan import all_offers, offers
from gangboard.policy.refusals import cluster_closed, unowned
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.formatting import printable, printable_lines
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.gangs import GangRow
from gangboard.store.access import Viewer
from gangboard.store.gang_objects import read_gang
from gangboard.store.levers import read_all_levers, read_levers
from gangboard.store.models import Cluster, Gang

MAY_ONLY_LOOK = "You may look but not act in this namespace."
MAY_ACT_OTHERWISE = "This token may look but not act; make one with create_token --act."
_NOT_THE_OWNER = frozenset({"being-deleted", "job-suspended"})
"""Codes of gangs that are at rest on purpose while their owner is not suspended."""


@dataclass(frozen=True, slots=True)
class ActionSubject:
    """One object with buttons: an owner, one of its Jobs, or what makes such owners."""

    ref: ObjectRef
    generation: int
    stopped: bool
    """It is suspended or held now: the verb that changes something is resume."""


def job_subject(job: JobState) -> ActionSubject:
    """Return a child Job as the subject of its buttons."""
    return ActionSubject(job.ref, job.generation, job.suspended or job.held)


def maker_subject(maker: Owner) -> ActionSubject:
    """Return what makes gangs as the subject of its buttons."""
    return ActionSubject(maker.meta.ref, maker.meta.generation, maker.suspended)


def owner_subject(gang: Gang) -> ActionSubject:
    """Return the owner of a gang as the subject of its buttons."""
    ref = ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid)
    return ActionSubject(ref, gang.generation, _is_stopped(gang.health, gang.code))


def _is_stopped(health: str, code: str) -> bool:
    return health == Health.SUSPENDED and code not in _NOT_THE_OWNER


def gang_offers(
    *,
    viewer: Viewer,
    gang: Gang,
    cluster: Freshness,
    subjects: Iterable[ActionSubject],
    now: datetime,
) -> dict[str, tuple[OfferRow, ...]]:
    """Return suspend and resume for each object of one gang, by uid.

    About 10 queries, however many Jobs; none for who may not act there. An owner that is gone has
    no buttons.
    """
    if gang.gone_at is not None:
        return {}
    builder = _OfferBuilder(cluster, gang.pk)
    every = tuple(subjects)
    why_not = no_right(viewer, gang.cluster_id, gang.namespace) or cluster.why_closed
    if why_not:
        return {one.ref.uid: builder.closed(one, why_not) for one in every}
    model = read_gang(gang.cluster_id, gang)
    if model is None:
        unknown = unowned(ObjectRef(gang.api_group, gang.kind, gang.namespace, gang.name, gang.uid))
        return {one.ref.uid: builder.closed(one, unknown) for one in every}
    levers = read_levers(Cluster.objects.get(pk=gang.cluster_id))
    plans = all_offers(model, levers, now)
    return {one.ref.uid: builder.open(one, _plans(plans, one, model, levers, now)) for one in every}


def board_offers(
    *, viewer: Viewer, rows: Iterable[GangRow], clusters: Mapping[int, Freshness]
) -> dict[str, tuple[OfferRow, ...]]:
    """Return the owner's buttons for rows of the Board by gang id (5 queries, however many rows).

    Only what needs no look at the objects is said here; the lever is chosen and its warnings are
    given when somebody asks. One button a row: the verb that changes something.
    """
    shown = tuple(rows)
    ids = {cluster.cluster: id_ for id_, cluster in clusters.items()}
    refused = {
        (id_, namespace): no_right(viewer, id_, namespace)
        for id_, namespace in {(ids.get(row.cluster, 0), row.namespace) for row in shown}
    }
    closed = _closed_clusters({id_ for (id_, _), why_not in refused.items() if id_ and not why_not})
    kinds = {
        (kind.resource.group, kind.resource.kind) for kind in registry.owner_kinds() if kind.levers
    }
    found: dict[str, tuple[OfferRow, ...]] = {}
    for row in shown:
        id_ = ids.get(row.cluster)
        if id_ is None or row.gone_at is not None or (row.api_group, row.kind) not in kinds:
            continue
        silent = clusters[id_].why_closed
        why_not = refused[id_, row.namespace] or silent or _over(row) or closed.get(id_, "")
        found[row.id] = (_board_offer(row, clusters[id_], why_not),)
    return found


def no_right(viewer: Viewer, cluster_id: int, namespace: str) -> str:
    """Return why the viewer may not act there, or empty."""
    if viewer.may_operate(cluster_id, namespace):
        return ""
    able = replace(viewer, may_act=True).may_operate(cluster_id, namespace)
    return MAY_ACT_OTHERWISE if able else MAY_ONLY_LOOK


def _plans(
    plans: Mapping[str, tuple[Plan, Plan]],
    one: ActionSubject,
    model: GangModel,
    levers: ClusterLevers,
    now: datetime,
) -> tuple[Plan, Plan]:
    # A Job that the page still shows may have been replaced since: then the sentence says so.
    return plans.get(one.ref.uid) or offers(model, levers, one.ref.uid, now)


@dataclass(frozen=True, slots=True)
class _OfferBuilder:
    """Where the buttons of one gang are made."""

    cluster: Freshness
    gang_id: str

    def closed(self, one: ActionSubject, why_not: str) -> tuple[OfferRow, ...]:
        """Return both buttons, off for the same reason."""
        primary = Verb.RESUME if one.stopped else Verb.SUSPEND
        return tuple(
            self._row(one, verb, why_not=why_not, primary=verb == primary) for verb in Verb
        )

    def open(self, one: ActionSubject, plans: tuple[Plan, Plan]) -> tuple[OfferRow, ...]:
        """Return both buttons as planned."""
        allowed = [plan.verb for plan in plans if plan.allowed]
        primary = Verb.RESUME if one.stopped else Verb.SUSPEND
        if len(allowed) == 1:
            primary = allowed[0]
        return tuple(self._planned(one, plan, plan.verb == primary) for plan in plans)

    def _planned(self, one: ActionSubject, plan: Plan, primary: bool) -> OfferRow:
        warnings = plan.warnings
        if plan.allowed and self.cluster.is_stale:
            where = f"Cluster {self.cluster.cluster} {self.cluster.does_not}"
            warnings = (f"{where}: what is shown is old.", *warnings)
        row = self._row(one, plan.verb, plan.lever or "", plan.why_not, primary)
        return replace(
            row,
            label=plan.label or row.label,
            meaning=plan.meaning,
            generation=plan.generation if plan.subject.uid == one.ref.uid else one.generation,
            warnings=tuple(printable(text) for text in warnings),
            needs=printable_lines(plan.needs),
            plan=plan,
        )

    def _row(
        self,
        one: ActionSubject,
        verb: Verb,
        lever: str = "",
        why_not: str = "",
        primary: bool = True,
    ) -> OfferRow:
        ref = one.ref
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
            generation=one.generation,
            gang_id=self.gang_id,
            primary=primary,
        )


def _board_offer(row: GangRow, cluster: Freshness, why_not: str) -> OfferRow:
    ref = ObjectRef(row.api_group, row.kind, row.namespace, row.name, row.uid)
    stopped = _is_stopped(row.health, row.code)
    pair = _OfferBuilder(cluster, row.id).closed(
        ActionSubject(ref, row.generation, stopped), why_not
    )
    return next(offer for offer in pair if offer.primary)


def _over(row: GangRow) -> str:
    if row.health not in (Health.SUCCEEDED, Health.FAILED):
        return ""
    return f"{row.kind} {row.name} has {row.health}: there is nothing left to suspend or resume."


def _closed_clusters(ids: Collection[int]) -> dict[int, str]:
    """Return why nothing may be sent to a cluster, of those to which nothing may."""
    if not ids:
        return {}
    closed = {
        id_: cluster_closed(levers)
        for id_, levers in read_all_levers(Cluster.objects.filter(pk__in=ids)).items()
    }
    return {id_: refusal.why for id_, refusal in closed.items() if refusal is not None}
