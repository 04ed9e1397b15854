"""The one writer of a cluster stores the news of its reflectors, then has what they touch judged."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from gangboard.decode.admission_policies import BINDING, POLICY
from gangboard.decode.events import EVENT
from gangboard.decode.fingerprints import decoder_fingerprint
from gangboard.decode.holds import HOLD
from gangboard.decode.list_watch_decoder import DecodeProblem
from gangboard.domain.api_resource import WatchState
from gangboard.domain.event import Event
from gangboard.plugins import registry
from gangboard.polling.assessor import Assessor
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.resource_watch import (
    SENTENCES_KEPT,
    Batch,
    Changed,
    Listed,
    News,
    Seen,
    Watched,
)
from gangboard.store.objects import content_digest, owner_uid, pack, uid_or_none
from gangboard.store.observations import (
    CHUNK,
    ObjectRow,
    ResourceView,
    delete_objects,
    next_version,
    save_contact,
    save_objects,
    save_views,
    writing,
)

PROBLEMS_SHOWN = SENTENCES_KEPT
"""Objects that were not understood are named up to this number; the count is always true."""
CONTACT_EVERY = 3.0
"""Seconds between two writes of the time of the last contact, which also renew the lease."""


class StoreWriter:
    """Applies news in order. Every transaction confirms the lease first."""

    def __init__(self, cache: ClusterCache, assessor: Assessor) -> None:
        self._cache = cache
        self._assessor = assessor
        self._changed: dict[str, tuple[str, Changed]] = {}
        self._deleted: set[str] = set()
        self._touched: set[str] = set()
        self._pages_differ = False
        self._shown = {resource.key for resource in registry.resources_as_stored()} | {
            HOLD.key,
            POLICY.key,
            BINDING.key,
        }
        """Resources whose objects a page shows as stored, not only as verdicts."""
        self._stored: dict[str, ResourceView] = {}
        """By resource key: how it can be seen, as this writer stored it last."""
        self._contact_written = 0.0
        self.written = 0
        """Rows written so far."""

    def __len__(self) -> int:
        return len(self._changed) + len(self._deleted)

    def take(self, news: News) -> None:
        """Take news into the caches; `commit` stores them."""
        watched = self._cache.watched[news.resource]
        if isinstance(news, Batch):
            self._take_batch(watched, news)
        elif isinstance(news, Listed):
            self._take_end_of_list(watched, news)
        elif isinstance(news, Seen):
            self._pages_differ |= watched.show(news.state, news.sentence)
            if news.state is WatchState.UNKNOWN_VERSION:
                # The next discovery tries again. Objects that are stored stay.
                watched.version = watched.resource_version = ""

    def _take_batch(self, watched: Watched, batch: Batch) -> None:
        key = batch.resource
        for change in batch.changed:
            self._cache.versions[key][change.uid] = change.resource_version
            self._cache.names[key][change.uid] = (change.namespace, change.name)
            self._changed[change.uid] = (key, change)
            self._pages_differ |= key in self._shown
            self._deleted.discard(change.uid)
            self._touched |= self._cache.remember(change.model)
        for uid in batch.deleted:
            self._delete(key, uid)
        self._take_problems(watched, batch.problems, batch.understood)
        if batch.resource_version and batch.resource_version != watched.resource_version:
            watched.resource_version = batch.resource_version
            watched.changed |= len(batch) > 0

    def _take_problems(
        self, watched: Watched, problems: list[DecodeProblem], understood: list[tuple[str, str]]
    ) -> None:
        for problem in problems:
            watched.take_problem(problem)
        for name in understood:
            watched.drop_problem(name)
        if problems or understood:
            watched.changed = True
            self._pages_differ = True

    def _take_end_of_list(self, watched: Watched, listed: Listed) -> None:
        """Drop what a complete list did not have. Events stay: they expire, what they say does not."""
        key = listed.resource
        if key != EVENT.key:
            names = self._cache.names[key]
            for uid in [uid for uid in self._cache.versions[key] if uid not in listed.seen]:
                if names.get(uid) not in listed.troubled:
                    self._delete(key, uid)
        still = listed.troubled | {
            names for uid, names in self._cache.names[key].items() if uid in listed.seen
        }
        for name in [name for name in watched.problems if name not in still]:
            watched.drop_problem(name)
            self._pages_differ = True
        watched.resource_version = listed.resource_version
        watched.listed_at = datetime.now(UTC)
        watched.is_current = True
        self._pages_differ |= watched.show(WatchState.OK)
        watched.changed = True

    def _delete(self, key: str, uid: str) -> None:
        self._touched |= self._cache.forget(key, uid)
        self._pages_differ |= key in self._shown
        self._changed.pop(uid, None)
        self._deleted.add(uid)

    def forget_resource(self, key: str) -> None:
        """Take all objects of a resource as deleted: it is not served any more."""
        for uid in list(self._cache.versions[key]):
            self._delete(key, uid)

    def commit(self, *, settle: bool = False) -> None:
        """Store what was taken, then assess what it touched; with `settle` all that waits for a round.

        Raises LeaseLostError.
        """
        now = datetime.now(UTC)
        self._store()
        touched, self._touched = self._touched, set()
        pages_differ, self._pages_differ = self._pages_differ, False
        if self._assessor.assess(touched | self._cache.rechecks.take(now), now, settle=settle):
            pages_differ = False  # the verdicts have moved the data version already
        if pages_differ:
            with writing(self._cache.claim):
                next_version(self._cache.claim.cluster_id)

    def _store(self) -> None:
        """Store what was taken and from where to go on: in one transaction, of a long list in several.

        From where to go on comes in the last, so that after a crash in between all is read again.
        """
        changed = list(self._changed.values())
        deleted = [*self._deleted, *self._cache.events.stale]
        self._changed.clear()
        self._deleted.clear()
        self._cache.events.stale.clear()
        while len(changed) + len(deleted) > CHUNK:
            room = CHUNK - len(changed[:CHUNK])
            self._write(changed[:CHUNK], deleted[:room], [])
            changed, deleted = changed[CHUNK:], deleted[room:]
        self._write(changed, deleted, [one for one in self._cache.watched.values() if one.changed])

    def _write(
        self, changed: list[tuple[str, Changed]], deleted: list[str], views: list[Watched]
    ) -> None:
        fresh = [view for view in self._views(views) if self._stored.get(view.resource) != view]
        if not (changed or deleted or fresh):
            return
        cluster_id, kept = self._cache.claim.cluster_id, self._cache.objects
        rows = [
            ObjectRow(
                key,
                change.uid,
                change.namespace,
                change.name,
                change.resource_version,
                pack(change.model),
                _about(change.model),
                owner_uid(change.model),
            )
            for key, change in changed
        ]
        with writing(self._cache.claim):
            save_objects(cluster_id, rows)
            delete_objects(cluster_id, deleted)
            if fresh:
                save_views(cluster_id, fresh)
        contents = self._cache.contents
        for (_, change), row in zip(changed, rows, strict=True):
            kept.put_stored(row.uid, change.model, row.data)
            contents[row.uid] = content_digest(row.data)
        for uid in deleted:
            kept.drop(uid)
            contents.pop(uid, None)
        self._stored.update((view.resource, view) for view in fresh)
        for watched in views:
            watched.changed = False
        self.written += len(rows) + len(deleted)

    def _views(self, views: Iterable[Watched]) -> list[ResourceView]:
        return [
            ResourceView(
                resource=watched.resource.key,
                state=watched.state.value,
                version=watched.version,
                sentence=watched.sentence,
                needed=watched.resource.needed,
                resource_version=watched.resource_version,
                decoder_version=decoder_fingerprint(watched.resource),
                listed_at=watched.listed_at,
                contact_at=watched.contact_at,
                objects_count=len(self._cache.versions[watched.resource.key]),
                problems=tuple(
                    {
                        "namespace": namespace,
                        "name": name,
                        "sentence": sentence,
                        "lost": (namespace, name) in watched.lost,
                    }
                    for (namespace, name), sentence in _shown(watched)
                ),
                problems_count=len(watched.problems),
            )
            for watched in views
        ]

    @property
    def contact_is_due(self) -> bool:
        """Whether the last contact has to be recorded again, as a few times a minute."""
        return time.monotonic() - self._contact_written >= CONTACT_EVERY

    def write_contact(self, contact_at: datetime | None, problem: str, sentence: str) -> None:
        """Record the last contact and the cluster's problem; renew the lease."""
        self._contact_written = time.monotonic()
        with writing(self._cache.claim):
            save_contact(
                self._cache.claim.cluster_id,
                contact_at=contact_at,
                problem=problem,
                sentence=sentence,
                now=datetime.now(UTC),
                answer_ms=self._cache.meter.answer_ms,
                events_a_minute=self._cache.meter.events_a_minute,
            )

    def store_everything(self) -> None:
        """At the end of a window: also the resourceVersions that moved without any change."""
        for watched in self._cache.watched.values():
            watched.changed = True
        self._store()


def _about(model: object) -> str | None:
    """Return the uid of what an event is about; None of anything else, and of what is no uid."""
    return uid_or_none(model.regarding.uid) if isinstance(model, Event) else None


def _shown(watched: Watched) -> list[tuple[tuple[str, str], str]]:
    """Return the problems that are stored: told in words, and those of which nothing could be read first."""
    told = ((name, sentence) for name, sentence in watched.problems.items() if sentence)
    ranked = sorted(told, key=lambda one: one[0] not in watched.lost)
    return ranked[:PROBLEMS_SHOWN]


def is_overdue(last: datetime | None, interval: float, now: datetime) -> bool:
    """Whether more than `interval` seconds have passed since `last`."""
    return last is not None and now - last > timedelta(seconds=interval)
