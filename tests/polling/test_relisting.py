"""After an update that stores more fields, the first poll lists everything, and no object is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from gangboard.decode.fingerprints import decoder_fingerprint
from gangboard.domain.owner import Owner
from gangboard.polling import cluster_cache, poll
from gangboard.store.cluster_leases import acquire_lease
from gangboard.store.models import Gang, ResourceState, VerdictSpan, WatchedObject
from gangboard.store.objects import UnpackError, pack, unpack
from tests.polling.conftest import HOLDER, Watching

JOBS = "jobs.batch"
RESOURCE = next(one for one in cluster_cache.resources() if one.key == JOBS)
CHANGED = replace(RESOURCE, reads=("another release",))
OURS, OTHER = decoder_fingerprint(RESOURCE), decoder_fingerprint(CHANGED)
"""The fingerprints of the decoder of Jobs in this release and in another one."""


def rows(watching: Watching) -> dict[str, tuple[str, bytes]]:
    """Return uid → (resource version, decoded object) of all stored rows."""
    queryset = WatchedObject.objects.filter(cluster=watching.cluster)
    return {row.uid: (row.resource_version, bytes(row.data)) for row in queryset}


def gangs(watching: Watching) -> dict[str, tuple[str, object]]:
    """Return id → (code, since) of the existing gangs."""
    queryset = Gang.objects.filter(cluster=watching.cluster, gone_at=None)
    return {gang.pk: (gang.code, gang.since) for gang in queryset}


def lose_a_field(watching: Watching) -> str:
    """Let a Job be stored as an older release did: with less than is kept now."""
    job = WatchedObject.objects.filter(cluster=watching.cluster, resource=JOBS).first()
    assert job is not None
    older = replace(unpack(bytes(job.data), Owner), grace_seconds=0)
    WatchedObject.objects.filter(pk=job.pk).update(data=pack(older))
    return job.uid


def update_to(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """Be a release with that decoder of Jobs."""
    of_jobs = RESOURCE if version == OURS else CHANGED
    queryset = [
        of_jobs if resource.key == JOBS else resource for resource in cluster_cache.resources()
    ]
    monkeypatch.setattr(poll, "resources", lambda: tuple(queryset))


def listed(watching: Watching) -> dict[str, datetime | None]:
    """Return resource → when it was listed to the end last."""
    queryset = ResourceState.objects.filter(cluster=watching.cluster)
    return dict(queryset.values_list("resource", "listed_at"))


@pytest.mark.parametrize("version", [OURS, OTHER], ids=["same", "other"])
@pytest.mark.parametrize("as_worker", [True, False], ids=["worker", "once"])
def test_the_first_poll_after_an_update_relists(
    watch: Callable[..., Watching],
    monkeypatch: pytest.MonkeyPatch,
    version: int,
    as_worker: bool,
) -> None:
    watching = watch()
    watching.once()
    shown_gangs = gangs(watching)
    assert shown_gangs
    older = lose_a_field(watching)
    before, listed_before = rows(watching), listed(watching)
    update_to(monkeypatch, version)
    watching.forget()
    if as_worker:
        watching.settle()
    else:
        watching.once()
    after = rows(watching)
    assert after.keys() == before.keys()
    assert gangs(watching) == shown_gangs
    # Its twin: by the same decoder an object that has not changed is not stored again.
    assert (after[older] != before[older]) is (version != OURS)
    assert all(version for version, _ in after.values())
    assert watching.state(JOBS).decoder_version == version
    if as_worker:
        relisted = {
            key for key, listed_at in listed(watching).items() if listed_at != listed_before[key]
        }
        assert relisted == ({JOBS} if version != OURS else set())


def test_objects_awaiting_a_relist_are_not_current(
    watch: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.once()
    update_to(monkeypatch, OTHER)
    watching.forget()
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    cache = poll._cache_for(held)
    assert cache is not None
    assert not cache.watched[JOBS].is_current
    assert cache.watched["pods"].is_current
    # A sweep of actions knows by the resourceVersion that it has to look again.
    assert {
        version for uid, (version, _) in rows(watching).items() if uid in cache.versions[JOBS]
    } == {""}


def test_a_rollback_during_a_list_relists(
    watch: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older worker finds rows of both: it reads all of them, and no row that it may misunderstand stays."""
    watching = watch()
    watching.once()
    older = lose_a_field(watching)
    before = rows(watching)
    update_to(monkeypatch, OTHER)
    watching.forget()
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    poll._cache_for(held)
    watching.forget()
    update_to(monkeypatch, OURS)
    watching.settle()
    assert rows(watching)[older] != before[older]
    assert watching.state(JOBS).decoder_version == OURS


def test_objects_stored_by_a_later_release_are_read_again(
    watch: Callable[..., Watching],
) -> None:
    """After a rollback no object counts as deleted before a list, and all objects are read."""
    watching = watch()
    watching.once()
    before, spans = gangs(watching), VerdictSpan.objects.count()
    WatchedObject.objects.filter(resource=JOBS).update(data=b"\x81\xa4meta\x05")
    ResourceState.objects.filter(resource=JOBS).update(decoder_version=OURS + 1)
    watching.forget()
    watching.settle()
    assert gangs(watching) == before
    assert VerdictSpan.objects.count() == spans
    job = WatchedObject.objects.filter(resource=JOBS).first()
    assert job is not None
    assert unpack(bytes(job.data), Owner).meta.ref.uid == job.uid


def test_an_unreadable_object_of_this_release_is_a_defect(
    watch: Callable[..., Watching],
) -> None:
    watching = watch()
    watching.once()
    WatchedObject.objects.filter(resource=JOBS).update(data=b"\x81\xa4meta\x05")
    watching.forget()
    with pytest.raises(UnpackError):
        watching.settle()
