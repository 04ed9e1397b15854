"""`partly-admitted`: its queue admitted it with fewer pods than it asked for, and it was made so small.

It stands beside the verdict, because all pods of the present spec can run.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.queue_sentences import queue_text
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding where an entry of the owner was admitted with fewer pods."""
    gang = unit.gang
    entries = [one for one in gang.queue.entries if one.admitted and one.asked_pods]
    if not entries:
        return None
    given, asked = sum(one.admitted_pods for one in entries), sum(one.asked_pods for one in entries)
    return unit_finding(
        RULE,
        unit,
        f"{queue_text(gang, gang.queue)} admitted it with {given} of the {asked} pods that it asked for.",
        evidence=tuple(
            Evidence("pods admitted", f"{one.admitted_pods} of {one.asked_pods}", one.meta.ref)
            for one in entries
        ),
        named=False,
    )


RULE = UnitRule(
    "partly-admitted",
    Stage.RUN,
    "Admitted with fewer pods",
    96,
    find,
    health=Health.RUNNING,
    is_additional=True,
)
