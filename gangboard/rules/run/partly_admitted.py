"""`partly-admitted`: the queue admitted the owner with fewer pods than requested, and the owner was scaled down.

The finding adds to the verdict, because all pods of the present spec can run.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.queue_sentences import queue_text
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding if an entry of the owner was admitted with fewer pods."""
    gang = unit.gang
    entries = [entry for entry in gang.queue.entries if entry.admitted and entry.asked_pods]
    if not entries:
        return None
    admitted = sum(entry.admitted_pods for entry in entries)
    requested = sum(entry.asked_pods for entry in entries)
    return unit_finding(
        RULE,
        unit,
        f"{queue_text(gang, gang.queue)} admitted it with {admitted} of the {requested} pods that it requested.",
        evidence=tuple(
            Evidence(
                "pods admitted", f"{entry.admitted_pods} of {entry.asked_pods}", entry.meta.ref
            )
            for entry in entries
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
