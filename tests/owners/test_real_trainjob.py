"""TrainJobs of a real Trainer (2.3.0), JobSet, Kueue and scheduler, under a complete gangboard. All at once.

Each situation has nodes and runtimes of its own and a near miss with another verdict.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from tests.controlplane.client import ApiError, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.grove import CRD
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import JOBSET, PodOptions
from tests.controlplane.queues import KUEUE, cluster_queue, in_queue, local_queue, resource_flavor
from tests.controlplane.scheduled_elsewhere import VOLCANO_PODGROUPS
from tests.controlplane.trainjobs import (
    INITIALIZER,
    STEP,
    TRAINER,
    UNKNOWN_RUNTIME,
    create_when_taken,
    runtime,
    trainjob,
)
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

SAVER = "night-saver"
_RUNTIME = "ClusterTrainingRuntime"
LOOKS_A_TRY = 20
"""Polls, two a second, before an unnoticed change is repeated."""


@dataclass
class Place(PlaceOnBoard):
    """A place with runtimes of its own."""

    kind = "TrainJob"
    runtimes: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def runtime(
        self, name: str = "plain", cpu: str = "1", *, pool: str = "", **options: Any
    ) -> str:
        """Make a runtime whose pods are for the nodes of this place, or of a pool; return its name."""
        full = f"{self.name}-{name}"
        nodes = {"node_selector": {POOL: pool or self.name}}
        pods: PodOptions = {"cpu": cpu, **options.pop("node", {}), **nodes}  # type: ignore[typeddict-item]
        if "initializer" in options:
            options["initializer"] = {**options["initializer"], **nodes}
        self.client.create(runtime(full, node=pods, **options))
        self.runtimes.append(full)
        return full

    def run(self, of: str, name: str = "run", **options: Any) -> None:
        """Make a TrainJob from a runtime."""
        create_when_taken(self.client, trainjob(name, self.name, of, **options))

    def pods(self, name: str = "run") -> dict[str, Json]:
        """Return its pods by uid."""
        label = f"jobset.sigs.k8s.io/jobset-name={name}"
        listed = self.client.list("v1", "Pod", self.name, labels=label)
        return {pod["metadata"]["uid"]: pod for pod in listed}

    def wait_running(self, number: int, name: str = "run") -> None:
        """Wait until so many of its pods run."""

        def running() -> int:
            return sum(pod["status"].get("phase") == "Running" for pod in self.pods(name).values())

        wait(
            lambda: running() == number,
            what=f"{number} pods of {name} in {self.name}",
            seen=running,
        )

    def suspend(self, suspended: bool, name: str = "run") -> None:
        """Set the TrainJob's own field."""
        self.client.patch(TRAINER, "TrainJob", name, {"spec": {"suspend": suspended}}, self.name)

    def suspend_jobset(self, name: str = "run") -> None:
        """Set the field of the JobSet below, like a user who does not know the TrainJob."""
        body = {"spec": {"suspend": True}}
        self.client.patch(JOBSET, "JobSet", name, body, self.name, field_manager=SAVER)

    def leave(self) -> None:
        """Stop all suspenders and delete the runtimes."""
        self.is_over.set()
        self.client.delete(KUEUE, "ClusterQueue", f"{self.name}-queue")
        for name in self.runtimes:
            self.client.delete(TRAINER, _RUNTIME, name)


def _whole(place: Place) -> None:
    """Twin: no node is large enough."""
    place.run(place.runtime(), nodes=3)
    place.run(place.runtime("large", "65"), "twin", nodes=1)


def _pending(place: Place) -> None:
    """Two of three nodes find room. Twin: asks for two."""
    place.run(place.runtime("pairs", "3"), nodes=3)
    pool = f"{place.name}-twin"
    make_nodes(place.client, [node(pool, cpu="8", labels={POOL: pool})])
    place.run(place.runtime("twin", "3", pool=pool), "twin", nodes=2)


def _initializer(place: Place) -> None:
    """Data are prepared before the nodes are made. Twin: they are prepared already."""
    place.run(place.runtime(initializer={"cpu": "1"}), nodes=2)
    done = place.runtime("done", initializer={"cpu": "1", "complete_after": "1s"})
    place.run(done, "twin", nodes=2)


def _suspended(place: Place) -> None:
    """Made so. Twin: was, and is resumed."""
    of = place.runtime()
    place.run(of, nodes=2, suspend=True)
    place.run(of, "twin", nodes=2, suspend=True)
    place.wait_told("suspended", "twin")
    place.suspend(False, "twin")


def _resumed(place: Place) -> None:
    """After it ran. Twin: is not resumed."""
    of = place.runtime()
    for name in ("run", "twin"):
        place.run(of, name, nodes=2)
    for name in ("run", "twin"):
        place.wait_running(2, name)
        place.suspend(True, name)
    place.wait_told("suspended")
    place.suspend(False)


