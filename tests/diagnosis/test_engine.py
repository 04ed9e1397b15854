"""One verdict: which finding decides, and which others stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.advice import advised_steps
from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Finding
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from gangboard.plugins import reasons
from gangboard.plugins.rule import GangRule, UnitRule
from tests.domain_objects import (
    NOW,
    Made,
    a_condition,
    a_container,
    a_job,
    a_jobset,
    a_node,
    a_pod,
    a_role,
    ago,
    child_jobs,
    pods_of,
    requests,
)
from tests.gangs import assemble


def a_finding(code: str, health: Health, unit: str = "", **fields: Any) -> Finding:
    stage = fields.pop("stage", Stage.PLACEMENT)
    advice = advised_steps(fields.pop("advice", ()))
    return Finding(code, health, stage, code, f"{code} {unit}", unit=unit, advice=advice, **fields)


def gang(root: Made, *objects: Made, **fields: Any) -> Gang:
    return assemble(root, objects, **{"now": NOW, "gang_api_version": "v1beta1", **fields})  # type: ignore[arg-type]


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put other rules in the place of those of the registry."""

    def use(*result: GangRule | UnitRule) -> None:
        monkeypatch.setattr(
            reasons, "gang_rules", lambda: tuple(r for r in result if isinstance(r, GangRule))
        )
        monkeypatch.setattr(
            reasons, "unit_rules", lambda: tuple(r for r in result if isinstance(r, UnitRule))
        )

    return use


def says(findings: dict[str, Finding], code: str = "said", **fields: Any) -> UnitRule:
    """Return a rule that finds the given finding for a unit's name."""
    return UnitRule(code, Stage.PLACEMENT, code, 1, lambda unit: findings.get(unit.name), **fields)


def breaks(subject: Gang | Unit) -> Finding | None:
    raise KeyError("boom")


JOBSET = a_jobset("run", a_role("a", pods=1), a_role("b", pods=1), a_role("c", pods=1))
JOBS = child_jobs(JOBSET)
A, B, C = "run-a-0", "run-b-0", "run-c-0"


@pytest.mark.parametrize(
    ("found", "order"),
    [
        # The worst health first.
        ({A: "running", B: "waiting", C: "blocked"}, [C, B, ""]),
        ({A: "degraded", B: "failed", C: "blocked"}, [B, C, A]),
        ({A: "suspended", B: "starting", C: "running"}, [B, A, ""]),
        # Unknown ranks above good states and below known bad states.
        ({A: "starting", B: "unknown", C: "waiting"}, [C, B, A]),
        ({A: "running", B: "unknown", C: "suspended"}, [B, C, ""]),
        # A symptom ranks below any waiting or worse finding, but above good states.
        ({A: "symptom", B: "waiting", C: "starting"}, [B, A, C]),
        ({A: "blocked symptom", B: "waiting", C: "running"}, [B, A, ""]),
        ({A: "symptom", B: "starting", C: "running"}, [A, B, ""]),
        # Ties by name.
        ({A: "waiting", B: "waiting", C: "waiting"}, [A, B, C]),
    ],
)
def test_findings_are_ranked(rules: Any, found: dict[str, str], order: list[str]) -> None:
    findings = {}
    for name, word in found.items():
        health = Health(word.split()[0]) if not word.startswith("symptom") else Health.WAITING
        symptom = word.endswith("symptom")
        findings[name] = a_finding(word.replace(" ", "-"), health, name, symptom=symptom)
    rules(says(findings))
    verdict = assess(gang(JOBSET, *JOBS))
    assert [finding.unit for finding in verdict.findings] == order
    assert verdict.finding == verdict.findings[0]


def test_ties_go_to_the_larger_request_accelerators_first(rules: Any) -> None:
    jobset = a_jobset(
        "run",
        a_role("a", pods=4, requests=requests(cpu="64")),
        a_role("b", pods=1, requests=requests(cpu="1", gpu="8")),
        a_role("c", pods=9, requests=requests(cpu="4", memory="1000000")),
    )
    names = ["run-a-0", "run-b-0", "run-c-0"]
    rules(says({name: a_finding("short", Health.WAITING, name) for name in names}))
    objects = child_jobs(jobset)[:2]  # the third is missing: it counts by its part
    assert [finding.unit for finding in assess(gang(jobset, *objects)).findings] == [
        "run-b-0",
        "run-a-0",
        "run-c-0",
    ]


def test_the_first_gang_rule_with_a_finding_decides_alone(rules: Any) -> None:
    def gang_rule(code: str, finding: Finding | None) -> GangRule:
        return GangRule(code, Stage.RUN, code, 1, lambda facts: finding)

    rules(
        gang_rule("silent", None),
        gang_rule("failed", a_finding("failed", Health.FAILED)),
        gang_rule("later", a_finding("later", Health.FAILED)),
        says({A: a_finding("blocked", Health.BLOCKED, A)}),
    )
    verdict = assess(gang(JOBSET, *JOBS))
    assert [finding.code for finding in verdict.findings] == ["failed"]


