"""Verdicts of the gangs that a change touches: facts from the store, diagnosis, rows that differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from gangboard.decode.holds import HOLD
from gangboard.diagnosis.assemble import assemble
from gangboard.diagnosis.engine import assess
from gangboard.domain.event import Event
from gangboard.domain.facts import Blind, GangFacts
from gangboard.domain.verdict import Verdict
from gangboard.polling.rows import differs, gang_row
from gangboard.polling.session import Session, Watched
from gangboard.store.gangs import unpack_memory
from gangboard.store.models import Gang
from gangboard.store.objects import read_objects
from gangboard.store.observations import (
    mark_gangs_gone,
    next_version,
    save_first_listing,
    save_gangs,
    writing,
)

GANGS_AT_ONCE = 100
BLIND_AFTER = timedelta(seconds=120)
"""A resource that fails for this long can no longer be vouched for."""
NOT_SEEN = ("forbidden", "unknown-version")
"""States in which a resource cannot be looked at from the first moment on."""


class Assessor:
    """Judges gangs of one cluster and stores what is new about them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._waiting: set[str] = set()
        """Gangs touched before everything needed was listed once."""

    def assess(self, roots: Iterable[str], now: datetime) -> bool:
        """Judge these gangs; return whether anything that a page shows has changed.

        Before everything needed was listed once, absence means nothing: then they wait.
        Raises LeaseLostError.
        """
        session = self._session
        self._waiting |= set(roots)
        if not self._all_listed():
            return False
        blind = tuple(self._blind(now))
        everything = not session.assessed_all or blind != session.blind
        if everything:
            self._waiting |= set(session.kinship.roots()) | self._stored_roots()
        wanted, self._waiting = sorted(self._waiting), set()
        session.blind = blind
        changed = False
        for start in range(0, len(wanted), GANGS_AT_ONCE):
            changed |= self._assess_some(wanted[start : start + GANGS_AT_ONCE], now)
        if everything:
            # Only now: a cluster that says "complete" before its gangs are there says "none".
            session.assessed_all = True
            save_first_listing(session.claim, at=now)
        return changed

    def _stored_roots(self) -> set[str]:
        """Gangs that the store still shows: those whose owner is gone are found by them."""
        rows = Gang.objects.filter(cluster_id=self._session.claim.cluster_id, gone_at=None)
        return set(rows.values_list("uid", flat=True))

    def _all_listed(self) -> bool:
        return all(
            watched.listed_at is not None
            or not watched.version
            or watched.state in ("forbidden", "failing")
            for watched in self._session.watched.values()
            if watched.resource.needed
        )

    def _blind(self, now: datetime) -> Iterable[Blind]:
        """What is needed and cannot be looked at; a short failure is covered by the last data."""
        for watched in self._session.watched.values():
            if watched.resource.needed and self._is_blind(watched, now):
                yield Blind(watched.resource.key, watched.state, watched.sentence)

    @staticmethod
    def _is_blind(watched: Watched, now: datetime) -> bool:
        if watched.state in NOT_SEEN:
            return True
        if watched.state != "failing":
            return False
        return watched.contact_at is None or now - watched.contact_at > BLIND_AFTER

    def _assess_some(self, roots: Sequence[str], now: datetime) -> bool:
        session = self._session
        present = [root for root in roots if session.kinship.root_of(root) == root]
        gone = sorted(set(roots) - set(present))
        before: dict[str, dict[str, Any]] = {
            row["uid"]: dict(row)
            for row in Gang.objects.filter(
                cluster_id=session.claim.cluster_id, uid__in=present
            ).values()
        }
        rows = [self._row(facts, before, now) for facts in self._facts(present, before, now)]
        fresh = [row for row in rows if differs(row, before.get(row["uid"]))]
        quiet = [
            row
            for row in rows
            if row not in fresh and row["memory"] != bytes(before[row["uid"]]["memory"])
        ]
        return self._store(fresh, quiet, gone, now)

    def _row(
        self, facts: GangFacts, before: dict[str, dict[str, Any]], now: datetime
    ) -> dict[str, Any]:
        verdict: Verdict = assess(facts)
        uid = facts.owner.meta.ref.uid
        if verdict.recheck_at is not None:
            self._session.schedule(uid, verdict.recheck_at)
        claim = self._session.claim
        return gang_row(
            claim.cluster_id, self._session.cluster_name, facts, verdict, before.get(uid), now
        )

    def _store(
        self,
        fresh: list[dict[str, Any]],
        quiet: list[dict[str, Any]],
        gone: list[str],
        now: datetime,
    ) -> bool:
        """Store rows that differ under a new version, and memories that differ under the old one."""
        cluster_id = self._session.claim.cluster_id
        if not (fresh or quiet or gone):
            return False
        with writing(self._session.claim):
            version = next_version(cluster_id) if fresh or gone else 0
            for row in fresh:
                row["changed_version"] = version
            save_gangs([*fresh, *quiet])
            left = mark_gangs_gone(cluster_id, gone, at=now, version=version) if gone else 0
        return bool(fresh or left)

    def _facts(
        self, roots: Sequence[str], before: dict[str, dict[str, Any]], now: datetime
    ) -> Iterable[GangFacts]:
        session = self._session
        members = {root: session.kinship.members(root) for root in roots}
        strangers = {root: session.kinship.strangers(root) for root in roots}
        events = {root: session.event_uids(members[root]) for root in roots}
        wanted = {
            uid for root in roots for uid in (root, *members[root], *strangers[root], *events[root])
        }
        objects = read_objects(session.claim.cluster_id, wanted, session.models())
        for root in roots:
            if root not in objects:
                continue
            old = before.get(root)
            yield assemble(
                objects[root],
                [objects[uid] for uid in members[root] if uid in objects and uid != root],
                strangers=[objects[uid] for uid in strangers[root] if uid in objects],
                events=[
                    event for uid in events[root] if isinstance(event := objects.get(uid), Event)
                ],
                nodes=session.nodes,
                nodes_known=self._is_known("nodes"),
                events_known=self._is_known("events.events.k8s.io"),
                holds_known=self._are_holds_known(now),
                gang_api_version=self._gang_api_version(),
                groups_blind=any(item.resource.startswith("podgroups.") for item in session.blind),
                blind=session.blind,
                memory=unpack_memory(old["memory"]) if old else {},
                memory_since=old["first_seen_at"] if old else None,
                now=now,
            )

    def _is_known(self, key: str) -> bool:
        return self._session.watched[key].state == "ok"

    def _are_holds_known(self, now: datetime) -> bool:
        """Whether a Hold that is not there is none. Where none are served there are none."""
        watched = self._session.watched[HOLD.key]
        if watched.state == "not-served":
            return True
        return watched.listed_at is not None and not self._is_blind(watched, now)

    def _gang_api_version(self) -> str:
        watched = self._session.watched.get("podgroups.scheduling.k8s.io")
        return watched.version if watched is not None else ""
