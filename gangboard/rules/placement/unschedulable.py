"""`unschedulable`: the scheduler finds no room, and no arithmetic says more than its own text.

The group's condition or a pod's says Unschedulable. Of a gang often only one pod carries the text
that tells why (`0/4 nodes are available: …`), the others repeat the group's; that one is quoted. At
its quorum a gang is past placement and this is silent.
"""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.progress import lacks_room
from gangboard.domain.reading.scheduler_text import Saying, best_saying, earliest, sayings
from gangboard.domain.reading.wording import count, names, sentence, shorten
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding while members that the unit needs are refused by the scheduler."""
    said = sayings(unit, "Unschedulable")
    if not said or not lacks_room(unit):
        return None
    best = best_saying(said)
    return unit_finding(
        RULE,
        unit,
        _message(unit, best),
        evidence=_evidence(unit, said, best),
        since=earliest(said),
    )


def _message(unit: Unit, best: Saying | None) -> str:
    number = len(unit.unplaced)
    pods = f"{number} of {unit.wanted} pods" if unit.placed else count(number, "pod")
    message = f"The scheduler finds no room for {pods}"
    if best is None:
        return f"{message}."
    # With topology a node count is that of one placement, not of the cluster (observed, 1.37.0).
    keys = unit.group.topology_keys if unit.group is not None else ()
    within = f" within one {names(keys)}" if keys else ""
    return sentence(f"{message}{within}: {shorten(best.text)}")


def _evidence(unit: Unit, said: tuple[Saying, ...], best: Saying | None) -> tuple[Evidence, ...]:
    found = [Evidence("pods placed", f"{len(unit.placed)} of {unit.wanted}", unit.owner.meta.ref)]
    if unit.quorum is not None and unit.group is not None:
        found.append(Evidence("quorum", str(unit.quorum), unit.group.meta.ref))
    if best is not None:
        found.append(Evidence("scheduler says", best.raw, best.source))
    of_group = [one for one in said if unit.group is not None and one.source == unit.group.meta.ref]
    found += [
        Evidence("scheduler says of the group", one.raw, one.source)
        for one in of_group
        if best is None or one.source != best.source
    ]
    return tuple(found)


RULE = UnitRule("unschedulable", Stage.PLACEMENT, "No room found", 90, find, health=Health.WAITING)
