"""Forecasts of Jobs and JobSets come true on other versions of Kubernetes, with gangs (1.36) and without (plain)."""

from __future__ import annotations

import pytest

from tests.check_manifests import CASES as OF_KINDS
from tests.controlplane.checks.cases import CASES as FURTHER
from tests.controlplane.checks.scene import assert_true, compare, prepared
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Fleets
from tests.random_sets import sized

pytestmark = [pytest.mark.controlplane, pytest.mark.django_db]

CASES = tuple(
    case
    for case in (*OF_KINDS, *FURTHER)
    if not case.queue and {item["kind"] for item in case.manifest} <= {"Job", "JobSet"}
)
STEP = sized(4, 2)
"""Each version takes every fourth case for a commit, and every second one in `make exhaustive`."""
MOST_WRONG = 0.1


def test_forecasts_of_jobs_come_true(
    controlplane_136: ControlPlane, controlplane_plain: ControlPlane, no_nodes: Fleets
) -> None:
    """No case is on both versions. On 1.37 with gangs `test_check_truth` has all of them."""
    with (
        prepared(controlplane_136, no_nodes(controlplane_136), CASES[0::STEP]) as gangs,
        prepared(controlplane_plain, no_nodes(controlplane_plain), CASES[1::STEP]) as plain,
    ):
        for compared in compare(gangs, plain):
            assert_true(compared, most_wrong=MOST_WRONG)
