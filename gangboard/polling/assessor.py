"""Verdicts of the gangs that a change touches: facts from the store, diagnosis, rows that differ."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from gangboard.decode.holds import HOLD
from gangboard.decode.nodes import NODE
from gangboard.diagnosis.engine import assess
from gangboard.domain.api_resource import WatchState
from gangboard.domain.autoscaling import Autoscaling
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.event import Event
from gangboard.domain.group import Group
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.verdict import Verdict
from gangboard.facts.build_gang import GangObjects, build_gang
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.gang import Gang as GangModel
from gangboard.facts.stored_verdict import is_whole
from gangboard.plugins import registry
from gangboard.polling.assessment_index import waiting_pod_sets
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.gang_rows import differs, gang_row
from gangboard.polling.input_digests import InputDigests, is_repeatable, is_settled, is_stopped
from gangboard.polling.visibility import (
    groups_seen,
    is_followed,
    is_listed,
    is_on_its_way,
    is_ready_to_judge,
    is_unobserved,
    known_kinds,
    kubernetes_minor,
    queue_visibility,
    unobserved,
    unreadable,
    why_no_room,
)
from gangboard.store.gang_search import save_search
from gangboard.store.gangs import VerdictInputs, unpack_memory
from gangboard.store.models import Gang
from gangboard.store.observations import (
    mark_gangs_gone,
    next_version,
    save_first_listing,
    save_gangs,
    writing,
)
from gangboard.store.suspend_records import recorded_suspends
from gangboard.store.verdict_spans import end_spans, record_verdicts

GANGS_AT_ONCE = 100
PENDING_AT_ONCE = 25
SLICE = 0.5
"""Seconds after which a round over the pending gangs lets news go first."""
SETTLED = timedelta(seconds=15)
"""What was read while nobody had looked is judged by then."""
_DEFAULT = "default"
"""Namespace of events about cluster-scoped objects."""
ROUNDS = 3
"""Rounds until pending gangs that look at each other must have settled."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What all gangs that are judged together share."""

    now: datetime
    cluster: ClusterView
    version: int
    """Version of `cluster.room`."""
    watched: bool
    """All changes since these gangs were judged last were seen as they happened."""
    digests: InputDigests


