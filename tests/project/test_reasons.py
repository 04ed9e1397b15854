"""The catalogue of sentences: each reason has examples, which are short and repeat no clause."""

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

PAGE = Path(__file__).resolve().parents[2] / "docs/reasons.md"
EXAMPLES = read_examples()


def make_example(message: str, *, code: str = "below-quorum", test: str = "") -> ReasonExample:
    return ReasonExample(
        code, "formation", "Below quorum", "blocked", message, ("Step <1>.",), test
    )


def test_the_reasons_page_is_the_output_of_print_reasons() -> None:
    text = PAGE.read_text()
    assert text == write_catalogue(text), "run: manage.py print_reasons --into docs/reasons.md"


def test_the_examples_cover_exactly_the_reasons() -> None:
    assert {example.code for example in EXAMPLES} == reasons.titles().keys()


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda example: f"{example.code}-{len(example.message)}"
)
def test_a_sentence_is_short_and_repeats_no_clause(example: ReasonExample) -> None:
    message = example.message
    assert len(message) <= LONGEST or example.code in LONGER, message
    clauses = [clause.strip(" .").lower() for clause in re.split(r"[.;:,] ", message)]
    repeated = [text for text, times in Counter(clauses).items() if times > 1 and " " in text]
    assert repeated == [], message
    sentence = message.strip(".").lower()
    assert sentence != example.title.lower()
    assert [step for step in example.advice if sentence in step.lower()] == []
    assert not {"Do this.", "Start it."} & set(example.advice), "a placeholder of a test"


def test_every_exception_from_the_length_is_needed() -> None:
    longer = {example.code for example in EXAMPLES if len(example.message) > LONGEST}
    assert LONGER.keys() - longer == set()


def test_print_reasons_prints_the_whole_catalogue() -> None:
    printed = StringIO()
    call_command("print_reasons", stdout=printed)
    assert printed.getvalue().rstrip("\n") == "\n".join(catalogue_lines(EXAMPLES)).rstrip("\n")


def test_markdown_characters_are_escaped() -> None:
    lines = list(catalogue_lines([make_example("2 of `4` pods_a exist.")]))
    assert "- 2 of \\`4\\` pods\\_a exist." in lines
    assert "  - → Step \\<1\\>." in lines


def test_examples_are_the_longest_sentence_and_different_ones() -> None:
    own = make_example(
        "1 of 2 pods exists; none is made.", test="tests/rules/test_below_quorum.py::a"
    )
    alike = make_example(
        "1 of 3 pods exists; none is made.", test="tests/rules/test_below_quorum.py::b"
    )
    example = make_example("All of it has gone.", test="tests/owners/test_ray.py::c")
    longest = make_example(
        "It is told in many words by a test of something else altogether.", test="z"
    )
    made_up = make_example("x" * 100, test="tests/rules/test_below_quorum.py::d")
    assert choose([example, alike, own, longest, made_up]) == [own, example, longest]
