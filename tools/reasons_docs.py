"""The catalogue of sentences as Markdown: each reason with its sentences in the situations of the tests."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gangboard.domain.health import Stage
from gangboard.plugins import reasons
from gangboard.plugins.rule import GangRule, UnitRule

EXAMPLES = Path(__file__).with_name("reason_examples.json")
"""Sentences of rules in tests, recorded by `pytest --write-reasons`. The file is never edited by hand."""
LONGEST = 120
"""Characters of a sentence that is read at a glance."""
_LOSS = "it tells how many run, and what keeps the others away"
_QUOTE = "it quotes whoever says it: without these words nobody knows why"
LONGER: Mapping[str, str] = {
    "below-size": _LOSS,
    "container-config": _QUOTE,
    "failed": _QUOTE,
    "fragmented": "it tells of all resources where none of them alone is the cause",
    "group-creation-failed": _QUOTE,
    "group-not-expressible": _QUOTE,
    "insufficient-resources": "nodes that would do if somebody gave them back are told beside",
    "job-suspended": "it tells of each Job who holds it",
    "lost-members": _LOSS,
    "node-lost": _LOSS,
    "objects-not-made": _QUOTE,
    "suspended": "it tells who suspended it, when, and why",
    "partly-placed": "it tells what the others lack, and how many hold a node meanwhile",
    "pod-creation-refused": _QUOTE,
    "preempted": "it tells who took the room, and why there is no other",
    "queue-evaluating": "Jobs that wait in several queues are told of one by one",
    "restarting": "it tells whether a refusal of the missing pods would be seen",
    "scheduler-error": _QUOTE,
    "scheduling-gated": "it names each group that pods wait for",
    "spread-constraints": "constraints are known by labels of nodes with long names",
    "unschedulable": _QUOTE,
    "waiting-for-nodes": "it tells how far the node is, in the words of who brings it",
    "waiting-for-quota": "it tells how many Jobs were admitted, and what the others wait for",
    "deactivated": "it says who did it and when, before what that keeps out",
    "no-matching-node": "it says what added which of the labels",
    "untolerated-taint": "it says who changed the taints last, and when",
}
"""Code → why its sentences may be longer."""
_QUESTIONS = {
    Stage.ADMISSION: "may it run?",
    Stage.FORMATION: "do its pods and groups exist?",
    Stage.PLACEMENT: "does the scheduler find room?",
    Stage.START: "do the containers come up?",
    Stage.RUN: "does all of it run?",
}
_BLOCK = re.compile(r"(<!-- reasons -->)\n.*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReasonExample:
    """The result of one rule in one test."""

    code: str
    stage: str
    title: str
    health: str
    message: str
    advice: tuple[str, ...]
    test: str
    """Id of the test in pytest that produces and expects it."""


def read_examples() -> tuple[ReasonExample, ...]:
    """Return the recorded examples by code."""
    recorded = json.loads(EXAMPLES.read_text())
    return tuple(
        ReasonExample(**{**example, "advice": tuple(example["advice"])}) for example in recorded
    )


def write_catalogue(text: str) -> str:
    """Return a document with the current catalogue between `<!-- reasons -->` and `<!-- end -->`."""
    catalogue = "\n".join(catalogue_lines(read_examples()))
    return _BLOCK.sub(lambda match: f"{match[1]}\n{catalogue}\n{match[2]}", text)


def catalogue_lines(examples: Iterable[ReasonExample]) -> Iterator[str]:
    """Yield the lines of all reasons, each under its earliest stage."""
    by_code: dict[str, list[ReasonExample]] = {}
    for example in examples:
        by_code.setdefault(example.code, []).append(example)
    stages = {
        code: min(Stage(example.stage).position for example in code_examples)
        for code, code_examples in by_code.items()
    }
    for stage in Stage:
        yield f"## {stage.value.capitalize()}: {_QUESTIONS[stage]}"
        yield ""
        for code in sorted(code for code, position in stages.items() if position == stage.position):
            yield from _reason_lines(code, by_code[code])


def _reason_lines(code: str, examples: list[ReasonExample]) -> Iterator[str]:
    healths = dict.fromkeys(example.health for example in examples)
    yield f"### {examples[0].title}"
    yield ""
    meaning = meaning_of(code)
    yield f"`{code}` · {', '.join(healths)}{f' · {meaning}' if meaning else ''}"
    yield ""
    for example in examples:
        yield f"- {_escape_markdown(example.message)}"
        yield from (f"  - → {_escape_markdown(step)}" for step in example.advice)
    if code in LONGER:
        yield ""
        yield f"Can be longer than {LONGEST} characters: {LONGER[code]}."
    yield ""


def meaning_of(code: str) -> str:
    """Return the meaning from the docstring of the reason's file; empty if a file has several reasons."""
    for rule in reasons.rules():
        sentence = _first_sentence(rule) if rule.code == code else ""
        if sentence.startswith(f"`{code}`: "):
            return sentence.removeprefix(f"`{code}`: ")
    return ""


def _first_sentence(rule: GangRule | UnitRule) -> str:
    paper = sys.modules[rule.find.__module__].__doc__ or ""
    return " ".join(paper.partition("\n\n")[0].split())


def _escape_markdown(text: str) -> str:
    """Escape text of a cluster, so that Markdown prints it unchanged."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)
