"""A long list has one table of columns: head, cells and the choice of columns come from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.template import Context, Template

from gangboard.pages.board.rows import COLUMNS
from gangboard.pages.core.columns import Column, headings_of, optional_columns
from gangboard.readmodels.gangs import ORDERINGS

NOW = datetime(2026, 11, 27, 10, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Car:
    """One row."""

    name: str = "<b>"
    doors: int = 1200
    price: float = 2.5
    owner: str = ""
    made_at: datetime = NOW - timedelta(hours=2)


CARS = (
    Column("car", "Car", "name", is_row_header=True, sort="name"),
    Column("doors", "Doors", "doors", choice=2),
    Column("price", "Price", "price", sort="-price"),
    Column("owner", "Owner", "owner", choice=1),
    Column("made", "Made", "made_at", sort="worst"),
)


def test_the_cells_of_a_row() -> None:
    template = Template("{% load tables %}{% cells columns row %}")
    text = template.render(Context({"columns": CARS, "row": Car(), "now": NOW}))
    name, doors, price, owner, made = text.replace("</th>", "</td>").split("</td>")[:-1]
    assert name == '<th scope="row" class="column-car">&lt;b&gt;'
    assert doors == '<td class="column-doors given">1,200'
    assert price == '<td class="column-price">2.5'
    assert owner == '<td class="column-owner">–'
    assert made.endswith(" ago")


def test_columns_that_people_can_hide_are_in_the_order_of_the_menu() -> None:
    assert [column.key for column in optional_columns(CARS)] == ["owner", "doors"]


def test_a_second_click_turns_the_order_round() -> None:
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


def test_the_board_sorts_by_orderings_that_the_list_of_gangs_has() -> None:
    assert {column.sort for column in COLUMNS} - {""} <= set(ORDERINGS)
    assert len({column.key for column in COLUMNS}) == len(COLUMNS)
