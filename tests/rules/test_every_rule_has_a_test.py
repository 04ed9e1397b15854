"""A rule is one file, or a row of one table, with one test. Each code exists once."""

import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import gangboard.rules
from gangboard.plugins.discovery import RegistryError, find_constants, sorted_by_key
from gangboard.plugins.reasons import gang_rules, rules, unit_rules
from gangboard.plugins.rule import UnitRule
from gangboard.rules.admission import queue_reasons
from gangboard.rules.placement import placement_reasons

TESTS = Path(__file__).parent
RULES = Path(gangboard.rules.__path__[0])
ROWS = {
    (rule.stage, rule.code): table.__name__.rpartition(".")[2]
    for table in (placement_reasons, queue_reasons)
    for rule in table.RULES
}


def test_every_rule_has_a_test() -> None:
    told_together = (TESTS / "test_queue_reasons.py").read_text()
    for rule in rules():
        name = rule.code.replace("-", "_")
        file = ROWS.get((rule.stage, rule.code), name)
        has_its_own = (TESTS / f"test_{name}.py").exists() and file != "queue_reasons"
        assert has_its_own or f'"{rule.code}"' in told_together, rule.code
        result = list(RULES.glob(f"*/{file}.py"))
        assert [path.parent.name for path in result] == [rule.stage.value], rule.code


ROW = "from gangboard.rules.placement.placement_reasons import RULES as FOUND\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no constant RULE"),
        ("RULES = ()", "has no constant RULE"),
        (f"{ROW}RULES = (FOUND[0], 'no rule')", "has no constant RULE"),
        (f"{ROW}RULES = (FOUND[0], FOUND[0])", "'no-nodes' a second time"),
    ],
)
def test_an_incomplete_table_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "half_made.py").write_text(text)
    package = ModuleType("toy_rules")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "toy_rules", package)
    monkeypatch.delitem(sys.modules, "toy_rules.half_made", raising=False)
    with pytest.raises(RegistryError, match=told):
        sorted_by_key(find_constants(package, "RULE", (UnitRule,)), lambda rule: rule.code)


def test_no_two_rules_of_a_stage_have_the_same_place() -> None:
    places = Counter((rule.overrides, rule.stage, rule.order) for rule in unit_rules())
    assert [place for place, rules in places.items() if rules > 1] == []


def test_no_two_gang_rules_have_the_same_place() -> None:
    places = Counter(rule.order for rule in gang_rules())
    assert [place for place, rules in places.items() if rules > 1] == []


def test_every_unit_rule_names_its_health() -> None:
    assert all(rule.health is not None for rule in rules() if isinstance(rule, UnitRule))
