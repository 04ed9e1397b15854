"""Rows are looked up by uid together with the namespace of the object that names it: `store/uid_lookups.py`.

A uid in an object is untrusted text of its author. The table below lists all other lookups and why their uids
are trusted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import gangboard

ROOT = Path(gangboard.__file__).parent
_UIDS = {"uid", "uid__in", "owner_uid", "owner_uid__in", "about", "about__in", "gang__uid__in"}
_QUERIES = {"filter", "exclude", "get", "get_or_create", "update_or_create", "Q"}
_READS = {"read_objects", "read_packed"}
_PLACES = {"namespace", "namespace__in"}

_STORED = "The uids are those of the stored objects themselves."
_DETAIL = "The uids are in the gang's detail, which diagnosis has made within one namespace."
_ACTION = "The uids are those of objects that our own action was checked against."
OURS = {
    "store/suspend_records.py::recorded_suspends": "gangboard's own record, and the namespace is compared",
    "actions/drift_detection.py::find_suspicious": _ACTION,
    "actions/hold_expiry.py::_attempts": _ACTION,
    "actions/hold_proofs.py::_due": _STORED,
    "actions/service.py::_resolve_collision": _ACTION,
    "pages/confirm/queries.py::_owner_offer": _ACTION,
    "polling/use_readings.py::count_devices": _DETAIL,
    "polling/row_cache.py::read": "The ownership graph checks the namespace of each reference.",
    "polling/checks/loaded_cluster.py::_read_objects": _STORED,
    "readmodels/actions.py::with_ends": _ACTION,
    "pages/capacity/queries.py::_gang_names": "The poller has noted which pods are on a node; the rows are the viewer's.",
    "pages/gang/events.py::recent_events": "The rows are those of the gang's namespace already.",
    "pages/gang/logs.py::_panes": _DETAIL,
    "pages/groups/queries.py::group_detail": "The address names the object; the rows are the viewer's.",
    "readmodels/groups.py::groups_by_uid": _DETAIL,
    "pages/gang/next_steps.py::named_objects": "Findings name gangs of any namespace; the rows are the viewer's.",
    "pages/nodes/fit.py::waiting_rows": _DETAIL,
    "pages/nodes/queries.py::read_node": "The poller has noted which pods are on a node.",
    "pages/nodes/queries.py::_occupants": "The poller has noted which pods are on a node; the rows are the viewer's.",
    "store/gang_search.py::index_deleted_gangs": _STORED,
    "store/objects.py::read_objects": "Its callers are in this table.",
    "store/objects.py::read_packed": "Its callers are in this table.",
    "store/observations.py::delete_objects": _STORED,
    "store/observations.py::mark_gangs_deleted": _STORED,
    "store/uid_lookups.py::resolve_references": "It compares the namespaces of rows and references.",
    "store/verdict_spans.py::end_spans": _STORED,
}


def _lookups(tree: ast.AST, within: str = "") -> Iterator[str]:
    """Yield the function of each query by uid that does not say in which namespace."""
    for node in ast.iter_child_nodes(tree):
        name = node.name if isinstance(node, ast.FunctionDef) else within
        if isinstance(node, ast.Call) and _is_by_uid_alone(node):
            yield name
        yield from _lookups(node, name)


def _is_by_uid_alone(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    texts = {keyword.arg for keyword in call.keywords}
    return name in _READS or (name in _QUERIES and bool(texts & _UIDS) and not texts & _PLACES)


def test_uids_from_objects_are_looked_up_with_their_namespace() -> None:
    results = {
        f"{path.relative_to(ROOT)}::{function}"
        for room in (
            "store",
            "readmodels",
            "pages",
            "actions",
            "polling",
            "ops",
            "notify",
        )
        for path in (ROOT / room).rglob("*.py")
        for function in _lookups(ast.parse(path.read_text()))
    }
    assert sorted(results - OURS.keys()) == [], "look it up with store/uid_lookups.py"
    assert sorted(OURS.keys() - results) == [], "take it out of the table"


def test_a_lookup_without_a_namespace_is_found() -> None:
    source = """
def wrong(): return Gang.objects.filter(cluster_id=1, uid=uid).first()
def right(): return Gang.objects.filter(cluster_id=1, namespace=namespace, uid=uid).first()
def also_wrong(): return read_objects(1, [uid], models)
"""
    assert list(_lookups(ast.parse(source))) == ["wrong", "also_wrong"]
