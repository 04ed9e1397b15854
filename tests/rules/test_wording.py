"""How sentences count and name."""

import pytest

from gangboard.domain.text import (
    count,
    for_each,
    names,
    out_of,
    remaining_pods_text,
    sentence,
)
from gangboard.facts.findings import scope
from tests.domain_objects import a_job, a_jobset, a_pod, a_role, ago
from tests.rules.evaluation import evaluate, unit_of


@pytest.mark.parametrize(
    ("listed", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d", "e"], "a, b and 3 more"),
    ],
)
def test_names_are_joined_into_a_list(listed: list[str], text: str) -> None:
    assert names(listed) == text


def test_counts_have_singular_and_plural() -> None:
    assert count(1, "pod") == "1 pod"
    assert count(0, "pod") == "0 pods"
    assert out_of(2, 4, "pod") == "2 of 4 pods"


@pytest.mark.parametrize(
    ("text", "said"),
    [("no.", "no."), ("no", "no."), ("no, ", "no."), ("no..", "no."), ("", ""), ("“no”", "“no”")],
)
def test_a_sentence_has_one_full_stop(text: str, said: str) -> None:
    assert sentence(text) == said


def test_remaining_pods_are_counted_by_state() -> None:
    pods = [a_pod("a", on="n0", deleting_since=ago(1)), a_pod("b", on="n0", deleting_since=ago(1))]
    assert remaining_pods_text(pods) == "2 pods still terminate"
    assert remaining_pods_text([*pods, a_pod("c", on="n0")]) == (
        "2 pods still terminate and 1 pod is still there"
    )
    assert remaining_pods_text([a_pod("d", phase="Succeeded")]) == ""


def test_a_part_of_a_gang_is_named() -> None:
    complete = unit_of(a_job("train"), name="train", noun="Job")
    jobset = a_jobset("run", a_role("workers", jobs=2))
    part = unit_of(jobset, name="run-workers-1", noun="Job", desired=2)
    assert scope(complete) == ""
    assert scope(part) == "Job run-workers-1: "


def test_a_name_is_not_repeated() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2))
    part = unit_of(
        jobset,
        jobs=(),
        name="run-workers-1",
        noun="Job",
        desired=2,
        missing_jobs=("run-workers-1",),
    )
    finding = evaluate("pods-not-created", part)
    assert finding is not None
    assert finding.message == "JobSet run has not created Job run-workers-1."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Job a-1 cannot be suspended alone.", "No Job can be suspended alone."),
        ("It waits: Job a-1 cannot start.", "It waits: no Job can start."),
        ("It runs. Job a-1 is done.", "It runs. Each Job is done."),
        ("olga asked to resume Job a-1.", "olga asked to resume each Job."),
        ("Job a-10 waits for Job a-1.b, JobSet a-1.", "Job a-10 waits for Job a-1.b, JobSet a-1."),
    ],
)
def test_a_sentence_for_each(text: str, said: str) -> None:
    assert for_each(text, "Job", "a-1") == said