def test_a_lost_member_shows_next_why_it_does_not_come_back(rules: Any) -> None:
    lost = a_finding("lost-members", Health.DEGRADED, A, stage=Stage.RUN)
    reason = a_finding("no-matching-node", Health.BLOCKED, A, recheck_at=NOW)
    rules(
        says({A: lost}, "lost-members", overrides=True),
        says({A: reason, B: a_finding("starting", Health.STARTING, B)}),
    )
    verdict = assess(gang(JOBSET, JOBS[0], JOBS[1]))
    codes = [finding.code for finding in verdict.findings]
    assert codes[:2] == ["lost-members", "no-matching-node"]
    assert verdict.recheck_at == NOW


@pytest.mark.parametrize(("own", "told"), [((), ("Uncordon.",)), (("Mend it.",), ("Mend it.",))])
def test_the_next_step_of_a_loss_restores_the_member(
    rules: Any, own: tuple[str, ...], told: tuple[str, ...]
) -> None:
    lost = a_finding("lost-members", Health.DEGRADED, A, stage=Stage.RUN, advice=own)
    reason = a_finding("no-matching-node", Health.BLOCKED, A, advice=("Uncordon.",))
    rules(says({A: lost}, "lost-members", overrides=True), says({A: reason}))
    finding = assess(gang(JOBSET, JOBS[0])).finding
    assert (finding.code, finding.advice_texts) == ("lost-members", told)


def test_the_running_stage_of_a_lost_member_is_no_cause(rules: Any) -> None:
    lost = a_finding("lost-members", Health.DEGRADED, "train", stage=Stage.RUN)
    below = a_finding("below-size", Health.DEGRADED, "train", stage=Stage.RUN)
    rules(says({"train": lost}, "lost-members", overrides=True), says({"train": below}))
    assert assess(gang(a_job())).findings == (lost,)


def test_a_crashed_rule_is_reported_and_the_other_rules_run(rules: Any) -> None:
    rules(
        GangRule("failed", Stage.RUN, "Failed", 1, breaks),
        UnitRule("image-pull", Stage.START, "Image", 1, breaks),
        says({"train": a_finding("running", Health.RUNNING, "train")}),
    )
    verdict = assess(gang(a_job(), *pods_of(a_job(), 2, on="n0")))
    assert (verdict.finding.code, verdict.finding.health) == ("not-observed", Health.UNKNOWN)
    texts = [finding.message for finding in verdict.findings]
    assert any("failed" in text for text in texts)
    assert any("image-pull" in text and "train" in text for text in texts)
    assert [finding.code for finding in verdict.findings] == [
        "not-observed",
        "not-observed",
        "running",
    ]
    assert verdict.members.ready == 2


def test_a_crashed_rule_hides_no_known_problem(rules: Any) -> None:
    rules(
        UnitRule("image-pull", Stage.START, "Image", 1, breaks),
        says({"train": a_finding("insufficient-resources", Health.WAITING, "train")}),
    )
    assert assess(gang(a_job())).finding.code == "insufficient-resources"


def test_a_unit_that_no_rule_knows_is_not_called_healthy(rules: Any) -> None:
    rules()
    finding = assess(gang(a_job())).finding
    assert (finding.code, finding.health) == ("not-observed", Health.UNKNOWN)
    assert "train" in finding.message


def test_running_units_share_a_sentence() -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers", jobs=2, pods=3))
    jobs = child_jobs(jobset)
    pods = [pod for job in jobs for pod in pods_of(job, job.desired, on="n0")]
    verdict = assess(gang(jobset, *jobs, *pods, nodes={"n0": a_node()}))
    assert verdict.finding.message == "All 7 pods are ready."
    assert verdict.finding.unit == ""
    assert len(verdict.findings) == 1


def test_suspended_jobs_are_reported_once_if_the_rest_runs() -> None:
    jobset = a_jobset("trio", a_role("w", jobs=3, pods=2))
    first, second, third = child_jobs(jobset)
    held = [replace(job, suspended=True) for job in (first, second)]
    pods = pods_of(third, 2, on="n0")
    verdict = assess(gang(jobset, *held, third, *pods, nodes={"n0": a_node()}))
    assert (verdict.finding.code, verdict.finding.health) == ("job-suspended", Health.SUSPENDED)
    assert "2 of 3 Jobs are suspended: trio-w-0 and trio-w-1" in verdict.finding.message
    assert [finding.code for finding in verdict.findings].count("job-suspended") == 1
    assert (verdict.members.desired, verdict.members.held, verdict.members.ready) == (6, 4, 2)

    waiting = pods_of(third, 2, text="0/4 nodes are available: 4 Insufficient cpu.")
    verdict = assess(gang(jobset, *held, third, *waiting))
    assert verdict.finding.code != "job-suspended"


def test_the_earliest_recheck_of_all_findings_counts(rules: Any) -> None:
    rules(
        says(
            {
                A: a_finding("x", Health.WAITING, A, recheck_at=NOW + timedelta(seconds=90)),
                B: a_finding("y", Health.STARTING, B, recheck_at=NOW + timedelta(seconds=30)),
                C: a_finding("z", Health.BLOCKED, C),
            }
        )
    )
    assert assess(gang(JOBSET, *JOBS)).recheck_at == NOW + timedelta(seconds=30)


