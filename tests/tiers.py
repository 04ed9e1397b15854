"""A pytest plugin: counts tests by tier, runs quick tiers first, and calls a skipped tier an error in CI.

In CI a failed test runs once more, because on a busy machine one of thousands can miss its deadline. The report
names each such test with its first error. More than a few of them fail the run, because a frequent race is a
defect.
"""

from __future__ import annotations

import os
import socket
from collections import Counter
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.lanes import is_lane, place_in_lanes
from tests.live.figures import TAKEN

TIERS = ("unit", "services", "production", "controlplane", "browser")
"""In the order in which they run: quick first."""

BUSY = "tests/scenarios/*"
"""Their gangs wait for ever on the shared control planes: 1.36.3 spends a core on one that does."""

SECOND_TRIES = 3
"""Tests that may need one in a whole run."""

SLOWEST = 30
"""Tests whose durations are printed at the end of a run, with setup and teardown."""
WORTH_TELLING = 1.0
"""Seconds; a test that took less is not among the slow ones, however few there are."""
_TOLD_AT_ONCE = 400
"""Characters."""

LONG_FILE = 10.0
"""Seconds; files that took less are not told of, lane by lane."""

_OWN_OBJECTS = "AlreadyExists"
"""An error without a second try: a set-up that failed left its objects, and each try of each test would meet them."""
_TIER = "tier"
"""The property of a test by which the process that tells of the run learns its tier."""
_FIGURES = "figures"
"""Key of the data that a lane returns at its end."""

_MEANINGS = {
    "unit": "units, pages, API and simulator",
    "services": "real Redis and PostgreSQL",
    "production": "the services of docker-compose.yml",
    "controlplane": "real control planes",
    "browser": "real browser",
}


def tier_of(item: pytest.Item) -> str:
    """Return the tier of a test: the dearest of its marks."""
    for tier in reversed(TIERS):
        if item.get_closest_marker(tier) is not None:
            return tier
    return "unit"


def _by_lane(span: tuple[tuple[str, str], tuple[float, float]]) -> tuple[str, float]:
    (lane, _), (started, _) = span
    return lane, started


