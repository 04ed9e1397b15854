"""Forecasts compared with the decision of a real Kueue about the same manifest."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import sleep

import pytest

from gangboard.domain.forecast import Forecast
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount
from tests.controlplane.client import WaitError, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.queues import KUEUE, kueue_workload
from tests.decode.reading import model
from tests.queues.foreseen import ADMITTED, FORESEEN, UNKNOWN, code_of, foresee
from tests.queues.places import NODES, WORKLOADS, Place, share
from tests.queues.random_queues import build, runs
from tests.random_sets import sized
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


SEEDS = sized(range(16), range(16, 120))
MOST_UNKNOWN = 0.4
"""Share of random forecasts that may be unknown, because a preemption or a strict queue decides."""
NOT_EVALUATED: tuple[str, tuple[FlavorAmount, ...]] = ("queue-evaluating", ())


def test_forecasts_in_random_cohorts_come_true(controlplane_kueue: ControlPlane) -> None:
    """Cohorts in two levels, limits, one or two flavors, running and waiting gangs."""
    client = controlplane_kueue.client
    share(client)
    places = {seed: Place(client, f"kr-{seed}") for seed in SEEDS}
    wrong: dict[int, str] = {}
    with (
        brought_about({}, {place.name: place for place in places.values()}, shared=NODES),
        ThreadPoolExecutor(16) as pool,
    ):
        gangs = dict(
            zip(SEEDS, pool.map(lambda seed: _prepared(places[seed], seed), SEEDS), strict=True)
        )
        foreseen = {seed: _created(places[seed], *gang) for seed, gang in gangs.items()}
        known = [seed for seed in SEEDS if not foreseen[seed].unknown]
        expected = {seed: (code_of(foreseen[seed]), foreseen[seed].entry.holds) for seed in known}
        settled = pool.map(lambda seed: _settled(places[seed], expected[seed][0]), known)
        for seed, real in zip(known, settled, strict=True):
            place, (queue, _) = places[seed], gangs[seed]
            if real != expected[seed] and not (
                real == NOT_EVALUATED and _is_unevaluated(place, queue, foreseen[seed].entry)
            ):
                wrong[seed] = f"{place.name} in {queue}: foreseen {expected[seed]}, real {real}"
    unknown = len(SEEDS) - len(known)
    assert not wrong, "; ".join(wrong.values())
    assert unknown <= MOST_UNKNOWN * len(SEEDS), unknown


def _is_unevaluated(place: Place, queue: str, foreseen: QueueEntry) -> bool:
    """Return whether Kueue does not evaluate the gang although it can tell that it waits or is never admitted.

    That is a gang behind others in a strict queue, and a gang that equals a waiting one (docs/decisions.md).
    """
    name = f"{place.name}-{queue}"
    is_strict = any(item.is_strict for item in place.queues() if item.meta.ref.name == name)
    is_final = foreseen.message is not None and foreseen.message.code.is_final
    entries = [
        item
        for item in place.read(WORKLOADS, KUEUE)
        if item.queue == queue and item.meta.controller.name != "run" and item.is_waiting
    ]
    return (is_strict and is_final and bool(entries)) or any(
        item.asks == foreseen.asks for item in entries
    )


def _prepared(place: Place, seed: int) -> tuple[str, int]:
    """Create the queues and all gangs but the last, and wait until Kueue has decided. Return the last gang."""
    queues = build(place, seed)
    *earlier, last = runs(seed, queues)
    for index, (queue, pods) in enumerate(earlier):
        place.run(f"earlier-{index}", queue=queue, pods=pods)
        place.entry(f"earlier-{index}")
        sleep(1.5)
    return last


def _created(place: Place, queue: str, pods: int) -> Forecast:
    """Create the last gang, and return what was foreseen of it just before."""
    manifest = place.jobset("run", queue, pods=pods)
    foreseen = foresee(place, manifest)
    assert foreseen is not None
    place.client.create(manifest)
    return foreseen


def _settled(place: Place, code: str) -> tuple[str, tuple[FlavorAmount, ...]]:
    """Return the code and the quota of the real Workload, once the code is right or the time is over."""
    with suppress(WaitError):
        wait(lambda: _real_code(place) == code, what=code, timeout=SECONDS)
    real = _real(place)
    return _real_code(place), real.holds if real is not None else ()
