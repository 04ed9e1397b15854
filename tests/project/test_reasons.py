"""The catalogue of sentences: each reason has its examples, they are short, and none says a thing twice."""

from __future__ import annotations

import re
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from gangboard.plugins import reasons
from tests.catalogue import choose
from tools.reasons_docs import (
    LONGER,
    LONGEST,
    ReasonExample,
    catalogue_lines,
    read_examples,
    write_catalogue,
)

PAPER = Path(__file__).resolve().parents[2] / "docs/reasons.md"
EXAMPLES = read_examples()


def an_example(message: str, *, code: str = "below-quorum", test: str = "") -> ReasonExample:
    return ReasonExample(
        code, "formation", "Below quorum", "blocked", message, ("Step <1>.",), test
    )


def test_the_paper_is_what_the_command_makes() -> None:
    text = PAPER.read_text()
    assert text == write_catalogue(text), "run: manage.py print_reasons --into docs/reasons.md"


def test_every_reason_has_an_example_and_no_other_is_there() -> None:
    assert {one.code for one in EXAMPLES} == reasons.titles().keys()


@pytest.mark.parametrize("one", EXAMPLES, ids=lambda one: f"{one.code}-{len(one.message)}")
def test_a_sentence_is_short_and_says_nothing_twice(one: ReasonExample) -> None:
    assert len(one.message) <= LONGEST or one.code in LONGER, one.message
    clauses = [part.strip(" .").lower() for part in re.split(r"[.;:,] ", one.message)]
    again = [part for part, times in Counter(clauses).items() if times > 1 and " " in part]
    assert again == [], one.message
    said = one.message.strip(".").lower()
    assert said != one.title.lower()
    assert [step for step in one.advice if said in step.lower()] == []
    assert not {"Do this.", "Start it."} & set(one.advice), "a filler of a test"


def test_a_note_that_a_reason_may_be_longer_is_needed() -> None:
    longer = {one.code for one in EXAMPLES if len(one.message) > LONGEST}
    assert LONGER.keys() - longer == set()


def test_the_command_prints_all_of_it() -> None:
    printed = StringIO()
    call_command("print_reasons", stdout=printed)
    assert printed.getvalue().rstrip("\n") == "\n".join(catalogue_lines(EXAMPLES)).rstrip("\n")


def test_what_markdown_would_read_is_printed_as_it_is() -> None:
    lines = list(catalogue_lines([an_example("2 of `4` pods_a exist.")]))
    assert "- 2 of \\`4\\` pods\\_a exist." in lines
    assert "  - → Step \\<1\\>." in lines


def test_examples_are_the_longest_and_what_differs_from_it() -> None:
    own = an_example(
        "1 of 2 pods exists; none is made.", test="tests/rules/test_below_quorum.py::a"
    )
    alike = an_example(
        "1 of 3 pods exists; none is made.", test="tests/rules/test_below_quorum.py::b"
    )
    far = an_example("All of it has gone.", test="tests/owners/test_ray.py::c")
    longest = an_example(
        "It is told in many words by a test of something else altogether.", test="z"
    )
    made_up = an_example("x" * 100, test="tests/rules/test_below_quorum.py::d")
    assert choose([far, alike, own, longest, made_up]) == [own, far, longest]
