"""A long list has one table of columns: head, cells and the choice of columns come from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.template import Context, Template

from gangboard.pages.board.rows import COLUMNS, OPTIONAL_KEYS
from gangboard.pages.core.columns import Column, headings_of, optional_columns
from gangboard.readmodels.gangs import ORDERINGS
from gangboard.readmodels.state_labels import Face, face_of

NOW = datetime(2026, 11, 27, 10, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Car:
    """One row."""

    name: str = "<b>"
    doors: int = 1200
    price: float = 2.5
    owner: str = ""
    made_at: datetime = NOW - timedelta(hours=2)
    trips: int = 3
    trips_text: str = "3 of 10"
    state: Face = field(default_factory=lambda: face_of("running"))


CARS = (
    Column("car", "Car", "name", is_row_header=True, sort="name"),
    Column("doors", "Doors", "doors", choice=2),
    Column("price", "Price", "price", sort="-price"),
    Column("owner", "Owner", "owner", choice=1),
    Column("made", "Made", "made_at", sort="worst"),
    Column("trips", "Trips", "trips", "trips_text"),
    Column("sold", "Sold", "trips", dash_if="doors"),
    Column("state", "State", "state"),
)


def test_a_row_has_its_cells() -> None:
    template = Template("{% load tables %}{% cells columns row %}")
    text = template.render(Context({"columns": CARS, "row": Car(), "now": NOW}))
    cells = text.replace("</th>", "</td>").split("</td>")[:-1]
    name, doors, price, owner, created, trips, sold, state = cells
    assert name == '<th scope="row" class="column-car">&lt;b&gt;'
    assert doors == '<td class="column-doors given">1,200'
    assert price == '<td class="column-price">2.5'
    assert owner == '<td class="column-owner">–'
    assert created.endswith(" ago")
    assert trips == '<td class="column-trips">3 of 10'
    assert sold == '<td class="column-sold">–'
    assert 'class="face tone-running"' in state


def test_columns_that_people_can_hide_are_in_the_order_of_the_menu() -> None:
    assert [column.key for column in optional_columns(CARS)] == ["owner", "doors"]


def test_a_second_click_reverses_the_order() -> None:
    orderings = ("name", "-name", "price", "-price", "worst")
    heads = {
        chosen: [(head.href, head.direction) for head in headings_of(CARS, chosen, orderings, str)]
        for chosen in orderings
    }
    assert heads["name"][0] == ("-name", "ascending")
    assert heads["-name"][0] == ("name", "descending")
    assert heads["-price"][2] == ("price", "descending")
    assert heads["name"][1:3] == [("", ""), ("-price", "")]
    assert heads["worst"][4] == ("", "descending"), "there is no opposite"


def test_the_board_uses_orderings_of_the_gang_list() -> None:
    assert {column.sort for column in COLUMNS} - {""} <= set(ORDERINGS)
    assert len({column.key for column in COLUMNS}) == len(COLUMNS)


def test_the_styles_hide_each_optional_column_of_the_board() -> None:
    styles = (settings.BASE_DIR / "static" / "css" / "board.css").read_text()
    for key in OPTIONAL_KEYS:
        assert f".without-{key} .column-{key}" in styles
        assert f".gangs:not(:has(td.column-{key}.given)) .column-{key}" in styles
