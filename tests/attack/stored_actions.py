"""Actions on a gangboard under attack: requested through the API, and changed in its database
file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.write_client import WriteClient
from tests.installation import Installation

Json = dict[str, Any]
SEEN_SECONDS = 10.0
NAMESPACES = "/apis/jobset.x-k8s.io/v1alpha2/namespaces"


def running_jobset(board: Installation) -> Json:
    """Return a JobSet of the simulated fleet that can be suspended as a whole."""

    def running() -> list[Json]:
        gangs = board.gangs(cluster="sim-east", kind="JobSet", code="running")
        return [gang for gang in gangs if not gang["queue"]]

    wait_for(lambda: bool(running()), "read")
    return running()[0]


def ask_to_suspend(board: Installation, gang: Json) -> str:
    """Ask to suspend the gang's owner; return the id of the action."""
    names = ("cluster", "api_group", "kind", "namespace", "name", "uid")
    target = {name: gang[name] for name in names}
    body = {"verb": "suspend", "target": target, "reason": "an attack"}
    status, answer = board.post("actions/", body)
    assert status == 202, answer
    return str(answer["id"])


def state_of(board: Installation, action: str) -> str:
    """Return the state of an action."""
    return str(board.get(f"actions/{action}/")["state"])


class OwnerInCluster:
    """A JobSet in the simulated cluster, as kubectl shows it."""

    def __init__(self, connection: Connection, gang: Json) -> None:
        self._connection = connection
        self._path = f"{NAMESPACES}/{gang['namespace']}/jobsets/{gang['name']}"

    @property
    def is_suspended(self) -> bool:
        """Return whether its spec is suspended now."""
        return bool(json.loads(self._connection.get(self._path))["spec"].get("suspend"))

    def resume(self) -> None:
        """Resume it by hand."""
        patch = b'{"spec":{"suspend":false}}'
        WriteClient(self._connection).merge_patch(self._path, patch)


@contextlib.contextmanager
def in_cluster(board: Installation, gang: Json) -> Iterator[OwnerInCluster]:
    """Open the cluster of a JobSet."""
    kubeconfig = next(board.folder.rglob("sim-east-admin.kubeconfig"))
    connection = Connection(read_kubeconfig(kubeconfig.read_text()), total_deadline=10.0)
    try:
        yield OwnerInCluster(connection, gang)
    finally:
        connection.close()


@contextlib.contextmanager
def stopped_act_worker(board: Installation) -> Iterator[None]:
    """Keep the act worker from working meanwhile."""
    workers = board.children("--queues act")
    try:
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def database_of(board: Installation) -> Iterator[sqlite3.Connection]:
    """Open the database file, and commit at the end."""
    with (
        closing(sqlite3.connect(board.folder / "gangboard.sqlite3", timeout=10.0)) as database,
        database,
    ):
        yield database


def wait_for(happened: Callable[[], bool], description: str) -> None:
    """Wait until the condition holds. Raises AssertionError with its description."""
    give_up_at = time.monotonic() + SEEN_SECONDS
    while not happened():
        assert time.monotonic() < give_up_at, f"it is not {description}"
        time.sleep(0.1)
