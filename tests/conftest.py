"""Plugins that every tier may use. Each room's own fixtures live beside its tests."""

pytest_plugins = ["tests.tiers", "tests.services", "tests.controlplane.fixtures", "tests.browser"]
