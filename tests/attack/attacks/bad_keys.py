"""Commands are started with keys that can be guessed, or that are none."""

import os
import subprocess
import sys

from tests.attack.found import Figures
from tests.installation import ROOT, Installation

SECONDS = 40
KEYS = (
    {"GANGBOARD_SECRET_KEY": "x"},
    {"GANGBOARD_SECRET_KEY": " "},
    {"GANGBOARD_SECRET_KEY_FILE": os.devnull},
    {"GANGBOARD_ENCRYPTION_KEY": "abc"},
)


def attack(board: Installation) -> Figures:
    """Each of them ends at start with one sentence, which names the variable."""
    for keys in KEYS:
        ended = subprocess.run(
            [sys.executable, "manage.py", "check"],
            cwd=ROOT,
            env={**board.environment, **keys},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert ended.returncode == 1, f"{keys} was taken"
        (name,) = keys
        (sentence,) = ended.stderr.splitlines()
        assert name.removesuffix("_FILE") in sentence, sentence
    return {"tried": len(KEYS)}
