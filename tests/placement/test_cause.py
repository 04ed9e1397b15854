"""Which code says why members have no node."""

from __future__ import annotations

from gangboard.placement.sentences.cause import placement_reason
from tests.rules import texts
from tests.rules.waiting_gangs import capacity_of as room_of
from tests.rules.waiting_gangs import cpu_node as big
from tests.rules.waiting_gangs import gang
from tests.rules.waiting_gangs import pod_requests as ask


def test_an_unreported_code_is_no_cause() -> None:
    """A new rule may ask before the sentences know its code. The result is empty, without a crash."""
    unit = gang(2, ask(cpu="6"), room_of(big("n0", used=4)), text=texts.GPU_SHORT)
    result = placement_reason(unit)
    assert result is not None
    assert placement_reason(unit, result.code) == result
    assert placement_reason(unit, "unlucky") is None
