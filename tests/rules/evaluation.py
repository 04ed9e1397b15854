"""How tests evaluate rules: one rule for one unit, or all rules in the order of the engine."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from gangboard.domain.health import Stage
from gangboard.domain.verdict import Finding, UnitMemory
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from gangboard.plugins.reasons import gang_rules, rules, unit_rules
from gangboard.plugins.rule import GangRule, UnitRule
from tests.domain_objects import Made, a_unit, ago, facts_of

Rule = TypeVar("Rule", GangRule, UnitRule)


def rule_with_code(code: str, judged_at: type[Rule]) -> Rule:
    """Return the gang rule or unit rule with that code."""
    return next(rule for rule in rules() if rule.code == code and isinstance(rule, judged_at))


def evaluate_gang(code: str, facts: Gang) -> Finding | None:
    rule = rule_with_code(code, GangRule)
    return rule.find(facts)


def evaluate(code: str, unit: Unit) -> Finding | None:
    rule = rule_with_code(code, UnitRule)
    finding = rule.find(unit)
    if finding is not None:
        # The rule runs in stage admission, and its finding has the stage of the other Jobs.
        assert finding.stage is (Stage.RUN if code == "job-suspended" else rule.stage)
        assert finding.unit == unit.name
        assert finding.code in (code, "starting")
    return finding


def require_finding(code: str, unit: Unit) -> Finding:
    finding = evaluate(code, unit)
    assert finding is not None
    return finding


def require_gang_finding(code: str, facts: Gang) -> Finding:
    finding = evaluate_gang(code, facts)
    assert finding is not None
    return finding


def first_code(unit: Unit) -> str:
    """Return the code of the first rule with a finding: overrides, then stage by stage."""
    for rule in unit_rules():
        finding = rule.find(unit)
        if finding is not None:
            return finding.code
    raise AssertionError("no rule finds anything")


def first_gang_code(facts: Gang) -> str:
    """Return the code of the first gang rule with a finding, or an empty text."""
    for rule in gang_rules():
        finding = rule.find(facts)
        if finding is not None:
            return finding.code
    return ""


def unit_of(owner: Any, *objects: Made, facts: dict[str, Any] | None = None, **fields: Any) -> Unit:
    """Return `a_unit` of the facts of these objects. `facts` are fields of Gang."""
    return a_unit(facts_of(owner, *objects, **(facts or {})), **fields)


def whole_memory(seconds_ago: float = 30, since: datetime | None = None) -> UnitMemory:
    """Return the memory of a unit that was complete until then, with a count that has just changed."""
    complete = ago(seconds_ago)
    return UnitMemory(created_since=since or complete, whole_at=complete, reached_size_at=ago(300))
