"""`not-observed`."""

from gangboard.domain.health import Health
from gangboard.facts.cluster_view import Unobserved
from tests.domain_objects import a_job, facts_of, failed
from tests.rules.evaluation import evaluate_gang, first_gang_code, require_gang_finding

PODS = Unobserved("pods", "forbidden", "gangboard may not list pods in this cluster")
GROUPS = Unobserved("podgroups.scheduling.k8s.io", "failing", "")


def test_unobserved_objects_and_the_cause_are_named() -> None:
    finding = require_gang_finding("not-observed", facts_of(a_job(), unobserved=(PODS,)))
    assert finding.health is Health.UNKNOWN
    assert finding.code == "not-observed"
    assert len(finding.advice) == 1


def test_names_all_of_them() -> None:
    finding = require_gang_finding("not-observed", facts_of(a_job(), unobserved=(GROUPS, PODS)))
    assert finding.message == (
        "podgroups.scheduling.k8s.io cannot be read: failing. Not read either: pods (forbidden)."
    )
    assert [(item.label, item.value) for item in finding.evidence] == [
        ("podgroups.scheduling.k8s.io", "failing"),
        ("pods", "forbidden"),
    ]


def test_a_failing_resource_needs_no_role() -> None:
    assert (
        require_gang_finding("not-observed", facts_of(a_job(), unobserved=(GROUPS,))).advice_texts
        == ()
    )


def test_comes_before_everything_else() -> None:
    assert first_gang_code(facts_of(a_job(finish=failed()), unobserved=(PODS,))) == "not-observed"


def test_an_unserved_api_is_no_fault() -> None:
    assert evaluate_gang("not-observed", facts_of(a_job(), gang_api_version="")) is None
