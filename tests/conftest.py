"""Plugins that every tier may use. Each room's own fixtures live beside its tests."""

from hypothesis import settings

pytest_plugins = ["tests.tiers", "tests.services", "tests.controlplane.fixtures", "tests.browser"]

# No timed tests: a machine that also builds control planes is slow at times. The rest is as hypothesis
# chooses by itself, which in CI is the same examples every time.
settings.register_profile("unhurried", parent=settings.default, deadline=None)
settings.load_profile("unhurried")