class Assessor:
    """Judges gangs of one cluster and stores what is new about them."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def assess(self, roots: Iterable[str], now: datetime, *, settle: bool = False) -> bool:
        """Judge these gangs, and pending ones when the room has changed; store the capacity.

        Return whether anything that a page shows has changed. Before everything needed was listed
        once, absence means nothing, and while the cluster is silent, time does: then all wait.
        `settle`: do not leave anything for later. Raises LeaseLostError.
        """
        cache = self._cache
        waiting = cache.unjudged
        waiting |= set(roots)
        if not is_ready_to_judge(cache.watched) or self._awaits_owners():
            return False
        if cache.silence.keeps_from_judging(cache.watched, now, settle=settle):
            cache.followed_since = None
            return False
        autoscaling, seen_anew = cache.autoscaling.look(now)
        waiting |= seen_anew | cache.pod_claims.look(now)
        now_unobserved = unobserved(cache.watched, now)
        everything = not cache.assessed_all or now_unobserved != cache.unobserved
        waiting |= self._read_otherwise() | self._queued_otherwise(now)
        cache.unobserved = now_unobserved
        digests = InputDigests(cache, now)
        if everything:
            waiting |= self._without_unchanged(
                cache.ownership_graph.roots() | self._stored_roots(), digests
            )
        wanted = sorted(waiting)
        waiting.clear()
        why = why_no_room(cache.watched, now)
        usage = cache.node_usage
        cluster = self._cluster_view(now, usage.at(why), autoscaling)
        moment = _Moment(now, cluster, usage.version, self._is_watched(now), digests)
        changed = False
        for start in range(0, len(wanted), GANGS_AT_ONCE):
            changed |= self._assess_some(wanted[start : start + GANGS_AT_ONCE], moment)
        if everything:
            cache.pending.end()
            # Only now: a cluster that says "complete" before its gangs are there says "none".
            cache.assessed_all = True
            if is_listed(cache.watched):
                save_first_listing(cache.claim, at=now)
        changed |= self._assess_pending(why, moment, settle=settle)
        changed |= cache.capacity.write(why, now, at_once=settle or everything)
        cache.trends.write(now, all_seen=not cache.unobserved)
        return changed

    def _without_unchanged(self, roots: set[str], digests: InputDigests) -> set[str]:
        """Return the gangs without those of which all inputs are as they were when the stored verdict was made."""
        cache = self._cache
        last, cache.last_inputs = cache.last_inputs, {}
        unchanged = {
            root: inputs.pod_kinds
            for root, inputs in last.items()
            if root not in cache.unjudged and inputs.digest == digests.of(root)
        }
        cache.assessments.restore(unchanged, version=cache.node_usage.version)
        return roots - unchanged.keys()

    def _awaits_owners(self) -> bool:
        """Whether owners that groups turned out to have are awaited, before anything was judged: not later on."""
        watched = self._cache.watched
        return not self._cache.assessed_all and any(
            is_on_its_way(watched[key]) for key in registry.read_on_demand()
        )

    def _is_watched(self, now: datetime) -> bool:
        """Whether what is new now happened just now: not while nobody looked, nor in a first list."""
        cache = self._cache
        if not is_followed(cache.watched, cache.made_at, now):
            cache.followed_since = None
            return False
        cache.followed_since = cache.followed_since or now
        return now - cache.followed_since >= SETTLED

    def _read_otherwise(self) -> set[str]:
        """Return the gangs of namespaces in which other objects cannot be read than before."""
        cache = self._cache
        before, cache.unreadable = cache.unreadable, unreadable(cache.watched)
        now = cache.unreadable
        return cache.roots_in({one for one in {*before, *now} if before.get(one) != now.get(one)})

    def _queued_otherwise(self, now: datetime) -> set[str]:
        """Return the gangs that are told something else where queues are seen otherwise than before.

        Those are what names a queue, and what is not meant to run: for its Jobs a queue may be named.
        """
        cache = self._cache
        before, cache.queue_visibility = (
            cache.queue_visibility,
            queue_visibility(cache.watched, now),
        )
        if before in (None, cache.queue_visibility):
            return set()
        rows = Gang.objects.filter(cluster_id=cache.claim.cluster_id, gone_at=None)
        stopped = rows.filter(stage=Stage.ADMISSION.value) | rows.filter(
            health=Health.SUSPENDED.value
        )
        concerned = rows.exclude(queue="") | stopped
        return set(concerned.values_list("uid", flat=True))

    def _assess_pending(self, why: str, moment: _Moment, *, settle: bool) -> bool:
        """Go on with the round over the pending gangs, or begin one where the room has changed."""
        cache = self._cache
        changed = False
        stop_at = time.monotonic() + SLICE
        for _ in range(ROUNDS if settle else 1):
            if not cache.pending.begin(
                cache.node_usage.at(why), cache.node_usage.version, at_once=settle
            ):
                break
            while (part := cache.pending.take(PENDING_AT_ONCE)) is not None:
                roots, room, version = part
                cluster = replace(moment.cluster, room=room)
                changed |= self._assess_some(
                    roots, replace(moment, cluster=cluster, version=version)
                )
                if not settle and time.monotonic() > stop_at:
                    return changed
        return changed

    def _stored_roots(self) -> set[str]:
        """Gangs that the store still shows: those whose owner is gone are found by them."""
        rows = Gang.objects.filter(cluster_id=self._cache.claim.cluster_id, gone_at=None)
        return set(rows.values_list("uid", flat=True))

    def _assess_some(self, roots: Sequence[str], moment: _Moment) -> bool:
        cache = self._cache
        present = [root for root in roots if cache.ownership_graph.root_of(root) == root]
        gone = sorted(set(roots) - set(present))
        for root in gone:
            cache.assessments.drop(root)
            cache.rechecks.drop(root)
            cache.node_usage.mark_whole(root)
        before = cache.gangs.read(present)
        present = self._without_leftovers(present, before, moment.now)
        rows = [
            self._row(gang, before, moment, is_settled=is_settled)
            for gang, is_settled in self._facts(present, before, moment)
        ]
        fresh = [row for row in rows if differs(row, before.get(row["uid"]))]
        said = {row["uid"] for row in fresh}
        quiet = [
            row
            for row in rows
            if row["uid"] not in said and row["memory"] != bytes(before[row["uid"]]["memory"])
        ]
        return self._store(fresh, quiet, gone, before, moment.now)

    def _without_leftovers(
        self, roots: list[str], before: Mapping[str, Any], now: datetime
    ) -> list[str]:
        """Leave out new gangs that are what a deleted owner left, and look at them again later."""
        cache, kept = self._cache, []
        for root in roots:
            controller = cache.ownership_graph.controller_of(root)
            seconds = cache.leftovers.patience_left(controller) if root not in before else 0.0
            if seconds:
                cache.rechecks.schedule(root, now + timedelta(seconds=seconds))
            else:
                kept.append(root)
        return kept

    def _row(
        self,
        gang: GangModel,
        before: dict[str, dict[str, Any]],
        moment: _Moment,
        *,
        is_settled: bool,
    ) -> dict[str, Any]:
        verdict = assess(gang)
        uid = gang.owner.meta.ref.uid
        if verdict.recheck_at is not None:
            self._cache.rechecks.schedule(uid, verdict.recheck_at)
        self._note(gang, verdict, moment.version)
        claim, name = self._cache.claim, self._cache.cluster_name
        old, watched = before.get(uid), moment.watched
        inputs = None
        if is_settled and is_repeatable(verdict.finding.health, gang.memory, verdict.memory):
            digest = moment.digests.of(uid)
            inputs = VerdictInputs(digest, self._cache.assessments.pack(uid))
        return gang_row(
            claim.cluster_id, name, gang, verdict, old, moment.now, watched=watched, inputs=inputs
        )

    def _note(self, gang: GangModel, verdict: Verdict, version: int) -> None:
        """Remember what the next look at the room needs to know of this gang."""
        root, finding = gang.owner.meta.ref, verdict.finding
        pods: Sequence[Pod] = gang.pods
        if root.kind == "Pod":
            # Single pods that have their node are no gangs whose like somebody makes room for.
            pods = [pod for pod in pods if not pod.is_placed]
        self._cache.assessments.note(
            root.uid, pods, gang.cluster.room, version=version, pending=bool(verdict.fit)
        )
        holds = any(pod.is_live and (pod.node or pod.nominated_node) for pod in gang.pods)
        if holds and not is_whole(finding.stage.value, finding.code):
            waits = waiting_pod_sets(gang.pods, gang.cluster.room, gang.groups)
            self._cache.node_usage.mark_broken(root.uid, waits)
        else:
            self._cache.node_usage.mark_whole(root.uid)

    def _store(
        self,
        fresh: list[dict[str, Any]],
        quiet: list[dict[str, Any]],
        gone: list[str],
        before: dict[str, dict[str, Any]],
        now: datetime,
    ) -> bool:
        """Store rows that differ under a new version, and memories that differ under the old one."""
        cluster_id = self._cache.claim.cluster_id
        if not (fresh or quiet or gone):
            return False
        with writing(self._cache.claim):
            version = next_version(cluster_id) if fresh or gone else 0
            for row in fresh:
                row["changed_version"] = version
            save_gangs([*fresh, *quiet])
            save_search(fresh)
            record_verdicts(fresh, before, at=now)
            left = mark_gangs_gone(cluster_id, gone, at=now, version=version) if gone else 0
            end_spans(cluster_id, gone, at=now)
        for row in (*fresh, *quiet):
            self._cache.gangs.put_stored(row)
        for root in gone:
            self._cache.gangs.drop(root)
        return bool(fresh or left)

    def _facts(
        self, roots: Sequence[str], before: dict[str, dict[str, Any]], moment: _Moment
    ) -> Iterable[tuple[GangModel, bool]]:
        """Yield the facts of each gang, and whether they are settled (`input_digests.is_settled`)."""
        cache = self._cache
        members = {root: cache.ownership_graph.members(root) for root in roots}
        graph = cache.ownership_graph
        foreign_pods = {root: graph.foreign_pods(root, members[root]) for root in roots}
        placeholders = {root: graph.placeholders(root, members[root]) for root in roots}
        claims = {root: cache.autoscaling.subjects(members[root]) for root in roots}
        makers = {root: cache.ownership_graph.makers(members[root]) for root in roots}
        events = {
            root: cache.events.about(
                (*members[root], *makers[root], *claims[root], *placeholders[root])
            )
            for root in roots
        }
        victims = {root: cache.preemptions.victims_for(members[root]) for root in roots}
        wanted = {
            uid
            for root in roots
            for uid in (
                root,
                *members[root],
                *foreign_pods[root],
                *placeholders[root],
                *events[root],
                *victims[root],
            )
        }
        objects = cache.objects.read(wanted)
        stopped = {
            uid: one.meta.ref.namespace
            for uid, one in objects.items()
            if isinstance(one, Owner) and is_stopped(one)
        }
        suspends = recorded_suspends(cache.claim.cluster_id, stopped)
        for root in roots:
            if root not in objects:
                continue
            members_there = [objects[uid] for uid in members[root] if uid in objects]
            told = _events_of(objects[root], claims[root], map(objects.get, events[root]))
            entries = [one for one in members_there if isinstance(one, QueueEntry)]
            queued = [one for one in members_there if isinstance(one, Group) and one.queue]
            old = before.get(root)
            troubles, look_again_at = cache.pod_claims.troubles(members[root], moment.now)
            if look_again_at is not None:
                cache.rechecks.schedule(root, look_again_at)
            sharing = [objects[uid] for uid in foreign_pods[root] if uid in objects]
            gang = build_gang(
                objects[root],
                GangObjects(
                    members=members_there,
                    foreign_pods=sharing,
                    placeholders=[objects[uid] for uid in placeholders[root] if uid in objects],
                    blueprints=cache.blueprints.of(members[root]),
                    owned_elsewhere=cache.ownership_graph.is_owned_elsewhere(root),
                    events=told,
                    unobserved=cache.unobserved_in(objects[root].meta.ref.namespace),
                    memory=unpack_memory(old["memory"]) if old else {},
                    memory_since=old["first_seen_at"] if old else None,
                    queues=cache.queues.named_by((*entries, *queued)),
                    claims=troubles,
                    suspensions=cache.suspend_history.of(members[root]),
                    recorded_suspends={
                        uid: suspends[uid] for uid in members[root] if uid in suspends
                    },
                    victims=[
                        (pod, taker)
                        for uid, taker in victims[root].items()
                        if isinstance(pod := objects.get(uid), Pod)
                    ],
                    preemptors=cache.preemptors(told, entries),
                ),
                moment.cluster,
                moment.now,
            )
            yield gang, is_settled((*members_there, *sharing), told)

    def _cluster_view(
        self, now: datetime, room: ClusterCapacity, autoscaling: Autoscaling
    ) -> ClusterView:
        """Return what holds for all gangs now. `cache.unobserved` is up to date."""
        cache = self._cache
        discovery = cache.discovery
        groups = groups_seen(cache.watched)
        unseen = {one.resource for one in cache.unobserved}
        return ClusterView(
            nodes=cache.nodes,
            nodes_known=self._is_known(NODE.key),
            room=room,
            autoscaling=autoscaling,
            kubernetes=kubernetes_minor(discovery.server_version) if discovery else None,
            gang_api_version=groups.version if groups is not None else "",
            groups_unobserved=groups is not None and groups.resource.key in unseen,
            known_kinds=known_kinds(cache.watched, now),
            events_known=self._is_known("events.events.k8s.io"),
            holds_known=self._are_holds_known(now),
            queue_visibility=queue_visibility(cache.watched, now),
            queue_systems=tuple(queue.label for queue in registry.admission_systems()),
        )

    def _is_known(self, key: str) -> bool:
        return self._cache.watched[key].state == WatchState.OK

    def _are_holds_known(self, now: datetime) -> bool:
        """Whether a Hold that is not there is none. Where none are served there are none."""
        watched = self._cache.watched[HOLD.key]
        if watched.state == WatchState.NOT_SERVED:
            return True
        return watched.listed_at is not None and not is_unobserved(watched, now)


def _events_of(root: Any, claims: Collection[str], objects: Iterable[Any]) -> list[Event]:
    """Return the events of the gang's namespace, and those about these cluster-scoped claims.

    An event can name any object, and can arrive before it. Events about cluster-scoped objects are in `default`.
    """
    namespace = root.meta.ref.namespace
    return [
        event
        for event in objects
        if isinstance(event, Event)
        and event.meta.ref.namespace == (_DEFAULT if event.regarding.uid in claims else namespace)
    ]
