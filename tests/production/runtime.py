"""A Python environment with exactly the packages of the image: requirements/runtime.txt.

It is built once for each lock and Python, in the user's cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.controlplane.build import cache_folder

MAKE_SECONDS = 600
UNUSED_SECONDS = 14 * 86_400
"""An environment that no run has used for so long is removed."""
_MADE = ".made"
# Most of the files to compile, and not imported.
_NOT_COMPILED = "/kubernetes/client/(models|api)/"


def runtime_environment(lock: Path) -> Path:
    """Return the folder of the environment with the packages of a lock file."""
    base = cache_folder().parent / "production"
    base.mkdir(parents=True, exist_ok=True)
    text = f"{sys.version} {sys.base_prefix}\n{lock.read_text()}"
    folder = base / hashlib.sha256(text.encode()).hexdigest()[:16]
    with (base / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / _MADE).exists():
            _make(folder, lock)
        (folder / _MADE).touch()
        _remove_unused(base)
    return folder


def _make(folder: Path, lock: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    python = str(folder / "bin" / "python")
    _run(getattr(sys, "_base_executable", sys.executable), "-m", "venv", str(folder))
    options = ("--quiet", "--no-compile", "--require-hashes", "--only-binary", ":all:")
    _run(python, "-m", "pip", "install", *options, "-r", str(lock))
    # Some files are for other versions of Python.
    compiling = ("-m", "compileall", "-qq", "-x", _NOT_COMPILED, str(folder / "lib"))
    subprocess.run([python, *compiling], timeout=MAKE_SECONDS, check=False, capture_output=True)


def _run(*argv: str) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        argv, timeout=MAKE_SECONDS, check=False, capture_output=True, text=True, env=clean
    )
    if done.returncode:
        raise AssertionError(f"{' '.join(argv)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def _remove_unused(base: Path) -> None:
    too_old = time.time() - UNUSED_SECONDS
    for marker in base.glob(f"*/{_MADE}"):
        if marker.stat().st_mtime < too_old:
            shutil.rmtree(marker.parent, ignore_errors=True)
