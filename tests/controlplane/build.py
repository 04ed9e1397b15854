"""Build the control plane's programs from ordinary Go modules into the user's cache.

`python -m tests.controlplane.build [NAME ...]` builds those of `programs.PROGRAMS` that are missing and
says how long it took; with everything in the cache it returns at once. Running the programs needs no Go.

Every folder `modules/NAME` holds a `go.mod` and a `go.sum`. Programs that can do with the libraries of the
same Kubernetes release share one, so their common packages are compiled once. Besides, a folder may have
files that stand in for some of a program's own (`replaced`), and a `main.go` of ours, which starts a
controller otherwise than its own program does.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.programs import PROGRAMS, Program

_ENVIRONMENT = {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "", "GOGC": "800"}
"""The compiler collects its garbage less often: a fifth less processor time, more memory."""
_FLAGS = ("-trimpath", "-gcflags=all=-dwarf=false")
"""Debug information is not even compiled. The linker drops it in any case."""
MODULES_FOLDER = Path(__file__).parent / "modules"
_REPLACED = "replaced"


class BuildError(Exception):
    """A program could not be built; the message ends with what Go said."""


def cache_folder() -> Path:
    """Return the folder that holds all built programs (it need not exist)."""
    root = os.environ.get("GANGBOARD_CACHE")
    if root:
        return Path(root) / "controlplane"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "gangboard" / "controlplane"


def built_folder(program: Program) -> Path:
    """Return where the program's binaries are, or will be: the name changes with its inputs."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((MODULES_FOLDER / program.module / name).read_bytes())
    for file in (*_replacements(program), *_own_sources(program)):
        digest.update(str(file.relative_to(MODULES_FOLDER)).encode() + file.read_bytes())
    digest.update(repr((program.binaries, program.ldflags, program.manifests)).encode())
    if program.other_manifests:
        digest.update(repr(program.other_manifests).encode())
    return cache_folder() / f"{program.name}-{digest.hexdigest()[:16]}"


def missing(names: Sequence[str] = ()) -> list[str]:
    """Return the programs that are not built, of those named or of all."""
    return [name for name in names or PROGRAMS if not built_folder(PROGRAMS[name]).is_dir()]


def binary(program: str, name: str) -> Path:
    """Return the path of a built binary. Raises `BuildError` when it was not built."""
    path = built_folder(PROGRAMS[program]) / "bin" / name
    if not path.is_file():
        raise BuildError(f"{name} of {program} is not built: run make controlplane")
    return path


def manifests(program: str) -> list[Path]:
    """Return the manifests kept beside a program's binaries, sorted by path."""
    return sorted((built_folder(PROGRAMS[program]) / "manifests").rglob("*.yaml"))


def build(names: Sequence[str] = ()) -> None:
    """Build the named programs, or all, as far as they are missing. Raises `BuildError`."""
    if not missing(names):
        return
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        for leftover in folder.glob(".building-*"):  # of a build that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        for name in missing(
            names
        ):  # a second check: the previous holder of the lock may have built it
            _build(PROGRAMS[name], folder)


def _build(program: Program, folder: Path) -> None:
    print(f"{program.name}: building, {program.takes} the first time", flush=True)
    started = time.monotonic()
    workspace = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        (workspace / "bin").mkdir()
        flags = [*_FLAGS, f"-ldflags={program.ldflags}"]
        if program.replaced:
            flags.append(f"-modfile={_with_replacements(program, workspace / _REPLACED)}")
        if program.binaries:
            _go(program, ["install", *flags, *program.binaries], GOBIN=str(workspace / "bin"))
        else:
            _go(program, ["mod", "download", program.manifests_from])
        for package, stored in program.binaries.items():
            (workspace / "bin" / _called(package)).rename(workspace / "bin" / stored)
        sources = {program.manifests_from: program.manifests} if program.manifests else {}
        for source, names in (sources | program.other_manifests).items():
            answer = _go(program, ["list", "-m", "-f", "{{.Dir}}", source])
            _copy_manifests(Path(answer.strip()), names, workspace / "manifests")
        workspace.chmod(0o755)
        shutil.rmtree(workspace / _REPLACED, ignore_errors=True)
        # The program exists from the rename on, so a killed build leaves no partial file.
        workspace.rename(built_folder(program))
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    print(f"{program.name}: built in {time.monotonic() - started:.0f} s", flush=True)


def _called(package: str) -> str:
    """Return how Go calls a package's binary: as its last folder, but for the version (`go help install`)."""
    *folders, last = package.split("/")
    return folders[-1] if re.fullmatch(r"v\d+", last) else last


def _own_sources(program: Program) -> list[Path]:
    """Return the files of a program of ours, where that of a module cannot run twice on one machine."""
    ours = (package for package in program.binaries if package.startswith("./"))
    return sorted(
        file
        for package in ours
        for file in (MODULES_FOLDER / program.module / package).glob("*.go")
    )


def _replacements(program: Program) -> list[Path]:
    """Return the files that stand in for those of another module."""
    folder = MODULES_FOLDER / program.module / "replaced"
    return sorted(folder.rglob("*.go")) if program.replaced else []


def _with_replacements(program: Program, folder: Path) -> Path:
    """Return a go.mod by which Go builds a copy of the other module, with our files in it.

    Raises `BuildError` where it has no such file any more: a new version needs a look at it.
    """
    _go(program, ["mod", "download", program.replaced])
    source = Path(_go(program, ["list", "-m", "-f", "{{.Dir}}", program.replaced]).strip())
    copy, ours = folder / "source", MODULES_FOLDER / program.module / "replaced"
    for file in _replacements(program):
        if not (source / file.relative_to(ours)).is_file():
            raise BuildError(f"{program.replaced} has no {file.relative_to(ours)} to replace")
    # The module cache is read-only; copy the bytes, not the mode.
    shutil.copytree(source, copy, copy_function=shutil.copyfile)
    for created in (copy, *copy.rglob("*/")):
        created.chmod(0o755)
    for file in _replacements(program):
        shutil.copyfile(file, copy / file.relative_to(ours))
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(MODULES_FOLDER / program.module / name, folder / name)
    _go(program, ["mod", "edit", f"-replace={program.replaced}={copy}", str(folder / "go.mod")])
    return folder / "go.mod"


def _go(program: Program, arguments: Sequence[str], **environment: str) -> str:
    go = shutil.which("go")
    if go is None:
        raise BuildError("Go is needed to build the control plane and is not on PATH")
    done = subprocess.run(
        [go, *arguments],
        cwd=MODULES_FOLDER / program.module,
        env=os.environ | _ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        message = "\n".join(done.stderr.splitlines()[-30:])
        raise BuildError(
            f"go {arguments[0]} failed for {program.name} in modules/{program.module}:\n{message}"
        )
    return done.stdout


def _copy_manifests(source: Path, names: Sequence[str], target: Path) -> None:
    for name in names:
        result = source / name
        files = sorted(result.glob("*.yaml")) if result.is_dir() else [result]
        for file in files:
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            # The module cache is read-only; copy the bytes, not the mode.
            place.write_bytes(file.read_bytes())


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build is running: waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, build, and list the programs."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane.build", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    names: list[str] = parser.parse_args(arguments).names
    if unknown := [name for name in names if name not in PROGRAMS]:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    try:
        build(names)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    for name in names or PROGRAMS:
        print(f"{name}: {built_folder(PROGRAMS[name])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
