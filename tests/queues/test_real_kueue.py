"""Messages of a real Kueue, decoded and judged by our rules: the expected verdict of each situation."""

from __future__ import annotations

import pytest

from tests.controlplane.objects import JOBSET
from tests.controlplane.queues import KUEUE
from tests.queues.blocked_situations import NEVER
from tests.queues.places import WORKLOADS, Place
from tests.queues.waiting_situations import WAITING
from tests.situations import check


@pytest.mark.parametrize("name", WAITING)
def test_gangs_that_may_be_admitted_later(places: dict[str, Place], name: str) -> None:
    check(WAITING[name], places[name])


@pytest.mark.parametrize("name", NEVER)
def test_gangs_that_cannot_be_admitted_now(places: dict[str, Place], name: str) -> None:
    check(NEVER[name], places[name])


def test_an_entry_tells_its_eviction_and_the_taker_does_not(places: dict[str, Place]) -> None:
    place = places["preempted"]
    check(WAITING["preempted"], place)
    jobsets = place.client.list(JOBSET, "JobSet", place.name)
    uids = {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in jobsets}
    evicted = {entry.owner_uid: entry.evicted for entry in place.read(WORKLOADS, KUEUE)}
    eviction = evicted[uids["run"]]
    assert eviction is not None
    assert (eviction.code, eviction.reason) == ("preempted", "Preempted")
    assert eviction.taker == uids["urgent"]
    assert evicted[uids["urgent"]] is None
