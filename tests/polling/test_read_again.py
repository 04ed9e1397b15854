"""After the update that keeps more of each object: the first poll reads all of it, and nothing is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gangboard.domain.owner import Owner
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import pack, unpack
from tests.polling.conftest import Watching
from tests.store.test_read_again import read_again


def rows(watching: Watching) -> dict[str, tuple[str, bytes]]:
    """Return uid → (resource version, what is kept) of all that is stored."""
    found = WatchedObject.objects.filter(cluster=watching.cluster)
    return {row.uid: (row.resource_version, bytes(row.data)) for row in found}


def gangs(watching: Watching) -> dict[str, tuple[str, object]]:
    """Return id → code and since when, of the gangs that are there."""
    found = Gang.objects.filter(cluster=watching.cluster, gone_at=None)
    return {gang.pk: (gang.code, gang.since) for gang in found}


def lose_a_field(watching: Watching) -> str:
    """Let a Job be stored as an older release did: with less than is kept now."""
    job = WatchedObject.objects.filter(cluster=watching.cluster, resource="jobs.batch").first()
    assert job is not None
    older = replace(unpack(bytes(job.data), Owner), grace_seconds=0)
    WatchedObject.objects.filter(pk=job.pk).update(data=pack(older))
    return job.uid


@pytest.mark.parametrize("migrated", [True, False])
@pytest.mark.parametrize("as_worker", [True, False], ids=["worker", "once"])
def test_the_first_poll_after_the_update(
    watch: Callable[..., Watching], migrated: bool, as_worker: bool
) -> None:
    watching = watch(fleet="east")
    watching.once()
    shown = gangs(watching)
    assert shown
    older = lose_a_field(watching)
    before = rows(watching)
    if migrated:
        read_again()
        assert {version for version, _ in rows(watching).values()} == {""}
    watching.forget()
    if as_worker:
        watching.settle()
    else:
        watching.once()
    after = rows(watching)
    assert after.keys() == before.keys()
    assert gangs(watching) == shown
    # Its twin: with its versions known an object that has not changed is not stored again.
    assert (after[older] != before[older]) is migrated
    assert all(version for version, _ in after.values())
