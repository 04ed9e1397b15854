"""The row of an action is put back to a copy from before it was carried out, as a restored database has it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.write_client import WriteClient
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 40
NAMESPACES = "/apis/jobset.x-k8s.io/v1alpha2/namespaces"
COPY = "CREATE TABLE IF NOT EXISTS attack_copy AS SELECT * FROM store_action WHERE id = ?"

Json = dict[str, Any]


def attack(board: Installation) -> Figures:
    """A JobSet that was suspended by an action, and resumed by hand, is not suspended a second time."""
    _wait(lambda: bool(_running(board)), "read")
    gang = _running(board)[0]
    kubeconfig = next(board.folder.rglob("sim-east-admin.kubeconfig"))
    connection = Connection(read_kubeconfig(kubeconfig.read_text()), total_deadline=10.0)
    path = f"{NAMESPACES}/{gang['namespace']}/jobsets/{gang['name']}"
    workers = board.children("--queues act")
    try:
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        action = _ask(board, gang)
        _copy(board, action)
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
    try:
        _wait(lambda: _is_suspended(connection, path), "suspended")
        _resume(connection, path)
        _wait(lambda: _state(board, action) == "reverted", "reverted")
        _put_back(board, action)
        _wait(lambda: _state(board, action) == "conflict", "conflict")
        assert not _is_suspended(connection, path)
    finally:
        connection.close()
    return {"state": _state(board, action)}


def _running(board: Installation) -> list[Json]:
    """Return the JobSets of the simulated fleet that nothing keeps from being suspended as a whole."""
    found = board.gangs(cluster="sim-east", kind="JobSet", code="running")
    return [gang for gang in found if not gang["queue"]]


def _ask(board: Installation, gang: Json) -> str:
    names = ("cluster", "api_group", "kind", "namespace", "name", "uid")
    target = {name: gang[name] for name in names}
    body = {"verb": "suspend", "target": target, "reason": "an attack"}
    status, answer = board.post("actions/", body)
    assert status == 202, answer
    return str(answer["id"])


def _database(board: Installation) -> sqlite3.Connection:
    return sqlite3.connect(board.folder / "gangboard.sqlite3", timeout=10.0)


def _copy(board: Installation, action: str) -> None:
    with closing(_database(board)) as database, database:
        database.execute(COPY, (action,))


def _put_back(board: Installation, action: str) -> None:
    with closing(_database(board)) as database, database:
        database.execute("DELETE FROM store_actionstep WHERE action_id = ?", (action,))
        database.execute("REPLACE INTO store_action SELECT * FROM attack_copy")
        database.execute("DROP TABLE attack_copy")


def _state(board: Installation, action: str) -> str:
    return str(board.get(f"actions/{action}/")["state"])


def _is_suspended(connection: Connection, path: str) -> bool:
    return bool(json.loads(connection.get(path))["spec"].get("suspend"))


def _resume(connection: Connection, path: str) -> None:
    WriteClient(connection).merge_patch(path, b'{"spec":{"suspend":false}}')


def _wait(happened: Callable[[], bool], what: str) -> None:
    give_up_at = time.monotonic() + SECONDS / 4
    while not happened():
        assert time.monotonic() < give_up_at, f"it is not {what}"
        time.sleep(0.1)
