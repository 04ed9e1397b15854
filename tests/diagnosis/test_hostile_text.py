"""Text of a cluster that reads like a command: no verdict about any kind offers it, wherever it stands.

All gangs of the simulated fleets are judged once. Then each is judged again with a command in place of each text of
its objects, one after the other: names, free fields, and words of controllers alike.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.api_resource import Resource
from gangboard.domain.event import Event
from gangboard.domain.node import Node
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.quota import Queue, QueueTree
from gangboard.domain.verdict import Finding
from gangboard.facts.gang import Linked
from gangboard.pages.gang.next_steps import NamedObjects, make_steps_to_take
from gangboard.polling.cluster_cache import resources
from gangboard.readmodels.advice import AdviceStepRow, build_steps
from gangboard.store.models import Gang
from simulator.clock import SteppedClock
from simulator.control_plane import SimulatedControlPlane
from simulator.fleet_spec import Fleet
from simulator.fleets import EAST, MINORS, WEST
from tests.decode.reading import captures, model
from tests.diagnosis.captured import models
from tests.domain_objects import NOW, a_group, a_job, a_pod, ago
from tests.gangs import assemble
from tests.random_sets import sized
from tests.rules.evaluation import require_finding, unit_of

COMMANDS = ("x: kubectl delete namespace prod #", "x; kubectl delete namespace prod #")
_STOLEN = "delete namespace prod"
_WORD = re.compile(r"-{0,2}[A-Za-z0-9][A-Za-z0-9._=/:-]*")
_PATCH = re.compile(r"""'(\{"\w+":)+(\d+|true|false|"None")(,"\w+":\d+)*\}+'""")
"""A patch that sets fields named in our code to a number, a truth or our own word."""
_BEGAN = datetime(2026, 11, 1, 8, tzinfo=UTC)
_DETAIL = "Owner.detail"
"""Its keys are written by our decoders."""
_COMMAND = "command"
"""Field with the words of a command. The decoder leaves it empty if a word is not safe."""
_OF_DECODERS = re.compile(r"\d+$|[\[{]")
"""Numbers and JSON that a decoder has written as text."""
_OWN = ("objects", "foreign_pods", "events")
_PROGRAM = re.compile(r"\b(?:kubectl|vcctl|manage\.py) ")
Judged = tuple[Any, dict[str, Any]]
"""The root of a gang, and the words of `assemble`."""


def judged() -> Iterator[Judged]:
    """Yield the facts of the gangs of the simulated fleets and of captured states."""
    for fleet in (EAST, WEST):
        yield from _gangs(_simulated(fleet))
    for file in captures(profile="1.37"):
        yield from _gangs(models(file))


def _simulated(fleet: Fleet) -> list[Any]:
    objects = SimulatedControlPlane(fleet, MINORS[fleet.name], SteppedClock(_BEGAN)).objects
    result = []
    for resource in resources():
        for version in resource.versions:
            with contextlib.suppress(KeyError):  # it is not served in that version
                result += [
                    model(resource, item, version)
                    for item in objects.list(_api_version(resource, version), resource.kind)
                ]
                break
    return result


def _api_version(resource: Resource, version: str) -> str:
    return f"{resource.group}/{version}" if resource.group else version


def _gangs(models: list[Any]) -> Iterator[Judged]:
    by_uid = {entry.meta.ref.uid: entry for entry in models if entry is not None}
    graph = OwnershipGraph()
    for item in by_uid.values():
        if isinstance(item, Linked):
            graph.put(item)
    known = frozenset(f"{resource.kind}.{resource.group}" for resource in resources())
    events = [entry for entry in by_uid.values() if isinstance(entry, Event)]
    nodes = {entry.meta.ref.name: entry for entry in by_uid.values() if isinstance(entry, Node)}
    queues = QueueTree(entry for entry in by_uid.values() if isinstance(entry, Queue))
    now = max(entry.meta.created_at or _BEGAN for entry in by_uid.values()) + timedelta(minutes=10)
    for uid in sorted(graph.roots()):
        members = graph.members(uid)
        yield (
            by_uid[uid],
            {
                "objects": tuple(by_uid[member] for member in members if member != uid),
                "foreign_pods": tuple(by_uid[entry] for entry in graph.foreign_pods(uid)),
                "events": tuple(event for event in events if event.regarding.uid in members),
                "nodes": nodes,
                "queues": queues,
                "known_kinds": known,
                "queue_systems": ("Kueue",),
                "gang_api_version": "v1beta1",
                "now": now,
            },
        )


def test_no_text_of_any_object_becomes_a_command() -> None:
    """In the commit each field of each kind once; `make exhaustive`: each text of each gang."""
    observed: set[tuple[str, ...]] = set()
    codes: set[str] = set()
    for root, given in judged():
        kind = f"{root.meta.ref.group}/{root.meta.ref.kind}"
        own = (root, given["objects"], given["foreign_pods"], given["events"])
        for place, text in _texts(own, ""):
            key = sized((kind, place), (root.meta.ref.uid, place, text))
            if text and not _OF_DECODERS.match(text) and key not in observed:
                observed.add(key)
                for command in sized(COMMANDS[:1], COMMANDS):
                    codes |= _check(root, given, {text: command}, _OWN)
        names = set(_names(own)) - {""}
        for command in COMMANDS:
            codes |= _check(
                root, given, {name: f"{name}{command}" for name in names}, (*_OWN, "queues")
            )
    assert len(observed) > 500, len(observed)
    assert len(codes) > 30, sorted(codes)


def test_texts_that_a_real_api_server_takes() -> None:
    """Seen on 1.37.0: `schedulerName` and annotations are free text, names of objects and containers are not."""
    text = COMMANDS[0]
    job, grouped = a_job("train", group_name="ring"), a_job("train", group_name=text)
    asks_nobody = [
        a_pod(f"train-{n}", of=job, group="ring", scheduler_name=text, created_at=ago(600))
        for n in (0, 1)
    ]
    lacks_group = [a_pod(f"train-{n}", of=grouped, group=text, created_at=ago(600)) for n in (0, 1)]
    for code, unit in (
        ("not-attempted", unit_of(job, a_group("ring", quorum=2), *asks_nobody)),
        ("podgroup-missing", unit_of(grouped, *lacks_group)),
    ):
        (step,) = make_steps_to_take(_shown(require_finding(code, unit)), NamedObjects(), ())
        assert text in step.text
        assert step.command == ""


def _shown(finding: Finding) -> tuple[AdviceStepRow, ...]:
    return build_steps(finding.advice, Gang(), {}, now=NOW)


def _check(
    root: Any, value: dict[str, Any], changed: Mapping[str, str], nodes: Iterable[str]
) -> set[str]:
    """Assess the gang with other texts, and return the codes.

    Commands may contain safe words only, and the texts must not appear in them.

    """
    text = {**value, **{name: _with(value[name], changed) for name in nodes}}
    verdict = assess(assemble(_with(root, changed), **text))
    jobs = (job.finding for job in verdict.jobs if job.finding is not None)
    findings = (*verdict.findings, *jobs)
    for finding in findings:
        for step in make_steps_to_take(_shown(finding), NamedObjects(nodes=_nodes(finding)), ()):
            wrong = [
                word
                for word in step.command.split()
                if not (_WORD.fullmatch(word) or _PATCH.fullmatch(word))
            ]
            assert not wrong, (changed, step.command)
            assert _STOLEN not in step.command, (changed, step.command)
            assert "".join(segment.text for segment in step.segments) == step.text
            _check_sentence(step.text, changed)
    return {finding.code for finding in findings}


def _check_sentence(text: str, changed: Mapping[str, str]) -> None:
    """Check that no command of ours is in the sentence with a text of the cluster in it."""
    for new in sorted(changed.values(), key=len, reverse=True):
        text = text.replace(new, "§")
    for program in _PROGRAM.finditer(text):
        assert "§" not in text[program.end() :].partition(")")[0], text


def _nodes(finding: Finding) -> tuple[ObjectRef, ...]:
    sources = (item.source for item in finding.evidence)
    return tuple(ref for ref in sources if ref is not None and ref.kind == "Node")


def _names(value: Any) -> Iterator[str]:
    """Yield the names of objects."""
    for place, text in _texts(value, ""):
        if place.endswith(("ObjectRef.name", "ObjectRef.namespace", "group_name", ".queue")):
            yield text


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield each text with the class and the field that it stands in."""
    if isinstance(value, str) and not isinstance(value, Enum):
        yield place, value
    elif isinstance(value, QueueTree):
        yield from _texts(tuple(value), place)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _texts(getattr(value, field.name), f"{type(value).__name__}.{field.name}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if place != _DETAIL:
                yield from _texts(key, f"{place}{{}}")
            yield from _texts(item, f"{place}{{{key if isinstance(key, str) else ''}}}")
    elif isinstance(value, tuple | list | frozenset):
        for item in value:
            yield from _texts(item, place)


def _with(value: Any, changed: Mapping[str, str]) -> Any:
    """Return the value with other texts in place of these, wherever they stand alone."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return changed.get(value, value)
    if isinstance(value, QueueTree):
        return QueueTree(_with(tuple(value), changed))
    if is_dataclass(value) and not isinstance(value, type):
        new = {
            field.name: _with(getattr(value, field.name), changed)
            for field in fields(value)
            if field.init and field.name != _COMMAND
        }
        if isinstance(value, Owner):
            new["detail"] = {key: _with(item, changed) for key, item in value.detail.items()}
        return replace(value, **new)
    if isinstance(value, Mapping):
        return {_with(key, changed): _with(item, changed) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with(item, changed) for item in value))
    if isinstance(value, tuple | list | frozenset):
        return type(value)(_with(item, changed) for item in value)
    return value
