"""A cluster answers a list with two million objects of two bytes each, in a page of less than 64 MiB."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 60
OBJECTS = 2_100_000
MOST_MIB, MOST_SECONDS = 16, 1.0
"""Processor seconds, so the load of other processes does not count."""
READ = f"""
import json, resource, time
from gangboard.decode.list_watch_decoder import read_page
from gangboard.decode.pods import POD
from gangboard.domain.api_resource import DecodeError

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

head = b'{{"kind":"PodList","metadata":{{"resourceVersion":"1"}},"items":['
read_page(head + b"]}}", POD)
body = head + b"{{}}," * {OBJECTS - 1} + b"{{}}]}}"
before, began = peak(), time.process_time()
try:
    read_page(body, POD)
    refused = ""
except DecodeError as error:
    refused = type(error).__name__
print(json.dumps({{"mib": peak() - before, "seconds": time.process_time() - began, "refused": refused}}))
"""


def attack(board: Installation) -> Figures:  # the reader is a process of its own
    """The reader in a poll worker refuses it before building any object."""
    done = subprocess.run(
        [sys.executable, "-c", READ],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    figures = json.loads(done.stdout)
    assert figures["refused"] == "TooLargeError", figures
    assert figures["mib"] <= MOST_MIB, figures
    assert figures["seconds"] <= MOST_SECONDS, figures
    return {
        "objects": OBJECTS,
        "mib": round(figures["mib"], 1),
        "seconds": round(figures["seconds"], 3),
    }
