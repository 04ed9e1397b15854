"""Forecasts compared with the decision of a real Kueue about the same manifest."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gangboard.domain.queue import QueueEntry
from tests.controlplane.client import wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.queues import kueue_workload
from tests.decode.reading import model
from tests.queues.foreseen import ADMITTED, FORESEEN, UNKNOWN, code_of, foresee
from tests.queues.places import NODES, WORKLOADS, Place, share
from tests.situations import brought_about

SECONDS = 20.0
"""Kueue's decision is final after this time."""


@pytest.fixture(scope="module")
def scenes(controlplane_kueue: ControlPlane) -> Iterator[dict[str, Place]]:
    """Return all situations before the manifest is created."""
    client = controlplane_kueue.client
    share(client)
    result = {name: Place(client, f"kf-{name}") for name in FORESEEN}
    with brought_about({}, result, shared=NODES), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: FORESEEN[name].make(result[name]), FORESEEN))
        yield result


@pytest.mark.parametrize("name", FORESEEN)
def test_the_forecast_comes_true(scenes: dict[str, Place], name: str) -> None:
    situation, place = FORESEEN[name], scenes[name]
    manifest = situation.manifest(place)
    foreseen = foresee(place, manifest)
    assert foreseen is not None
    assert code_of(foreseen) == situation.code, foreseen
    place.client.create(manifest)
    expected = situation.code if situation.reality is None else situation.reality
    wait(
        lambda: _real_code(place) == expected,
        what=f"{expected!r} of {name}",
        seen=lambda: kueue_workload(place.client, place.owner()),
        timeout=SECONDS,
    )
    if expected == "none" or situation.code == UNKNOWN:
        return
    real = _real(place)
    assert real is not None
    if real.message is not None:
        assert foreseen.entry.message is not None
        assert foreseen.entry.message.cause == real.message.cause
        assert foreseen.entry.message.lacks == real.message.lacks
        assert foreseen.entry.message.about == real.message.about
    if situation.code == ADMITTED:
        flavors = {amount.flavor for amount in real.holds}
        assert {flavor.removeprefix(f"{place.name}-") for flavor in flavors} == situation.flavors
        assert foreseen.entry.holds == real.holds
        assert foreseen.entry.admitted_by == real.admitted_by


def _real(place: Place) -> QueueEntry | None:
    workload = kueue_workload(place.client, place.owner())
    return model(WORKLOADS, workload) if workload is not None else None


def _real_code(place: Place) -> str:
    entry = _real(place)
    if entry is None:
        return "none"
    if entry.message is not None:
        return entry.message.code.value
    return ADMITTED if entry.admitted else "queue-evaluating"
