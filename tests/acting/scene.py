"""One namespace of a real cluster under a whole gangboard: what to ask and what to look at."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import urllib3

from tests.controlplane import client
from tests.controlplane.clearing import delete_namespace
from tests.controlplane.client import PATIENCE, ApiError, Client, T, WaitError
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import delete_nodes, make_nodes, node
from tests.controlplane.objects import JOBSET
from tests.controlplane.objects import namespace as namespace_object
from tests.installation import Installation
from tests.scenarios.scenario import POOL, is_ready

Json = dict[str, Any]
AWAY = (ApiError, OSError, urllib3.exceptions.HTTPError)
"""Errors that a client meets while an API server restarts."""

_EVERY = 0.4
"""Seconds between two reads. Twenty stories that read ten times a second cost more than the wait."""


def wait(
    read: Callable[[], T | None],
    *,
    timeout: float = PATIENCE,
    what: str = "condition",
    seen: Callable[[], object] = lambda: None,
) -> T:
    """Call `read` until it returns a true value and return that. Raises `WaitError`."""
    return client.wait(read, timeout=timeout, every=_EVERY, what=what, seen=seen)


@dataclass(frozen=True)
class Scene:
    """A namespace with a node of its own in one cluster that gangboard watches."""

    installation: Installation
    plane: ControlPlane
    cluster: str
    """The name by which gangboard knows it."""
    namespace: str
    may_go_on: threading.Event = field(default_factory=threading.Event)
    """Set by a story that lets the next of this cluster begin before its own end."""

    @property
    def client(self) -> Client:
        """An admin of the cluster, who is not gangboard."""
        return self.plane.client

    @property
    def where(self) -> dict[str, str]:
        """Node selector of the scene's own nodes."""
        return {POOL: self.namespace}

    def set_up(self, *objects: Json, nodes: int = 1, cpu: str = "64") -> None:
        """Make the namespace, its nodes and the objects."""
        self.client.create(namespace_object(self.namespace))
        names = [f"{self.namespace}-{index}" for index in range(nodes)]
        make_nodes(self.client, [node(name, cpu=cpu, labels=self.where) for name in names])
        for obj in objects:
            self.client.create(obj)

    def clear(self) -> None:
        """Delete all objects, because others use the same control plane."""
        if self.client.find("v1", "Namespace", self.namespace) is None:
            return
        delete_namespace(self.client, self.namespace)
        own = f"{POOL}={self.namespace}"
        names = [node["metadata"]["name"] for node in self.client.list("v1", "Node", labels=own)]
        delete_nodes(self.client, names)

    # What is there

    def job(self, name: str) -> Json:
        """Return a Job as it is now."""
        return self.client.get("batch/v1", "Job", name, self.namespace)

    def jobset(self, name: str) -> Json:
        """Return a JobSet as it is now."""
        return self.client.get(JOBSET, "JobSet", name, self.namespace)

    def holds(self) -> list[Json]:
        """Return the Holds of the namespace."""
        return self.client.list("gangboard.dev/v1alpha1", "Hold", self.namespace)

    def pods(self, job: str = "") -> list[Json]:
        """Return the pods of the namespace, or of one Job, the dying included."""
        labels = f"batch.kubernetes.io/job-name={job}" if job else ""
        return self.client.list("v1", "Pod", self.namespace, labels=labels)

    def uids(self, job: str) -> set[str]:
        """Return the uids of a Job's pods."""
        return {pod["metadata"]["uid"] for pod in self.pods(job)}

    def wait_running(self, count: int, job: str = "", timeout: float = PATIENCE) -> list[Json]:
        """Return the ready pods once there are that many."""

        def check() -> list[Json] | None:
            ready = [pod for pod in self.pods(job) if is_ready(pod)]
            return ready if len(ready) >= count else None

        return wait(check, timeout=timeout, what=f"{count} ready pods of {job or self.namespace}")

    # Verdicts of gangboard

    def gang(self, name: str) -> Json:
        """Return the gang of that name with everything, as soon as gangboard shows it."""

        def check() -> Json | None:
            gangs = self.installation.gangs(cluster=self.cluster, namespace=self.namespace)
            return next((gang for gang in gangs if gang["name"] == name), None)

        row = wait(check, what=f"gang {name}")
        return self.installation.get(f"gangs/{row['id']}/")

    def shown_job(self, gang: str, name: str) -> Json | None:
        """Return a child Job as the API shows it now."""
        return next((job for job in self.gang(gang)["jobs"] if job["name"] == name), None)

    def code(self, gang: str, code: str, timeout: float = PATIENCE) -> Json:
        """Return the gang once gangboard gives that code."""
        last: list[str] = []

        def check() -> Json | None:
            row = self.gang(gang)
            last.append(f"{row['code']}: {row['message']}")
            return row if row["code"] == code else None

        return wait(check, timeout=timeout, what=f"{gang} to be {code}", seen=lambda: last[-1])

    def wait_for_text(self, gang: str, text: str) -> Json:
        """Return the gang once one of its findings has these words."""

        def check() -> Json | None:
            row = self.gang(gang)
            return row if text in " ".join(map(str, row["findings"])) else None

        return wait(check, what=f"it to be told of {gang}: {text}", seen=lambda: self.gang(gang))

    # Acting

    def target(self, obj: Json, *, generation: bool = True) -> Json:
        """Return the target of an action on an object of the cluster."""
        group, slash, _ = obj["apiVersion"].rpartition("/")
        meta = obj["metadata"]
        target = {
            "cluster": self.cluster,
            "api_group": group if slash else "",
            "kind": obj["kind"],
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
        }
        return target | ({"generation": meta["generation"]} if generation else {})

    def wait_seen(self, gang: str, job: str = "") -> None:
        """Wait until gangboard shows the current object, so no request uses stale data."""

        def check() -> bool:
            if job:
                meta = self.job(job)["metadata"]
                shown_job = self.shown_job(gang, job)
                return shown_job is not None and (shown_job["uid"], shown_job["generation"]) == (
                    meta["uid"],
                    meta["generation"],
                )
            meta = self.jobset(gang)["metadata"]
            gangs = self.gang(gang)
            return (gangs["uid"], gangs["generation"]) == (meta["uid"], meta["generation"])

        wait(check, what=f"gangboard to see {gang} {job}")

    def request(
        self, verb: str, obj: Json, *, reason: str = "a test of gangboard", **options: Any
    ) -> str:
        """Ask for an action by the API; return its id. `options` goes into the body."""
        body = {"verb": verb, "target": self.target(obj), "reason": reason, **options}
        status, answer = self.installation.post("actions/", body)
        assert status == 202, (status, answer)
        return str(answer["id"])

    def follow(self, action: str, timeout: float = PATIENCE) -> Json:
        """Return an action once it has ended."""
        last: list[Json] = []

        def check() -> Json | None:
            gangs = self.installation.get(f"actions/{action}/")
            last.append(gangs)
            return gangs if gangs["finished_at"] else None

        return wait(check, timeout=timeout, what=f"action {action}", seen=lambda: last[-1])

    def act(self, verb: str, obj: Json, *, timeout: float = PATIENCE, **options: Any) -> Json:
        """Ask and follow to the end."""
        return self.follow(self.request(verb, obj, **options), timeout)

    def hold(self, gang: str, job: str, **options: Any) -> Json:
        """Suspend one child Job and return the action, which must have been verified."""
        self.wait_seen(gang, job)
        action = self.act(
            "suspend", {"apiVersion": "batch/v1", "kind": "Job", **self.job(job)}, **options
        )
        assert (action["state"], action["lever"]) == ("verified", "hold"), action
        return action

    def dry_run(self, verb: str, obj: Json, **options: Any) -> Json:
        """Request a dry run."""
        body = {"verb": verb, "target": self.target(obj), "reason": "a dry run", **options}
        status, answer = self.installation.post("actions/?dry_run=true", body)
        assert status == 200, (status, answer)
        return answer


