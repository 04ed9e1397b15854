"""`crash-loop`: captured on 1.37.0."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_container, a_group, a_job, a_pod, placed
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory

LOOP: dict[str, Any] = {
    "running": False,
    "state": "waiting",
    "reason": "CrashLoopBackOff",
    "message": "back-off 20s restarting failed container=main pod=train-0-kp96m_job-crash-loop(2)",
    "restarts": 2,
    "last_exit_code": 1,
    "last_reason": "Error",
}


def crashing(others: int = 0, **state: Any) -> Unit:
    job = a_job("train", pods=2 + others)
    container = a_container("main", **{**LOOP, **state})
    pods = [
        a_pod(f"train-{n}", of=job, on="n0", ready=False, containers=(container,)) for n in range(2)
    ]
    return unit_of(job, *pods, *[a_pod(f"up-{n}", of=job, on="n1") for n in range(others)])


def test_a_gang_without_running_members_is_blocked() -> None:
    finding = require_finding("crash-loop", crashing())
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "Container main of 2 pods keeps crashing: 2 restarts, last exit code 1 (Error)."
    )
    assert first_code(crashing()) == "crash-loop"


def test_out_of_memory_while_others_run() -> None:
    unit = crashing(others=2, restarts=5, last_exit_code=137, last_reason="OOMKilled")
    finding = require_finding("crash-loop", unit)
    assert finding.health is Health.DEGRADED
    assert finding.message == (
        "Container main of 2 pods keeps crashing: 5 restarts, last exit code 137 (OOMKilled)."
    )


def test_between_two_back_offs() -> None:
    state: dict[str, Any] = {
        "state": "terminated",
        "reason": "Error",
        "exit_code": 1,
        "message": "",
    }
    assert evaluate("crash-loop", crashing(**state)) is not None
    assert evaluate("crash-loop", crashing(**{**state, "restarts": 1})) is None
    assert (
        evaluate("crash-loop", crashing(**{**state, "reason": "Completed", "exit_code": 0})) is None
    )


def test_an_init_container_is_another_reason() -> None:
    assert first_code(crashing(init=True)) == "init-failing"


def test_a_container_that_was_restarted_and_runs() -> None:
    unit = crashing(state="running", reason="", message="", restarts=7)
    assert evaluate("crash-loop", unit) is None
    assert first_code(unit) == "starting"


def test_a_gang_that_ran_and_has_a_crashing_member_lost_it() -> None:
    job = a_job("train", pods=3, group_name="ring")
    group = a_group("ring", quorum=3, placed=placed())
    broken = a_pod(
        "train-2", of=job, group="ring", on="n0", ready=False, containers=(a_container(**LOOP),)
    )
    pods = [a_pod(f"train-{n}", of=job, group="ring", on="n1") for n in range(2)]
    unit = unit_of(job, group, broken, *pods, memory=whole_memory())
    assert first_code(unit) == "lost-members"
    assert evaluate("crash-loop", unit) is not None


def test_the_advice_shows_the_log_command() -> None:
    assert require_finding("crash-loop", crashing()).advice_texts == (
        "Read what it wrote last: kubectl logs -n team-a train-0 -c main --previous",
    )


def test_no_command_has_a_name_that_a_shell_would_run() -> None:
    job = a_job("train", pods=1)
    container = a_container("$(x)", **LOOP)
    unit = unit_of(job, a_pod("train-0", of=job, on="n0", ready=False, containers=(container,)))
    assert require_finding("crash-loop", unit).advice_texts == (
        "Read what container $(x) of pod train-0 wrote last.",
    )


def test_the_command_names_the_pod_that_crashed_most() -> None:
    job = a_job("train", pods=2)
    pods = [
        a_pod(
            f"train-{n}",
            of=job,
            on="n0",
            ready=False,
            containers=(a_container("main", **{**LOOP, "restarts": 3 + n}),),
        )
        for n in range(2)
    ]
    assert require_finding("crash-loop", unit_of(job, *pods)).advice_texts == (
        "Read what it wrote last: kubectl logs -n team-a train-1 -c main --previous",
    )


def test_logs_are_not_advised_after_out_of_memory() -> None:
    assert require_finding(
        "crash-loop", crashing(last_exit_code=137, last_reason="OOMKilled")
    ).advice_texts == ("Give container main more memory, or let it use less (needs re-creating).",)
