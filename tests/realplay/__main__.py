"""`python -m tests.realplay --minor 1.37 --cases 10 [--seed N] [--only BATCH] [--bug NAME]`: plays new random cases.

Prints each case with its kills, other people's writes and ends, then a table of the ends. Ends with 1 when an
invariant is broken. The seed that it prints repeats the cases, though not their exact timing. `--bug` plants a
bug in gangboard (`tests.realplay.planted`), which the cases should find.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from dataclasses import replace


def main() -> int:
    """Play the cases that the command line asks for."""
    options = argparse.ArgumentParser(prog="python -m tests.realplay")
    options.add_argument("--minor", choices=("1.37", "1.36"), default="1.37")
    options.add_argument("--cases", type=int, default=10)
    options.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    options.add_argument("--only", type=int, help="number of the one batch to play")
    options.add_argument("--bug", default="", help="name of a planted bug")
    arguments = options.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    from tests.acting.identities import install
    from tests.controlplane.cluster import ControlPlane
    from tests.controlplane.profiles import profile_named
    from tests.installation import Installation
    from tests.realplay.batch import Table, play
    from tests.realplay.cases import make_batches
    from tests.realplay.planted import environment

    print(f"seed {arguments.seed}", flush=True)
    table, cluster = Table(), f"k{arguments.minor.replace('.', '')}"
    profile = replace(profile_named(arguments.minor), audited=True)
    with (
        ControlPlane(profile, None) as plane,
        Installation(
            {cluster: plane.kubeconfig}, environment=environment(arguments.bug)
        ) as installation,
    ):
        install(installation, plane, cluster)
        for batch in make_batches(arguments.seed, arguments.cases):
            if arguments.only not in (None, batch.number):
                continue
            began = time.monotonic()
            for outcome in play(installation, plane, cluster, batch):
                table.add(outcome)
                print(outcome, flush=True)
            print(f"batch {batch.number}: {time.monotonic() - began:.0f} s", flush=True)
    print(*table.lines(), sep="\n")
    return 1 if table.faults else 0


if __name__ == "__main__":
    sys.exit(main())
