"""The same poll and the same Board on each broker and each database.

For every commit only on PostgreSQL and files. Most other tests of a whole gangboard run on SQLite and files,
`test_redis_gone` on SQLite and Redis, and `tests/production` on PostgreSQL and Redis. `make exhaustive` tries all four.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import urllib3

from simulator import Simulator
from tests.controlplane.client import PATIENCE
from tests.installation import Installation
from tests.live.figures import tell
from tests.live.poll_worker import wait_until
from tests.random_sets import sized
from tests.sign_in import sign_in

pytestmark = pytest.mark.slow

CHANGE_SECONDS = 5.0


_ALWAYS = [pytest.param(("postgres",), id="postgres-files", marks=pytest.mark.services)]
_EXHAUSTIVE = [
    pytest.param((), id="sqlite-files"),
    pytest.param(("redis",), id="sqlite-redis", marks=pytest.mark.services),
    pytest.param(("redis", "postgres"), id="postgres-redis", marks=pytest.mark.services),
]


@pytest.fixture(params=_ALWAYS + sized([], _EXHAUSTIVE))
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    """Environment with the addresses of the database and the broker."""
    variables = {}
    if "redis" in request.param:
        # Orders of another test are not for us: one of the server's databases for each.
        number = 2 if "postgres" in request.param else 1
        variables["REDIS_URL"] = (
            request.getfixturevalue("redis_url").rpartition("/")[0] + f"/{number}"
        )
    if "postgres" in request.param:
        variables["DATABASE_URL"] = request.getfixturevalue("postgres_url")
    return variables


def test_each_backend_serves_the_fleet_and_a_change(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with Simulator("east", story=False) as simulator:
        kubeconfig = tmp_path / "east.kubeconfig"
        kubeconfig.write_text(simulator.kubeconfig_text())
        with Installation({"east": kubeconfig}, environment=environment) as installation:
            expected = simulator.expected()
            _wait_for_verdicts(installation, expected)
            _judge_board(installation, expected)
            seconds = _change(installation, simulator)
            folder = installation.folder
            assert (folder / "broker").exists() == ("REDIS_URL" not in environment)
            assert (folder / "gangboard.sqlite3").exists() == ("DATABASE_URL" not in environment)
            tell(f"{environment or 'SQLite and files'}: a change came after {seconds:.2f} s")


def _codes(installation: Installation) -> dict[tuple[str, str, str], str]:
    gangs = installation.gangs()
    codes = {(gang["namespace"], gang["kind"], gang["name"]): gang["code"] for gang in gangs}
    assert len(codes) == len(gangs), "each gang once"
    return codes


def _wait_for_verdicts(
    installation: Installation, expected: dict[tuple[str, str, str], str]
) -> None:
    """Wait until every gang of the script has its code. The last read reports the differences."""

    def differing() -> dict[tuple[str, str, str], tuple[str | None, str]]:
        codes = _codes(installation)
        pairs = {key: (codes.get(key), code) for key, code in expected.items()}
        return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}

    try:
        wait_until(lambda: not differing(), PATIENCE, "every verdict of the fleet")
    except AssertionError:
        assert differing() == {}, "(found, expected)"


def _judge_board(installation: Installation, expected: dict[tuple[str, str, str], str]) -> None:
    """Every gang of the script is on the Board of an administrator who follows the link."""
    cookie = sign_in(installation.sign_in_link())
    rows: set[tuple[str, str]] = set()
    path = "/?show_finished=1"
    with urllib3.PoolManager(headers={"Cookie": cookie}, retries=False) as pool:
        while path:
            answer = pool.request("GET", f"{installation.url}{path}", redirect=False, timeout=20)
            assert answer.status == 200, answer.data[:300]
            page = answer.data.decode()
            rows |= set(re.findall(_ROW, page))
            following = re.search(r'href="([^"]*[?&]cursor=[^"]*)"', unescape(page))
            path = following.group(1) if following else ""
    assert {(kind, name) for _, kind, name in expected} - {(k, n) for n, k in rows} == set()


_ROW = r'<a href="/gangs/[^"]+"[^>]*>([^<]+)</a><span class="soft"[^>]*><span class="gang-kind">(\w+) ·'


def _change(installation: Installation, simulator: Simulator) -> float:
    """Suspend a running Job. Return the seconds until the API shows it."""
    namespace, _, name = next(
        key for key, code in simulator.expected().items() if code == "running" and key[1] == "Job"
    )

    def suspend(job: dict[str, Any]) -> None:
        job["spec"]["suspend"] = True

    simulator.objects.update("batch/v1", "Job", name, suspend, namespace)
    return wait_until(
        lambda: _codes(installation)[namespace, "Job", name] == "suspended",
        CHANGE_SECONDS,
        "the change",
    )
