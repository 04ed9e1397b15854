"""`init-failing`: captured on 1.37.0 as CrashLoopBackOff of the init container `setup`."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_container, a_job, a_pod
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def initialising(others: int = 0, **setup: Any) -> Unit:
    job = a_job("train", pods=2 + others)
    defaults = {
        "state": "waiting",
        "reason": "CrashLoopBackOff",
        "restarts": 2,
        "last_exit_code": 1,
        "last_reason": "Error",
        **setup,
    }
    containers = (
        a_container("main", running=False, state="waiting", reason="PodInitializing"),
        a_container("setup", init=True, running=False, **defaults),
    )
    fields: dict[str, Any] = {"phase": "Pending", "ready": False, "containers": containers}
    pods = [a_pod(f"train-{n}", of=job, on="n0", **fields) for n in range(2)]
    return unit_of(job, *pods, *[a_pod(f"up-{n}", of=job, on="n1") for n in range(others)])


def test_a_repeated_init_failure_is_blocked() -> None:
    finding = require_finding("init-failing", initialising())
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "2 2 1"
    assert first_code(initialising()) == "init-failing"


def test_a_first_init_failure_names_the_exit_code() -> None:
    unit = initialising(state="terminated", reason="Error", exit_code=3, restarts=0)
    assert require_finding("init-failing", unit).message == (
        "Init container setup of 2 pods failed: exit code 3 (Error)."
    )


def test_a_gang_with_running_members_is_degraded() -> None:
    assert require_finding("init-failing", initialising(others=1)).health is Health.DEGRADED


def test_finished_and_running_init_containers_have_not_failed() -> None:
    done: dict[str, Any] = {
        "state": "terminated",
        "reason": "Completed",
        "exit_code": 0,
        "restarts": 0,
    }
    assert evaluate("init-failing", initialising(**done)) is None
    assert first_code(initialising(state="running", reason="", restarts=0)) == "starting"


def test_the_advice_shows_the_log_command() -> None:
    assert require_finding("init-failing", initialising()).advice_texts == (
        "Read what it wrote last: kubectl logs -n team-a train-0 -c setup --previous",
    )
    once = initialising(state="terminated", reason="Error", exit_code=3, restarts=0)
    assert require_finding("init-failing", once).advice_texts == (
        "Read what it wrote last: kubectl logs -n team-a train-0 -c setup",
    )
