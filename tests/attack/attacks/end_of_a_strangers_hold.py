"""A user who may only create Holds makes an expired one on a Job that another person holds."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.write_client import WriteClient
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 40
SWEEPS = 3.0
"""Seconds in which the sweep has come by after the Hold was seen: it runs every two."""
NAME = "end-of-mallory"
JOBS = "/apis/batch/v1/namespaces"
HOLDS = "/apis/gangboard.dev/v1alpha1/namespaces"

Json = dict[str, Any]


def attack(board: Installation) -> Figures:
    """Both Holds stay, and the Job stays suspended."""
    held = next(row for row in board.get("holds/")["results"] if row["in_force"] is not False)
    kubeconfig = next(board.folder.rglob(f"{held['cluster']}-admin.kubeconfig"))
    connection = Connection(read_kubeconfig(kubeconfig.read_text()), total_deadline=10.0)
    place = f"{HOLDS}/{held['namespace']}/holds"
    job = f"{JOBS}/{held['namespace']}/jobs/{held['job']}"
    try:
        _make_hold(connection, place, held["name"])
        seen_after = _wait_seen(board)
        time.sleep(SWEEPS)
        names = {hold["metadata"]["name"] for hold in _get(connection, place)["items"]}
        assert {held["name"], NAME} <= names, names
        assert _get(connection, job)["spec"]["suspend"] is True
    finally:
        _remove_hold(connection, place)
        connection.close()
    return {"seen_after": round(seen_after, 1)}


def _get(connection: Connection, path: str) -> Json:
    obj: Json = json.loads(connection.get(path))
    return obj


def _make_hold(connection: Connection, place: str, like: str) -> None:
    spec = _get(connection, f"{place}/{like}")["spec"]
    past = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    hold = {
        "apiVersion": "gangboard.dev/v1alpha1",
        "kind": "Hold",
        "metadata": {"name": NAME},
        "spec": {**spec, "by": "mallory", "until": past},
    }
    WriteClient(connection).create(place, json.dumps(hold).encode())


def _wait_seen(board: Installation) -> float:
    started_at = time.monotonic()
    while NAME not in {row["name"] for row in board.get("holds/")["results"]}:
        assert time.monotonic() < started_at + SECONDS / 2, "its Hold was never seen"
        time.sleep(0.1)
    return time.monotonic() - started_at


def _remove_hold(connection: Connection, place: str) -> None:
    for hold in _get(connection, place)["items"]:
        if hold["metadata"]["name"] == NAME:
            uid = hold["metadata"]["uid"]
            WriteClient(connection).delete(f"{place}/{NAME}", uid=uid)
