"""A poll writes its observations in one statement, whatever their number."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.store.capacity import ShapeCapacity, read_stored_shapes, save_capacity
from gangboard.store.models import ResourceState
from gangboard.store.observations import ResourceStatus, save_resource_statuses
from tests.factories import NOW, make_cluster, make_resource

pytestmark = pytest.mark.django_db


def test_resource_visibility_is_stored_in_one_statement(django_assert_num_queries: Any) -> None:
    east, west = make_cluster("east"), make_cluster("west")
    make_resource(west, "pods", sentence="as it was")
    problem: dict[str, str | bool] = {"namespace": "a", "name": "b", "sentence": "c", "lost": True}
    views = [
        ResourceStatus(f"kind-{number}", "listing", problems=(problem,), problems_count=1)
        for number in range(20)
    ] + [ResourceStatus("pods", "ok", "v1", resource_version="7", decoder_version=3, listed_at=NOW)]
    with django_assert_num_queries(1):
        save_resource_statuses(east.pk, views)
    pods = ResourceState.objects.get(cluster=east, resource="pods")
    assert (pods.state, pods.version, pods.resource_version) == ("ok", "v1", "7")
    assert (pods.decoder_version, pods.listed_at, pods.contact_at) == (3, NOW, None)
    later = NOW + timedelta(minutes=1)
    with django_assert_num_queries(1):
        save_resource_statuses(
            east.pk, [replace(view, contact_at=later, objects_count=9) for view in views]
        )
    rows = ResourceState.objects.filter(cluster=east)
    assert rows.count() == 21
    assert {(row.contact_at, row.objects_count) for row in rows} == {(later, 9)}
    assert rows.get(resource="kind-3").problems == [problem]
    assert rows.get(resource="pods").pk == pods.pk
    assert ResourceState.objects.get(cluster=west).sentence == "as it was"


def test_cluster_capacity_is_stored_in_one_statement(django_assert_num_queries: Any) -> None:
    east = make_cluster("east")
    shape = ShapeCapacity({"cpu": "1"}, waiting=1, fits_now=2, fits_empty=3)
    for why, shapes in (("", [shape]), ("nodes: forbidden", [])):
        with django_assert_num_queries(1):
            save_capacity(east.pk, changed=[], gone=[], shapes=shapes, why=why, at=NOW)
        stored = read_stored_shapes(east.pk)
        assert stored is not None
        assert (stored[0], len(stored[1])) == (why, len(shapes))
