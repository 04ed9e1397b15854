"""Plugins that every tier may use. Each room's own fixtures live beside its tests."""

from django.test import TransactionTestCase
from hypothesis import settings

from tests.emptying import emptied_with_the_audit

pytest_plugins = ["tests.tiers", "tests.services", "tests.controlplane.fixtures", "tests.browser"]

# Tests that commit empty the tables afterwards, which the audit refuses.
TransactionTestCase._fixture_teardown = emptied_with_the_audit(  # type: ignore[attr-defined]
    TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]
)

# No timed tests: a machine that also builds control planes is slow at times. The rest is as hypothesis
# chooses by itself, which in CI is the same examples every time.
settings.register_profile("unhurried", parent=settings.default, deadline=None)
settings.load_profile("unhurried")