@dataclass
class Witness:
    """Reads one Job all the time and records every moment at which it was not suspended."""

    client: Client
    namespace: str
    job: str
    checks: int = 0
    lapses: list[Json] = field(default_factory=list)
    uids: set[str] = field(default_factory=set)
    generations: set[int] = field(default_factory=set)

    def look(self) -> None:
        """Check once. A restarting API server, and a Job being recreated, give no result."""
        try:
            found = self.client.find("batch/v1", "Job", self.job, self.namespace)
        except AWAY:
            return
        if found is None:
            return
        self.checks += 1
        self.uids.add(found["metadata"]["uid"])
        self.generations.add(found["metadata"]["generation"])
        if found["spec"].get("suspend") is not True:
            self.lapses.append(found["metadata"])

    @contextmanager
    def watching(self, every: float = 0.1) -> Iterator[None]:
        """Look again and again while the block runs."""
        over = threading.Event()

        def run() -> None:
            while not over.wait(every):
                self.look()

        thread = threading.Thread(target=run, name=f"witness of {self.job}")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60)


def until(seconds: float, do: Callable[[], object], every: float = 1.0) -> None:
    """Do something again and again for that long; an API server that restarts is no reason to stop."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        with suppress(*AWAY, WaitError):
            do()
        time.sleep(every)
