"""The catalogue of sentences as Markdown: each reason with the sentences that its rule produced in tests."""

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
"""Findings of the rules in tests. `pytest --write-reasons` records them, so the file is never edited by hand."""
LONGEST = 120
"""Characters of a sentence that people can read at a glance."""
_LOSS = "it says how many pods run, and what keeps the others away"
_QUOTE = "it quotes the message of the component that reports the cause"
LONGER: Mapping[str, str] = {
    "below-size": _LOSS,
    "container-config": _QUOTE,
    "failed": _QUOTE,
    "fragmented": "it names all resources if no single one is the cause",
    "group-creation-failed": _QUOTE,
    "group-not-expressible": _QUOTE,
    "insufficient-resources": "it also names nodes that are withheld, such as cordoned ones",
    "job-suspended": "it names the author of each Job's Hold",
    "lost-members": _LOSS,
    "node-lost": _LOSS,
    "objects-not-made": _QUOTE,
    "suspended": "it says who suspended the gang, when, and why",
    "partly-placed": "it says what the other pods lack, and how many pods hold a node meanwhile",
    "pod-creation-refused": _QUOTE,
    "preempted": "it names the gang that took the nodes, and why no other nodes fit",
    "queue-evaluating": "it lists the Jobs if they wait in several queues",
    "restarting": "it says whether gangboard would see a refusal of the missing pods",
    "scheduler-error": _QUOTE,
    "scheduling-gated": "it names each group that pods wait for",
    "spread-constraints": "it names constraints by node labels, which can be long",
    "termination-stuck": "it names the pod, its node, and since when both are overdue",
    "unschedulable": _QUOTE,
    "waiting-for-nodes": "it gives the progress of the node in the autoscaler's words",
    "waiting-for-quota": "it says how many Jobs were admitted, and what the others wait for",
    "deactivated": "it says who deactivated the entry and when, before the consequence",
    "no-matching-node": "it names the source of each label",
    "untolerated-taint": "it says who changed the taints last, and when",
}
"""Code → the reason why its sentences may be longer."""
_QUESTIONS = {
    Stage.ADMISSION: "may it run?",
    Stage.FORMATION: "do its pods and groups exist?",
    Stage.PLACEMENT: "does the scheduler find nodes?",
    Stage.START: "do the containers start?",
    Stage.RUN: "do all members run?",
}
_BLOCK = re.compile(r"(<!-- reasons -->)\n.*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReasonExample:
    """One finding of a rule in one test."""

    code: str
    stage: str
    title: str
    health: str
    message: str
    advice: tuple[str, ...]
    test: str
    """Name of the test that produces and expects the finding, as pytest prints it."""


def read_examples() -> tuple[ReasonExample, ...]:
    """Return the recorded examples, ordered by code."""
    records = json.loads(EXAMPLES.read_text())
    return tuple(
        ReasonExample(**{**record, "advice": tuple(record["advice"])}) for record in records
    )


def write_catalogue(text: str) -> str:
    """Return the page with the current catalogue between `<!-- reasons -->` and `<!-- end -->`."""
    catalogue = "\n".join(catalogue_lines(read_examples()))
    return _BLOCK.sub(lambda match: f"{match[1]}\n{catalogue}\n{match[2]}", text)


def catalogue_lines(examples: Iterable[ReasonExample]) -> Iterator[str]:
    """Yield the lines of all reasons by stage. A reason with several stages is listed at its earliest."""
    by_code: dict[str, list[ReasonExample]] = {}
    for example in examples:
        by_code.setdefault(example.code, []).append(example)
    positions = {
        code: min(Stage(example.stage).position for example in of_code)
        for code, of_code in by_code.items()
    }
    for stage in Stage:
        yield f"## {stage.value.capitalize()}: {_QUESTIONS[stage]}"
        yield ""
        codes = (code for code, position in positions.items() if position == stage.position)
        for code in sorted(codes):
            yield from _reason_lines(code, by_code[code])


def _reason_lines(code: str, examples: list[ReasonExample]) -> Iterator[str]:
    healths = dict.fromkeys(example.health for example in examples)
    yield f"### {examples[0].title}"
    yield ""
    meaning = meaning_of(code)
    yield f"`{code}` · {', '.join(healths)}{f' · {meaning}' if meaning else ''}"
    yield ""
    for example in examples:
        yield f"- {_escaped(example.message)}"
        yield from (f"  - → {_escaped(step)}" for step in example.advice)
    if code in LONGER:
        yield ""
        yield f"May have more than {LONGEST} characters, because {LONGER[code]}."
    yield ""


def meaning_of(code: str) -> str:
    """Return the meaning of a reason from its module's docstring, empty if the module has several reasons."""
    for rule in reasons.rules():
        sentence = _first_sentence(rule) if rule.code == code else ""
        if sentence.startswith(f"`{code}`: "):
            return sentence.removeprefix(f"`{code}`: ")
    return ""


def _first_sentence(rule: GangRule | UnitRule) -> str:
    docstring = sys.modules[rule.find.__module__].__doc__ or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def _escaped(text: str) -> str:
    """Return a text with all Markdown characters escaped."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)
