"""A new kind and a new reason are one file each with its test. The test adds them to a copy of the tree."""

from __future__ import annotations

import filecmp
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from simulator import Simulator
from simulator.captured import captured_objects, resources_of

ROOT = Path(__file__).resolve().parents[2]
NEW = Path(__file__).parent / "new_kind"
"""A new kind as docs/adding-a-kind.md has it: its file, its test, and a captured manifest."""
OWN = {
    "gangboard/owners/plushie.py": NEW / "plushie.py",
    "tests/owners/test_plushie.py": NEW / "test_plushie.py.txt",
    "simulator/captures/plushie.json": NEW / "plushie.json",
}
GENERATED = {"README.md", "docs/kinds.md", "deploy/chart/files/reader.yaml"}
"""Files that `make docs` changes. The last one, `deploy/manifests/gangboard.yaml`, is the chart rendered by Helm."""
TREE = ("gangboard", "templates", "static", "simulator", "tools", "tests", "docs", "deploy")
FILES = ("manage.py", "pyproject.toml", "README.md", "Makefile")
DETECTORS = (
    "tests/owners/test_plushie.py",
    "tests/owners/test_owners.py",
    "tests/decode/test_key_fields.py",
    "tests/chart/test_files.py::test_roles_of_the_chart_match_print_rbac",
    "tests/project/test_kinds_table.py",
    "tests/project/test_evidence_labels.py",
    "tests/simulator/test_fleet.py::test_the_demo_has_each_kind_of_the_table",
)
"""Tests that walk all kinds: with the new one they have more cases."""

NEW_RULE = '''
"""A plushie that wants thirteen pods is unlucky."""

from gangboard.facts.gang import Gang
from gangboard.domain.health import Health, Stage
from gangboard.plugins.rule import GangRule
from gangboard.domain.verdict import Finding


def find(facts: Gang) -> Finding | None:
    """Return the finding for a plushie of thirteen."""
    if facts.owner.meta.ref.kind != "Plushie" or facts.owner.desired != 13:
        return None
    return Finding(
        "unlucky", Health.BLOCKED, Stage.ADMISSION, RULE.title, "13 pods bring bad luck."
    )


RULE = GangRule("unlucky", Stage.ADMISSION, "Unlucky", 900, find)
'''

LOOK = """
    import json, os, sys
    os.environ["DJANGO_SETTINGS_MODULE"] = "gangboard.settings"
    import django
    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client
    call_command("migrate", "--verbosity", "0")
    call_command("add_cluster", "toys", "--kubeconfig", sys.argv[1])
    call_command("create_user", "eve", "--role", "viewer")
    call_command("poll", "--once")
    user = User.objects.get(username="eve")
    client = Client(HTTP_HOST="localhost")
    client.force_login(user)
    gangs = client.get("/api/v1/gangs/?kind=Plushie").json()["results"]
    board = client.get("/").content.decode()
    print(json.dumps({"gangs": gangs, "board": "bear" in board and "13 pods bring bad luck." in board}))
"""

Run = Callable[..., str]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the repository with the files of the new kind in it."""
    copy = tmp_path_factory.mktemp("one_file") / "tree"
    for name in TREE:
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.png")
        )
    for name in FILES:
        shutil.copy(ROOT / name, copy / name)
    for name, source in OWN.items():
        shutil.copy(source, copy / name)
    return copy


@pytest.fixture
def run(tree: Path, tmp_path: Path) -> Run:
    environment = {
        "PATH": "/usr/bin:/bin",
        "GANGBOARD_STATE": str(tmp_path / "state"),
        "GANGBOARD_LOG_LEVEL": "ERROR",
    }

    def run_(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run_


def _changed(tree: Path) -> set[str]:
    """Return the files that the tree has otherwise than the repository, or alone."""
    paths = (path for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    names = {path.relative_to(tree).as_posix() for path in paths}
    return {
        name
        for name in names
        if not (ROOT / name).is_file() or not filecmp.cmp(ROOT / name, tree / name, shallow=False)
    }


def test_a_kind_is_its_file_its_test_and_a_manifest(tree: Path, run: Run) -> None:
    """Other lists of all kinds come from the registry or from `make docs`."""
    run("manage.py", "print_kinds", "--into", "README.md", "docs/kinds.md")
    run("manage.py", "print_rbac", "--chart", "deploy/chart/files")
    assert _changed(tree) == {*OWN, *GENERATED}
    assert "| Plushie (`plushies.example`) |" in (tree / "docs/kinds.md").read_text()
    message = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *DETECTORS)
    assert "failed" not in message.splitlines()[-1]


def test_a_new_kind_and_a_new_reason_show_up(tree: Path, run: Run, tmp_path: Path) -> None:
    (tree / "gangboard/rules/admission/unlucky.py").write_text(NEW_RULE)
    (plushie,) = captured_objects(NEW)
    plushie["spec"]["pods"] = 13
    server = Simulator(fleet="empty", story=False, extra=resources_of([plushie]))
    with server:
        server.objects.put(plushie)
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig_text())
        observed = json.loads(run("-c", dedent(LOOK), str(kubeconfig)).splitlines()[-1])
    assert [
        (gang["name"], gang["code"], gang["members"]["desired"]) for gang in observed["gangs"]
    ] == [("bear", "unlucky", 13)]
    assert observed["board"]