def _put_back(place: Place) -> None:
    """A user suspends the JobSet again and again. Twin: once."""
    of = place.runtime()
    for name in ("run", "twin"):
        place.run(of, name, nodes=2)
    for name in ("run", "twin"):
        place.wait_running(2, name)
        place.wait_told("running", name)
    place.suspend_jobset("twin")

    def insist() -> None:
        while not place.is_over.wait(1.0):
            with suppress(ApiError):
                place.suspend_jobset()

    threading.Thread(target=insist, daemon=True).start()


def _coscheduling(place: Place) -> None:
    """A gang is requested without a scheduler that supports it. Twin: all pods fit."""
    policy = {"coscheduling": {"scheduleTimeoutSeconds": 30}}
    of = place.runtime("gang", "3", podGroupPolicy=policy)
    place.run(of, "twin", nodes=1)
    place.wait_running(1, "twin")
    place.run(of, nodes=3)


def _not_made(place: Place) -> None:
    """The kind of its PodGroup is not served. Twin: its runtime asks for none."""
    place.run(place.runtime("volcano", podGroupPolicy={"volcano": {}}), nodes=2)
    place.run(place.runtime(), "twin", nodes=2)


def _unheard(place: Place) -> None:
    """Its runtime labels no part as the trainer. Twin: that of another does."""
    place.run(place.runtime("unlabelled", trains=False), nodes=3)
    place.run(place.runtime(), "twin", nodes=3)


def _failed(place: Place) -> None:
    """Twin: completes."""
    place.run(place.runtime("fails", node={"fail_after": "1s"}), nodes=2)
    place.run(place.runtime("ends", node={"complete_after": "1s"}), "twin", nodes=2)


def _restarting(place: Place) -> None:
    """Each attempt fails after three seconds, and takes five to come up. Twin: may not be restarted."""
    again: PodOptions = {"fail_after": "3s", "start_after": "5s"}
    place.run(place.runtime("again", node=again, restarts=50), nodes=2)
    place.run(place.runtime("once", node=again), "twin", nodes=2)


def _queued(place: Place) -> None:
    """Another takes the quota. Twin: that one."""
    shared = f"{place.name}-queue"
    place.client.create_all(
        [
            resource_flavor(),
            cluster_queue(shared, {"cpu": "3"}),
            local_queue("queue", place.name, cluster_queue=shared),
        ]
    )
    of = place.runtime()
    place.run(of, "twin", nodes=2, labels=in_queue("queue"))
    place.wait_running(2, "twin")
    place.run(of, nodes=2, labels=in_queue("queue"))


