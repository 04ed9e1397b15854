"""A real Kueue with fair sharing, which also holds owners without a queue."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gangboard.domain.forecast import Forecast
from gangboard.readmodels.fair_shares import FairShareRow, fair_share_row
from gangboard.readmodels.queue_lines import QueuesOfCluster
from gangboard.store.access import Scope, Viewer
from tests.controlplane.client import wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.objects import JOBSET
from tests.controlplane.queues import KUEUE, kueue_workload
from tests.decode.reading import model
from tests.queues.foreseen import code_of, foresee
from tests.queues.places import NODES, WORKLOADS, Place, share
from tests.situations import brought_about

SETTINGS = {
    "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare"]},
    "manageJobsWithoutQueueName": True,
}
OWNER = Viewer(1, "ada", (Scope(None, "", "admin"),))


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane) -> Iterator[dict[str, Place]]:
    client = controlplane_kueue.client
    share(client)
    result = {name: Place(client, f"ks-{name}") for name in ("shares", "unqueued")}
    with (
        controlplane_kueue.kueue_configured(**SETTINGS),
        brought_about({}, result, shared=NODES),
    ):
        yield result


def _shares(place: Place, queue: str) -> FairShareRow | None:
    queues = QueuesOfCluster(tree=place.queues())
    for item in place.client.list(KUEUE, "Workload", place.name):
        queues.add(model(WORKLOADS, item))
    name = f"{place.name}-{queue}"
    of = next(item for item in queues.tree if item.meta.ref.name == name)
    return fair_share_row(queues, of, viewer=OWNER, cluster_id=1)


def test_the_queue_with_the_lower_share_is_served_first(places: dict[str, Place]) -> None:
    """`a` borrows 3 of 8 cpus and `b` borrows 1. The gang of `a` is older."""
    place = places["shares"]
    for name, cpu in (("a", "1"), ("b", "1"), ("lender", "6")):
        place.queue(cpu, name, cohortName=place.name)
    place.run_admitted("free", queue="lender")
    place.run_admitted("first-a", queue="a", pods=4)
    place.run_admitted("first-b", queue="b")
    assert code_of(_foreseen(place)) == "waiting-for-quota"
    for name in ("a", "b"):
        place.run(f"waits-{name}", queue=name)
        place.wait_entry(f"waits-{name}", "QuotaReserved", "False")
    # 3/8 and 1/8 in thousandths.
    wait(lambda: _numbers(place) == (375, [125]), what="shares", seen=lambda: _numbers(place))
    other = _shares(place, "b")
    assert other is not None
    assert other.before == ()
    place.client.delete(JOBSET, "JobSet", "free", place.name)
    place.wait_entry("waits-b", "Admitted")
    entry = model(WORKLOADS, place.entry("waits-a"))
    assert not entry.has_quota


def _foreseen(place: Place) -> Forecast:
    result = foresee(place, place.jobset("another", "a"))
    assert result is not None
    return result


def _numbers(place: Place) -> tuple[int | None, list[int | None]]:
    row = _shares(place, "a")
    return (None, []) if row is None else (row.share, [before.share for before in row.before])


def test_an_owner_without_a_queue_is_held(places: dict[str, Place]) -> None:
    place = places["unqueued"]
    manifests = [place.jobset(name) for name in ("first", "run")]
    for manifest in manifests:
        del manifest["metadata"]["labels"]
    # No Workload shows the setting yet.
    assert foresee(place, manifests[0]) is None
    place.client.create(manifests[0])
    wait(lambda: kueue_workload(place.client, place.owner("first")), what="the Workload of first")
    foreseen = foresee(place, manifests[1])
    assert foreseen is not None
    assert (foreseen.unknown, foreseen.entry.queue, foreseen.entry.message) == ("", "", None)
    assert not foreseen.entry.admitted
    place.client.create(manifests[1])
    real = model(WORKLOADS, place.entry("run"))
    assert (real.queue, real.message, real.admitted) == ("", None, False)
