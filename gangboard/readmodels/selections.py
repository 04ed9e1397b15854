"""What comes of all that one confirmation suspends: judged gang by gang, and whether the owner is the better choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.action import ActionTarget, Verb
from gangboard.domain.text import label, names
from gangboard.facts.gang import Gang as GangModel
from gangboard.policy.selection import Selection, of_selection
from gangboard.readmodels.action_offers import gang_offers, no_right, owner_subject
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.gang_objects import find_gangs, read_gang
from gangboard.store.levers import read_levers
from gangboard.store.models import Action, Cluster, Gang
from gangboard.store.uid_lookups import Reference, follow


@dataclass(frozen=True, slots=True)
class SelectionRow:
    """The Jobs of one gang that would be suspended together."""

    gang_id: str
    owner: str
    """`JobSet llama`."""
    namespace: str
    cluster: str
    uids: frozenset[str]
    """Those of the Jobs."""
    jobs: str
    """Their names; of many the first two."""
    sentences: tuple[str, ...]
    """What comes of all of them; none where there is nothing to say of the set."""
    offer: OfferRow | None
    """To suspend the owner instead: where nothing of it would run and the viewer may do that now."""


def judge_selections(
    *,
    viewer: Viewer,
    verb: Verb,
    targets: Iterable[ActionTarget],
    forced: bool,
    now: datetime,
) -> tuple[SelectionRow, ...]:
    """Return what comes of the targets of each gang together, in the order asked.

    Gangs in which the viewer may not act have no row, nor have gangs whose owner is a target. A gang costs about
    6 queries and its offer 10, for any number of Jobs. A resume stops no pod and costs no accelerator.
    """
    if verb is not Verb.SUSPEND:
        return ()
    clusters = read_freshness(viewer=viewer, now=now)
    ids = {one.cluster: id_ for id_, one in clusters.items()}
    wanted: dict[int, dict[Reference, None]] = defaultdict(dict)
    for target in targets:
        if (id_ := ids.get(target.cluster)) is not None:
            wanted[id_][Reference(id_, target.namespace, target.uid)] = None
    rows = []
    for id_, references in wanted.items():
        levers = replace(read_levers(Cluster.objects.get(pk=id_)), forced=forced)
        uids = [one.uid for one in references]
        for gang, model in _gangs(viewer, references):
            found = of_selection(model, levers, uids, verb, now)
            if found is not None:
                rows.append(_row(viewer, gang, found, clusters[id_], now))
    return tuple(rows)


def _gangs(viewer: Viewer, references: Collection[Reference]) -> Iterator[tuple[Gang, GangModel]]:
    """Yield each gang of which these objects are parts, once, where the viewer may act."""
    owners = follow(Gang.objects.filter(gone_at=None), references)
    parts = [one for one in references if one not in owners]
    found = find_gangs(parts)
    in_order = (found[one] for one in parts if one in found)
    for gang in {gang.pk: gang for gang in in_order}.values():
        if no_right(viewer, gang.cluster_id, gang.namespace):
            continue
        model = read_gang(gang.cluster_id, gang)
        if model is not None:
            yield gang, model


def _row(
    viewer: Viewer, gang: Gang, found: Selection, cluster: Freshness, now: datetime
) -> SelectionRow:
    owner = owner_subject(gang)
    return SelectionRow(
        gang_id=gang.pk,
        owner=printable(label(owner.ref)),
        namespace=printable(gang.namespace),
        cluster=cluster.cluster,
        uids=frozenset(job.meta.ref.uid for job in found.jobs),
        jobs=printable(names(job.meta.ref.name for job in found.jobs)),
        sentences=tuple(printable(text) for text in found.sentences),
        offer=_offer(viewer, gang, cluster, now) if found.whole is not None else None,
    )


def _offer(viewer: Viewer, gang: Gang, cluster: Freshness, now: datetime) -> OfferRow | None:
    """Return the owner's own button, as its page has it; None where that is off."""
    if Action.objects.filter(cluster_id=gang.cluster_id, uid=gang.uid, finished_at=None).exists():
        return None
    subjects = [owner_subject(gang)]
    found = gang_offers(viewer=viewer, gang=gang, cluster=cluster, subjects=subjects, now=now)
    return next(
        (row for row in found.get(gang.uid, ()) if row.verb == Verb.SUSPEND and row.allowed), None
    )
