"""How a rule says what it found: its own words filled in, the rest given."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gangboard.domain.advice import AdvisedStep, advised_steps
from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import GangRule, UnitRule


def gang_finding(
    rule: GangRule,
    health: Health,
    message: str,
    *,
    advice: Iterable[AdvisedStep | str] = (),
    evidence: tuple[Evidence, ...] = (),
    recheck_at: datetime | None = None,
    since: datetime | None = None,
) -> Finding:
    """Return the finding of a rule about the whole gang."""
    return Finding(
        code=rule.code,
        health=health,
        stage=rule.stage,
        title=rule.title,
        message=message,
        advice=advised_steps(advice),
        evidence=evidence,
        recheck_at=recheck_at,
        since=since,
    )


def unit_finding(
    rule: UnitRule,
    unit: Unit,
    message: str,
    *,
    health: Health | None = None,
    advice: Iterable[AdvisedStep | str] = (),
    evidence: tuple[Evidence, ...] = (),
    symptom: bool = False,
    recheck_at: datetime | None = None,
    since: datetime | None = None,
    named: bool = True,
    stage: Stage | None = None,
) -> Finding:
    """Return the finding of a rule about one unit, with the unit's name before the sentence.

    `health` is the rule's own unless given. `named=False` for a sentence that says by itself of what it is.
    `stage` is the rule's own, which says when the rule is asked, unless the gang is shown in another one.
    """
    return Finding(
        code=rule.code,
        health=health or rule.health or Health.UNKNOWN,
        stage=stage or rule.stage,
        title=rule.title,
        message=_scoped(unit, message) if named else message,
        unit=unit.name,
        advice=advised_steps(advice),
        evidence=evidence,
        symptom=symptom,
        recheck_at=recheck_at,
        since=since,
    )


def starting_finding(
    rule: UnitRule,
    unit: Unit,
    message: str,
    *,
    evidence: tuple[Evidence, ...] = (),
    recheck_at: datetime | None = None,
    since: datetime | None = None,
) -> Finding:
    """Return the finding `starting` in the rule's stage: what it judges is too young to judge."""
    return Finding(
        code="starting",
        health=Health.STARTING,
        stage=rule.stage,
        title="Starting",
        message=_scoped(unit, message),
        unit=unit.name,
        evidence=evidence,
        recheck_at=recheck_at,
        since=since,
    )


def _scoped(unit: Unit, message: str) -> str:
    """Put the unit's name before a sentence that does not name it."""
    return message if _names(message, unit.name) else f"{scope(unit)}{message}"


def _names(message: str, name: str) -> bool:
    """Whether a name stands in a sentence, and not as a part of a longer one.

    Not by a pattern: one for each name would be compiled for each gang.
    """
    at = message.find(name)
    while at >= 0:
        before, after = message[at - 1 : at], message[at + len(name) :][:2]
        goes_on = _is_of_a_name(after[:1]) or (after[:1] == "." and _is_of_a_name(after[1:]))
        if not (_is_of_a_name(before) or before == "." or goes_on):
            return True
        at = message.find(name, at + 1)
    return False


def _is_of_a_name(character: str) -> bool:
    return character.isalnum() or character in ("_", "-")


def scope(unit: Unit) -> str:
    """Return `Job run-workers-1: ` where the unit is a part of its gang, else nothing.

    A gang of one unit needs no such word: the sentence is about all of it.
    """
    if unit.desired >= unit.owner.desired:
        return ""
    return f"{unit.noun[:1].upper()}{unit.noun[1:]} {unit.name}: "
