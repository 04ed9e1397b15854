"""Files that must agree with a second copy of the same facts."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from django.core.management import call_command

from tests.chart.helm import CHART, ROOT
from tests.production.compose import read_services
from tests.production.site import PASSWORDS


def values() -> dict[str, Any]:
    chart_values: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return chart_values


def test_roles_of_the_chart_match_print_rbac(tmp_path: Path) -> None:
    call_command("print_rbac", "--chart", str(tmp_path))
    names = {
        "reader.yaml",
        "logs.yaml",
        "actor.yaml",
        "nodes.yaml",
        "hold.yaml",
        "binding.yaml",
    }
    assert {file.name for file in tmp_path.iterdir()} == names
    for name in names:
        # make manifests writes them.
        assert (CHART / "files" / name).read_text() == (tmp_path / name).read_text(), name


def test_the_binding_of_the_plain_manifests_matches_print_rbac() -> None:
    printed = StringIO()
    call_command("print_rbac", "--hold", stdout=printed)
    # make manifests writes it.
    assert (ROOT / "deploy" / "manifests" / "hold.yaml").read_text() == printed.getvalue()


def test_every_worker_of_the_compose_file_is_in_the_chart() -> None:
    commands = {
        name: list(service.command)
        for name, service in read_services(ROOT, PASSWORDS).items()
        if "worker" in service.command
    }
    workers = {}
    for queue, worker in values()["workers"].items():
        prefix = ["celery", "-A", "gangboard.celery", "worker", "--queues", queue]
        if "concurrency" in worker:
            prefix += ["--concurrency", str(worker["concurrency"])]
        workers[queue] = prefix
    assert workers == commands


def test_images_of_a_trial_match_the_compose_file() -> None:
    services = read_services(ROOT, PASSWORDS)
    trial = values()["trial"]
    assert trial["postgresImage"] == services["postgres"].image
    assert trial["redisImage"] == services["redis"].image
