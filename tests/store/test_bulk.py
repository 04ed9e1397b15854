"""Bulk upserts: new rows come, known rows change, others stay."""

from __future__ import annotations

import pytest

from gangboard.store.bulk_statements import COPY_FROM
from gangboard.store.models import Cluster, WatchedObject
from gangboard.store.observations import ObjectRow, delete_objects, save_objects

pytestmark = pytest.mark.django_db


def _row(uid: str, version: str = "1") -> ObjectRow:
    return ObjectRow("pods", uid, "ns", f"pod-{uid}", version, version.encode())


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="one", server="https://one.example", credentials=b"")


# Both ways of PostgreSQL: single statements below COPY_FROM rows, COPY from there on.
@pytest.mark.parametrize("count", [3, COPY_FROM + 50])
def test_upserts_insert_and_update(cluster: Cluster, count: int) -> None:
    save_objects(cluster.pk, [_row(str(index)) for index in range(count)])
    save_objects(cluster.pk, [_row(str(index), "2") for index in range(1, count + 1)])
    versions = dict(WatchedObject.objects.values_list("uid", "resource_version"))
    assert len(versions) == count + 1
    assert versions["0"] == "1"
    assert versions["1"] == versions[str(count)] == "2"
    assert bytes(WatchedObject.objects.get(uid="1").data) == b"2"


def test_two_bulk_writes_in_one_transaction_do_not_mix(cluster: Cluster) -> None:
    many = COPY_FROM + 1
    save_objects(cluster.pk, [_row(f"a{index}") for index in range(many)])
    save_objects(cluster.pk, [_row(f"b{index}") for index in range(many)])
    assert WatchedObject.objects.count() == 2 * many


def test_the_same_uid_in_two_clusters_is_two_objects(cluster: Cluster) -> None:
    second = Cluster.objects.create(name="two", server="https://two.example", credentials=b"")
    save_objects(cluster.pk, [_row("x")])
    save_objects(second.pk, [_row("x", "9")])
    assert WatchedObject.objects.filter(uid="x").count() == 2
    delete_objects(second.pk, ["x"])
    assert WatchedObject.objects.get(uid="x").cluster == cluster


def test_an_empty_bulk_write_does_nothing(cluster: Cluster) -> None:
    save_objects(cluster.pk, [])
    assert not WatchedObject.objects.exists()
