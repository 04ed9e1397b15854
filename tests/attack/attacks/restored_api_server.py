"""An API server is restored from a backup: its objects and its resourceVersion are those of before."""

import time
from collections.abc import Callable
from dataclasses import replace

from simulator import Simulator
from simulator.fleets import EAST
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 60
MOST_SECONDS = 15.0
"""Seconds within which the API shows the restored state. The repair list would come after 900 s."""
NAME = "restored"
SHELL = "debug-shell"
FLEET = replace(EAST, gangs=tuple(gang for gang in EAST.gangs if gang.key[2] == SHELL))


def attack(board: Installation) -> Figures:
    """A pod that the backup has is shown again, and a pod that it does not have is not."""
    with Simulator(fleet=FLEET, story=False, name=NAME) as simulator:
        kubeconfig = board.folder / f"{NAME}.kubeconfig"
        kubeconfig.write_text(simulator.kubeconfig_text(read_only=True))
        board.manage("add_cluster", NAME, "--kubeconfig", str(kubeconfig))
        try:
            return _restore(board, simulator)
        finally:
            board.manage("remove_cluster", NAME)


def _restore(board: Installation, simulator: Simulator) -> Figures:
    def shows(*names: str) -> Callable[[], bool]:
        return lambda: {gang["name"] for gang in board.gangs(cluster=NAME)} == set(names)

    _wait(shows(SHELL), "the cluster is not shown")
    backup = simulator.store.back_up()
    shell = simulator.objects.get("v1", "Pod", SHELL, "team-infra")
    assert shell is not None
    later = {"name": "later", "namespace": "team-infra"}
    simulator.objects.put({**shell, "metadata": later})
    simulator.objects.delete("v1", "Pod", SHELL, "team-infra")
    _wait(shows("later"), "a change is not shown")
    started_at = time.monotonic()
    simulator.restore(backup)
    _wait(shows(SHELL), "what was before the restore is still shown as live")
    return {"seconds": round(time.monotonic() - started_at, 1)}


def _wait(condition: Callable[[], bool], description: str) -> None:
    give_up_at = time.monotonic() + MOST_SECONDS
    while not condition():
        assert time.monotonic() < give_up_at, f"{description} after {MOST_SECONDS:g} s"
        time.sleep(0.2)
