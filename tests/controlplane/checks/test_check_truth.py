"""Forecasts of all kinds come true on a real control plane with Kueue."""

from __future__ import annotations

import pytest

from tests.check_manifests import CASES as OF_KINDS
from tests.controlplane.checks.cases import CASES as FURTHER
from tests.controlplane.checks.scene import assert_true, compare, prepared
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Fleets

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]

CASES = (*OF_KINDS, *FURTHER)
MOST_WRONG = 0.05
"""Share of forecasts that may differ from the truth: 3 of 60."""


def test_forecasts_come_true(controlplane_kueue: ControlPlane, no_nodes: Fleets) -> None:
    assert len(CASES) >= 60
    client = no_nodes(controlplane_kueue)
    with prepared(controlplane_kueue, client, CASES) as scene:
        (compared,) = compare(scene)
        assert_true(compared, most_wrong=MOST_WRONG)
