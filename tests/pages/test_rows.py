"""A field is declared once: JSON, columns and CSV come from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

import pytest

from gangboard.domain.verdict import Members
from gangboard.pages.core.serializers import (
    extending_serializer,
    list_serializer_of,
    serializer_of,
)
from gangboard.pages.core.tables import csv_of, table_of
from gangboard.readmodels.declarations import fields_of, shown, shown_method, shown_property

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


def test_the_serializer_has_each_api_field() -> None:
    assert serializer_of(BikeRow)(BIKE).data == {
        "name": "=cmd",
        "colour": None,
        "bought_at": "2026-11-27T10:00:00Z",
        "wheels": [{"size": 28}, {"size": 26}],
        "tags": ["old", "loud"],
    }
    assert serializer_of(BikeRow).__name__ == "BikeSerializer"
    assert set(list_serializer_of(BikeRow)().fields) == {"next", "results"}


def test_the_schema_has_choices_and_help_texts() -> None:
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


def test_a_type_without_a_serializer_is_refused() -> None:
    @dataclass(frozen=True)
    class BadRow:
        thing: object = shown("Thing")

    assert [field.name for field in fields_of(BadRow)] == ["thing"]
    with pytest.raises(TypeError, match="object"):
        serializer_of(BadRow)


@dataclass(frozen=True, kw_only=True)
class BoatRow:
    """A boat."""

    json_name: ClassVar[str] = "Ship"

    name: str = shown("Boat", api_name="title")

    @shown_property("Length", "In metres.")
    def length(self) -> int | None:
        """Return the length."""
        return 7

    port: str = shown("Port", empty_is_null=True, default="")
    state: str = shown("State", choices=("new", "old"), empty_is_null=True, default="")
    crew: int


BOAT = BoatRow(name="Ada", crew=2)


def test_a_derived_value_keeps_its_position_among_the_fields() -> None:
    assert list(serializer_of(BoatRow)(BOAT).data.items()) == [
        ("title", "Ada"),
        ("length", 7),
        ("port", None),
        ("state", None),
    ]
    assert serializer_of(BoatRow).__name__ == "ShipSerializer"
    assert serializer_of(BoatRow)().fields["length"].allow_null


def test_a_serializer_with_extra_fields_begins_with_the_rows_fields() -> None:
    assert list(extending_serializer(WheelRow, BoatRow)().fields) == [
        *("size", "title", "length", "port", "state")
    ]


def test_a_row_that_extends_a_value_of_the_domain_has_its_json() -> None:
    @dataclass(frozen=True)
    class CountedRow(Members):
        """Counts with a remark."""

        remark: str = shown("Remark", default="")

    fields = list(serializer_of(CountedRow)().fields)
    assert (fields[0], fields[-1]) == ("desired", "remark")


@dataclass(frozen=True)
class RideRow:
    """A ride."""

    km: float = shown("Distance", is_quantity=True)
    price: float | None = shown("Price", is_quantity=True, default=None)
    began_at: datetime = shown("Began", default=TIME)

    @shown_method("Duration", "How long it has lasted.")
    def duration(self, now: datetime) -> str:
        """Return the minutes in words."""
        return f"{(now - self.began_at).seconds // 60} min"

    @shown_property("Route", is_read_only=True)
    def route(self) -> str:
        """Return the route."""
        return "home"

    @shown_property("Rain", choices=("light", "heavy"), may_be_absent=True)
    def rain(self) -> str | None:
        """Return nothing."""
        return None


def test_numbers_and_ages_are_texts_in_the_json() -> None:
    now = TIME.replace(minute=7)
    serializer = serializer_of(RideRow)(RideRow(8.0), context={"now": now})
    assert serializer.data == {
        "km": "8",
        "price": None,
        "began_at": "2026-11-27T10:00:00Z",
        "duration": "7 min",
        "route": "home",
        "rain": None,
    }
    assert RideRow(8.0).duration(now) == "7 min"


def test_the_schema_marks_read_only_and_optional_fields() -> None:
    fields = serializer_of(RideRow)().fields
    assert [name for name, field in fields.items() if field.read_only] == ["duration", "route"]
    assert [name for name, field in fields.items() if field.allow_null] == ["price"]
    assert (fields["rain"].required, fields["km"].required) == (False, True)
