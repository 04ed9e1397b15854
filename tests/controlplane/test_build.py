"""Building: once, completely or not at all, and a clear message if a program is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.controlplane.build import MODULES_FOLDER as MODULES
from tests.controlplane.fixtures import _started
from tests.controlplane.programs import PROGRAMS, Program

# Stands in for Go: takes its time, then leaves what `go install` leaves.
_GO = """#!/bin/sh
echo "$@" >> "$GO_CALLS"
sleep 0.5
[ -z "$GO_FAILS" ] || { echo "no such package" >&2; exit 1; }
touch "$GOBIN/server"
"""


@pytest.fixture
def fake_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a stand-in for Go on PATH and an empty cache in place; return the log of its calls."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "go"
    script.write_text(_GO)
    script.chmod(0o755)
    calls = tmp_path / "calls"
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    monkeypatch.setenv("GO_CALLS", str(calls))
    monkeypatch.setenv("GANGBOARD_CACHE", str(tmp_path / "cache"))
    return calls


def test_two_at_once_build_once(fake_go: Path) -> None:
    command = [sys.executable, "-m", "tests.controlplane.build", "etcd"]
    root = Path(__file__).parents[2]
    both = [subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(30) for process in both] == [0, 0]
    assert len(fake_go.read_text().splitlines()) == 1
    assert build.binary("etcd", "etcd").is_file()
    assert build.missing(["etcd"]) == []


def test_a_failed_build_leaves_no_files(fake_go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GO_FAILS", "1")
    with pytest.raises(build.BuildError, match="no such package"):
        build.build(["etcd"])
    assert build.missing(["etcd"]) == ["etcd"]
    assert [path.name for path in build.cache_folder().iterdir()] == [".lock"]


def test_a_replacement_file_requires_its_original(
    fake_go: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A release without the file is checked by a person, not built without the fix."""
    fake_go.touch()
    monkeypatch.setattr(build, "_go", lambda *_arguments, **_environment: f"{tmp_path}\n")
    with pytest.raises(build.BuildError, match=r"sigs.k8s.io/kwok has no .*heap\.go to replace"):
        build.build(["kwok"])
    assert build.missing(["kwok"]) == ["kwok"]


def test_every_module_has_its_two_files_and_the_needs_of_its_programs() -> None:
    """Every folder is built, and every file is part of a digest."""
    expected: dict[str, set[str]] = {}
    for program in PROGRAMS.values():
        files = expected.setdefault(program.module, {"go.mod", "go.sum"})
        files |= {package[2:] for package in program.binaries if package.startswith("./")}
        files |= {"replaced"} if program.replaced else set()
    folders = {path.name: {file.name for file in path.iterdir()} for path in MODULES.iterdir()}
    assert folders == expected


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.name)
def test_a_program_is_rebuilt_after_a_source_file_changes(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = build.built_folder(program)
    monkeypatch.setattr(build, "MODULES_FOLDER", tmp_path / "modules")
    shutil.copytree(MODULES, tmp_path / "modules")
    assert build.built_folder(program) == before
    files = ["go.mod", "go.sum"]
    files += [f"{package}/main.go" for package in program.binaries if package.startswith("./")]
    files += ["replaced/pkg/utils/heap/heap.go"] if program.replaced else []
    for file in files:
        changed = tmp_path / "modules" / program.module / file
        text = changed.read_text()
        changed.write_text(text + "\n// another")
        assert build.built_folder(program) != before
        changed.write_text(text)


@pytest.mark.usefixtures("fake_go")
def test_an_unbuilt_program_skips_locally_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="run make controlplane"):
        next(_started("1.37"))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="run make controlplane"):
        next(_started("1.37"))