# What pages show


def test_jobs_are_shown_with_their_nodes_and_finding(rules: Any) -> None:
    reported = a_finding("starting", Health.STARTING, A)
    rules(says({A: reported}))
    first, second, _ = JOBS
    pods = (
        a_pod("x", of=first, index=0, on="n10"),
        a_pod("y", of=first, index=1, on="n2"),
        a_pod("z", of=first, index=2, on="n9", deleting_since=ago(1)),
    )
    visible, other, *_ = assess(gang(JOBSET, first, replace(second, suspended=True), *pods)).jobs
    assert (visible.ref.name, visible.part, visible.created, visible.ready) == (A, "a", 3, 2)
    assert visible.nodes == ("n2", "n9", "n10")
    assert visible.finding == reported
    assert (other.suspended, other.held, other.finished, other.desired) == (True, False, "", 1)


@pytest.mark.parametrize(
    ("fields", "state", "label", "reason"),
    [
        ({"on": "n0"}, Health.RUNNING, "ready", ""),
        ({"on": "n0", "ready": False}, Health.STARTING, "starting", ""),
        ({"on": "sick", "ready": False}, Health.DEGRADED, "node not ready", "sick"),
        ({"text": "0/1 nodes are available"}, Health.WAITING, "waiting", "Unschedulable"),
        ({}, Health.WAITING, "waiting", ""),
        ({"gates": ("a/x", "b/y")}, Health.WAITING, "gated", "a/x, b/y"),
        ({"phase": "Succeeded"}, Health.SUCCEEDED, "succeeded", ""),
        ({"phase": "Failed", "reason": "Evicted"}, Health.FAILED, "failed", "Evicted"),
        ({"on": "n0", "deleting_since": ago(3)}, Health.DEGRADED, "terminating", ""),
        (
            {
                "phase": "Pending",
                "node": "n0",
                "containers": (
                    a_container(running=False, state="waiting", reason="ImagePullBackOff"),
                ),
            },
            Health.DEGRADED,
            "not starting",
            "ImagePullBackOff",
        ),
    ],
)
def test_member_squares_have_state_label_and_reason(
    fields: dict[str, Any], state: Health, label: str, reason: str
) -> None:
    job = a_job(pods=1)
    nodes = {"n0": a_node("n0"), "sick": a_node("sick", ready=None)}
    (square,) = assess(gang(job, a_pod("p", of=job, **fields), nodes=nodes)).pods
    assert (square.state, square.label, square.reason) == (state, label, reason)
    assert square.job == "train"


def test_a_replaced_pod_is_labelled() -> None:
    job = a_job(pods=1)
    old = a_pod("old", of=job, index=0, phase="Failed", reason="Evicted")
    squares = assess(gang(job, old, a_pod("new", of=job, index=0, on="n0"))).pods
    assert {square.ref.name: square.label for square in squares} == {
        "new": "ready",
        "old": "failed, replaced",
    }


def _ended(code: int, **fields: Any) -> Any:
    return a_container("main", running=False, last_exit_code=code, last_reason="Error", **fields)


@pytest.mark.parametrize(
    ("fields", "since", "restarts", "container", "exit_code"),
    [
        # Ready since a minute, by its condition.
        ({"on": "n0"}, ago(60), 0, "", None),
        # It got its node ten minutes ago, was ready, and has not been for a minute.
        (
            {"on": "n0", "ready": False, "scheduled": a_condition("PodScheduled", since=ago(600))},
            *(ago(60), 0, "", None),
        ),
        # The scheduler has not reported yet, so the time is the creation of the pod.
        ({}, ago(600), 0, "", None),
        # Asked to go 7 s ago: deletionTimestamp is the end of the 30 s that it has.
        ({"on": "n0", "deleting_since": ago(-23), "grace_seconds": 30}, ago(7), 0, "", None),
        (
            {
                "on": "n0",
                "ready": False,
                "containers": (
                    a_container("sidecar", restarts=1),
                    _ended(137, state="waiting", reason="CrashLoopBackOff", restarts=4),
                ),
            },
            *(ago(60), 5, "main", 137),
        ),
        # It runs again, and its last end is still told.
        (
            {"on": "n0", "containers": (_ended(1, state="running", restarts=2),)},
            *(ago(60), 2, "main", 1),
        ),
        (
            {
                "phase": "Failed",
                "on": "n0",
                "ready": False,
                "containers": (
                    a_container("main", running=False, state="terminated", exit_code=3),
                ),
            },
            *(ago(60), 0, "main", 3),
        ),
    ],
)
def test_a_member_shows_when_and_how_its_container_ended(
    fields: dict[str, Any],
    since: datetime,
    restarts: int,
    container: str,
    exit_code: int | None,
) -> None:
    job = a_job(pods=1)
    (first,) = assess(gang(job, a_pod("p", of=job, **fields), nodes={"n0": a_node("n0")})).pods
    assert (first.since, first.restarts) == (since, restarts)
    assert (first.container, first.exit_code) == (container, exit_code)
