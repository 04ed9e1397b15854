"""A simulated cluster of nasty toys, and their controller."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import gangboard.groups
import gangboard.levers
import gangboard.owners
import gangboard.queues
from simulator import Simulator
from simulator.resources import Resource
from tests.project.lone_members import forget

TOYS = Path(__file__).parent / "nasty_toys"
API, PLACE = "toys.example/v1", "nursery"
KINDS = {
    "jobs": "Job",
    "racks": "Rack",
    "flocks": "Flock",
    "tickets": "Ticket",
    "commands": "Command",
}
Json = dict[str, Any]


@contextmanager
def dropped_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the toys' files in the folders of the registries."""
    for room in (gangboard.owners, gangboard.levers, gangboard.groups, gangboard.queues):
        folder = str(TOYS / room.__name__.rpartition(".")[2])
        monkeypatch.setattr(room, "__path__", [*room.__path__, folder])
    forget()
    yield
    monkeypatch.undo()
    forget()


def simulator() -> Simulator:
    """Return a cluster that serves toys and has none."""
    extra = tuple(
        Resource("toys.example", ("v1",), plural, kind, custom=True)
        for plural, kind in KINDS.items()
    )
    return Simulator(fleet="empty", story=False, extra=extra)


class ToyShop:
    """Creates toys in a simulated cluster and acts as their controller. `obey` executes commands."""

    def __init__(self, cluster: Simulator) -> None:
        self._objects = cluster.objects
        self._stopping = threading.Event()
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}}
        self._objects.put(namespace)

    def toy(self, name: str, pods: int, **options: Any) -> Json:
        """Make a toy Job with its rack, its flock and its running pods; return it."""
        status, labels = options.get("status", {"phase": "Running"}), options.get("labels", {})
        job = self._put("Job", name, spec={"pods": pods}, status=status, labels=labels)
        rack = self._put("Rack", f"{name}-rack", owner=("Job", job), api=API)
        if status["phase"] == "Running":
            self._put("Flock", f"{name}-flock", spec={"least": pods})
            for index in range(pods):
                self._put_pod(f"{name}-{index}", rack["metadata"]["name"], f"{name}-flock")
        return job

    def ticket(self, job: Json, line: str) -> None:
        """Have it wait in a line."""
        spec = {"uid": job["metadata"]["uid"], "line": line}
        self._put("Ticket", f"{job['metadata']['name']}-ticket", spec=spec, status={"open": False})

    def namesake(self, name: str) -> None:
        """Make a Job of Kubernetes with one running pod that has the name of a toy."""
        job = self._objects.put(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": name, "namespace": PLACE, "generation": 1},
                "spec": {
                    "parallelism": 1,
                    "completions": 1,
                    "suspend": False,
                    "template": _TEMPLATE,
                },
                "status": {"active": 1, "ready": 1},
            }
        )
        self._put_pod(f"{name}-real", "", "", owner=("batch/v1", "Job", job))

    def commands(self) -> list[Json]:
        """Return the pending commands."""
        return self._objects.list(API, "Command", PLACE)

    def set_phase(self, name: str, phase: str) -> None:
        """Let the controller say how a toy is."""
        self._objects.update(
            API, "Job", name, lambda job: job.update(status={"phase": phase}), PLACE
        )

    def obey(self) -> None:
        """Execute the commands. A stopped toy loses its pods."""
        for command in self.commands():
            name, stops = command["spec"]["job"], command["spec"]["word"] == "Stop"
            self.set_phase(name, "Stopped" if stops else "Running")
            for pod in self._objects.list("v1", "Pod", PLACE) if stops else ():
                if pod["metadata"].get("labels", {}).get("toys.example/rack") == f"{name}-rack":
                    self._objects.delete("v1", "Pod", pod["metadata"]["name"], PLACE)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Obey all the while."""

        def work() -> None:
            while not self._stopping.wait(0.02):
                self.obey()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            thread.join()

    def _put(self, kind: str, name: str, **content: Any) -> Json:
        metadata: Json = {"name": name, "namespace": PLACE, "generation": 1}
        metadata["labels"] = content.pop("labels", {})
        content.pop("api", None)
        owner = content.pop("owner", None)
        if owner is not None:
            metadata["ownerReferences"] = [_reference(API, *owner)]
        return self._objects.put({"apiVersion": API, "kind": kind, "metadata": metadata, **content})

    def _put_pod(
        self, name: str, rack: str, flock: str, owner: tuple[str, str, Json] | None = None
    ) -> None:
        shelf = {"metadata": {"name": "a-shelf", "uid": f"uid-of-the-shelf-of-{rack}"}}
        api, kind, created = owner or ("shelves.example/v1", "Shelf", shelf)
        self._objects.put(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": PLACE,
                    "labels": {"toys.example/rack": rack} if rack else {},
                    "annotations": {"toys.example/flock": flock} if flock else {},
                    "ownerReferences": [_reference(api, kind, created)],
                },
                "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "toy"}]},
                "status": _RUNNING,
            }
        )


def _reference(api: str, kind: str, owner: Json) -> Json:
    meta = owner["metadata"]
    return {
        "apiVersion": api,
        "kind": kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }


_TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "toy"}]}}
_RUNNING = {
    "phase": "Running",
    "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": "True"},
    ],
}
