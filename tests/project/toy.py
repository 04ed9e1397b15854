"""A cluster that serves a kind which the product does not know: toys."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from simulator import Simulator
from simulator.resources import Resource

TOYS = Resource("toys.example", ("v1",), "toys", "Toy", custom=True)


class ToyServer:
    """A simulated cluster with one toy of thirteen pods; a context manager."""

    def __init__(self) -> None:
        self._simulator = Simulator(fleet="empty", story=False, extra=(TOYS,))

    def __enter__(self) -> Self:
        self._simulator.start()
        self._simulator.objects.put(
            {
                "apiVersion": "toys.example/v1",
                "kind": "Toy",
                "metadata": {"name": "lucky-toy", "namespace": "nursery"},
                "spec": {"pods": 13},
            }
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._simulator.stop()

    def kubeconfig(self) -> str:
        """Return a kubeconfig for it."""
        return self._simulator.kubeconfig_text()
