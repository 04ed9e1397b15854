"""Reasons and evidence that only one kind knows, and quorums that an owner sets without a group."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Evidence, Finding, Verdict
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.owners.job import WireJob
from gangboard.plugins import reasons, registry
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.rule import UnitRule
from tests.domain_objects import NOW, Made, a_group, a_meta, a_pod, ago
from tests.gangs import assemble

REFUSED = "0/1 nodes are available: 1 Insufficient cpu."


def _tired(unit: Unit) -> Finding | None:
    tired = [pod for pod in unit.pods if "tired" in pod.labels]
    return unit_finding(TIRED, unit, f"{len(tired)} tired.") if tired else None


TIRED = UnitRule("toy-tired", Stage.FORMATION, "Tired", 5, _tired, health=Health.DEGRADED)


class Ring(OwnerKind):
    group = "example.com"
    kind = "Ring"
    versions = ("v1",)
    wire = WireJob
    pod_label = "ring"
    rules = (TIRED,)

    def role_of(self, pod: Pod) -> str:
        return pod.labels.get("part", "")

    def evidence(self, unit: Unit) -> tuple[Evidence, ...]:
        return (Evidence("toy", unit.name),)


TOY = Ring()
SET = Controller("apps", "StatefulSet", "s", "uid-s")


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = (*registry.owner_kinds(), TOY)
    monkeypatch.setattr(registry, "owner_kinds", lambda: kinds)


def a_ring(*, quorum: int | None = 2, pods: int = 4) -> Owner:
    role = Role("part", replicas=1, pods=pods, noun="part", quorum=quorum)
    return Owner(meta=a_meta("example.com", "Ring", "ring"), desired=pods, roles=(role,))


def members(placed: int, waiting: int = 0, **fields: Any) -> list[Pod]:
    labels = {"ring": "ring", "part": "part"}
    objects = [a_pod(f"p{n}", of=SET, on="n0", labels=labels, **fields) for n in range(placed)]
    return objects + [
        a_pod(f"w{n}", of=SET, text=REFUSED, labels=labels, **fields) for n in range(waiting)
    ]


def judged(*items: Made) -> Verdict:
    root, *rest = items
    assert isinstance(root, Owner)
    taken: list[Any] = rest
    return assess(assemble(root, taken, now=NOW, gang_api_version="v1beta1"))


def test_a_kind_specific_rule_runs_in_its_rank() -> None:
    tired = a_pod("p9", of=SET, labels={"ring": "ring", "part": "part", "tired": "yes"})
    finding = judged(a_ring(), *members(3), tired).finding
    assert (finding.code, finding.health, finding.message) == (
        "toy-tired",
        Health.DEGRADED,
        "1 tired.",
    )


def test_a_kind_specific_rule_skips_other_kinds_and_its_title_is_known() -> None:
    assert TIRED not in reasons.unit_rules()
    assert TIRED not in reasons.unit_rules_for("batch", "Job")
    assert reasons.titles()["toy-tired"] == "Tired"


def test_kind_specific_evidence_follows_any_finding() -> None:
    for result in (judged(a_ring(), *members(4)), judged(a_ring(), *members(2, 2))):
        assert result.finding.evidence[-1] == Evidence("toy", "part")


def test_a_unit_at_the_quorum_of_its_owner_is_below_its_size() -> None:
    result = judged(a_ring(), *members(2, 2, created_at=ago(600)))
    assert result.members.quorum == 2
    assert (result.finding.code, result.finding.health) == ("below-size", Health.DEGRADED)
    assert result.finding.message.startswith("2 of 4 members run (quorum 2).")


def test_placed_members_below_the_quorum_are_reported() -> None:
    """Near miss: no gang keeps them together, so a member can occupy a node uselessly."""
    finding = judged(a_ring(quorum=3), *members(2, 2)).finding
    assert (finding.code, finding.health) == ("partly-placed", Health.DEGRADED)


def test_a_unit_that_has_fewer_pods_than_it_needs_is_named_as_its_owner_names_it() -> None:
    finding = judged(a_ring(quorum=3), *members(0, 2, created_at=ago(600))).finding
    assert finding.code == "below-quorum"
    assert (
        finding.message
        == "Part part has 2 of the 3 pods that it needs; no refusal of the rest is reported."
    )


def test_the_quorum_of_a_group_precedes_that_of_the_owner() -> None:
    group = a_group("g", quorum=4)
    result = judged(a_ring(), group, *members(4, group=group))
    assert result.members.quorum == 4
