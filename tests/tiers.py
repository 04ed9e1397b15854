"""A pytest plugin: counts tests by tier, runs quick tiers first, and calls a skipped tier an error in CI."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.live.figures import TAKEN

TIERS = ("unit", "services", "controlplane", "browser")
"""In the order in which they run: quick first."""

_MEANINGS = {
    "unit": "units, pages, API and simulator",
    "services": "real Redis and PostgreSQL",
    "controlplane": "real control planes",
    "browser": "real browser",
}


def tier_of(item: pytest.Item) -> str:
    """Return the tier of a test: the dearest of its marks."""
    for tier in reversed(TIERS):
        if item.get_closest_marker(tier) is not None:
            return tier
    return "unit"


class Tiers:
    """Counts outcomes by tier."""

    def __init__(self) -> None:
        self.tier_of: dict[str, str] = {}
        self.counts: dict[str, Counter[str]] = {tier: Counter() for tier in TIERS}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Order by tier, keeping the order inside each."""
        items.sort(key=lambda item: TIERS.index(tier_of(item)))
        self.tier_of = {item.nodeid: tier_of(item) for item in items}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count each test once."""
        if report.when == "call" or report.outcome != "passed":
            tier = self.tier_of.get(report.nodeid, "unit")
            self.counts[tier][report.outcome] += 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many tests of which tier ran, and the figures of the live ones."""
        if TAKEN:
            terminalreporter.section("figures")
            for line in TAKEN:
                terminalreporter.write_line(line)
        terminalreporter.section("tests by tier")
        for tier in TIERS:
            counts = self.counts[tier]
            terminalreporter.write_line(
                f"{tier:>13}: {counts['passed']} passed, {counts['failed']} failed, "
                f"{counts['skipped']} skipped  ({_MEANINGS[tier]})"
            )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In CI nothing may be left out, and no tier may be empty on a whole run."""
        if os.environ.get("CI") != "true":
            return
        skipped = sum(counts["skipped"] for counts in self.counts.values())
        whole = session.config.args in ([], ["tests"], [str(Path.cwd() / "tests")])
        empty = [tier for tier in TIERS if not self.counts[tier]["passed"]] if whole else []
        if skipped or empty:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    """Install the plugin."""
    config.pluginmanager.register(Tiers(), "gangboard-tiers")
