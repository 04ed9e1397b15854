"""`python -m simulator`: serve one simulated cluster until told to stop."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from simulator import Simulator
from simulator.fleets import FLEETS
from simulator.resources import MINORS

_PARENT_CHECK_SECONDS = 0.5


def main(arguments: list[str] | None = None) -> int:
    """Parse the options and serve until a signal, or until the parent process has ended."""
    options = _parser().parse_args(arguments)
    parent = os.getppid()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    simulator = Simulator(
        fleet=options.fleet,
        minor=options.minor,
        hold=not options.no_hold,
        story=not options.no_story,
        seed=options.seed,
        port=options.port,
        name=options.name,
        speed=options.speed,
    )
    with simulator:
        _write_private(options.kubeconfig, simulator.kubeconfig_text())
        if options.reader_kubeconfig is not None:
            text = simulator.kubeconfig_text(read_only=True)
            _write_private(options.reader_kubeconfig, text)
        sys.stdout.write(f"{options.name} serves {simulator.url}\n")
        sys.stdout.flush()
        while not stop.wait(_PARENT_CHECK_SECONDS):
            # The parent of the demo may be killed without a chance to stop us.
            if os.getppid() != parent:
                break
    return 0


def _write_private(path: Path, text: str) -> None:
    """Write a file for its owner only, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    parser.add_argument("--name", default="sim", help="name in the kubeconfig")
    parser.add_argument("--fleet", default="east", choices=sorted(FLEETS))
    parser.add_argument(
        "--minor", choices=MINORS, help="Kubernetes version; the fleet's by default"
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="file to write")
    parser.add_argument("--reader-kubeconfig", type=Path, help="one that may only read, as well")
    parser.add_argument("--no-hold", action="store_true", help="without the Hold and its policy")
    parser.add_argument("--no-story", action="store_true", help="nothing happens by itself")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", type=float, default=1.0, help="how fast simulated time goes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
