"""Plugins that every tier may use. Each room's own fixtures live beside its tests."""

import gc
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from django.test import TransactionTestCase
from hypothesis import settings

from tests import random_sets
from tests.emptying import emptied_with_the_audit

pytest_plugins = [
    "tests.lanes",
    "tests.tiers",
    "tests.services",
    "tests.controlplane.fixtures",
    "tests.browser",
    "tests.live.made_ready",
    "tests.catalogue",
]

# `make bench` runs the time measurements, because a machine that also builds control planes is slow at times.
# The behaviour of a restored API server is known, so `make exhaustive` checks it for new releases.
collect_ignore = random_sets.sized(
    ["live/test_latency.py", "live/test_hundred_pages.py", "controlplane/test_restored.py"], []
)

# Tests that commit empty the tables afterwards, which the audit refuses.
TransactionTestCase._fixture_teardown = emptied_with_the_audit(  # type: ignore[attr-defined]
    TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]
)

# In CI hypothesis would always choose the same examples, for any seed.
settings.register_profile(
    random_sets.COMMIT, max_examples=50, deadline=None, derandomize=False, print_blob=True
)
settings.register_profile(
    random_sets.EXHAUSTIVE, settings.get_profile(random_sets.COMMIT), max_examples=400
)
settings.load_profile(random_sets.SIZE)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give hypothesis, which reads it next, the seed of this run."""
    config.option.hypothesis_seed = config.option.hypothesis_seed or random_sets.SEED


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude collected tests from garbage collection, because none of the nine thousand is garbage.

    Scanning them took more than a quarter of the collection time and a fifteenth of the test time, so the
    collector also runs less often.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session", autouse=True)
def static_files() -> Iterator[None]:
    """Read the static files once. Otherwise each new client of a test reads all of them, which takes 10 ms."""
    from gangboard.pages.core.middleware.static_files import StaticFilesMiddleware

    read = StaticFilesMiddleware.add_files_from_finders
    files: dict[str, Any] = {}

    def add(middleware: StaticFilesMiddleware) -> None:
        if not files:
            read(middleware)
            files.update(middleware.files)
        middleware.files.update(files)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StaticFilesMiddleware, "add_files_from_finders", add)
        yield


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the number of random examples and the command that repeats them."""
    terminalreporter.section("made up at random")
    terminalreporter.write_line(
        f"TESTS={random_sets.SIZE} --hypothesis-seed={config.option.hypothesis_seed}: "
        f"{settings().max_examples} examples of each property"
    )
