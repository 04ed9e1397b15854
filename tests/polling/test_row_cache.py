"""The holder of a cluster does not read back the rows that it wrote, while its lease is valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from gangboard.domain.pod import Pod
from gangboard.polling import poll, row_cache, store_writer
from gangboard.polling.assessor import Assessor
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.row_cache import GangRowCache, ObjectCache
from gangboard.polling.store_writer import StoreWriter
from gangboard.polling.watch_batches import Batch, UpdatedObject
from gangboard.store.cluster_leases import LeaseLostError, acquire_lease
from gangboard.store.models import Gang, Lease, WatchedObject
from gangboard.store.objects import pack, unpack
from gangboard.store.observations import delete_objects, save_objects
from tests.decode.reading import captured, captures
from tests.domain_objects import a_node, a_pod
from tests.factories import NOW, make_cluster, make_gang, store_object
from tests.polling.conftest import HOLDER, Watching

Watch = Callable[..., Watching]

PODS = "pods"


def _cache() -> ClusterCache:
    (cache,) = poll._caches.values()
    return cache


def _pods_of(cache: ClusterCache, gang: Gang) -> list[Pod]:
    """Those of the gang that are ready."""
    members = cache.objects.read(cache.ownership_graph.members(gang.uid)).values()
    return [member for member in members if isinstance(member, Pod) and member.is_ready]


def _not_ready(pod: Pod, version: str) -> UpdatedObject:
    assert pod.ready is not None
    ref, ready = pod.meta.ref, replace(pod.ready, status="False")
    meta = replace(pod.meta, resource_version=version)
    return UpdatedObject(
        ref.uid, version, ref.namespace, ref.name, replace(pod, meta=meta, ready=ready)
    )


@contextmanager
def _queries() -> Iterator[list[str]]:
    """The statements that are sent meanwhile."""
    statements: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield statements


def _reads_of(queries: list[str], model: Any) -> list[str]:
    table = f'FROM "{model._meta.db_table}"'
    return [sql for sql in queries if sql.startswith("SELECT") and table in sql]


def test_a_verdict_reads_no_cached_row(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    cache, gang = _cache(), watching.gang("llama-ft")
    change = _not_ready(_pods_of(cache, gang)[0], "900001")
    writer = StoreWriter(cache, Assessor(cache))
    writer.apply(Batch(PODS, changed=[change], resource_version="900001"))
    with _queries() as queries:
        writer.commit()
    assert _reads_of(queries, WatchedObject) == []
    assert _reads_of(queries, Gang) == []
    row = WatchedObject.objects.get(uid=change.uid)
    assert (row.resource_version, unpack(bytes(row.data), Pod)) == ("900001", change.model)
    assert watching.gang("llama-ft").ready == gang.ready - 1


def test_a_batch_takes_one_transaction_and_its_verdicts_another(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    cache = _cache()
    first, second, *_ = _pods_of(cache, watching.gang("llama-ft"))
    writer = StoreWriter(cache, Assessor(cache))
    changed, deleted = _not_ready(first, "900001"), second.meta.ref.uid
    writer.apply(Batch(PODS, changed=[changed], deleted=[deleted], resource_version="900001"))
    cache.capacity.write = lambda *_, **__: False  # type: ignore[method-assign]  # every 5 s, on its own
    with _queries() as queries:
        writer.commit()
    confirmed = [sql for sql in queries if sql.startswith('UPDATE "store_lease"')]
    assert len(confirmed) == 2
    assert watching.state(PODS).resource_version == "900001"
    assert not WatchedObject.objects.filter(uid=deleted).exists()
    assert cache.objects.get(deleted) is None


def test_the_resource_version_of_a_long_list_is_stored_at_its_end(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.settle()
    cache = _cache()
    *changing, leaving = _pods_of(cache, watching.gang("llama-ft"))[:4]
    assert len(changing) == 3
    before, steps = watching.state(PODS).resource_version, []
    monkeypatch.setattr(store_writer, "CHUNK", 2)

    def note(cluster_id: int, rows: Any) -> None:
        steps.append((len(rows), watching.state(PODS).resource_version))
        save_objects(cluster_id, rows)

    def note_deleted(cluster_id: int, uids: Any) -> None:
        steps.append((len(uids), watching.state(PODS).resource_version))
        delete_objects(cluster_id, uids)

    monkeypatch.setattr(store_writer, "save_objects", note)
    monkeypatch.setattr(store_writer, "delete_objects", note_deleted)
    writer = StoreWriter(cache, Assessor(cache))
    changed = [_not_ready(pod, "900001") for pod in changing]
    deleted = [leaving.meta.ref.uid]
    writer.apply(Batch(PODS, changed=changed, deleted=deleted, resource_version="900001"))
    writer.commit()
    assert steps == [(2, before), (0, before), (1, before), (1, before)]
    assert watching.state(PODS).resource_version == "900001"


def test_cached_rows_equal_stored_rows(watch: Watch) -> None:
    watching = watch(fleet="east")
    watching.settle()
    cache = _cache()
    models = {resource.key: resource.model for resource in resources()}
    rows = {row.uid: row for row in WatchedObject.objects.all()}
    cached = {uid: model for uid in rows if (model := cache.objects.get(uid)) is not None}
    assert len(cached) > 200
    for uid, model in cached.items():
        assert repr(model) == repr(unpack(bytes(rows[uid].data), models[rows[uid].resource]))
    gangs = {row["uid"]: row for row in Gang.objects.values()}
    assert len(gangs) > 40
    for uid, row in gangs.items():
        assert cache.gangs.get(uid) == row


@pytest.mark.parametrize("file", captures(profile="1.37"), ids=lambda file: file.stem)
def test_an_object_of_a_real_cluster_is_the_same_once_it_was_stored(file: Path) -> None:
    for resource in resources():
        for model in filter(None, captured(file, resource)):
            assert repr(unpack(pack(model), resource.model)) == repr(model)


def test_a_worker_that_lost_its_lease_caches_nothing(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    cache, gang = _cache(), watching.gang("llama-ft")
    pod = _pods_of(cache, gang)[0]
    writer = StoreWriter(cache, Assessor(cache))
    writer.apply(Batch(PODS, changed=[_not_ready(pod, "900001")], resource_version="900001"))
    Lease.objects.filter(cluster=watching.cluster).update(expires_at=Now() - timedelta(seconds=1))
    assert acquire_lease(watching.cluster.pk, "another") is not None
    with pytest.raises(LeaseLostError):
        writer.commit()
    assert cache.objects.get(pod.meta.ref.uid) == pod, "what is not stored is not kept"
    # The other worker stores another verdict of the gang, and the cluster returns.
    Gang.objects.filter(pk=gang.pk).update(message="as another one saw it")
    Lease.objects.filter(cluster=watching.cluster).update(expires_at=Now() - timedelta(seconds=1))
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    fresh = poll._cache_for(held)
    assert fresh is not None
    assert fresh is not cache
    assert (len(fresh.objects), len(fresh.gangs)) == (0, 0)
    assert fresh.gangs.read([gang.uid])[gang.uid]["message"] == "as another one saw it"


def test_a_deleted_gang_is_not_cached(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    cache, gang = _cache(), watching.gang("debug-shell")
    assert cache.gangs.get(gang.uid) is not None
    writer = StoreWriter(cache, Assessor(cache))
    writer.apply(Batch(PODS, deleted=[gang.uid]))
    writer.commit()
    assert Gang.objects.get(pk=gang.pk).gone_at is not None
    assert (cache.gangs.get(gang.uid), cache.objects.get(gang.uid)) == (None, None)


def test_a_resting_cluster_has_no_cached_rows(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    cache = _cache()
    assert len(cache.objects) > 0
    assert len(cache.gangs) > 0
    poll.hand_back(watching.cluster.pk, HOLDER)
    assert _cache() is cache, "its other caches stay"
    assert (len(cache.objects), len(cache.gangs)) == (0, 0)


@pytest.mark.django_db
def test_the_most_recently_used_rows_stay_within_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, pods = make_cluster(), [a_pod(f"p-{number}") for number in range(4)]
    for pod in pods:
        store_object(cluster, PODS, pod)
    uids = [pod.meta.ref.uid for pod in pods]
    monkeypatch.setattr(row_cache, "OBJECT_BYTES", 2 * len(pack(pods[0])))
    objects = ObjectCache(cluster.pk, {PODS: Pod})
    assert objects.read(uids) == dict(zip(uids, pods, strict=True))
    assert [uid for uid in uids if objects.get(uid) is not None] == uids[2:]
    objects.get(uids[2])
    objects.read(uids[:1])
    assert [uid for uid in uids if objects.get(uid) is not None] == [uids[0], uids[2]]
    objects.put(uids[0], pods[0], row_cache.OBJECT_BYTES + 1)
    assert len(objects) == 0, "what is too large by itself is not kept either"
    objects.read(uids[:2])
    assert len(objects) == 2, "and its bytes are not counted any more"


@pytest.mark.django_db
def test_objects_that_no_verdict_reads_are_not_cached() -> None:
    cluster = make_cluster()
    objects, pod, node = ObjectCache(cluster.pk, {}), a_pod(), a_node(uid="uid-train-0")
    objects.put_stored(pod.meta.ref.uid, pod, pack(pod))
    assert len(objects) == 1
    objects.put_stored(pod.meta.ref.uid, node, pack(node))
    assert len(objects) == 0, "nor what had its row before"
    gangs, deleted = GangRowCache(cluster.pk), make_gang(cluster, gone_at=NOW)
    assert gangs.read([deleted.uid])[deleted.uid]["gone_at"] == NOW
    assert len(gangs) == 0