class Tiers:
    """Counts outcomes and seconds by tier."""

    def __init__(self) -> None:
        self.tier_of: dict[str, str] = {}
        self.counts: dict[str, Counter[str]] = {tier: Counter() for tier in TIERS}
        self.skipped: list[str] = []
        """Node ids."""
        self.second_tries: dict[str, str] = {}
        """Node id → error of the first try."""
        self.complaints: list[str] = []
        """Why a run in CI is a failure although no test failed."""
        self.seconds: dict[str, float] = {}
        """By node id, with setting up and clearing away."""
        self.terminal: Any = None
        self.spans: dict[tuple[str, str], tuple[float, float]] = {}
        """(lane, file) → when its first test began and its last one ended, by the clock."""

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Take what prints. A lane has none."""
        if not is_lane(session.config):
            self.terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        elif _in_ci():
            _send_at_once(session.config)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Order by tier, stable within each. Tests that leave schedulers busy come last.

        In a run with lanes, waiting tests go first, while other lanes have enough work.
        """
        if is_lane(config):
            items.sort(key=place_in_lanes)
        else:
            items.sort(key=lambda item: (item.path.match(BUSY), TIERS.index(tier_of(item))))
        for item in items:
            item.user_properties.append((_TIER, tier_of(item)))
            if _in_ci():
                item.add_marker(pytest.mark.flaky(reruns=1, rerun_except=_OWN_OBJECTS))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count each test once, and all of its seconds."""
        took = self.seconds.get(report.nodeid, 0.0) + report.duration
        self.seconds[report.nodeid] = took
        tier = str(dict(report.user_properties)[_TIER])
        self.tier_of[report.nodeid] = tier
        if hasattr(report, "node"):  # set by pytest-xdist
            of = report.node.gateway.id, report.nodeid.partition("::")[0]
            started, _ = self.spans.get(of, (report.start, 0.0))
            self.spans[of] = started, report.stop
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]  # the plugin's own word
            self.second_tries[report.nodeid] = report.longreprtext
            self._tell_at_once(report)
        elif report.when == "call" or report.outcome != "passed":
            self.counts[tier][report.outcome] += 1
            if report.failed:
                self._tell_at_once(report)
            if report.outcome == "skipped":
                self.skipped.append(report.nodeid)

    def _tell_at_once(self, report: pytest.TestReport) -> None:
        """Print the result of a try during the run, so that failures of a long run show early."""
        crash = getattr(report.longrepr, "reprcrash", None)
        message = " ".join(str(getattr(crash, "message", "")).split())[:_TOLD_AT_ONCE]
        if self.terminal is not None:
            self.terminal.write_line(f"\n{report.nodeid} ({report.when}): {message}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the figures of a lane that has ended; one that crashed has none."""
        TAKEN.extend(getattr(node, "workeroutput", {}).get(_FIGURES, ()))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many tests of which tier ran, what took long, and the figures of the live ones."""
        if TAKEN:
            terminalreporter.section("figures")
            for line in TAKEN:
                terminalreporter.write_line(line)
        if self.second_tries:
            terminalreporter.section("tests that were tried twice")
            for name, message in self.second_tries.items():
                terminalreporter.write_line(f"{name}\n{message}\n")
        slow = [
            (name, seconds)
            for name, seconds in nlargest(SLOWEST, self.seconds.items(), key=itemgetter(1))
            if seconds >= WORTH_TELLING
        ]
        if slow:
            terminalreporter.section("slowest tests")
            for name, seconds in slow:
                terminalreporter.write_line(f"{seconds:7.1f} s  {name}")
        self._tell_lanes(terminalreporter)
        terminalreporter.section("tests by tier")
        for tier in TIERS:
            counts = self.counts[tier]
            took = sum(
                self.seconds.get(name, 0.0) for name, its in self.tier_of.items() if its == tier
            )
            terminalreporter.write_line(
                f"{tier:>13}: {counts['passed']} passed, {counts['failed']} failed, "
                f"{counts['skipped']} skipped, {took:.0f} s  ({_MEANINGS[tier]})"
            )
        if self.complaints:
            terminalreporter.section("why this run in CI is a failure")
            for complaint in self.complaints:
                terminalreporter.write_line(complaint)

    def _tell_lanes(self, terminalreporter: Any) -> None:
        """Print which lane ran which file when. The file that others wait for is at the end."""
        if not self.spans:
            return
        terminalreporter.section("lanes")
        first = min(started for started, _ in self.spans.values())
        for (lane, file), (started, ended) in sorted(self.spans.items(), key=_by_lane):
            if ended - started >= LONG_FILE:
                terminalreporter.write_line(
                    f"{lane} from {started - first:6.0f} s  {ended - started:6.1f} s  {file}"
                )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In CI no test may be skipped, and no tier may be empty in a full run."""
        if is_lane(session.config):
            session.config.workeroutput[_FIGURES] = TAKEN  # type: ignore[attr-defined]
        if is_lane(session.config) or not _in_ci():
            return
        complete = session.config.args in ([], ["tests"], [str(Path.cwd() / "tests")])
        empty = [tier for tier in TIERS if not self.counts[tier]["passed"]] if complete else []
        if self.skipped:
            self.complaints.append(f"In CI no test may be skipped: {', '.join(self.skipped)}")
        if empty:
            self.complaints.append(f"No test passed in these tiers: {', '.join(empty)}")
        if len(self.second_tries) > SECOND_TRIES:
            self.complaints.append(
                f"More than {SECOND_TRIES} tests were tried twice: {', '.join(self.second_tries)}"
            )
        if self.complaints:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _send_at_once(config: pytest.Config) -> None:
    """Have pytest-rerunfailures send the messages of a lane at once.

    For each test with a second try a lane sends two messages in a row, and waits for the answer to the second. The
    kernel kept that one back until it knew that the first had arrived, which took 40 ms.
    """
    connection: socket.socket = config.failures_db.sock  # type: ignore[attr-defined]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _in_ci() -> bool:
    return os.environ.get("CI") == "true"


def pytest_configure(config: pytest.Config) -> None:
    """Install the plugin."""
    config.pluginmanager.register(Tiers(), "gangboard-tiers")
