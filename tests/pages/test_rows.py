"""A field is declared once: JSON, columns and CSV come from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from gangboard.pages.core.rows import fields_of, shown
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.pages.core.tables import csv_of, table_of

TIME = datetime(2026, 11, 27, 10, 0, tzinfo=UTC)


@dataclass(frozen=True)
class WheelRow:
    """A wheel."""

    size: int = shown("Size")


@dataclass(frozen=True)
class BikeRow:
    """A bike."""

    name: str = shown("Bike", link="href")
    colour: str | None = shown("Colour", "Null if unknown.", choices=("red", "blue"))
    bought_at: datetime = shown("Bought", on_page=False)
    wheels: tuple[WheelRow, ...] = shown("Wheels", on_page=False)
    tags: tuple[str, ...] = shown("Tags")
    rides: int = shown("Rides", in_api=False, default=0)
    href: str = ""


BIKE = BikeRow("=cmd", None, TIME, (WheelRow(28), WheelRow(26)), ("old", "loud"), 1200, "/bikes/1/")


def test_the_json_has_each_field_of_the_api() -> None:
    assert serializer_of(BikeRow)(BIKE).data == {
        "name": "=cmd",
        "colour": None,
        "bought_at": "2026-11-27T10:00:00Z",
        "wheels": [{"size": 28}, {"size": 26}],
        "tags": ["old", "loud"],
    }
    assert serializer_of(BikeRow).__name__ == "BikeSerializer"
    assert set(list_serializer_of(BikeRow)().fields) == {"next", "results"}


def test_the_json_knows_choices_and_meanings() -> None:
    field = serializer_of(BikeRow)().fields["colour"]
    assert field.help_text == "Null if unknown."
    assert field.allow_null
    assert list(field.choices) == ["red", "blue"]  # type: ignore[attr-defined]


def test_a_table_has_each_field_of_the_page() -> None:
    table = table_of(BikeRow, [BIKE])
    assert [heading.label for heading in table.headings] == ["Bike", "Colour", "Tags", "Rides"]
    ((row, cells),) = table.lines
    assert row is BIKE
    assert [cell.text for cell in cells] == ["=cmd", "–", "old, loud", "1,200"]
    assert [cell.href for cell in cells] == ["/bikes/1/", "", "", ""]


def test_no_cell_of_the_csv_file_is_a_formula() -> None:
    head, line = csv_of(BikeRow, [BIKE])
    assert head.strip().startswith('"name","colour","bought_at"')
    assert line.startswith('"\'=cmd","","2026-11-27T10:00:00Z"')


def test_a_type_that_has_no_json_is_refused() -> None:
    @dataclass(frozen=True)
    class BadRow:
        thing: object = shown("Thing")

    assert [field.name for field in fields_of(BadRow)] == ["thing"]
    with pytest.raises(TypeError, match="object"):
        serializer_of(BadRow)
