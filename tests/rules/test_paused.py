"""`paused`."""

from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.suspension import FieldWriter, RecordedSuspend
from tests.domain_objects import a_job, a_jobset, a_meta, a_pod, a_role, ago, child_jobs, pods_of
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def test_a_job_with_parallelism_zero_is_paused() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2))
    first, _ = child_jobs(jobset, parallelism=0)
    unit = unit_of(jobset, first, desired=2, name="run-workers-0", noun="Job")
    finding = require_finding("paused", unit)
    assert finding.health is Health.SUSPENDED
    assert finding.message == "Job run-workers-0 requests no pods: parallelism is 0."
    assert first_code(unit) == "paused"


def test_scaled_to_zero() -> None:
    unit = unit_of(a_jobset("run", a_role("workers", jobs=0)))
    assert require_finding("paused", unit).code == "paused"
    assert first_code(unit) == "paused"


def test_a_job_of_its_own() -> None:
    unit = unit_of(a_job("train", parallelism=0, pods=0))
    finding = require_finding("paused", unit)
    assert values_in(finding.message) == "0"
    assert finding.evidence[0].label == "spec.parallelism"


def test_pods_that_still_run_are_no_pause() -> None:
    job = a_job("train", parallelism=0)
    assert evaluate("paused", unit_of(job, *pods_of(job, 2, on="n0"))) is None


def test_a_suspended_job_is_not_paused() -> None:
    job = a_job("train", parallelism=0, suspended=True)
    assert evaluate("paused", unit_of(job)) is None


def test_a_pod_on_its_way_out_does_not_matter() -> None:
    job = a_job("train", parallelism=0)
    leaving = a_pod("train-0", of=job, on="n0", deleting_since=ago(1))
    assert first_code(unit_of(job, leaving)) == "paused"


@pytest.mark.parametrize(
    ("kept", "step"),
    [
        (
            4,
            "Set spec.parallelism of Job train back to 4 (no restart): kubectl patch jobs.batch train "
            """-n team-a --type=merge -p '{"spec":{"parallelism":4}}'""",
        ),
        (None, "Set spec.parallelism of Job train above 0 (no restart)."),
    ],
)
def test_resume_advice_restores_the_parallelism(kept: int | None, step: str) -> None:
    job = a_job("train", parallelism=0, paused_parallelism=kept)
    assert require_finding("paused", unit_of(job, facts={"kubernetes": (1, 36)})).advice_texts == (
        step,
    )


def test_the_pausing_user_time_and_cause_are_shown() -> None:
    """From the record, else by a person's field manager. A controller writes the field of its own Jobs."""
    record = {"uid-train": RecordedSuspend("ada", "make room", ago(40))}
    state = "Job train requests no pods: parallelism is 0."
    for manager, facts, stored, expected in (
        ("gangboard", record, 4, f"Paused by ada at 2026-11-21 11:59 UTC: make room. {state}"),
        ("kubectl-edit", record, 4, f"Paused with kubectl at 2026-11-21 11:58 UTC or before. {state}"),
        ("kubectl-edit", {}, None, f"Paused with kubectl at 2026-11-21 11:58 UTC or before. {state}"),
        ("jobset", {}, None, state),
        ("night-saver", {}, None, f"Paused by night-saver at 2026-11-21 11:58 UTC or before. {state}"),
    ):  # fmt: skip
        writer = FieldWriter(manager, ago(120))
        above = Controller("example.com", "Pipeline", "run", "uid-run")
        maker: dict[str, Any] = {"of": above} if manager == "jobset" else {}
        job = a_job("train", parallelism=0, paused_parallelism=stored, paused_by=writer, **maker)
        finding = require_finding("paused", unit_of(job, facts={"recorded_suspends": facts}))
        assert finding.message == expected, manager
        assert bool(finding.advice) is (manager in ("jobset", "night-saver")), manager


@pytest.mark.parametrize(
    ("manager", "author"),
    [
        ("kubectl", "Paused with kubectl at 2026-11-21 11:58 UTC or before. "),
        ("keda-operator", "Paused by keda-operator at 2026-11-21 11:58 UTC or before. "),
        ("", ""),
    ],
)
def test_who_scaled_an_owner_to_zero_is_shown(manager: str, author: str) -> None:
    writer = FieldWriter(manager, ago(120)) if manager else None
    served = Owner(meta=a_meta("apps", "StatefulSet", "serve"), desired=0, paused_by=writer)
    finding = require_finding("paused", unit_of(served))
    assert finding.message == f"{author}StatefulSet serve requests no pods."
    assert finding.advice == ()
