"""Labels and files of the lists whose cells have templates of their own, and the order of addresses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from django.urls import resolve

from gangboard.pages.actions.queries import COLUMNS as ACTION_COLUMNS
from gangboard.pages.audit.rows import COLUMNS as AUDIT_COLUMNS
from gangboard.pages.audit.rows import EXPORTED, AuditLineRow
from gangboard.pages.core.tables import json_lines_of, labels_of
from gangboard.pages.holds.rows import COLUMNS as HOLD_COLUMNS
from gangboard.readmodels.declarations import fields_of, shown


@dataclass(frozen=True)
class RideRow:
    """A ride."""

    bike: str = shown("Bike", api_name="name")
    note: str = shown("Note", empty_is_null=True)
    began_at: datetime = shown("Began")


def test_labels_are_those_of_the_declaration() -> None:
    assert labels_of(RideRow, ("began_at", "bike")) == {"began_at": "Began", "bike": "Bike"}
    with pytest.raises(KeyError):
        labels_of(RideRow, ("ended_at",))


def test_json_lines_have_the_api_fields() -> None:
    ride = RideRow("fox “red”", "", datetime(2026, 11, 27, 10, tzinfo=UTC))
    (line,) = json_lines_of(RideRow, [ride])
    assert line.endswith("}\n")
    assert "“red”" in line, "not escaped"
    assert json.loads(line) == {
        "name": "fox “red”",
        "note": None,
        "began_at": "2026-11-27T10:00:00Z",
    }


def test_each_column_of_a_list_has_a_label_of_its_own() -> None:
    for columns in (ACTION_COLUMNS, AUDIT_COLUMNS, HOLD_COLUMNS):
        assert len(set(columns.values())) == len(columns)


def test_an_audit_export_has_every_field() -> None:
    assert set(EXPORTED) == {field.name for field in fields_of(AuditLineRow)}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/actions/confirm/", "confirm"),
        ("/actions/audit/", "audit"),
        ("/actions/node/", "node-jobs"),
        ("/actions/0000/", "action"),
    ],
)
def test_an_address_without_its_parameter_has_no_id(path: str, name: str) -> None:
    assert resolve(path).url_name == name
