"""Names of kinds and APIs occur only in code of their own kind, lever, group or queue.

Shared code gets texts about a kind from the kind. The scan covers identifiers, string constants, templates and
scripts, not docstrings. Sentences need the words Job and StatefulSet. For these the scan reports the pair of
API group and kind, and comparisons of the kind alone, which would match another API's Job.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from gangboard.domain.advice import ChangeMethod
from gangboard.plugins import registry

ROOT = Path(__file__).resolve().parents[2]
AT_HOME = ("owners", "levers", "groups", "queues")
SHARED_KINDS = {"Job": "batch", "StatefulSet": "apps", "Deployment": "apps"}
OF_KUBERNETES = ("k8s.io", "Kubernetes")
"""Domain and name of Kubernetes itself, which shared code knows."""
MORE = ("statefulset", "leaderworker", "disaggregated", "appwrapper", "flux")
"""Name prefixes, kinds reported only with their API group, and names without their own file."""
SHORTEST = 5
"""A shorter name occurs in other words: of these it is the domain."""


def names_of_kinds() -> set[str]:
    """Return the names by which kinds, APIs, queues and their labels are found, in lower case."""
    apis, systems = registry.grouping_apis(), registry.queue_systems()
    kinds = {kind.resource.kind for kind in registry.owner_kinds()} - SHARED_KINDS.keys()
    labels = {api.label for api in apis} | {system.label for system in systems}
    domains = {system.owner_label.partition("/")[0] for system in systems}
    domains |= {resource.group for resource in registry.resources() if "." in resource.group}
    names = {name for domain in domains for name in (_name_in(domain),) if name}
    names |= {name for name in kinds | labels if len(name) >= SHORTEST} - {*OF_KUBERNETES}
    return {name.lower() for name in (*names, *MORE)}


def _name_in(domain: str) -> str:
    """Return the part of a domain that is only its own: `kubeflow` of `trainer.kubeflow.org`; empty for Kubernetes."""
    *above, name, top = domain.split(".")
    if f"{name}.{top}" in OF_KUBERNETES:
        return ""
    if name == "x-k8s":
        name, top = above[-1], name
    return name if len(name) >= SHORTEST and name != "scheduling" else f"{name}.{top}"


@cache
def names_pattern() -> re.Pattern[str]:
    """Return what finds the name of a kind or an API in a text."""
    return re.compile("|".join(map(re.escape, sorted(names_of_kinds()))), re.IGNORECASE)


ALLOWED = {
    ("gangboard/pages/board/api.py", "such as `JobSet`"): "help: an example of a kind",
    ("gangboard/ops/management/commands/explain.py", "JobSet/llama-ft"): "help: an example",
    ("gangboard/pages/gang/text_report.py", "JobSet/llama-ft"): "help: an example",
    ("gangboard/pages/gang/text_report.py", "the JobSet, not its Jobs"): "help: an example",
    (
        "gangboard/domain/hold_manifest.py",
        "jobset.sigs.k8s.io/jobset-name",
    ): "a policy selects by one label and a selector has no `or`: another kind whose Jobs can be held "
    "needs a policy of its own",
    ("gangboard/facts/builtin_controllers.py", "StatefulSet"): "the one place about kinds that "
    "are never listed",
    ("gangboard/facts/builtin_controllers.py", "apps/StatefulSet"): "the same",
    (
        "gangboard/domain/objects.py",
        "batch/Job",
    ): "the one place where a Job is told from others' Jobs",
}
"""(file, text) → reason for the exception."""


@cache
def shared_trees() -> dict[str, ast.Module]:
    """Return the parsed modules of shared code by their path: it takes some seconds."""
    paths = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "gangboard").rglob("*.py")}
    return {
        name: ast.parse(paths[name].read_text())
        for name in sorted(paths)
        if name.split("/")[1] not in AT_HOME
    }


def words_of(tree: ast.AST) -> Iterator[str]:
    """Yield the names of kinds in code: constants and identifiers, pairs and comparisons of shared kinds."""
    docstrings = set(_docstrings(tree))
    for node in ast.walk(tree):
        text = _text_of(node)
        if text and node not in docstrings and names_pattern().search(text):
            yield text
        yield from _shared(node)


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield constants that stand alone: docstrings of modules, classes, functions and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _text_of(node: ast.AST) -> str:
    for type_, name in (
        (ast.Constant, "value"),
        (ast.Name, "id"),
        (ast.Attribute, "attr"),
        (ast.FunctionDef, "name"),
        (ast.AsyncFunctionDef, "name"),
        (ast.ClassDef, "name"),
        (ast.arg, "arg"),
        (ast.keyword, "arg"),
        (ast.alias, "name"),
        (ast.ImportFrom, "module"),
    ):
        if isinstance(node, type_):
            result = getattr(node, name)
            return result if isinstance(result, str) else ""
    return ""


def _shared(node: ast.AST) -> Iterator[str]:
    listed: list[ast.expr] = []
    if isinstance(node, ast.Tuple | ast.List):
        listed = node.elts
    elif isinstance(node, ast.Call):
        listed = node.args
    texts = [side.value if isinstance(side, ast.Constant) else None for side in listed]
    for group, kind in pairwise(texts):
        if isinstance(kind, str) and kind in SHARED_KINDS and group == SHARED_KINDS[kind]:
            yield f"{group}/{kind}"
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        names = {side.attr for side in sides if isinstance(side, ast.Attribute)}
        values = {side.value for side in sides if isinstance(side, ast.Constant)}
        if "kind" in names and values & SHARED_KINDS.keys():
            yield "a kind compared without its API group"


def names_in_code() -> Iterator[tuple[str, str]]:
    for name, tree in shared_trees().items():
        yield from ((name, match) for match in words_of(tree))
    for path in sorted([*(ROOT / "templates").rglob("*"), *(ROOT / "static/js").rglob("*")]):
        if path.is_file():
            yield from (
                (path.relative_to(ROOT).as_posix(), match)
                for match in names_pattern().findall(path.read_text())
            )


def test_shared_code_names_no_kind() -> None:
    result = list(names_in_code())
    strange = [
        item
        for item in result
        if not any(item[0] == name and text in item[1] for name, text in ALLOWED)
    ]
    assert strange == []
    unused = [
        (name, text)
        for name, text in ALLOWED
        if not any(item[0] == name and text in item[1] for item in result)
    ]
    assert unused == []


OF_PLUGINS = {"GangScheduling", "Unschedulable"}
"""Plugin reasons that Kubernetes itself also uses."""


def test_shared_code_names_no_reason_or_field_of_one_system() -> None:
    """Conditions, events and fields of one system are named only in that system's file."""
    reasons = {*registry.pod_reasons(), *registry.event_reasons(), *registry.run_cluster_fields()}
    for system in registry.queue_traits().values():
        reasons |= {system.active_field, system.manager} - {""}
    for kind in registry.kind_traits().values():
        reasons |= {*kind.jobs_refused, *kind.follower_refusals, *kind.disruptions}
    assert {"Schedulable", "status.clusterName", "spec.active", "JobCreationFailed"} <= reasons
    reasons -= OF_PLUGINS
    shared = {
        (name, node.value)
        for name, tree in shared_trees().items()
        for node in _constants(tree)
        if node.value in reasons
    }
    assert shared == set()


