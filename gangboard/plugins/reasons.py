"""Rules in the order in which the engine tries them, and the titles of their codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module

from gangboard.plugins import registry
from gangboard.plugins.discovery import find_constants, sorted_by_key
from gangboard.plugins.rule import GangRule, UnitRule


@cache
def rules() -> tuple[GangRule | UnitRule, ...]:
    """Return the rules of `rules/`, by code. A code can have a gang rule and, in another stage, a unit rule."""
    members: Iterator[GangRule | UnitRule] = find_constants(
        import_module("gangboard.rules"), "RULE", (GangRule, UnitRule)
    )
    return sorted_by_key(members, lambda rule: f"{rule.code} {rule.stage}")


@cache
def gang_rules() -> tuple[GangRule, ...]:
    """Return the rules for the whole gang, in the order in which they are tried."""
    all_rules = [rule for rule in rules() if isinstance(rule, GangRule)]
    all_rules += [rule for api in registry.grouping_apis() for rule in api.gang_rules]
    return tuple(sorted(all_rules, key=lambda rule: (rule.order, rule.code)))


@cache
def unit_rules() -> tuple[UnitRule, ...]:
    """Return the rules for units: overrides first, then by stage and order."""
    all_rules = [rule for rule in rules() if isinstance(rule, UnitRule)]
    all_rules += [rule.unit_rule for rule in gang_rules() if rule.unit_rule is not None]
    return _in_order(all_rules)


def unit_rules_for(group: str, kind: str, grouping: str = "") -> tuple[UnitRule, ...]:
    """Return `unit_rules`, and those that only this kind of owner or this grouping API has.

    `grouping` is the API group of the unit's group, or empty.
    """
    known = registry.owner_kind(group, kind)
    own = known.rules if known is not None else ()
    own += tuple(
        rule for api in registry.grouping_apis() if api.group == grouping for rule in api.rules
    )
    return _in_order((*unit_rules(), *own)) if own else unit_rules()


def titles() -> dict[str, str]:
    """Return code → title of all rules, including those of kinds and grouping APIs."""
    own: list[GangRule | UnitRule] = [
        rule for kind in registry.owner_kinds() for rule in kind.rules
    ]
    for api in registry.grouping_apis():
        own += (*api.rules, *api.gang_rules)
    return {rule.code: rule.title for rule in (*own, *rules())}


def _in_order(rules_of_units: Iterable[UnitRule]) -> tuple[UnitRule, ...]:
    return tuple(
        sorted(
            rules_of_units,
            key=lambda rule: (not rule.overrides, rule.stage.position, rule.order, rule.code),
        )
    )
