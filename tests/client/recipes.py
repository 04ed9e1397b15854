"""The recipes of docs/api.md: their scripts, the lines of the client, and a shell that runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.services import missing

TEXT = (Path(__file__).resolve().parents[2] / "docs/api.md").read_text()
ADDRESS, TOKEN = "https://gangboard.example.com", "gb_<id>_<secret>"
"""The server and the token in the page."""
SECONDS = 120
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^`gangboard (.+)`$", re.MULTILINE)
_SECTION = re.compile(r"^### (\d+)\. .*?(?=^### |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Recipe:
    """One recipe: its blocks of shell, and the arguments of the client."""

    scripts: list[str]
    lines: list[str]


BLOCKS = _BLOCK.findall(TEXT)
SETUP = _BLOCK.findall(TEXT.partition("## Recipes")[0])
RECIPES = {
    int(found[1]): Recipe(_BLOCK.findall(found[0]), _LINE.findall(found[0]))
    for found in _SECTION.finditer(TEXT)
}
"""By number."""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    """A shell with a home folder, with the preparations of the page."""

    server: str
    home: Path

    def prepare(self, token: str) -> Ran:
        """Run the preparations of the page with the server's address and token."""
        for program in ("bash", "curl", "jq"):
            if shutil.which(program) is None:
                missing(program)
        return self.run(SETUP[0].replace(ADDRESS, self.server).replace(TOKEN, token))

    def run(self, script: str) -> Ran:
        """Run a script with bash. Programs of the home folder come first."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.home,
            env={
                "PATH": f"{self.home}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(self.home),
                "GANGBOARD_SERVER": self.server,
            },
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)
