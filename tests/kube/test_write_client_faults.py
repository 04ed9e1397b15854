"""Writes to a failing API server: the outcome in the error agrees with the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import KubeError, WriteOutcome
from gangboard.kube.write_client import WriteClient
from simulator import Simulator
from simulator.faults import Fault

JOB = "/apis/batch/v1/namespaces/team-nlp/jobs/llama-ft-driver-0"
SEEN = "example.com/seen"


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator("east", story=False) as running:
        yield running
        assert running.clock.errors == []


@pytest.fixture
def connection(simulator: Simulator) -> Iterator[Connection]:
    credentials = Credentials(simulator.url, ca_pem=simulator.authority, token=simulator.token)
    with Connection(credentials, connect_deadline=60.0, total_deadline=60.0) as opened:
        yield opened
    simulator.faults.clear()


def job(connection: Connection) -> Any:
    return json.loads(connection.get(JOB))


def annotate(connection: Connection, value: str, **settings: Any) -> KubeError:
    """Write an annotation while something is wrong."""
    body = json.dumps({"metadata": {"annotations": {SEEN: value}}}).encode()
    with pytest.raises(KubeError) as caught:
        WriteClient(connection).merge_patch(JOB, body, **settings)
    return caught.value


def arrived(connection: Connection, value: str) -> bool:
    return bool(job(connection)["metadata"].get("annotations", {}).get(SEEN) == value)


Plan = Callable[[Simulator], Fault]
CASES: list[tuple[str, Plan, str, WriteOutcome, bool]] = [
    (
        "reset-before",
        lambda s: s.faults.reset(verb="patch", count=1, applied=False),
        "broken-off",
        WriteOutcome.UNKNOWN,
        False,
    ),
    (
        "reset-after",
        lambda s: s.faults.reset(verb="patch", count=1),
        "broken-off",
        WriteOutcome.UNKNOWN,
        True,
    ),
    (
        "half-an-answer",
        lambda s: s.faults.truncated(verb="patch", count=1),
        "broken-off",
        WriteOutcome.UNKNOWN,
        True,
    ),
    (
        "page-before",
        lambda s: s.faults.html(verb="patch", count=1, applied=False),
        "not-json",
        WriteOutcome.UNKNOWN,
        False,
    ),
    (
        "page-after",
        lambda s: s.faults.html(verb="patch", count=1),
        "not-json",
        WriteOutcome.UNKNOWN,
        True,
    ),
    (
        "500-after",
        lambda s: s.faults.status(500, verb="write", count=1, applied=True),
        "server-error",
        WriteOutcome.UNKNOWN,
        True,
    ),
    (
        "500-before",
        lambda s: s.faults.status(500, verb="write", count=1),
        "server-error",
        WriteOutcome.UNKNOWN,
        False,
    ),
    (
        "503",
        lambda s: s.faults.status(503, verb="write", count=1),
        "server-error",
        WriteOutcome.UNKNOWN,
        False,
    ),
    (
        "504-after",
        lambda s: s.faults.status(504, verb="write", count=1, applied=True),
        "server-error",
        WriteOutcome.UNKNOWN,
        True,
    ),
    (
        "webhook-down",
        lambda s: s.faults.webhook_down(count=1),
        "server-error",
        WriteOutcome.ANSWERED,
        False,
    ),
    (
        "403",
        lambda s: s.faults.forbidden(verb="write", count=1),
        "forbidden",
        WriteOutcome.ANSWERED,
        False,
    ),
    (
        "409",
        lambda s: s.faults.status(409, verb="write", count=1),
        "conflict",
        WriteOutcome.ANSWERED,
        False,
    ),
    (
        "422",
        lambda s: s.faults.status(422, verb="write", count=1),
        "invalid",
        WriteOutcome.ANSWERED,
        False,
    ),
    (
        "429",
        lambda s: s.faults.throttled(7, verb="write", count=1),
        "throttled",
        WriteOutcome.ANSWERED,
        False,
    ),
]


@pytest.mark.parametrize(
    ("case", "plan", "code", "reach", "applied"), CASES, ids=[case[0] for case in CASES]
)
def test_a_fault_during_a_write_has_the_right_outcome(
    simulator: Simulator,
    connection: Connection,
    case: str,
    plan: Plan,
    code: str,
    reach: WriteOutcome,
    applied: bool,
) -> None:
    fault = plan(simulator)
    error = annotate(connection, case)
    assert (error.code, error.write_outcome) == (code, reach)
    assert fault.hits == 1
    assert arrived(connection, case) is applied


@pytest.mark.parametrize("applied", [True, False])
def test_a_hanging_server_leaves_the_outcome_unknown(
    simulator: Simulator, connection: Connection, applied: bool
) -> None:
    fault = simulator.faults.hang(verb="patch", count=1, applied=applied)
    error = annotate(connection, f"hang-{applied}", deadline=1.5)
    simulator.faults.remove(fault)
    assert (error.code, error.write_outcome) == ("timeout", WriteOutcome.UNKNOWN)
    assert fault.hits == 1
    assert arrived(connection, f"hang-{applied}") is applied


def test_a_refusal_by_the_store_can_be_lost(simulator: Simulator, connection: Connection) -> None:
    simulator.faults.reset(verb="patch", count=1)
    with pytest.raises(KubeError) as caught:
        WriteClient(connection).json_patch(
            JOB, [{"op": "test", "path": "/metadata/uid", "value": "another"}]
        )
    assert (caught.value.code, caught.value.write_outcome) == ("broken-off", WriteOutcome.UNKNOWN)


def test_every_answer_has_an_audit_id(simulator: Simulator, connection: Connection) -> None:
    body = b'{"metadata":{"labels":{"a":"b"}}}'
    answer = WriteClient(connection).merge_patch(JOB, body, dry_run=True)
    two = WriteClient(connection).merge_patch(JOB, body, dry_run=True)
    assert len({answer.audit_id, two.audit_id, ""}) == 3
    simulator.faults.forbidden(verb="write", count=1)
    assert annotate(connection, "never").audit_id