SITUATIONS: dict[str, Situation[Place]] = {
    "whole": Situation(
        _whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": None}, twin="no-matching-node",
    ),
    "pending": Situation(
        _pending, "partly-placed", "degraded",
        "1 pod needs 3 CPUs, and 2 are free on the only usable node "
        "(test.gangboard.dev/pool=train-pending); 2 of 3 pods are placed.",
        {"desired": 3, "created": 3, "scheduled": 2, "ready": 2}, twin="running", cpu="8",
    ),
    "initializer": Situation(
        _initializer, "dependency-waiting", "waiting",
        "node waits until dataset-initializer is Complete: 0 of 1 Jobs are.",
        {"desired": 3, "created": 1, "ready": 1, "quorum": None}, twin="running",
    ),
    "suspended": Situation(
        _suspended, "suspended", "suspended", None,
        {"desired": 2, "created": 0, "ready": 0}, twin="running",
    ),
    "resumed": Situation(
        _resumed, "running", "running", "Both pods are ready.",
        {"desired": 2, "created": 2, "ready": 2}, twin="suspended",
    ),
    "put-back": Situation(
        _put_back, "controller-conflict", "blocked", None, {"desired": 2}, twin="running",
    ),
    "coscheduling": Situation(
        _coscheduling, "not-ganged", "degraded",
        "ClusterTrainingRuntime train-coscheduling-gang requests a gang (coscheduling), but "
        "default-scheduler places its pods one by one: 1 of 3.",
        {"desired": 3, "created": 3, "scheduled": 1}, twin="running", cpu="8",
    ),
    "not-made": Situation(
        _not_made, "objects-not-made", "blocked",
        'An object of TrainJob run cannot be created: no matches for kind "PodGroup" in version '
        '"scheduling.volcano.sh/v1beta1".',
        {"desired": 2, "created": 0}, twin="running",
    ),
    "unheard": Situation(
        _unheard, "size-mismatch", "degraded",
        "TrainJob run requests 3 pods (spec.trainer.numNodes), and part node has 1.",
        {"desired": 1, "created": 1, "ready": 1}, twin="running",
    ),
    "failed": Situation(
        _failed, "failed", "failed", None, {"desired": 2}, twin="succeeded",
    ),
    "restarting": Situation(
        _restarting, "restarting", "degraded", None, {"desired": 2}, twin="failed",
    ),
    "queued": Situation(
        _queued, "waiting-for-quota", "waiting",
        "Queue queue has not admitted it yet: 1 more cpu of flavor default must become free.",
        {"desired": 2, "created": 0}, twin="running",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    client = controlplane_kueue.client
    # Beside all other kinds (test_mixed_cluster.py) it is served; `not-made` is about a cluster without Volcano.
    client.delete(*CRD, VOLCANO_PODGROUPS)
    client.wait_gone(*CRD, VOLCANO_PODGROUPS)
    result = {name: Place(client, f"train-{name}", board) for name in SITUATIONS}
    with brought_about(SITUATIONS, result):
        yield result


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_the_user_who_restores_the_jobset_is_named(places: dict[str, Place]) -> None:
    gang = places["put-back"].detail()
    assert gang["message"].startswith(f"{SAVER} suspends JobSet run and trainer resumes it: ")
    assert gang["advice"] == [
        f"Stop {SAVER}, and suspend TrainJob run itself: trainer keeps JobSet run as TrainJob run is."
    ]


def test_the_controller_message_explains_the_end(places: dict[str, Place]) -> None:
    verdicts = places["failed"].told()
    assert "run-node-0" in verdicts["message"]
    assert "first failed job: run-node-0" in str(places["failed"].detail()["findings"])


def test_an_initializer_is_in_no_gang_by_design(places: dict[str, Place]) -> None:
    gang = places["initializer"].detail()
    modes = {job["name"]: job["scheduling"] for job in gang["jobs"]}
    assert modes[f"run-{INITIALIZER}-0"]["reason"] == (
        "It prepares data or a model before the nodes start: by design it is in no gang."
    )
    assert gang["facts"] == [
        {"label": "Runtime", "text": "ClusterTrainingRuntime train-initializer-plain"}
    ]


def test_the_cause_and_the_remedy_are_shown_for_a_role_without_label(
    places: dict[str, Place],
) -> None:
    gang, name = places["unheard"].detail(), "ClusterTrainingRuntime train-unheard-unlabelled"
    assert gang["advice"] == [
        f"Label the part of {name} that trains {STEP}: trainer (needs re-creating)."
    ]
    said = {item["label"]: item["value"] for item in gang["findings"][0]["evidence"]}
    assert said["why"] == f"{name} labels no part as its trainer"


def test_the_progress_reported_by_the_training_is_shown(places: dict[str, Place]) -> None:
    """The pods would tell the Trainer (gate TrainJobStatus); here it is written into the status as that does."""
    place = places["whole"]
    status = {
        "progressPercentage": 40,
        "estimatedRemainingSeconds": 5400,
        "lastUpdatedTime": "2026-11-20T09:31:07Z",
    }
    place.client.patch_status(TRAINER, "TrainJob", "run", {"trainerStatus": status}, place.name)

    def fact_texts() -> dict[str, str]:
        return {fact["label"]: fact["text"] for fact in place.detail()["facts"]}

    expected = "40 %, about 90 minutes left, as of 2026-11-20 09:31:07 UTC"
    wait(lambda: fact_texts().get("Progress") == expected, what=expected, seen=fact_texts)
    assert place.told()["code"] == "running"


def test_a_trainjob_with_an_unknown_runtime_is_refused_and_no_gang(
    places: dict[str, Place],
) -> None:
    place = places["whole"]
    with pytest.raises(ApiError, match=UNKNOWN_RUNTIME) as refused:
        place.client.create(trainjob("refused", place.name, "nowhere", nodes=1))
    assert refused.value.status == 403
    names = {gang["name"] for gang in place.installation.gangs(namespace=place.name)}
    assert names == {"run", "twin"}


def test_a_jobset_that_was_suspended_below_is_put_back_with_new_pods(
    places: dict[str, Place],
) -> None:
    """Twin of a reported conflict: a user tried once, and the Trainer reverted it.

    The Trainer can revert it before JobSet has seen it. Then the pods stay, and the step is repeated.

    """
    place = places["resumed"]
    place.wait_running(2)
    before = set(place.pods())
    polls = count()

    def have_other_pods() -> bool:
        now = set(place.pods())
        if now == before and next(polls) % LOOKS_A_TRY == 0:
            place.suspend_jobset()
        return len(now) == 2 and not now & before

    wait(have_other_pods, every=0.5, what="two other pods", seen=place.pods)
    place.wait_told("running")
    gangs = place.installation.gangs(namespace=place.name)
    assert {gang["kind"] for gang in gangs} == {"TrainJob"}
