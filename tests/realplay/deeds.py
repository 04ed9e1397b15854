"""Writes of people who are not gangboard, as kubectl sends them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tests.acting.scene import AWAY, Scene
from tests.controlplane.objects import ANNOTATIONS, JOBSET
from tests.realplay.cases import Deed, DeedKind
from tests.realplay.history import History, Json

MANAGER = "kubectl-edit"
_PAUSE_SECONDS = 1.5
_HOLD_SECONDS = 6.0
"""How long a person waits for a Hold to delete."""
_SECONDS = 30.0
"""Within which an API server that restarts takes a write."""


@dataclass(frozen=True)
class Done:
    """A deed that was carried out, and when it began."""

    kind: DeedKind
    at: float


@dataclass
class Meddler:
    """One person, who writes to the objects of one scene."""

    scene: Scene
    job: str
    """Name of the Job that is relocated."""
    history: History
    left: Sequence[str] = ()
    """Nodes that the Job leaves."""
    done: list[Done] = field(default_factory=list)
    cordoned: set[str] = field(default_factory=set)

    def start(self, deeds: Sequence[Deed]) -> threading.Thread:
        """Carry out deeds at their times, in a thread."""
        thread = threading.Thread(target=self._carry_out, args=(deeds,), name=self.scene.namespace)
        thread.start()
        return thread

    def _carry_out(self, deeds: Sequence[Deed]) -> None:
        began = time.time()
        for deed in deeds:
            time.sleep(max(0.0, began + deed.after - time.time()))
            self.done.append(Done(deed.kind, time.time()))
            _DO[deed.kind](self)

    def undo(self) -> None:
        """Uncordon the nodes, and resume the JobSet."""
        for name in sorted(self.cordoned):
            _insist(lambda name=name: self._cordon(name, on=False))  # type: ignore[misc]
        self.cordoned.clear()
        jobset = self.history.now().jobset
        if jobset is not None and jobset.is_suspended:
            _insist(lambda: self._suspend_jobset(on=False))

    def _suspend(self, *, on: bool) -> None:
        self._patch("batch/v1", "Job", self.job, {"spec": {"suspend": on}})

    def _suspend_jobset(self, *, on: bool) -> None:
        self._patch(JOBSET, "JobSet", "run", {"spec": {"suspend": on}})

    def _touch(self) -> None:
        self._patch("batch/v1", "Job", self.job, {"metadata": {"labels": {"touched": "yes"}}})

    def _pause_jobset(self) -> None:
        _insist(lambda: self._suspend_jobset(on=True))
        time.sleep(_PAUSE_SECONDS)
        _insist(lambda: self._suspend_jobset(on=False))

    def _cordon_left(self) -> None:
        for name in self.left:
            self.cordoned.add(name)
            _insist(lambda name=name: self._cordon(name, on=True))  # type: ignore[misc]

    def _cordon(self, name: str, *, on: bool) -> None:
        self.scene.client.patch("v1", "Node", name, {"spec": {"unschedulable": on or None}})

    def _fail_sibling(self) -> None:
        siblings = [
            pod
            for pod in self.scene.pods()
            if _job_of(pod) != self.job and "nodeName" in pod["spec"]
        ]
        if siblings:
            note = {"metadata": {"annotations": {f"{ANNOTATIONS}fail-after": "0s"}}}
            self._patch("v1", "Pod", siblings[0]["metadata"]["name"], note)

    def _delete_hold(self) -> None:
        """Delete the first Hold that appears."""
        ends_at = time.time() + _HOLD_SECONDS
        while time.time() < ends_at:
            holds = self.history.now().holds
            if holds:
                self.scene.client.delete(
                    "gangboard.dev/v1alpha1", "Hold", holds[0].name, self.scene.namespace
                )
                return
            time.sleep(0.03)

    def _patch(self, version: str, kind: str, name: str, body: Json) -> None:
        namespace = self.scene.namespace
        self.scene.client.patch(version, kind, name, body, namespace, field_manager=MANAGER)


def _job_of(pod: Json) -> str:
    return str(pod["metadata"]["labels"].get("batch.kubernetes.io/job-name", ""))


def _insist(do: Callable[[], object]) -> None:
    """Repeat a write until an API server takes it."""
    ends_at = time.time() + _SECONDS
    while time.time() < ends_at:
        with suppress(*AWAY):
            do()
            return
        time.sleep(0.5)


def _once(do: Callable[[Meddler], object]) -> Callable[[Meddler], None]:
    """Try a deed once. A server that restarts loses it, as it does with kubectl."""

    def attempt(meddler: Meddler) -> None:
        with suppress(*AWAY):
            do(meddler)

    return attempt


_DO: dict[DeedKind, Callable[[Meddler], None]] = {
    DeedKind.RESUME_JOB: _once(lambda meddler: meddler._suspend(on=False)),
    DeedKind.SUSPEND_JOB: _once(lambda meddler: meddler._suspend(on=True)),
    DeedKind.SUSPEND_JOBSET: _once(lambda meddler: meddler._suspend_jobset(on=True)),
    DeedKind.PAUSE_JOBSET: Meddler._pause_jobset,
    DeedKind.FAIL_SIBLING: _once(Meddler._fail_sibling),
    DeedKind.DELETE_HOLD: _once(Meddler._delete_hold),
    DeedKind.CORDON: Meddler._cordon_left,
    DeedKind.TOUCH_JOB: _once(Meddler._touch),
}
