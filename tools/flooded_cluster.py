"""A large simulated cluster in a separate process without Django."""

from __future__ import annotations

from multiprocessing.connection import Connection

from simulator import Simulator
from simulator.load import synthetic

GANG_SIZE = 10


def serve(pipe: Connection, pods: int, changes: int) -> None:
    """Serve until the other end of the pipe is closed.

    It sends the kubeconfig first. For each received number it changes that many pods and then sends None.
    `changes` is how many of them a watch can read afterwards.
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
