"""Record the objects of a real control plane in known states.

`python -m tests.controlplane.capture --profile 1.37 --out DIR [--only STATE ...]` brings about every state
of `state_list` that the profile can have, one after the other, and writes `DIR/<state>.json`: {resource
path: [objects]}, one object a line. They are the truth that decoders are tested with and that the simulator
imitates.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.controlplane.client import Json, WaitError
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.state_list import STATES
from tests.controlplane.states import Place, State, bring_about, clear, snapshot

_PROFILES = sorted({profile for state in STATES.values() for profile in state.on})


def capture(plane: ControlPlane, state: State, folder: Path) -> Path:
    """Bring the state about, write it into the folder, clear it away; return the file."""
    place = bring_about(state, plane)
    result = snapshot(place)
    clear(place)
    file = folder / f"{state.name}.json"
    file.write_text(_printed(result))
    return file


def _printed(result: dict[str, list[Json]]) -> str:
    parts = []
    for path, objects in sorted(result.items()):
        lines = ",\n  ".join(json.dumps(_anonymous(obj), sort_keys=True) for obj in objects)
        parts.append(f" {json.dumps(path)}: [\n  {lines}\n ]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _anonymous(obj: Json) -> Json:
    """Take this machine's name out: events say which instance of a component wrote them."""
    host = socket.gethostname()
    for key in ("reportingInstance", "reportingController"):
        if isinstance(obj.get(key), str):
            obj[key] = obj[key].replace(host, "host")
    return obj


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and capture. Ends non-zero when a state did not come about."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane.capture")
    parser.add_argument("--profile", required=True, choices=_PROFILES)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--only", nargs="+", choices=STATES, default=[])
    value = parser.parse_args(arguments)
    expected = [
        state
        for state in STATES.values()
        if value.profile in state.on and (not value.only or state.name in value.only)
    ]
    value.out.mkdir(parents=True, exist_ok=True)
    failed = []
    with ControlPlane.start(value.profile) as plane:
        print(f"{value.profile}: up in {plane.started_in:.1f} s", flush=True)
        for state in expected:
            started = time.monotonic()
            try:
                file = capture(plane, state, value.out)
            except WaitError as error:
                failed.append(state.name)
                print(f"  {state.name}: {error}", file=sys.stderr, flush=True)
                _forget(plane, state)
                continue
            size = file.stat().st_size / 1024
            print(
                f"  {state.name}: {time.monotonic() - started:.1f} s, {size:.0f} kB",
                flush=True,
            )
    if failed:
        print(f"did not come about: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _forget(plane: ControlPlane, state: State) -> None:
    """Remove the remains of a failed attempt."""
    clear(Place(plane.client, state.name, plane.profile))


if __name__ == "__main__":
    sys.exit(main())
