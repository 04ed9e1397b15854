"""`faults` of each kind: the field of the fault, and none for a near miss."""

from __future__ import annotations

import pytest

from gangboard.plugins import registry
from tests.owners.expansion import context
from tests.owners.refused_manifests import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_field_of_a_fault(case: Case) -> None:
    group = case.manifest["apiVersion"].rpartition("/")[0]
    kind = registry.owner_kind(group, case.manifest["kind"])
    assert kind is not None
    fields = {fault.field for fault in kind.faults(case.manifest, context())}
    assert fields == ({case.field} if case.field else set())
