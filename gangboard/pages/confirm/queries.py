"""The common effect of a confirmation on its objects, per gang and in total."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from gangboard.domain.action import ActionTarget, Verb
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.resources import is_accelerator
from gangboard.domain.text import label, names
from gangboard.domain.verdict import MemberState
from gangboard.facts.gang import Gang as GangModel
from gangboard.pages.confirm.rows import ActionTotals, SelectionRow
from gangboard.policy.selection import Selection, evaluate_selection
from gangboard.readmodels.action_offers import gang_offers, no_right, owner_ref, owner_subject
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.store.access import Viewer
from gangboard.store.gang_objects import action_models, find_gangs, read_gang
from gangboard.store.gangs import Detail, unpack_detail
from gangboard.store.levers import read_levers
from gangboard.store.models import Action, Cluster, Gang
from gangboard.store.uid_lookups import Reference, read_referenced, resolve_references

_ENDED = (Health.SUCCEEDED, Health.FAILED)


def preview_selections(
    *,
    viewer: Viewer,
    verb: Verb,
    targets: Iterable[ActionTarget],
    forced: bool,
    now: datetime,
) -> tuple[SelectionRow, ...]:
    """Return one row per gang for all of its targets, in the order of the targets.

    A gang has no row if the viewer may not act there, or if its owner is a target. A resume has no rows,
    because it stops no pod. A gang costs about 6 queries and its offer 10, for any number of Jobs.
    """
    if verb is not Verb.SUSPEND:
        return ()
    clusters = read_freshness(viewer=viewer, now=now)
    ids = {cluster.cluster: id_ for id_, cluster in clusters.items()}
    references_by_cluster: dict[int, dict[Reference, None]] = defaultdict(dict)
    for target in targets:
        if (id_ := ids.get(target.cluster)) is not None:
            references_by_cluster[id_][Reference(id_, target.namespace, target.uid)] = None
    rows = []
    for id_, references in references_by_cluster.items():
        levers = replace(read_levers(Cluster.objects.get(pk=id_)), forced=forced)
        uids = [reference.uid for reference in references]
        for gang, context in _gangs(viewer, references):
            selection = evaluate_selection(context, levers, uids, verb, now)
            if selection is not None:
                rows.append(_selection_row(viewer, gang, selection, clusters[id_], now))
    return tuple(rows)


def _gangs(viewer: Viewer, references: Collection[Reference]) -> Iterator[tuple[Gang, GangModel]]:
    """Yield each gang of these objects once, if the viewer may act there."""
    owners = resolve_references(Gang.objects.filter(gone_at=None), references)
    children = [reference for reference in references if reference not in owners]
    gangs = find_gangs(children)
    in_order = (gangs[reference] for reference in children if reference in gangs)
    for gang in {gang.pk: gang for gang in in_order}.values():
        if no_right(viewer, gang.cluster_id, gang.namespace):
            continue
        context = read_gang(gang.cluster_id, gang)
        if context is not None:
            yield gang, context


def _selection_row(
    viewer: Viewer, gang: Gang, selection: Selection, cluster: Freshness, now: datetime
) -> SelectionRow:
    return SelectionRow(
        gang_id=gang.pk,
        owner=printable(label(owner_ref(gang))),
        namespace=printable(gang.namespace),
        cluster=cluster.cluster,
        uids=frozenset(job.meta.ref.uid for job in selection.jobs),
        jobs=printable(names(job.meta.ref.name for job in selection.jobs)),
        sentences=tuple(printable(text) for text in selection.sentences),
        offer=_owner_offer(viewer, gang, cluster, now)
        if selection.owner_plan is not None
        else None,
    )


def _owner_offer(viewer: Viewer, gang: Gang, cluster: Freshness, now: datetime) -> OfferRow | None:
    """Return the suspend button of the owner, as on its page, or None if it is disabled."""
    if Action.objects.filter(cluster_id=gang.cluster_id, uid=gang.uid, finished_at=None).exists():
        return None
    subjects = [owner_subject(gang)]
    offers = gang_offers(viewer=viewer, gang=gang, cluster=cluster, subjects=subjects, now=now)
    return next(
        (row for row in offers.get(gang.uid, ()) if row.verb == Verb.SUSPEND and row.allowed), None
    )


def read_totals(targets: Iterable[ActionTarget]) -> ActionTotals | None:
    """Return the totals of objects that the viewer may act on (about 3 queries, and one per gang).

    A gang whose owner is a target counts as a whole, and once. Returns None if a target is neither a gang
    nor a Job of a gang, such as a CronJob.
    """
    objects = tuple(targets)
    clusters = Cluster.objects.filter(name__in={target.cluster for target in objects})
    ids = dict(clusters.values_list("name", "pk"))
    references = {
        Reference(ids[target.cluster], target.namespace, target.uid) for target in objects
    }
    gangs = find_gangs(references)
    if gangs.keys() != references:
        return None
    uids: dict[str, set[str]] = defaultdict(set)
    for reference, gang in gangs.items():
        uids[gang.pk].add(reference.uid)
    totals = []
    for gang in {gang.pk: gang for gang in gangs.values()}.values():
        detail = unpack_detail(bytes(gang.detail))
        if not uids[gang.pk] <= {gang.uid, *(job.ref.uid for job in detail.jobs)}:
            return None
        totals.append(_gang_totals(gang, detail, uids[gang.pk]))
    known = [gang.accelerators for gang in totals if gang.accelerators is not None]
    return ActionTotals(
        pods=sum(gang.pods for gang in totals),
        accelerators=sum(known) if len(known) == len(totals) else None,
    )


def _gang_totals(gang: Gang, detail: Detail, uids: Collection[str]) -> ActionTotals:
    is_whole = gang.uid in uids
    jobs = {job.ref.name: job.ref.uid for job in detail.jobs if is_whole or job.ref.uid in uids}
    pods = [
        pod for pod in detail.members if pod.state not in _ENDED and (is_whole or pod.job in jobs)
    ]
    makers = {
        Reference(gang.cluster_id, gang.namespace, jobs.get(pod.job, gang.uid))
        for pod in pods
        if pod.node
    }
    owners = read_referenced(makers, action_models())
    per_pod = {maker.uid: _accelerators_per_pod(owners.get(maker)) for maker in makers}
    return ActionTotals(len(pods), _sum_accelerators(pods, jobs, gang.uid, per_pod))


def _sum_accelerators(
    pods: Iterable[MemberState],
    jobs: dict[str, str],
    owner_uid: str,
    per_pod: dict[str, float | None],
) -> float | None:
    total = 0.0
    for pod in pods:
        if pod.node:
            devices = per_pod[jobs.get(pod.job, owner_uid)]
            if devices is None:
                return None
            total += devices
    return total


def _accelerators_per_pod(owner: object) -> float | None:
    """Return the accelerators of each pod of an owner, or None if they differ or are unknown."""
    if not isinstance(owner, Owner):
        return None
    amounts = {
        sum(float(amount) for name, amount in pod.requests.items() if is_accelerator(name))
        for pod in owner.pod_requests
    }
    return amounts.pop() if len(amounts) == 1 else None
