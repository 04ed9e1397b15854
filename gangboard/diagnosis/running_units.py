"""The one finding about all units that run, instead of one for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from gangboard.domain.text import all_of, is_or_are, sentence_case
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit

RUNNING = "running"


def running_finding(gang: Gang, running: Sequence[tuple[Unit, Finding]], total: int) -> Finding:
    """Return the one finding for the units that run, `total` being the number of all units."""
    first = running[0][1]
    if total == 1:
        return first
    units = [unit for unit, _ in running]
    ready = sum([len(unit.ready) for unit in units])
    wanted = sum([unit.wanted for unit in units])
    evidence = (
        Evidence("pods ready", str(ready), gang.owner.meta.ref),
        Evidence("pods asked for", str(wanted), gang.owner.meta.ref),
    )
    if len(units) == total:
        message = _all_run(ready, sum([unit.succeeded for unit in units]), wanted)
    else:
        run = "is" if len(units) == 1 else "are"
        message = f"{len(units)} of {total} {_noun(units)}s {run} whole."
    return replace(first, unit="", message=message, evidence=evidence, since=_since(running))


def _since(running: Sequence[tuple[Unit, Finding]]) -> datetime | None:
    """Return since when all of them run; None where one that is done may have begun after the others."""
    known = [(bool(unit.seats), one.since) for unit, one in running if one.since is not None]
    if len(known) < len(running):
        return None
    up = [at for is_up, at in known if is_up]
    last = max(at for _, at in known)
    return last if not up or last in up else None


def _all_run(ready: int, done: int, wanted: int) -> str:
    if not done:
        return f"{sentence_case(all_of(ready, 'pod'))} are ready."
    if not ready:
        return f"{sentence_case(all_of(done, 'pod'))} have succeeded."
    have = "has" if done == 1 else "have"
    return f"{ready} of {wanted} pods {is_or_are(ready)} ready, {done} {have} succeeded."


def _noun(units: Sequence[Unit]) -> str:
    nouns = {unit.noun for unit in units}
    return nouns.pop() if len(nouns) == 1 else "part"
