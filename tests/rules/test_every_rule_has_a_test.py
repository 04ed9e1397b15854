"""A rule is one file with one test; no code is missing and none is said twice."""

from collections import Counter
from pathlib import Path

import gangboard.rules
from gangboard.diagnosis.registry import gang_rules, rules, unit_rules
from gangboard.domain.registry import UnitRule

TESTS = Path(__file__).parent
RULES = Path(gangboard.rules.__path__[0])


def test_every_rule_has_a_test() -> None:
    for rule in rules():
        name = rule.code.replace("-", "_")
        assert (TESTS / f"test_{name}.py").exists(), rule.code
        found = list(RULES.glob(f"*/{name}.py"))
        assert [path.parent.name for path in found] == [rule.stage.value], rule.code


def test_no_two_rules_of_a_stage_have_the_same_place() -> None:
    places = Counter((rule.overrides, rule.stage, rule.order) for rule in unit_rules())
    assert [place for place, rules in places.items() if rules > 1] == []


def test_no_two_gang_rules_have_the_same_place() -> None:
    places = Counter(rule.order for rule in gang_rules())
    assert [place for place, rules in places.items() if rules > 1] == []


def test_every_unit_rule_names_its_health() -> None:
    assert all(rule.health is not None for rule in rules() if isinstance(rule, UnitRule))
