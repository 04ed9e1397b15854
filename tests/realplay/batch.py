"""Batches of cases on one control plane, under one gangboard, with kills that all cases share."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from tests.acting.scene import AWAY, Scene
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation
from tests.realplay import audit_log
from tests.realplay.cases import ACT_WORKER, GANGBOARD, Batch, Kill
from tests.realplay.judging import broken
from tests.realplay.play import Play, Record
from tests.realplay.witness import Witness


@dataclass(frozen=True)
class Outcome:
    """A played case."""

    record: Record
    kills: tuple[Kill, ...]
    broken: dict[str, list[str]]
    """Name of an invariant → violations."""

    def __str__(self) -> str:
        record = self.record
        deeds = [
            f"{deed.at - record.actions[0].requested_at:+.1f} s {deed.kind}"
            for deed in record.deeds
        ]
        lines = [f"seed {record.case.seed}, {record.case}"]
        lines += [f"  killed at {kill.after:.1f} s: {kill.process}" for kill in self.kills]
        lines += [f"  {deed}" for deed in deeds]
        lines += [f"  {row.verb}: {row.state}: {row.message}" for row in record.actions]
        for name, wrong in self.broken.items():
            lines += [f"  {name} does not hold:", *(f"    - {line}" for line in wrong)]
        return "\n".join(lines)


@dataclass
class Table:
    """Ends of actions."""

    ends: Counter[str] = field(default_factory=Counter)
    faults: int = 0
    cases: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count a case."""
        self.cases += 1
        self.faults += bool(outcome.broken)
        for action in outcome.record.actions:
            verb = action.verb if action.verb != "relocate" or action.left else "allow all nodes"
            self.ends[f"{verb}{' in the calm' if action.in_calm else ''}: {action.state}"] += 1

    def lines(self) -> list[str]:
        """Return the table."""
        title = f"{self.cases} cases, {self.faults} with a broken invariant"
        return [title, *(f"{number:4} {end}" for end, number in sorted(self.ends.items()))]


def play(
    installation: Installation, plane: ControlPlane, cluster: str, batch: Batch
) -> list[Outcome]:
    """Play the cases of a batch side by side, each in a namespace and on nodes of its own."""
    witness = Witness(plane.client)
    scenes = [Scene(installation, plane, cluster, case.name) for case in batch.cases]
    plays = [
        Play(scene, case, witness.history(scene.namespace))
        for scene, case in zip(scenes, batch.cases, strict=True)
    ]
    try:
        with witness.watching(), ThreadPoolExecutor(len(plays) + 1) as pool:
            _all(pool.submit(one.set_up) for one in plays)
            killing = pool.submit(_kill_all, installation, plane, batch.kills)
            acting = [pool.submit(_noting, one, one.act) for one in plays]
            _all([killing, *acting])
            _all(pool.submit(_noting, one, one.calm) for one in plays)
    finally:
        with ThreadPoolExecutor(len(plays)) as pool:
            _all(pool.submit(scene.clear) for scene in scenes)
    sent = audit_log.requests(plane)
    return [
        Outcome(one.record, batch.kills, broken(one.record) | audit_log.broken(one.record, sent))
        for one in plays
    ]


def _noting(one: Play, do: Callable[[], None]) -> None:
    """Do a part of a case. A wait that is not over in time, or an unexpected answer, is a fault of the case."""
    try:
        do()
    except (AssertionError, *AWAY) as error:
        one.record.problems.append(f"{type(error).__name__}: {error}")


def _kill_all(installation: Installation, plane: ControlPlane, kills: Iterable[Kill]) -> None:
    began = time.monotonic()
    for kill in kills:
        time.sleep(max(0.0, began + kill.after - time.monotonic()))
        if kill.process == ACT_WORKER:
            installation.kill("act@")
        elif kill.process == GANGBOARD:
            installation.restart()
        else:
            plane.restart_process(kill.process, kill=True)


def _all(futures: Iterable[Future[None]]) -> None:
    """Wait for all of them, then raise the first error."""
    running = list(futures)
    wait(running)
    for future in running:
        future.result()
