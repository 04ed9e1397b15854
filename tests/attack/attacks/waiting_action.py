"""An action waits for a worker: the clock was set back since, and a stranger wants to stop it."""

from __future__ import annotations

import time

import urllib3

from tests.attack.found import Figures
from tests.attack.stored_actions import (
    ask_to_suspend,
    database_of,
    in_cluster,
    running_jobset,
    state_of,
    stopped_act_worker,
    wait_for,
)
from tests.installation import Installation
from tests.sign_in import sign_in

SECONDS = 60
BATCH = "attack-waits"
LATER = "UPDATE store_action SET batch = ?, {} WHERE id = ?"
MOMENTS = ("requested_at", "due_at", "expires_at")
TOKEN = "c" * 32


def attack(board: Installation) -> Figures:
    """The action continues at once, and the refused stop is in the audit with its address."""
    gang = running_jobset(board)
    changes = ", ".join(f"{name} = datetime({name}, '+2 hours')" for name in MOMENTS)
    with stopped_act_worker(board):
        action = ask_to_suspend(board, gang)
        # A clock that was two hours ahead wrote these moments.
        with database_of(board) as database:
            database.execute(LATER.format(changes), (BATCH, action))
        _stop(board, gang["namespace"])
        started_at = time.monotonic()
    with in_cluster(board, gang) as owner:
        wait_for(lambda: owner.is_suspended, "carried out")
        seconds = round(time.monotonic() - started_at, 1)
        owner.resume()
    wait_for(lambda: state_of(board, action) == "reverted", "reverted")
    return {"carried_out_after": seconds}


def _stop(board: Installation, namespace: str) -> None:
    """Try to stop the batch as a viewer. Raises AssertionError if that is allowed, or has no address."""
    scope = ("--cluster", "sim-east", "--namespace", namespace)
    link = board.manage("create_user", "stranger", "--role", "viewer", *scope).split()[-1]
    cookie = sign_in(f"{board.url}/sign-in/{link.split('/sign-in/')[1]}")
    headers = {"Cookie": f"{cookie}; csrftoken={TOKEN}", "X-CSRFToken": TOKEN}
    with urllib3.PoolManager(retries=False, headers=headers) as pool:
        path = f"{board.url}/actions/batches/{BATCH}/stop/"
        status = pool.request("POST", path, redirect=False, timeout=10).status
    assert status == 403, status
    denied = (
        "SELECT source FROM store_auditentry WHERE event = 'denied' AND actor_name = 'stranger'"
    )
    with database_of(board) as database:
        sources = [source for (source,) in database.execute(denied)]
    assert sources == ["127.0.0.1"], f"the refused stop has the addresses {sources}"
