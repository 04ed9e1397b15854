"""Constructors of findings, with the code, stage and title of their rule."""

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

    `health` and `stage` default to those of the rule. Pass `stage` if the gang is shown in a stage other than the one
    in which the rule runs. Pass `named=False` for a sentence that names its subject.
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
    """Return the finding `starting` in the rule's stage, for a state that is too young to judge."""
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
    """Return whether a sentence has a name, but not as a part of a longer name.

    It uses no regular expression, because each gang would compile one for each name.
    """
    index = message.find(name)
    while index >= 0:
        before, after = message[index - 1 : index], message[index + len(name) :][:2]
        continues = _is_name_character(after[:1]) or (
            after[:1] == "." and _is_name_character(after[1:])
        )
        if not (_is_name_character(before) or before == "." or continues):
            return True
        index = message.find(name, index + 1)
    return False


def _is_name_character(character: str) -> bool:
    return character.isalnum() or character in ("_", "-")


def scope(unit: Unit) -> str:
    """Return `Job run-workers-1: ` for a unit that is a part of its gang.

    Empty for a gang of one unit, because the sentence is about the whole gang.
    """
    if unit.desired >= unit.owner.desired:
        return ""
    return f"{unit.noun[:1].upper()}{unit.noun[1:]} {unit.name}: "
