"""Names and texts of a cluster that a page must cope with: a queue `a/b`, and events that name and notify others."""

from __future__ import annotations

from dataclasses import replace

from simulator import Simulator
from simulator.fleets import EAST
from simulator.resources import KUEUE_RESOURCES
from tests.attack.found import Figures
from tests.attack.tenant import Json, read, wait_for
from tests.installation import Installation

SECONDS = 60
NAME, NAMESPACE = "hostile", "team-infra"
SHELL = "debug-shell"
FLEET = replace(EAST, gangs=tuple(gang for gang in EAST.gangs if gang.key[2] == SHELL))
NODE = "secret-node-7"
QUEUE = "a/b"
MENTION = "@admins"
NOTE = f"Preempted by pod 1f0c on node {NODE}, ask {MENTION} or a\\|b"


def attack(board: Installation) -> Figures:
    """All pages answer, a viewer of one namespace reads no node's name, and a ticket mentions no
    user."""
    with Simulator(fleet=FLEET, story=False, name=NAME, extra=KUEUE_RESOURCES) as simulator:
        kubeconfig = board.folder / f"{NAME}.kubeconfig"
        kubeconfig.write_text(simulator.kubeconfig_text(read_only=True))
        shell = simulator.objects.get("v1", "Pod", SHELL, NAMESPACE)
        assert shell is not None
        simulator.objects.put(_queue())
        simulator.objects.put(_event(shell["metadata"]["uid"]))
        board.manage("add_cluster", NAME, "--kubeconfig", str(kubeconfig))
        try:
            return _check_pages(board)
        finally:
            board.manage("remove_cluster", NAME)


def _check_pages(board: Installation) -> Figures:
    (gang,) = wait_for(lambda: board.gangs(cluster=NAME), 1)
    wait_for(
        lambda: [queue for queue in board.get("queues/")["results"] if queue["name"] == QUEUE], 1
    )
    assert QUEUE in board.page("/queues/")
    board.manage(
        "create_user", "ticket", "--role", "viewer", "--cluster", NAME, "--namespace", NAMESPACE
    )
    token = board.manage("create_token", "ticket").splitlines()[-1]
    ticket = read(board, f"gangs/{gang['id']}/bundle/", token)
    assert "Preempted by pod" in ticket
    assert NODE not in ticket, "a viewer of one namespace reads the name of a node"
    (row,) = (line for line in ticket.splitlines() if MENTION in line)
    code = row.split("`")[1::2]
    assert any(MENTION in text for text in code), f"{MENTION} is notified: {row}"
    assert "a\\`\\|`b" in row, f"a bar ends the code: {row}"
    return {"pages": 2, "tickets": 1}


def _queue() -> Json:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": QUEUE},
        "spec": {"cohortName": "all"},
    }


def _event(uid: str) -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": NAMESPACE, "name": "preempted.1"},
        "type": "Normal",
        "reason": "Preempted",
        "note": NOTE,
        "action": "Preempting",
        "regarding": {"kind": "Pod", "namespace": NAMESPACE, "name": SHELL, "uid": uid},
        "eventTime": "2026-11-27T03:00:00.000000Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-0",
    }
