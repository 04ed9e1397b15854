"""Members that would fit without their topology spread constraint."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.capacity import HOSTNAME, PodSet, Spread
from gangboard.domain.placing import Assessment, When
from gangboard.domain.text import is_or_are, listed, out_of
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.placement.members import nodes_for
from gangboard.placement.sentences.numbers import crowd_of
from gangboard.placement.sentences.placement_reason import node_ref
from gangboard.placement.spread import Domain, domains_by, is_open, limits, most_pods, spread_of
from gangboard.placement.spreads import most_by_all, several_of


def spread_out(
    unit: Unit, assessment: Assessment, is_blocked: bool
) -> tuple[str, tuple[Evidence, ...]]:
    """Return what keeps members out of domains that have room, and the domain that decides."""
    when = When.EMPTY if is_blocked else When.NOW
    several = several_of(assessment.request)
    if several is not None:
        return _by_all(unit, assessment, several, when), ()
    asked = spread_of(assessment.request)
    assert asked is not None  # noqa: S101 - it is the constraint that is the cause
    shape, spread = asked.shape, asked.spread
    domains = domains_by(nodes_for(unit), shape, spread, when)
    total = sum(limits(spread, domains))
    crowd = crowd_of(assessment)
    can = f"only {total} of {crowd.of} {'fits' if total == 1 else 'fit'}" if total else "none fits"
    text = f"{crowd} must be spread over {_rule(spread)}, and {can} {_moment(when)}: "
    if not any(one.room for one in domains):
        return f"{text}no node that has room for one has that label", ()
    if not spread.counts_itself:
        return f"{text}{_uncounted(spread, domains)}", ()
    most = Evidence(f"most per {spread.topology_key}", str(most_pods(spread, domains)))
    if len(domains) < spread.min_domains:
        are = is_or_are(len(domains))
        there = f"{len(domains)} of at least {spread.min_domains} values (minDomains) {are} there"
        return f"{text}{there}", (most,)
    least = min(domains, key=lambda one: (one.there + one.room, one.value))
    ref = node_ref(least.value) if spread.topology_key == HOSTNAME else None
    has = f"has {least.there or 'none'} and room for {least.room or 'no'} more"
    evidence = Evidence(f"fewest by {spread.topology_key}", least.value, ref)
    return f"{text}{least.value} {has}", (evidence, most)


def _by_all(unit: Unit, assessment: Assessment, asked: PodSet, when: When) -> str:
    """Return what is said of several constraints: how many pods they let in at most, all together."""
    most, crowd = most_by_all(nodes_for(unit), asked, when), crowd_of(assessment)
    rules = listed([_rule(one) for one in asked.shape.spreads])
    can = f"at most {most} of {crowd.of} {'fits' if most == 1 else 'fit'}" if most else "none fits"
    return f"{crowd} must be spread over {rules}, and {can} {_moment(when)}"


def _rule(spread: Spread) -> str:
    return f"{spread.topology_key} (maxSkew {spread.max_skew})"


def _moment(when: When) -> str:
    return "now" if when is When.NOW else "on empty nodes"


def _uncounted(spread: Spread, domains: Sequence[Domain]) -> str:
    """Return what is said of pods that do not count themselves: no placing changes the numbers."""
    shut = sum(not is_open(spread, domains, one) for one in domains)
    have = "has" if shut == 1 else "have"
    return f"{out_of(shut, len(domains), 'value')} {have} too many of the pods that it counts"
