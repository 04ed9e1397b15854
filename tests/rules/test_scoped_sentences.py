"""A sentence about one of several units names it, once."""

import pytest

from gangboard.domain.health import Stage
from gangboard.facts.findings import unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule
from tests.domain_objects import a_jobset, a_role, child_jobs
from tests.rules.evaluation import unit_of

RULE = UnitRule("toy", Stage.RUN, "Toy", 1, lambda unit: None)


def first_job_of_two() -> Unit:
    objects = a_jobset("run", a_role("a", pods=2), a_role("b", pods=2), desired=4)
    first, second = child_jobs(objects)
    return unit_of(objects, first, second, jobs=(first,), name="run-a-0", noun="Job", desired=2)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("2 pods wait.", "Job run-a-0: 2 pods wait."),
        ("Job run-a-0 waits.", "Job run-a-0 waits."),
        ("It waits for run-a-0.", "It waits for run-a-0."),
        ("run-a-0, of 2, waits.", "run-a-0, of 2, waits."),
        # Pods, other Jobs and host names only begin or end with it.
        ("Pod run-a-0-1 waits.", "Job run-a-0: Pod run-a-0-1 waits."),
        ("my-run-a-0 waits.", "Job run-a-0: my-run-a-0 waits."),
        ("x.run-a-0 waits.", "Job run-a-0: x.run-a-0 waits."),
        ("run-a-00 waits.", "Job run-a-0: run-a-00 waits."),
        ("Pod run-a-0-1 of run-a-0 waits.", "Pod run-a-0-1 of run-a-0 waits."),
    ],
)
def test_a_sentence_without_the_name_gets_it_as_a_prefix(message: str, said: str) -> None:
    assert unit_finding(RULE, first_job_of_two(), message).message == said
