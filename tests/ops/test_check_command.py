"""`manage.py check_manifest` as a person and a CI job call it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from gangboard.polling.checks.loaded_cluster import drop_kept
from gangboard.store.models import CheckRun
from tests.polling.checks import fleet
from tests.polling.checks.fleet import gpu_node, job, make_fleet


@pytest.fixture(autouse=True)
def clusters(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    drop_kept()
    monkeypatch.setattr(fleet, "NOW", timezone.now())
    make_fleet(gpu_node("n0"), name="east")
    make_fleet(gpu_node("m0", 1), name="west")


def run(text: str, tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    file = tmp_path / "job.yaml"
    file.write_text(text)
    out = io.StringIO()
    try:
        call_command("check_manifest", "-f", str(file), *arguments, stdout=out, no_color=True)
    except SystemExit as end:
        return int(str(end.code)), out.getvalue()
    except CommandError as error:
        return error.returncode, str(error)
    return 0, out.getvalue()


def test_it_runs_in_one_cluster(tmp_path: Path) -> None:
    code, printed = run(job(), tmp_path)
    assert code == 0
    first, second, *_ = printed.splitlines()
    assert (
        first == "Job team-a/train in east: would run now (running). Both pods fit on 1 node now."
    )
    assert second.startswith("Job team-a/train in west: would be blocked (no-matching-node). ")
    assert not CheckRun.objects.exists()


def test_it_does_not_run_in_the_named_cluster(tmp_path: Path) -> None:
    assert run(job(), tmp_path, "--cluster", "west")[0] == 1
    assert run(job(), tmp_path, "--cluster", "west", "--cluster", "east")[0] == 0


def test_every_gang_must_run(tmp_path: Path) -> None:
    assert run(f"{job('a')}---{job('b')}", tmp_path, "--cluster", "east")[0] == 1


def test_it_cannot_tell(tmp_path: Path) -> None:
    assert run(job(more="schedulerName: other"), tmp_path)[0] == 2
    assert run("apiVersion: v1\nkind: ConfigMap", tmp_path)[0] == 2


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("kind: Job", (), "Document 1 has no apiVersion."),
        (job(), ("--cluster", "nowhere"), "there is no cluster named 'nowhere'"),
    ],
)
def test_bad_input(text: str, arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    code, printed = run(text, tmp_path, *arguments)
    assert code == 2
    assert words in printed


def test_a_missing_file_is_bad_input() -> None:
    with pytest.raises(CommandError) as caught:
        call_command("check_manifest", "-f", "/no/such/file")
    assert caught.value.returncode == 2


def test_standard_input_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(job().replace(", namespace: team-a", "")))
    out = io.StringIO()
    call_command("check_manifest", "-f", "-", "--json", "-n", "team-z", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    assert [(row["cluster"], row["namespace"]) for row in answer["results"]] == [
        ("east", "team-z"),
        ("west", "team-z"),
    ]
