"""`suspend`, `resume`, `check`."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from gangboard.domain.action import Avoid
from gangboard.store.actions import read_request
from gangboard.store.models import Action
from tests.api.conftest import Run as Runs
from tests.client.conftest import FakeClock, Run

RUN = "east/team-a/JobSet/run"
BECAUSE = ("--reason", "gpu-07 is broken")

pytestmark = pytest.mark.usefixtures("runs")


def test_one_job_is_suspended(as_persona: Run, runs: dict[str, Runs]) -> None:
    result = as_persona("operator", "suspend", RUN, "--job", "run-workers-0", *BECAUSE)
    action = Action.objects.get()
    assert result.code == 0
    assert result.out == f"Taken, not done yet: action {action.pk} is requested.\n"
    assert (action.verb, action.kind, action.name) == ("suspend", "Job", "run-workers-0")
    assert (action.uid, action.generation) == (f"{runs['east/team-a'].gang.uid}-job-0", 3)
    assert (action.reason, action.via) == ("gpu-07 is broken", "api")


def test_a_whole_gang_is_suspended(as_persona: Run, runs: dict[str, Runs]) -> None:
    result = as_persona("operator", "suspend", RUN, *BECAUSE, "-o", "json")
    assert result.code == 0
    target = json.loads(result.out)["target"]
    assert (target["api_group"], target["kind"], target["name"], target["uid"]) == (
        *("jobset.x-k8s.io", "JobSet", "run"),
        runs["east/team-a"].gang.uid,
    )


def test_the_end_of_a_hold_is_relative_to_now(as_persona: Run) -> None:
    requested = ("suspend", RUN, "--job", "run-workers-0", *BECAUSE, "--until")
    assert as_persona("operator", *requested, "4h").code == 0
    until = Action.objects.get().until
    assert until is not None
    assert abs(until - timezone.now() - timedelta(hours=4)) < timedelta(seconds=30)
    assert as_persona("operator", *requested, "2026-11-21T18:00:00").code == 2


def test_the_same_key_acts_once(as_persona: Run) -> None:
    requested = ("suspend", RUN, *BECAUSE, "--idempotency-key", "k-1")
    assert as_persona("operator", *requested).out == as_persona("operator", *requested).out
    assert Action.objects.count() == 1


def test_a_conflicting_action_is_named(as_persona: Run) -> None:
    requested = ("suspend", RUN, "--job", "run-workers-0", *BECAUSE)
    as_persona("operator", *requested)
    result = as_persona("operator", *requested)
    assert result.code == 2
    assert result.err.endswith(f"That is action {Action.objects.get().pk}.\n")


def test_a_dry_run_writes_nothing(as_persona: Run) -> None:
    result = as_persona("operator", "suspend", RUN, "--dry-run")
    assert result.code == 0
    assert result.out.startswith("Nothing was sent. Lever: suspend\n  PATCH /apis/jobset.x-k8s.io/")
    assert not Action.objects.exists()


def test_a_dry_run_of_a_forbidden_action_is_refused(as_persona: Run) -> None:
    result = as_persona("operator", "resume", RUN, "--dry-run")
    assert result.code == 1
    assert result.out.strip()


def test_a_viewer_is_refused_with_a_sentence(as_persona: Run) -> None:
    result = as_persona("reader", "suspend", RUN, *BECAUSE)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("gangboard: ")
    assert not Action.objects.exists()


def _become(state: str, message: str = "So it is.") -> None:
    finished = None if state in ("sent", "applied") else timezone.now()
    Action.objects.update(state=state, message=message, finished_at=finished)


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (("sent", "applied", "verified"), 0),
        (("refused",), 1),
        (("sent", "reverted"), 1),
        (("failed",), 1),
    ],
)
def test_wait_reports_done_only_after_the_verification(
    as_persona: Run, fake_clock: FakeClock, states: tuple[str, ...], code: int
) -> None:
    fake_clock.then = [lambda state=state: _become(state) for state in states]  # type: ignore[misc]  # mypy cannot infer it
    result = as_persona("operator", "suspend", RUN, *BECAUSE, "--wait")
    assert result.code == code
    messages = [line.partition(":")[0] for line in result.err.splitlines()]
    assert [text for text in messages if text in {"requested", *states}] == ["requested", *states]
    assert "So it is." in result.out
    assert fake_clock.slept == [1.0] * len(states)


def test_wait_does_not_report_done_at_its_timeout(as_persona: Run, fake_clock: FakeClock) -> None:
    result = as_persona("operator", "suspend", RUN, *BECAUSE, "--wait", "--timeout", "3s")
    assert (result.code, result.out) == (2, "")
    assert "is requested, which is not its last state." in result.err
    assert sum(fake_clock.slept) == 3


def test_check_prints_a_forecast_for_each_cluster(
    as_persona: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker runs here, so the forecast is unknown."""
    monkeypatch.setattr("gangboard.pages.check.api.WAIT_SECONDS", 0.0)
    manifests = tmp_path / "job.yaml"
    manifests.write_text(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: team-a}}"
    )
    result = as_persona("operator", "check", "-f", str(manifests), "--cluster", "east")
    assert (result.code, result.err) == (2, "")
    head, row = result.out.splitlines()
    assert head.split() == ["CLUSTER", "KIND", "NAME", "VERDICT", "CODE", "MESSAGE"]
    assert row.split()[0] == "east"
    assert "unknown" in row.split()


def test_check_reports_what_it_cannot_check(as_persona: Run, tmp_path: Path) -> None:
    manifests = tmp_path / "job.yaml"
    manifests.write_text("kind: Job\n")
    result = as_persona("operator", "check", "-f", str(manifests))
    assert (result.code, result.out) == (2, "")
    assert result.err == "gangboard: manifests: Document 1 has no apiVersion.\n"
    manifests.write_text("{apiVersion: batch/v1, kind: Job, metadata: {name: train}}")
    nowhere = as_persona("operator", "check", "-f", str(manifests), "--cluster", "nowhere")
    assert (nowhere.code, nowhere.out) == (2, "")
    assert nowhere.err == (
        "gangboard: You see no such cluster, or this server is too old to check manifests.\n"
    )
    missing = as_persona("operator", "check", "-f", str(tmp_path / "none.yaml"))
    assert missing.code == 2
    assert "none.yaml cannot be read: No such file or directory." in missing.err


@pytest.mark.parametrize(
    ("arguments", "avoid"),
    [
        (("--node", "gpu-07", "--node", "gpu-08"), Avoid(("gpu-07", "gpu-08"))),
        (("--domain", "rack=r1"), Avoid(topology=("rack", "r1"))),
        (("--all-nodes",), Avoid()),
    ],
)
def test_one_job_is_relocated(as_persona: Run, arguments: tuple[str, ...], avoid: Avoid) -> None:
    result = as_persona("operator", "relocate", RUN, "--job", "run-workers-0", *BECAUSE, *arguments)
    assert result.code == 0, result.err
    action = Action.objects.get()
    assert (action.verb, action.name) == ("relocate", "run-workers-0")
    assert read_request(action).avoid == avoid


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--node", "n1", "--domain", "rack=r1"),
        ("--domain", "rack"),
        ("--node", "n1", "--all-nodes"),
    ],
)
def test_a_relocation_names_one_place(as_persona: Run, arguments: tuple[str, ...]) -> None:
    result = as_persona("operator", "relocate", RUN, "--job", "run-workers-0", *BECAUSE, *arguments)
    assert result.code == 2
    assert not Action.objects.exists()
