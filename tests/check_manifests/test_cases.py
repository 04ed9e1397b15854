"""The cases of the truth test are complete, and each makes pods without a fault."""

from __future__ import annotations

from collections import Counter

import pytest

from gangboard.owners.trainjob.runtime import RUNTIMES
from gangboard.plugins import registry
from tests.check_manifests import CASES, TruthCase
from tests.decode.reading import model
from tests.owners.expansion import context, expand

WITHOUT_PODS = ("truth-suspended", "truth-no-pods")


def test_the_names_are_unique_and_short() -> None:
    names = Counter(case.name for case in CASES)
    assert max(names.values()) == 1
    assert len(CASES) >= 60
    assert max(map(len, names)) <= 50


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_makes_pods_without_a_fault(case: TruthCase) -> None:
    runtimes = [
        model(RUNTIMES[0], {**obj, "metadata": {**obj["metadata"], "uid": "u"}})
        for obj in case.before
        if obj["kind"] == RUNTIMES[0].kind
    ]
    given = context("podgroups.scheduling.k8s.io/v1beta1", blueprints=runtimes)
    pods = 0
    for obj in case.manifest:
        assert obj["metadata"]["namespace"] == case.name
        made = expand(obj, given)
        pods += len(made.pods)
        kind = registry.owner_kind(obj["apiVersion"].rpartition("/")[0], obj["kind"])
        assert kind is None or list(kind.faults(obj, given)) == []
    assert bool(pods) == (case.name not in WITHOUT_PODS)
