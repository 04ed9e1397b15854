"""Labels of evidence name fields as Kubernetes has them, or say it in plain words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import ObjectRef
from gangboard.domain.queue import QueueEntry
from gangboard.plugins import registry
from tests.evidence_labels import field_paths, fields_named, is_field_of_any, wrong_fields

ROOT = Path(__file__).parents[2]


def _labels() -> Iterator[tuple[str, str]]:
    """Yield (place, label) of each piece of text that stands in a label of evidence in the code."""
    for path in sorted((ROOT / "gangboard").rglob("*.py")):
        text = path.read_text()
        if "Evidence(" not in text:
            continue
        place = path.relative_to(ROOT).with_suffix("")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Evidence" and node.args:
                for label in _texts(node.args[0], ".".join(place.parts)):
                    yield f"{place}:{node.lineno}", label


def _texts(node: ast.expr, module: str) -> Iterator[str]:
    """Yield the text of a literal, of the fixed parts of an f-string, and of a constant of the module."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        # A value is a name, a reason or a number. The walk of tests/catalogue.py sees the whole label.
        fragments = (
            next(_texts(fragment.value, module), "NAME")
            if isinstance(fragment, ast.FormattedValue)
            else fragment.value
            for fragment in node.values
            if isinstance(fragment, ast.FormattedValue | ast.Constant)
        )
        yield "".join(map(str, fragments))
    elif isinstance(node, ast.Name) and node.id.isupper():
        value = getattr(import_module(module), node.id, None)
        if isinstance(value, str):
            yield value
    elif isinstance(node, ast.BoolOp | ast.IfExp):
        choices = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
        for choice in choices:
            yield from _texts(choice, module)


LABELS = sorted(set(_labels()))


def test_the_walk_finds_the_labels_of_the_code() -> None:
    assert len(LABELS) > 120
    assert {"spec.schedulingGates", "spec.parallelism", "quorum"} <= {label for _, label in LABELS}


def test_a_label_that_looks_like_a_field_is_a_field() -> None:
    wrong = [
        f"{place}: {name}"
        for place, label in LABELS
        for name in fields_named(label)
        if "NAME" not in name and not is_field_of_any(name)
    ]
    assert wrong == []


@pytest.mark.parametrize("kind", registry.owner_kinds(), ids=lambda kind: kind.label)
def test_a_kind_names_only_its_own_fields(kind: object) -> None:
    resource = kind.resource  # type: ignore[attr-defined]
    traits = registry.kind_traits()[resource.group, resource.kind]
    source = ObjectRef(resource.group, resource.kind, "ns", "a", "u")
    if kind.levers and traits.suspend_field:  # type: ignore[attr-defined]
        assert wrong_fields(traits.suspend_field, source) == ()


@pytest.mark.parametrize("resource", registry.queue_resources(QueueEntry), ids=lambda one: one.key)
def test_an_admission_system_names_only_fields_of_its_entries(
    resource: Resource,
) -> None:
    traits = registry.queue_traits()[resource.group]
    source = ObjectRef(resource.group, traits.entry, "ns", "a", "u")
    assert traits.entry == resource.kind
    for field in (traits.active_field, traits.run_cluster_field):
        assert wrong_fields(field, source) == ()


@pytest.mark.parametrize(
    ("label", "group", "kind", "wrong"),
    [
        ("spec.suspend", "batch", "Job", ()),
        ("suspend", "batch", "Job", ("suspend",)),
        ("spec.suspend", "kubeflow.org", "PaddleJob", ("spec.suspend",)),
        ("spec.runPolicy.suspend", "kubeflow.org", "PaddleJob", ()),
        ("minMember", "scheduling.volcano.sh", "PodGroup", ("minMember",)),
        ("spec.minMember", "scheduling.volcano.sh", "PodGroup", ()),
        ("phase", "scheduling.volcano.sh", "PodGroup", ("phase",)),
        ("status.phase", "scheduling.volcano.sh", "PodGroup", ()),
        ("cpu in spec.minResources", "scheduling.volcano.sh", "PodGroup", ()),
        ("spec.podgroups[].minReplicas", "scheduler.grove.io", "PodGang", ()),
        ("schedulingGates", "", "Pod", ("schedulingGates",)),
        ("spec.schedulingGates", "", "Pod", ()),
        ("metadata.deletionTimestamp", "", "Pod", ()),
        ("pods ready", "", "Pod", ()),
        ("quorum", "", "Pod", ()),
        ("spec.anything", "example.com", "Unread", ()),
    ],
)
def test_a_field_is_checked_against_its_kind(
    label: str, group: str, kind: str, wrong: tuple[str, ...]
) -> None:
    assert wrong_fields(label, ObjectRef(group, kind, "ns", "a", "u")) == wrong


def test_a_field_without_an_object_may_belong_to_any_kind() -> None:
    assert wrong_fields("spec.suspend", None) == ()
    assert wrong_fields("spec.noSuchField", None) == ("spec.noSuchField",)


def test_every_polled_kind_has_paths() -> None:
    assert all("metadata.name" in paths for paths in field_paths().values())
