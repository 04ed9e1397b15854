"""Two controllers that revert each other, and lookalikes.

The real JobSet controller resumes a child Job. A thread with its own field manager suspends it, like a
controller that saves money at night: it polls and patches.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus

import urllib3

from tests.controlplane.client import ApiError, Json
from tests.controlplane.objects import JOBSET, JobOptions, jobset
from tests.scenarios.holds import hold_one, three_jobs
from tests.scenarios.making import loose
from tests.scenarios.scenario import PATIENCE, Played, Scenario, Stage, Step

CONFLICT = "controller-conflict"
CHILD = ("batch/v1", "Job", "train-workers-0")
INSIST_SECONDS = 4 * PATIENCE
"""Maximum duration of one suspender: all steps of a story on a busy machine.

If one of the two gives up earlier, the JobSet keeps the state of the other.
"""
RUNS = "running", "running"


class Insistent:
    """Resets `spec.suspend` of one object after every foreign change."""

    def __init__(
        self, manager: str, resource: tuple[str, str, str], *, suspended: bool, pause: float = 1.0
    ) -> None:
        """`what` is (apiVersion, kind, name); `pause`: seconds between two looks."""
        self._manager = manager
        self._what = resource
        self._suspended = suspended
        self._pause = pause
        self._stopped = threading.Event()

    def begin(self, stage: Stage) -> None:
        """Insist from now on, beside whatever else happens."""
        threading.Thread(target=self._insist, args=(stage,), daemon=True).start()

    def stop(self, stage: Stage) -> None:
        """Give up."""
        self._stopped.set()

    def _insist(self, stage: Stage) -> None:
        until = time.monotonic() + INSIST_SECONDS
        while not (self._stopped.wait(self._pause) or stage.is_over() or time.monotonic() > until):
            try:
                if is_suspended(stage, self._what) != self._suspended:
                    set_suspended(stage, self._what, self._manager, suspended=self._suspended)
            except ApiError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    return
            except urllib3.exceptions.HTTPError:
                pass  # a server too busy to answer, or one that has ended


def is_suspended(stage: Stage, description: tuple[str, str, str]) -> bool:
    """Whether an object asks to be suspended."""
    return bool(stage.client.get(*description, stage.namespace)["spec"].get("suspend"))


def set_suspended(
    stage: Stage, description: tuple[str, str, str], manager: str, *, suspended: bool
) -> None:
    """Suspend or resume an object as that field manager."""
    body = {"spec": {"suspend": suspended}}
    stage.client.patch(*description, body, stage.namespace, field_manager=manager)


def says_all_the_time(code: str, seconds: float = 10.0) -> Callable[[Stage], None]:
    """Return a step that allows no other verdict on the gang for a while."""

    def look(stage: Stage) -> None:
        for _ in range(round(seconds / 0.5)):
            message = stage.said()
            assert message is not None
            assert message["code"] == code, f"{message['code']}: {message['message']}"
            time.sleep(0.5)

    return look


def _is_never_said(stage: Stage, seconds: float) -> None:
    for _ in range(round(seconds / 0.5)):
        message = stage.said()
        assert message is None or message["code"] != CONFLICT, message["message"]
        time.sleep(0.5)


def _train(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    workers: JobOptions = {"replicas": 2, "pods": 2, "node_selector": nodes, "grace": 1}
    return [jobset("train", ns, jobs={"workers": workers})]


def _once_running(*insistent: Insistent) -> Callable[[Stage], None]:
    def act(stage: Stage) -> None:
        stage.wait_running(4)
        for item in insistent:
            item.begin(stage)

    return act


def _twice(stage: Stage) -> None:
    """A user suspends a child Job twice. JobSet resumes it both times."""
    stage.wait_running(4)
    for _ in range(2):
        set_suspended(stage, CHILD, "kubectl-patch", suspended=True)
        stage.client.wait_for(
            *CHILD, stage.namespace, until=lambda job: not job["spec"].get("suspend")
        )
        _is_never_said(stage, 3)
    _is_never_said(stage, 4)


def _by_hand(stage: Stage) -> None:
    """The same person suspends and resumes a Job three times."""
    stage.wait_running(2)
    description = ("batch/v1", "Job", "run")
    for suspended in (True, False) * 3:
        set_suspended(stage, description, "kubectl-patch", suspended=suspended)
        _is_never_said(stage, 2)
    _is_never_said(stage, 4)


def _hold_and_insist(stage: Stage) -> None:
    """One insists on resuming a Job that is held: the Hold turns each try back, for good."""
    hold_one(stage)
    Insistent("day-starter", ("batch/v1", "Job", "trio-w-1"), suspended=False).begin(stage)


def _conflicts_137() -> tuple[Scenario, ...]:
    """Return those of 1.37, where Holds are in force."""
    night_saver = Insistent("night-saver", CHILD, suspended=True)
    return (
        Scenario(
            "night-saver", "JobSet", "train", CONFLICT, "blocked", _train,
            says=("night-saver suspends Job train-workers-0 and jobset resumes it", "changes"),
            members={"desired": 4}, nodes=1, act=_once_running(night_saver), twin="undone-twice",
            steps=(
                Step(says_all_the_time(CONFLICT), CONFLICT, "blocked"),
                Step(night_saver.stop, *RUNS, (), {"ready": 4}),
            ),
        ),
        Scenario(
            "undone-twice", "JobSet", "train", *RUNS, _train,
            members={"ready": 4}, nodes=1, act=_twice, twin="night-saver",
        ),
        Scenario(
            "held-and-resumed", "JobSet", "trio", "job-suspended", "suspended", three_jobs,
            says=("1 of 3", "trio-w-1", "held by tests"), members={"held": 2, "ready": 4}, nodes=1,
            act=_hold_and_insist, twin="night-saver",
            steps=(Step(says_all_the_time("job-suspended"), "job-suspended", "suspended"),),
        ),
    )  # fmt: skip


def _conflicts_136() -> tuple[Scenario, ...]:
    """Return those of 1.36."""
    train = (JOBSET, "JobSet", "train")
    night_saver = Insistent("night-saver", train, suspended=True, pause=2.0)
    day_starter = Insistent("day-starter", train, suspended=False, pause=2.0)
    return (
        Scenario(
            "two-operators", "JobSet", "train", CONFLICT, "blocked", _train,
            says=("night-saver suspends JobSet train and day-starter resumes it", "changes"),
            members={"desired": 4}, nodes=1, act=_once_running(night_saver, day_starter),
            twin="by-hand",
            steps=(
                Step(says_all_the_time(CONFLICT), CONFLICT, "blocked"),
                Step(night_saver.stop, *RUNS, (), {"ready": 4}),
            ),
        ),
        Scenario(
            "by-hand", "Job", "run", *RUNS, loose(2), members={"ready": 2}, nodes=1,
            act=_by_hand, twin="two-operators",
        ),
    )  # fmt: skip


PLAYED: Played = {"k137": _conflicts_137(), "k136": _conflicts_136()}
