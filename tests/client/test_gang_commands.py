"""`explain` and `wait`."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast

import pytest
from django.utils import timezone
from gangboard_client.schema import GangDetail, Job
from gangboard_client.waiting import judge, read_wanted

from gangboard.store.models import Cluster, Gang
from tests.api.conftest import Run as Runs
from tests.api.conftest import make_gang
from tests.client.conftest import FakeClock, Run

TRAIN = "east/team-a/JobSet/train-east-team-a"


def _set(**columns: object) -> None:
    Gang.objects.filter(name="train-east-team-a").update(**columns)


def test_explain_prints_the_reason_and_the_next_step(as_persona: Run) -> None:
    result = as_persona("reader", "explain", TRAIN)
    assert result.code == 1
    lines = result.out.splitlines()
    assert lines[0] == "JobSet train-east-team-a in namespace team-a of cluster east"
    assert lines[1].startswith("waiting for ")
    assert lines[1].endswith(": Fragmented (fragmented)")
    assert lines[2] == "train-east-team-a needs 8 GPUs on one node."
    assert lines[3] == "  Next: Drain node a (in cluster east): kubectl drain a"
    assert lines[4] == "        Or wait."
    assert "Pods: 0 of 8 ready, 8 created, 0 on nodes, 0 held" in lines
    assert [line.split()[0] for line in lines if line.startswith("train-workers")]


@pytest.mark.parametrize(
    ("health", "code"),
    [
        *(("running", 0), ("succeeded", 0)),
        *((health, 1) for health in ("failed", "blocked", "degraded", "waiting", "starting")),
        *(("suspended", 1), ("unknown", 2)),
    ],
)
def test_the_exit_code_is_the_health(as_persona: Run, health: str, code: int) -> None:
    _set(health=health)
    assert as_persona("reader", "explain", TRAIN, "-o", "json").code == code


def test_a_gang_of_a_silent_cluster_is_unknown(as_persona: Run) -> None:
    _set(health="running")
    Cluster.objects.update(contact_at=timezone.now() - timedelta(minutes=5))
    result = as_persona("reader", "explain", TRAIN)
    assert result.code == 2
    assert "does not answer now" in result.out


@pytest.mark.parametrize(
    "address", [TRAIN.lower(), TRAIN.replace("JobSet", "jobset.jobset.x-k8s.io")]
)
def test_a_kind_is_case_insensitive_and_may_have_a_group(as_persona: Run, address: str) -> None:
    assert as_persona("reader", "explain", address).code == 1


def test_two_groups_with_one_kind_are_distinguished(as_persona: Run) -> None:
    make_gang("east", "team-a", "twin", kind="Job", api_group="batch")
    make_gang("east", "team-a", "twin-b", kind="Job", api_group="batch.volcano.sh")
    Gang.objects.filter(name="twin-b").update(name="twin")
    result = as_persona("reader", "explain", "east/team-a/Job/twin")
    assert result.code == 2
    assert "write east/team-a/Job.batch/twin or east/team-a/Job.batch.volcano.sh/twin" in result.err
    assert as_persona("reader", "explain", "east/team-a/Job.batch/twin").code == 1


@pytest.mark.parametrize(
    "address", ["east/team-b/JobSet/train-east-team-b", "east/team-a/JobSet/no"]
)
def test_missing_and_forbidden_are_the_same(as_persona: Run, address: str) -> None:
    result = as_persona("reader", "explain", address)
    _, namespace, kind, name = address.split("/")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"gangboard: There is no {kind} {name} in namespace {namespace} of cluster east, "
        "or you may not see it.\n"
    )


@pytest.mark.parametrize("address", ["train", "a/b/c", "a/b/c/d/e", "a//JobSet/x"])
def test_an_address_has_four_names(as_persona: Run, address: str) -> None:
    result = as_persona("reader", "explain", address)
    assert result.code == 2
    assert "is not CLUSTER/NAMESPACE/KIND[.GROUP]/NAME" in result.err


def test_a_deleted_gang_is_reported_as_deleted(as_persona: Run) -> None:
    _set(gone_at=timezone.now() - timedelta(minutes=5, seconds=20))
    result = as_persona("reader", "explain", TRAIN)
    assert result.code == 2
    assert "It was deleted 5m ago." in result.out


# --- wait


def test_wait_ends_when_it_runs(as_persona: Run, fake_clock: FakeClock) -> None:
    fake_clock.then = [lambda: _set(health="starting"), lambda: _set(health="running")]
    result = as_persona("reader", "wait", TRAIN, "--for", "running", "--timeout", "1m")
    assert result.code == 0
    assert result.out.startswith("JobSet train-east-team-a is running: ")
    assert [line.split()[3] for line in result.err.splitlines()] == ["waiting:", "starting:"]
    assert fake_clock.slept == [2.0, 2.0]


def test_wait_ends_at_its_timeout(as_persona: Run, fake_clock: FakeClock) -> None:
    result = as_persona("reader", "wait", TRAIN, "--timeout", "5s", "-o", "json")
    assert result.code == 1
    assert sum(fake_clock.slept) == 5
    assert result.err.endswith("Time is up after 5s.\n")
    assert json.loads(result.out)["health"] == "waiting"


def test_wait_ends_at_another_final_state(as_persona: Run, fake_clock: FakeClock) -> None:
    _set(health="failed")
    assert as_persona("reader", "wait", TRAIN, "--for", "succeeded").code == 1
    assert as_persona("reader", "wait", TRAIN, "--for", "succeeded,failed").code == 0
    assert fake_clock.slept == []


def test_an_unknown_state_meets_no_condition(as_persona: Run, fake_clock: FakeClock) -> None:
    _set(health="running")
    Cluster.objects.update(contact_at=timezone.now() - timedelta(minutes=5))
    result = as_persona("reader", "wait", TRAIN, "--timeout", "4s")
    assert result.code == 2
    assert "is not known now" in result.err


def test_wait_covers_a_gang_not_created_yet(as_persona: Run, fake_clock: FakeClock) -> None:
    fake_clock.then = [lambda: make_gang("east", "team-a", "late", health="running")]
    assert as_persona("reader", "wait", "east/team-a/JobSet/late").code == 0
    never = as_persona("reader", "wait", "east/team-a/JobSet/never", "--timeout", "3s")
    assert never.code == 2


def test_wait_ends_when_the_gang_is_deleted(as_persona: Run, fake_clock: FakeClock) -> None:
    fake_clock.then = [lambda: _set(gone_at=timezone.now())]
    result = as_persona("reader", "wait", TRAIN)
    assert result.code == 1
    assert result.out == "JobSet train-east-team-a was deleted; it was waiting before.\n"
    assert as_persona("reader", "wait", "east/team-a/JobSet/gone", "--timeout", "1s").code == 2


def test_a_wrong_state_is_refused(as_persona: Run) -> None:
    result = as_persona("reader", "wait", TRAIN, "--for", "done")
    assert result.code == 2
    assert "'done' is none of failed, blocked," in result.err
    assert as_persona("reader", "wait", TRAIN, "--job", "x").code == 2


def _job(name: str, *, held: bool, suspended: bool, finished: str | None = None) -> Job:
    return {"name": name, "held": held, "suspended": suspended, "finished": finished}  # type: ignore[typeddict-item]  # the fields that are looked at


def _gang(*jobs: Job) -> GangDetail:
    fields: Any = {"kind": "JobSet", "name": "x", "health": "degraded", "message": "…"}
    return cast("GangDetail", {**fields, "gone_at": None, "stale": False, "jobs": list(jobs)})


@pytest.mark.parametrize(
    ("jobs", "job", "code"),
    [
        ((_job("a", held=True, suspended=True), _job("b", held=False, suspended=False)), "a", 0),
        ((_job("a", held=True, suspended=True), _job("b", held=False, suspended=False)), "b", None),
        ((_job("a", held=True, suspended=True), _job("b", held=False, suspended=False)), "", None),
        ((_job("a", held=True, suspended=True),), "", 0),
        ((_job("a", held=True, suspended=False),), "", None),
        ((_job("a", held=False, suspended=True),), "", None),
        (
            (
                _job("a", held=True, suspended=True),
                _job("b", held=False, suspended=False, finished="succeeded"),
            ),
            "",
            0,
        ),
        ((), "", None),
    ],
)
def test_held_is_suspended_by_a_hold(jobs: tuple[Job, ...], job: str, code: int | None) -> None:
    assert judge(_gang(*jobs), wanted=read_wanted("held"), job=job).code == code


def test_wait_covers_a_job_by_name(
    as_persona: Run, runs: dict[str, Runs], fake_clock: FakeClock
) -> None:
    names = ("--for", "held", "--job", "run-workers-9", "--timeout", "2s")
    result = as_persona("reader", "wait", "east/team-a/JobSet/run", *names)
    assert result.code == 2
    assert "has no Job run-workers-9 now" in result.err
