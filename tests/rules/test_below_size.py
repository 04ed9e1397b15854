"""`below-size`: captured on 1.37.0 as `job-at-quorum` (a gang of 2 with 6 pods, 4 fit)."""

import pytest

from gangboard.domain.advice import AdviceKind
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.facts.copied_commands import look_at_unready
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    Made,
    a_group,
    a_job,
    a_node,
    a_pod,
    ago,
    an_event,
    placed,
    pods_of,
)
from tests.placement.making import node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.rules.waiting_gangs import capacity_of, pod_requests
from tests.rules.waiting_gangs import gang as waiting_gang
from tests.sentence_values import values_in


def at_quorum(*rest: Made, quorum: int | None = 2) -> Unit:
    job = a_job("train", pods=6, group_name="ring")
    group = a_group("ring", quorum=quorum, placed=placed())
    return unit_of(job, group, *pods_of(job, 4, on="n0"), *rest)


REFUSED = [a_pod(f"x{n}", group="ring", text=texts.GPU_SHORT) for n in range(2)]


def test_four_of_six_at_a_quorum_of_two() -> None:
    finding = require_finding("below-size", at_quorum(*REFUSED))
    assert finding.health is Health.DEGRADED
    assert values_in(finding.message) == "4 6 2 2 4 nvidia.com/gpu"
    assert [item.value for item in finding.evidence] == ["4 of 6", "2", texts.GPU_SHORT]
    assert first_code(at_quorum(*REFUSED)) == "below-size"


def test_a_member_on_a_silent_node() -> None:
    silent = a_pod("x", group="ring", on="n1", ready=False)
    unit = at_quorum(silent, a_pod("y", group="ring", on="n0"), a_node("n1", ready=None))
    finding = require_finding("below-size", unit)
    assert values_in(finding.message) == "5 6 2 1"
    (read,) = finding.advice
    assert read.kind is AdviceKind.LOOK
    assert read.command == ("kubectl", "describe", "pods", "-n", "team-a", "x")


@pytest.mark.parametrize(
    ("names", "text", "described"),
    [
        ("ab", "Check why pods a and b are not ready.", 2),
        ("abc", "Check why pods a, b and c are not ready.", 3),
        ("abcde", "Check why pods a, b and 3 more are not ready.", 3),
        (["a", "$(reboot)"], "Check why pods $(reboot) and a are not ready.", 0),
    ],
)
def test_pods_to_look_at_are_named(names: list[str], text: str, described: int) -> None:
    (step,) = look_at_unready(ObjectRef("", "Pod", "team-a", name, name) for name in names)
    assert step.text == text
    assert len(step.command) == (5 + described if described else 0)


def test_full_size_or_below_the_quorum() -> None:
    complete = [a_pod(f"x{n}", group="ring", on="n0") for n in range(2)]
    assert first_code(at_quorum(*complete)) == "running"
    assert evaluate("below-size", at_quorum(*REFUSED, quorum=5)) is None


def test_a_basic_group_has_no_quorum() -> None:
    assert first_code(at_quorum(*REFUSED, quorum=None)) == "partly-placed"


def test_young_members_are_growth() -> None:
    young = [a_pod(f"x{n}", group="ring", on="n0", ready=False, created_at=ago(9)) for n in (0, 1)]
    assert first_code(at_quorum(*young)) == "resizing"


def test_a_shortage_of_the_remaining_pods_is_explained() -> None:
    """job-at-quorum as captured on 1.37.0: two of six find no room, the quorum is two."""
    room = capacity_of(*(node(f"n{index}", used=4) for index in range(4)))
    unit = waiting_gang(6, pod_requests(4), room, quorum=2, on=("n0", "n1", "n2", "n3"))
    assert require_finding("below-size", unit).message == (
        "4 of 6 members run (quorum 2). 2 pods need 8 GPUs, and none is free on the 4 usable nodes."
    )


def test_creation_of_the_remaining_pods_is_refused() -> None:
    """Two of two are used, and two of six pods lack."""
    job = a_job("train", pods=6, group_name="ring")
    event = an_event(job, "FailedCreate", texts.QUOTA, last_seen=ago(5))
    group = a_group("ring", quorum=2, placed=placed())
    unit = unit_of(job, group, event, *pods_of(job, 4, on="n0"))
    assert values_in(*require_finding("below-size", unit).advice_texts) == "2"