def _constants(tree: ast.AST) -> Iterator[ast.Constant]:
    docstrings = set(_docstrings(tree))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node not in docstrings
        ):
            yield node


def test_rules_take_the_words_of_a_change_from_its_declaration() -> None:
    """`ChangeMethod` has the words once. A rule that writes them itself goes on with them when they change."""
    texts = [f"({term})" for term in (*ChangeMethod, "in place", "recreate")]
    sources = {path: path.read_text() for path in (ROOT / "gangboard").rglob("*.py")}
    assert [path for path, text in sources.items() if any(term in text for term in texts)] == []


def test_the_scan_covers_each_kind_and_api() -> None:
    """A new one adds its names by itself. The samples are of each way in which a name is derived."""
    samples = {"jobset", "kubeflow", "grove", "volcano", "kueue", "yunikorn", "coscheduling"}
    samples |= {"ray.io", "run.ai", "kai.scheduler", "scheduling.x-k8s", "podcliqueset", "tfjob"}
    assert samples <= names_of_kinds()
    assert names_of_kinds().isdisjoint(
        {"job", "deployment", "kubernetes", "k8s", "apache", "podgroup"}
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('kind == "JobSet"', ["JobSet"]),
        ("def is_queued_by_kueue(): pass", ["is_queued_by_kueue"]),
        (
            "from gangboard.owners.trainjob import TrainJob",
            ["TrainJob", "gangboard.owners.trainjob"],
        ),
        ('"""A docstring about Kueue."""', []),
        ('X = 1\n"""JobSets are told of here."""', []),
        ('f"the JobSet {name}"', ["the JobSet "]),
        ('is_it = ("batch", "Job")', ["batch/Job"]),
        ('find("apps", "StatefulSet")', ["StatefulSet", "apps/StatefulSet"]),
        ('is_it = "apps", "Deployment"', ["apps/Deployment"]),
        ('plural = "pytorchjobs"', ["pytorchjobs"]),
        ('ref.kind == "Job"', ["a kind compared without its API group"]),
        ('said = "1 of 3 Jobs"', []),
    ],
)
def test_the_scan_reports_names_in_code(source: str, expected: list[str]) -> None:
    assert sorted(words_of(ast.parse(source))) == sorted(expected)
