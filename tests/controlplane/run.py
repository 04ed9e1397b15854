"""Keep one control plane running until Ctrl-C, filled with a small fleet.

`python -m tests.controlplane.run --profile 1.37 [--empty]`
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from tests.controlplane.build import BuildError
from tests.controlplane.cluster import ControlPlane, StartError
from tests.controlplane.fleet import fill
from tests.controlplane.profiles import PROFILES


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, start, print the kubeconfig's path, wait for a signal."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane.run", description=__doc__)
    parser.add_argument("--profile", default="1.37", choices=PROFILES)
    parser.add_argument("--empty", action="store_true", help="no nodes, no gangs")
    given = parser.parse_args(arguments)
    ends = {signal.SIGINT, signal.SIGTERM}
    try:
        with ControlPlane.start(given.profile) as plane:
            if not given.empty:
                fill(plane)
            print(
                f"Kubernetes {given.profile} is up after {plane.started_in:.1f} s. Ctrl-C ends it."
            )
            print(f"kubeconfig: {plane.kubeconfig}", flush=True)
            signal.pthread_sigmask(signal.SIG_BLOCK, ends)
            signal.sigwait(ends)
    except KeyboardInterrupt:  # during the start
        return 130
    except (BuildError, StartError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
