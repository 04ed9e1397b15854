"""The client uses existing operations, fields and filters of the server."""

from __future__ import annotations

import ast
import copy
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import gangboard_client
import pytest
from gangboard_client.following import FILTERS
from gangboard_client.reading import GANG_FILTERS
from gangboard_client.schema import OPERATIONS

import gangboard
from tools.client_schema import PREFIX, TARGET, DriftError, python_source, server_schema

CLIENT = Path(__file__).resolve().parents[2] / "client"


@cache
def _schema() -> dict[str, Any]:
    return server_schema()


def test_client_types_match_the_server() -> None:
    """`make clientschema` writes them again."""
    assert TARGET.read_text() == python_source(_schema())


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (("components", "schemas", "Gang", "properties", "health"), "Gang has no field health"),
        (("components", "schemas", "Plan"), "there is no schema Plan"),
        (("paths", "/api/v1/holds/"), "there is no operation list_holds"),
        (("paths", "/api/v1/holds/", "get", "parameters"), "list_holds has no parameter cluster"),
        (
            ("paths", "/api/v1/me/", "get", "responses", "200"),
            "get_me does not answer with a Account",
        ),
    ],
)
def test_removed_server_fields_are_reported(path: tuple[str, ...], sentence: str) -> None:
    changed = copy.deepcopy(_schema())
    place = changed
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    with pytest.raises(DriftError, match=sentence):
        python_source(changed)


def test_a_contract_operation_is_compared_once_served() -> None:
    changed = copy.deepcopy(_schema())
    changed["paths"][f"{PREFIX}checks/"] = {"post": {"parameters": [], "responses": {}}}
    with pytest.raises(DriftError, match="checks/ has no results"):
        python_source(changed)


def test_filters_are_parameters() -> None:
    assert set(GANG_FILTERS) <= set(OPERATIONS["list_gangs"].parameters)
    assert set(FILTERS) <= set(OPERATIONS["list_events"].parameters)


def test_the_client_imports_no_server_code() -> None:
    named = set()
    for path in (CLIENT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                named.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                named |= {alias.name.partition(".")[0] for alias in node.names}
    assert named & {"gangboard", "django", "rest_framework", "tests"} == set()


def test_the_package_is_of_the_same_release_and_has_both_commands() -> None:
    assert gangboard_client.__version__ == gangboard.__version__
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {
        "gangboard": "gangboard_client.cli:main",
        "kubectl-gangboard": "gangboard_client.cli:main",
    }
    assert [name.partition(">")[0] for name in project["dependencies"]] == ["urllib3"]
