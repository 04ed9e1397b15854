"""The two patch languages."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.patches import PatchError, json_patch, merge_patch


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        # The examples of RFC 7396.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patches_are_applied(target: Any, patch: Any, result: Any) -> None:
    assert merge_patch(target, patch) == result


def test_json_patches_are_applied() -> None:
    document = {"a": [1, 2], "b": {"c/d": 1, "e~f": 2}}
    operations = [
        {"op": "test", "path": "/b/c~1d", "value": 1},
        {"op": "add", "path": "/a/-", "value": 3},
        {"op": "add", "path": "/a/0", "value": 0},
        {"op": "remove", "path": "/a/1"},
        {"op": "replace", "path": "/b/e~0f", "value": 9},
        {"op": "copy", "from": "/a", "path": "/copied"},
        {"op": "move", "from": "/b/c~1d", "path": "/moved"},
    ]
    assert json_patch(document, operations) == {
        "a": [0, 2, 3],
        "b": {"e~f": 9},
        "copied": [0, 2, 3],
        "moved": 1,
    }
    assert document == {"a": [1, 2], "b": {"c/d": 1, "e~f": 2}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "test", "path": "/nothing", "value": 1},
        {"op": "test", "path": "/nothing/deeper", "value": None},
        {"op": "remove", "path": "/nothing"},
        {"op": "replace", "path": "/nothing", "value": 1},
        {"op": "add", "path": "/nothing/deeper", "value": 1},
        {"op": "add", "path": "/list/7", "value": 1},
        {"op": "add", "path": "no-slash", "value": 1},
        {"op": "fly", "path": "/a"},
        {"op": "add", "path": "/a"},
        {"path": "/a"},
    ],
)
def test_inapplicable_json_patches_are_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchError):
        json_patch({"a": 1, "list": []}, [operation])


def test_a_missing_field_equals_null() -> None:
    # evanphx/json-patch, which API servers use; seen on a real one with `/metadata/annotations`.
    assert json_patch({"a": 1}, [{"op": "test", "path": "/nothing", "value": None}]) == {"a": 1}


def test_a_json_patch_is_a_list() -> None:
    with pytest.raises(PatchError):
        json_patch({}, {"op": "test"})
