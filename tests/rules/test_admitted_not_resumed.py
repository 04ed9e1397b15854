"""`queue-evaluating` after admission: no kind stays suspended for long."""

from __future__ import annotations

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.registry import owner_kinds
from tests.domain_objects import a_meta, ago, an_entry, facts_of


@pytest.mark.parametrize(
    "kind",
    [item for item in owner_kinds() if item.levers and item.stands_alone],
    ids=lambda kind: kind.resource.kind,
)
@pytest.mark.parametrize(
    ("seconds", "health"), [(60, Health.WAITING), (2400, Health.BLOCKED)], ids=["young", "old"]
)
def test_no_kind_is_left_suspended_for_long(kind: OwnerKind, seconds: int, health: Health) -> None:
    """An admitted owner of any kind that its queue does not resume."""
    meta = a_meta(kind.resource.group, kind.resource.kind, "run", created_at=ago(7200))
    owner = Owner(meta=meta, suspended=True, queue="lq", desired=2)
    entry = an_entry(owner, queue="lq", admitted=True, admitted_at=ago(seconds))
    finding = assess(facts_of(owner, entry, queue_visibility="served")).finding
    assert (finding.code, finding.health) == ("queue-evaluating", health)
    assert bool(finding.advice) is (health is Health.BLOCKED)
