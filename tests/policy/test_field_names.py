"""Fields that sentences name. Each kind has its own: a PyTorchJob has spec.runPolicy.suspend, a Job spec.suspend.

Labels of evidence have tests of their own: tests/project/test_evidence_labels.py and tests/rules/test_suspended.py.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from gangboard.domain.owner import Owner, SuspendChange
from gangboard.domain.verdict import Finding
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.registry import owner_kinds
from tests.domain_objects import a_meta, a_role, ago, facts_of
from tests.policy.builders import a_context, make_plan
from tests.rules.evaluation import evaluate, require_gang_finding, unit_of

FIELD = re.compile(r"\b(?:spec|status)(?:\.\w+)+")
SUSPENDABLE = [kind for kind in owner_kinds() if "suspend" in kind.levers]
MANAGED = [kind for kind in owner_kinds() if kind.own_managers]
"""Kinds with a field that names their controller."""
MANAGER = "acme.io/runner"


def an_owner(kind: OwnerKind, **fields: Any) -> Owner:
    resource = kind.resource
    meta = a_meta(
        resource.group, resource.kind, "run", version=resource.versions[0], created_at=ago(900)
    )
    return Owner(meta=meta, **{"desired": 2, **fields})


def expected(field: tuple[str, ...]) -> str:
    return ".".join(field)


def texts_of(finding: Finding) -> str:
    """Return the message, the advice and the labels of a finding."""
    return " ".join(
        (finding.message, *finding.advice_texts, *(item.label for item in finding.evidence))
    )


def kind_id(kind: OwnerKind) -> str:
    return kind.resource.key


def test_kinds_have_different_fields() -> None:
    assert {expected(kind.suspend_field) for kind in SUSPENDABLE} == {
        "spec.suspend",
        "spec.runPolicy.suspend",
    }
    assert {expected(kind.managed_by_field) for kind in MANAGED} == {
        "spec.managedBy",
        "spec.runPolicy.managedBy",
    }


@pytest.mark.parametrize("kind", MANAGED, ids=kind_id)
def test_who_must_create_the_pods_is_in_a_field_of_the_kind(kind: OwnerKind) -> None:
    role = a_role("workers", jobs=2)
    owner = an_owner(kind, managed_by=MANAGER, roles=(role,))
    finding = evaluate("pods-not-created", unit_of(owner, desired=2))
    assert finding is not None
    assert f"{MANAGER} must create them ({expected(kind.managed_by_field)})." in finding.message
    assert set(FIELD.findall(texts_of(finding))) == {expected(kind.managed_by_field)}


@pytest.mark.parametrize("kind", MANAGED, ids=kind_id)
def test_a_foreign_manager_is_refused_by_the_field_of_the_kind(kind: OwnerKind) -> None:
    plan = make_plan(a_context(an_owner(kind, managed_by=MANAGER), jobs=()), "run", "suspend")
    assert not plan.allowed
    assert set(FIELD.findall(plan.why_not)) <= {expected(kind.managed_by_field)}
    if kind in SUSPENDABLE:
        assert f"is managed by {MANAGER} ({expected(kind.managed_by_field)})" in plan.why_not


@pytest.mark.parametrize("kind", SUSPENDABLE, ids=kind_id)
def test_a_conflict_is_about_the_suspend_field_of_the_kind(kind: OwnerKind) -> None:
    owner = an_owner(kind)
    changes = tuple(
        SuspendChange(
            index % 2 == 0, ("night-saver", "day-starter")[index % 2], ago(40 - 5 * index)
        )
        for index in range(6)
    )
    facts = facts_of(owner, suspensions={owner.meta.ref.uid: changes})
    finding = require_gang_finding("controller-conflict", facts)
    assert FIELD.findall(texts_of(finding)) == [expected(kind.suspend_field)]
    assert f"Let only one of them set {expected(kind.suspend_field)} of " in finding.advice_texts[0]


@pytest.mark.parametrize("kind", SUSPENDABLE, ids=kind_id)
def test_a_queue_undoes_the_suspend_field_of_the_kind(kind: OwnerKind) -> None:
    """Kueue manages the owner, and its Workload is not known."""
    plan = make_plan(a_context(an_owner(kind, queue="lq"), jobs=()), "run", "suspend")
    assert not plan.allowed
    assert f"which undoes a change of {expected(kind.suspend_field)}, and" in plan.why_not
