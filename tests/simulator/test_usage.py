"""Accelerator-hours of gangboard against the log of the simulated cluster."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from django.db.models import Sum

from gangboard.domain.usage import AMOUNTS
from gangboard.store.models import Cluster, UsageDay
from gangboard.store.usage import read_meters, save_meters
from simulator import Fleet, Gang, NodePool, PodTemplate, Role, manifests
from simulator.clock import SteppedClock
from simulator.control_plane import SimulatedControlPlane
from simulator.placement_log import LogLine, PlacementLog
from simulator.requests import parse
from simulator.resources import JOBS
from simulator.story import Story
from tests.polled_plane import PolledPlane

pytestmark = pytest.mark.django_db
BEGAN = datetime(2026, 1, 5, 23, 50, tzinfo=UTC)
"""Ten minutes before midnight, so that the time belongs to two days."""
LAG = 0.3
"""Seconds from a change to its assessment."""
SILENCE = 20.0
"""Seconds without a change after which everything is listed again. It shows that the cluster answers."""
BUSY = Fleet(
    "busy",
    (NodePool("h100", 2, gpus=8), NodePool("cpu", 1)),
    (),
    story_pool="h100",
    story_namespaces=("team-a", "team-b", "team-c"),
    story_gpus=(1, 2, 4),
)
"""Two nodes for eight gangs of 2 to 16 GPUs, so that some always wait."""


class Watched(PolledPlane):
    """A simulated cluster that gangboard assesses shortly after each change, and its log."""

    def __init__(self, fleet: Fleet, *, story: bool = False, seed: int = 1) -> None:
        clock = SteppedClock(BEGAN)
        plane = SimulatedControlPlane(fleet, "1.37", clock, seed=seed)
        plane.world.scripted.clear()
        self.log = PlacementLog(plane.store, clock)
        if story:
            Story(plane.world, plane.kubelet, fleet, seed=seed).start()
        super().__init__(plane, clock, "sim")
        self.look()

    def look(self) -> None:
        self.poll()
        Cluster.objects.filter(pk=self.cluster.pk).update(contact_at=self.clock.now())

    def run_until(self, seconds: float) -> None:
        """Let the cluster go on until this many seconds after its start. It always answers."""
        while self.clock.seconds < seconds:
            now, due = self.clock.seconds, self.clock.next_at
            at = min(now + SILENCE, seconds, seconds if due is None else due + LAG)
            self.clock.advance(max(0.0, at - now))
            if at == now + SILENCE:
                self._seen.clear()
            self.look()

    def usage(self, by: str = "namespace") -> dict[str, dict[str, float]]:
        """Return namespace → amount → accelerator-seconds so far. All meters are closed and reopened for it."""
        now, meters = self.clock.now(), list(read_meters(self.cluster.pk))
        save_meters(self.cluster.pk, ended=meters, opened=(), at=now)
        rows = UsageDay.objects.values(by).annotate(
            **{f"sum_{name}": Sum(name) for name in AMOUNTS}
        )
        return {row[by]: {name: row[f"sum_{name}"] for name in AMOUNTS} for row in rows}


@dataclass
class Totals:
    """Device-seconds of one namespace by the log."""

    on_nodes: float = 0.0
    missing: float = 0.0


@dataclass
class _Job:
    wanted: int = 0
    pods: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Pod → devices on its node, devices of a succeeded pod."""

    @property
    def on_nodes(self) -> int:
        return sum(held for held, _ in self.pods.values())

    @property
    def missing(self) -> int:
        done = sum(done for _, done in self.pods.values())
        return max(0, self.wanted - self.on_nodes - done)


def totals_of(lines: list[LogLine], until: datetime) -> Mapping[str, Totals]:
    """Sum up a log by hand: after each line, add the time until the next one."""
    jobs: defaultdict[tuple[str, str], _Job] = defaultdict(_Job)
    totals: defaultdict[str, Totals] = defaultdict(Totals)
    for line, following in zip(lines, [*(line.at for line in lines[1:]), until], strict=True):
        job = jobs[line.namespace, line.job]
        if line.kind == "Job":
            job.wanted = line.devices
        else:
            job.pods[line.name] = (line.devices, line.done)
        seconds = (following - line.at).total_seconds()
        for (namespace, _), each in jobs.items() if seconds else ():
            totals[namespace].on_nodes += each.on_nodes * seconds / 1000
            totals[namespace].missing += each.missing * seconds / 1000
    return totals


def test_accelerator_hours_agree_with_the_log_of_the_cluster() -> None:
    watched = Watched(BUSY, story=True)
    watched.run_until(1500.0)
    expected = totals_of(watched.log.lines, watched.clock.now())
    counted = watched.usage()
    assert set(counted) == set(expected) == set(BUSY.story_namespaces)
    assert UsageDay.objects.values("day").distinct().count() == 2
    for namespace, totals in expected.items():
        of_namespace = counted[namespace]
        assert totals.on_nodes > 1800
        assert totals.missing > 1800
        on_nodes = of_namespace["used"] + of_namespace["held"]
        missing = of_namespace["eligible"] + of_namespace["ineligible"]
        assert on_nodes == pytest.approx(totals.on_nodes, rel=0.01)
        assert missing == pytest.approx(totals.missing, rel=0.01)
        assert of_namespace["unobserved"] == 0


_FOUR = Role("", PodTemplate(gpus=4, pool="h100", grace=0), pods=2)
SMALL = Fleet(
    "small",
    (NodePool("h100", 1, gpus=8),),
    (Gang("team", "Job", "first", "running", roles=(_FOUR,), quorum=2),),
)
"""One node of 8 GPUs, which Job `first` takes."""


def _submit(watched: Watched, name: str, gpus: int, *, quorum: int | None) -> None:
    template = PodTemplate(gpus=gpus, pool="h100", grace=0)
    spec = manifests.job_spec(template, 2, quorum=quorum, basic=quorum is None)
    watched.plane.world.writer.create(JOBS, manifests.job(name, "team", spec), manager="kubectl")


def _suspend(watched: Watched, name: str) -> None:
    path = f"/apis/batch/v1/namespaces/team/jobs/{name}"
    headers = {"Content-Type": "application/merge-patch+json"}
    body = json.dumps({"spec": {"suspend": True}}).encode()
    assert watched.plane.api.answer(parse("PATCH", path, headers, body)).code == 200


def test_each_moment_counts_as_one_amount() -> None:
    watched = Watched(SMALL)
    _submit(watched, "second", 2, quorum=2)
    watched.run_until(600)
    _suspend(watched, "first")
    watched.run_until(900)
    _submit(watched, "third", 4, quorum=None)
    watched.run_until(1200)
    by_code = watched.usage("code")
    total = {name: sum(amounts[name] for amounts in by_code.values()) for name in AMOUNTS}
    # Job first runs with 8 GPUs until 600 s, and is suspended until 1200 s.
    # Job second waits for 4 GPUs until 600 s, and runs until 1200 s.
    # Job third holds 4 GPUs from 900 s on, and waits for 4 more.
    expected = {
        "used": 8 * 600 + 4 * 600,
        "held": 4 * 300,
        "eligible": 4 * 600 + 4 * 300,
        "ineligible": 8 * 600,
    }
    lag = 8 * 3 * LAG
    assert total == {
        **{name: pytest.approx(value, abs=lag) for name, value in expected.items()},
        "unobserved": 0,
    }
    assert by_code["suspended"]["ineligible"] == pytest.approx(8 * 600, abs=lag)
