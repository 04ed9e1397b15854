"""A large simulated cluster in a process of its own, which has no Django."""

from __future__ import annotations

from multiprocessing.connection import Connection

from simulator import Simulator
from simulator.load import synthetic

GANG_SIZE = 10


def serve(pipe: Connection, pods: int, changes: int) -> None:
    """Serve until the other end of the pipe is closed.

    Sends the kubeconfig first. Then each number that comes is how many pods to change; None comes
    back when that is done. `changes`: how many of them a watch can take in afterwards.
    """
    with Simulator("empty", story=False, history=changes + pods) as simulator:
        flood = synthetic(simulator, pods=pods, gangs=max(1, pods // GANG_SIZE))
        pipe.send(simulator.kubeconfig_text())
        try:
            while True:
                flood.change(pipe.recv())
                pipe.send(None)
        except EOFError:
            return
