"""The single writer of a cluster: it stores the updates of all reflectors, then has the touched gangs assessed."""

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
from gangboard.polling.resource_watch import MAX_SENTENCES, WatchedResource
from gangboard.polling.watch_batches import (
    Batch,
    ListCompleted,
    StateChange,
    UpdatedObject,
    WatchUpdate,
)
from gangboard.store.objects import content_digest, owner_uid, pack, uid_or_none
from gangboard.store.observations import (
    CHUNK,
    ObjectRow,
    ResourceStatus,
    delete_objects,
    next_data_version,
    save_contact,
    save_objects,
    save_resource_statuses,
    writing,
)

PROBLEMS_SHOWN = MAX_SENTENCES
"""Unreadable objects that are stored by name. The stored count includes all of them."""
CONTACT_EVERY = 3.0
"""Seconds between two writes of the last contact. Each also renews the lease."""


class StoreWriter:
    """Applies updates in order. Each transaction confirms the lease first."""

    def __init__(self, cache: ClusterCache, assessor: Assessor) -> None:
        self._cache = cache
        self._assessor = assessor
        self._changed: dict[str, tuple[str, UpdatedObject]] = {}
        self._deleted: set[str] = set()
        self._touched: set[str] = set()
        self._pages_differ = False
        self._shown = {resource.key for resource in registry.resources_as_stored()} | {
            HOLD.key,
            POLICY.key,
            BINDING.key,
        }
        """Resources whose objects pages show directly, not only through verdicts."""
        self._stored: dict[str, ResourceStatus] = {}
        """By resource key: the state that this writer stored last."""
        self._contact_written = 0.0
        self.written = 0
        """Rows written so far."""

    def __len__(self) -> int:
        return len(self._changed) + len(self._deleted)

    def apply(self, update: WatchUpdate) -> None:
        """Apply an update to the caches. `commit` stores it."""
        watched = self._cache.watched[update.resource]
        if isinstance(update, Batch):
            self._apply_batch(watched, update)
        elif isinstance(update, ListCompleted):
            self._apply_list_end(watched, update)
        elif isinstance(update, StateChange):
            self._pages_differ |= watched.set_state(update.state, update.sentence)
            if update.state is WatchState.UNKNOWN_VERSION:
                # The next discovery tries again. The stored objects stay.
                watched.version = watched.resource_version = ""

    def _apply_batch(self, watched: WatchedResource, batch: Batch) -> None:
        key = batch.resource
        for changed in batch.changed:
            self._cache.versions[key][changed.uid] = changed.resource_version
            self._cache.names[key][changed.uid] = (changed.namespace, changed.name)
            self._changed[changed.uid] = (key, changed)
            self._pages_differ |= key in self._shown
            self._deleted.discard(changed.uid)
            self._touched |= self._cache.put(changed.model)
        for uid in batch.deleted:
            self._delete(key, uid)
        self._apply_problems(watched, batch.problems, batch.understood)
        if batch.resource_version and batch.resource_version != watched.resource_version:
            watched.resource_version = batch.resource_version
            watched.changed |= len(batch) > 0

    def _apply_problems(
        self,
        watched: WatchedResource,
        problems: list[DecodeProblem],
        understood: list[tuple[str, str]],
    ) -> None:
        for problem in problems:
            watched.add_problem(problem)
        for name in understood:
            watched.remove_problem(name)
        if problems or understood:
            watched.changed = True
            self._pages_differ = True

    def _apply_list_end(self, watched: WatchedResource, listed: ListCompleted) -> None:
        """Delete the objects that are missing in a complete list. Events stay, because they expire before their objects."""
        key = listed.resource
        if key != EVENT.key:
            names = self._cache.names[key]
            for uid in [uid for uid in self._cache.versions[key] if uid not in listed.seen]:
                if names.get(uid) not in listed.unreadable:
                    self._delete(key, uid)
        existing = listed.unreadable | {
            names for uid, names in self._cache.names[key].items() if uid in listed.seen
        }
        for name in [name for name in watched.problems if name not in existing]:
            watched.remove_problem(name)
            self._pages_differ = True
        watched.resource_version = listed.resource_version
        watched.listed_at = datetime.now(UTC)
        watched.is_current = True
        self._pages_differ |= watched.set_state(WatchState.OK)
        watched.changed = True

    def _delete(self, key: str, uid: str) -> None:
        self._touched |= self._cache.remove(key, uid)
        self._pages_differ |= key in self._shown
        self._changed.pop(uid, None)
        self._deleted.add(uid)

    def remove_resource(self, key: str) -> None:
        """Delete all objects of a resource that is no longer served or needed."""
        for uid in list(self._cache.versions[key]):
            self._delete(key, uid)

    def commit(self, *, settle: bool = False) -> None:
        """Store the applied updates, then assess the gangs that they touch. Raises LeaseLostError.

        `settle`: also assess gangs that wait for a round.
        """
        now = datetime.now(UTC)
        self._store()
        touched, self._touched = self._touched, set()
        pages_differ, self._pages_differ = self._pages_differ, False
        if self._assessor.assess(touched | self._cache.rechecks.take(now), now, settle=settle):
            pages_differ = False  # the verdicts have increased the data version already
        if pages_differ:
            with writing(self._cache.lease):
                next_data_version(self._cache.lease.cluster_id)

    def _store(self) -> None:
        """Store the applied updates and the resourceVersions. A long list takes several transactions.

        The resourceVersions are in the last one, so that after a crash everything is read again.
        """
        changed = list(self._changed.values())
        deleted = [*self._deleted, *self._cache.events.stale]
        self._changed.clear()
        self._deleted.clear()
        self._cache.events.stale.clear()
        while len(changed) + len(deleted) > CHUNK:
            chunk_rest = CHUNK - len(changed[:CHUNK])
            self._write(changed[:CHUNK], deleted[:chunk_rest], [])
            changed, deleted = changed[CHUNK:], deleted[chunk_rest:]
        self._write(
            changed,
            deleted,
            [watched for watched in self._cache.watched.values() if watched.changed],
        )

    def _write(
        self,
        changed: list[tuple[str, UpdatedObject]],
        deleted: list[str],
        views: list[WatchedResource],
    ) -> None:
        differing = [view for view in self._views(views) if self._stored.get(view.resource) != view]
        if not (changed or deleted or differing):
            return
        cluster_id, row_cache = self._cache.lease.cluster_id, self._cache.objects
        rows = [
            ObjectRow(
                key,
                change.uid,
                change.namespace,
                change.name,
                change.resource_version,
                pack(change.model),
                _subject_uid(change.model),
                owner_uid(change.model),
            )
            for key, change in changed
        ]
        with writing(self._cache.lease):
            save_objects(cluster_id, rows)
            delete_objects(cluster_id, deleted)
            if differing:
                save_resource_statuses(cluster_id, differing)
        digests = self._cache.object_digests
        for (_, change), row in zip(changed, rows, strict=True):
            row_cache.put_stored(row.uid, change.model, row.data)
            digests[row.uid] = content_digest(row.data)
        for uid in deleted:
            row_cache.drop(uid)
            digests.pop(uid, None)
        self._stored.update((view.resource, view) for view in differing)
        for watched in views:
            watched.changed = False
        self.written += len(rows) + len(deleted)

    def _views(self, views: Iterable[WatchedResource]) -> list[ResourceStatus]:
        return [
            ResourceStatus(
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
                        "lost": (namespace, name) in watched.unreadable_names,
                    }
                    for (namespace, name), sentence in _problems_to_store(watched)
                ),
                problems_count=len(watched.problems),
            )
            for watched in views
        ]

    @property
    def is_contact_due(self) -> bool:
        """True if the last contact must be recorded again."""
        return time.monotonic() - self._contact_written >= CONTACT_EVERY

    def record_contact(self, contact_at: datetime | None, problem: str, sentence: str) -> None:
        """Record the last contact and the cluster's problem; renew the lease."""
        self._contact_written = time.monotonic()
        with writing(self._cache.lease):
            save_contact(
                self._cache.lease.cluster_id,
                contact_at=contact_at,
                problem=problem,
                sentence=sentence,
                now=datetime.now(UTC),
                answer_ms=self._cache.meter.answer_ms,
                events_a_minute=self._cache.meter.events_a_minute,
            )

    def store_all(self) -> None:
        """Store everything at the end of a window, including resourceVersions that moved without any change."""
        for watched in self._cache.watched.values():
            watched.changed = True
        self._store()


def _subject_uid(model: object) -> str | None:
    """Return the uid of the object of an event. None for other models, and for a text that is no uid."""
    return uid_or_none(model.regarding.uid) if isinstance(model, Event) else None


def _problems_to_store(watched: WatchedResource) -> list[tuple[tuple[str, str], str]]:
    """Return the problems to store: those with a sentence, completely unreadable objects first."""
    problems = ((name, sentence) for name, sentence in watched.problems.items() if sentence)
    ranked = sorted(problems, key=lambda problem: problem[0] not in watched.unreadable_names)
    return ranked[:PROBLEMS_SHOWN]


def is_overdue(last: datetime | None, interval: float, now: datetime) -> bool:
    """Return whether more than `interval` seconds have passed since `last`."""
    return last is not None and now - last > timedelta(seconds=interval)
