"""`mutual-deadlock`: two Jobs placed pod by pod, each with half of the nodes."""

from dataclasses import replace

from gangboard.domain.capacity import ClusterRoom, Load, Needs, Party, Resident
from gangboard.domain.facts import Unit
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.placement.members import shape_of
from tests.diagnosis.building import a_job
from tests.placement.making import GPU, node
from tests.rules.asking import first, found
from tests.rules.waiting import ask as asks
from tests.rules.waiting import plain, room_of, values

OWN = a_job("train").meta.ref
OTHER = ObjectRef("batch", "Job", "team-b", "eval", "uid-eval")


def resident(ref: ObjectRef, *nodes: str, waits: int, whole: bool = False) -> Resident:
    loads = {name: Load({GPU: 4}, 1) for name in nodes}
    party = Party(shape_of("eval", asks(4), Needs(), ()), waits)
    return Resident(ref.uid, ref, 0, loads, whole, (party,) if waits else ())


def halves(*, nodes: int = 4, other: Resident | None = None, used: tuple[str, ...] = ()) -> Unit:
    """`train` has n0 and n1 and wants two more; `eval` has n2 and n3 and wants two more."""
    own = resident(OWN, "n0", "n1", waits=2)
    rival = other or resident(OTHER, "n2", "n3", waits=2)
    taken = {*own.loads, *rival.loads, *used}
    room = room_of(
        *(node(f"n{index}", used=4 if f"n{index}" in taken else 0) for index in range(nodes)),
        residents=(own, rival),
    )
    return plain(4, asks(4), room, on=("n0", "n1"))


def test_each_holds_what_the_other_needs() -> None:
    unit = halves()
    finding = found("mutual-deadlock", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "team-a/train and team-b/eval each hold room that the other one needs, and neither is "
        "whole: 2 pods here and 2 pods there have a node, 2 and 2 wait."
    )
    both = [one.source for one in finding.evidence if one.label == "holds room without being whole"]
    assert both == [OWN, OTHER]
    assert values(finding, "scheduler says")
    assert first(unit) == "mutual-deadlock"


def test_the_other_one_is_whole() -> None:
    whole = resident(OTHER, "n2", "n3", waits=0, whole=True)
    assert first(halves(other=whole)) == "partly-placed"


def test_nobody_knows_what_the_other_one_waits_for() -> None:
    assert first(halves(other=resident(OTHER, "n2", "n3", waits=0))) == "partly-placed"


def test_the_other_one_waits_for_more_than_this_one_holds() -> None:
    """It would not fit either if this one let go: not a matter of the two."""
    assert first(halves(other=resident(OTHER, "n2", "n3", waits=3))) == "partly-placed"


def test_the_end_of_a_third_gang_helps() -> None:
    """Two more nodes are taken by somebody who is whole: when that ends, one of the two fits."""
    assert first(halves(nodes=6, used=("n4", "n5"))) == "partly-placed"


def test_nodes_that_were_not_read_prove_nothing() -> None:
    unit = halves()
    blind = ClusterRoom(why="pods: not read yet", residents=unit.facts.room.residents)
    assert first(plain(4, asks(4), blind, on=("n0", "n1"))) == "partly-placed"
    assert first(replace(unit, placing=None)) == "partly-placed"
