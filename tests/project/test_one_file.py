"""A new kind and a new reason are one file each: dropped into a copy of the tree, they are on Board and API."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.project.toy import ToyServer

ROOT = Path(__file__).resolve().parents[2]

TOY_KIND = '''
"""Toys: a kind with a number of pods and nothing else."""

from gangboard.decode.wire import Wire, WireMeta
from gangboard.domain.owner import Owner
from gangboard.plugins.owner_kind import OwnerKind


class ToySpec(Wire):
    """What a toy asks for."""

    pods: int = 1


class ToyWire(Wire):
    """A toy as served."""

    metadata: WireMeta
    spec: ToySpec


class Toy(OwnerKind):
    """A toy."""

    group = "toys.example"
    kind = "Toy"
    versions = ("v1",)
    wire = ToyWire

    def build(self, wire: ToyWire, version: str) -> Owner:
        """Return the toy as an owner."""
        return Owner(self.read_meta(wire, version), desired=wire.spec.pods)
'''

TOY_RULE = '''
"""A toy that wants thirteen pods is unlucky."""

from gangboard.facts.gang import GangFacts
from gangboard.domain.health import Health, Stage
from gangboard.plugins.rule import GangRule
from gangboard.domain.verdict import Finding


def find(facts: GangFacts) -> Finding | None:
    """Return the finding for a toy of thirteen."""
    if facts.owner.meta.ref.kind != "Toy" or facts.owner.desired != 13:
        return None
    return Finding(
        "unlucky", Health.BLOCKED, Stage.ADMISSION, RULE.title, "13 pods bring bad luck."
    )


RULE = GangRule("unlucky", Stage.ADMISSION, "Unlucky", 900, find)
'''

LOOK = """
    import json, os
    os.environ["DJANGO_SETTINGS_MODULE"] = "gangboard.settings"
    import django
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client
    user = User.objects.get(username="eve")
    client = Client(HTTP_HOST="localhost")
    client.force_login(user)
    gangs = client.get("/api/v1/gangs/?kind=Toy").json()["results"]
    board = client.get("/").content.decode()
    print(json.dumps({"gangs": gangs, "board": "lucky-toy" in board and "13 pods bring bad luck." in board}))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the product with a toy kind and a toy reason in it, one file each."""
    copy = tmp_path / "tree"
    for name in ("gangboard", "templates", "static"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "manage.py", copy / "manage.py")
    (copy / "gangboard/owners/toy.py").write_text(TOY_KIND)
    (copy / "gangboard/rules/admission/unlucky.py").write_text(TOY_RULE)
    return copy


def test_a_toy_kind_and_a_toy_reason_show_up(tree: Path, tmp_path: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "GANGBOARD_STATE": str(tmp_path / "state"),
        "GANGBOARD_LOG_LEVEL": "ERROR",
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with ToyServer() as server:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        run("manage.py", "migrate", "--verbosity", "0")
        run("manage.py", "add_cluster", "toys", "--kubeconfig", str(kubeconfig))
        run("manage.py", "create_user", "eve", "--role", "viewer")
        run("manage.py", "poll", "--once")
    seen = json.loads(run("-c", dedent(LOOK)).splitlines()[-1])
    assert [(gang["name"], gang["code"], gang["members"]["desired"]) for gang in seen["gangs"]] == [
        ("lucky-toy", "unlucky", 13)
    ]
    assert seen["board"]
