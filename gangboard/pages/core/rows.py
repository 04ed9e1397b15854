"""Declare a field that people see once: its heading, its meaning, and where it is shown.

A row is a frozen dataclass whose fields are made by `shown`. `core.serializers` makes the JSON and the
OpenAPI document of it, `core.tables` the columns of the page and the lines of the CSV file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Any, get_type_hints

_KEY = "shown"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `shown` says of a field."""

    label: str
    """Heading of its column."""
    meaning: str
    """One sentence for the OpenAPI document and the heading's tooltip."""
    on_page: bool
    in_api: bool
    link: str
    """Name of the field that has the address to which the cell leads; empty without a link."""
    choices: tuple[str, ...]
    """All words that it can be; empty where any text is possible."""
    empty: str
    """What the page prints for null; without it a dash."""
    api_name: str = ""
    """Its name in the JSON if the row has another name for it."""
    empty_is_null: bool = False
    """Whether the JSON has null for the empty text."""


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field of a row."""

    name: str
    type: Any
    """Its annotation, resolved."""
    declaration: Declaration


def shown(
    label: str,
    meaning: str = "",
    *,
    on_page: bool = True,
    in_api: bool = True,
    link: str = "",
    choices: Iterable[str] = (),
    empty: str = "",
    api_name: str = "",
    empty_is_null: bool = False,
    default: Any = MISSING,
) -> Any:
    """Return the dataclass field; see Declaration for the arguments."""
    words = tuple(map(str, choices))
    declaration = Declaration(
        *(label, meaning, on_page, in_api, link, words, empty, api_name, empty_is_null)
    )
    return dataclasses.field(default=default, metadata={_KEY: declaration})


@cache
def fields_of(row: type) -> tuple[Field, ...]:
    """Return the declared fields of a row in their order."""
    types = get_type_hints(row)
    return tuple(
        Field(field.name, types[field.name], field.metadata[_KEY])
        for field in dataclasses.fields(row)
        if _KEY in field.metadata
    )
