"""Declarations of fields that people see: heading, meaning, and where each field is shown.

A row is a frozen dataclass whose fields are made by `shown`, and whose derived values by `shown_property`.
`pages.core.serializers` makes the JSON and the OpenAPI document of it, and `pages.core.tables` the columns of a page
and the lines of a CSV file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass
from datetime import datetime
from functools import cache, partial
from itertools import count
from typing import Any, Generic, TypeVar, get_type_hints, overload

_KEY = "shown"
_declared = count()
"""Numbers the declarations, because a class does not keep fields and properties in one order."""
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of a field, made by `shown`."""

    label: str
    """Heading of the column."""
    meaning: str
    """One sentence for the OpenAPI document and the heading's tooltip."""
    on_page: bool
    in_api: bool
    link: str
    """Name of the field with the address that the cell links to. Empty: no link."""
    choices: tuple[str, ...]
    """All possible words. Empty: any text."""
    empty: str
    """Text that the page prints for null instead of a dash."""
    api_name: str = ""
    """Name in the JSON, if the attribute has another one."""
    empty_is_null: bool = False
    """Whether the empty text is null in the JSON."""
    may_be_null: bool = False
    """Whether the OpenAPI document allows null although the row always has a value."""
    is_method: bool = False
    """Whether a method of the serializer reads it. The OpenAPI document then calls it read-only."""
    serializer: Any = None
    """Serializer of nested rows that do not declare their fields."""
    is_quantity: bool = False
    """Whether the number is a decimal string in the JSON."""
    is_read_only: bool = False
    """Whether the field is read-only in the OpenAPI document."""
    may_be_absent: bool = False
    """Whether the field is optional in the OpenAPI document. The value can be null then."""
    order: int = dataclasses.field(default_factory=lambda: next(_declared))


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field of a row."""

    name: str
    """Its attribute of the row."""
    type: Any
    """Its annotation, resolved."""
    declaration: Declaration

    @property
    def api_name(self) -> str:
        """Return its name in the JSON."""
        return self.declaration.api_name or self.name


class ShownProperty(Generic[Value]):
    """A declared value that a row derives from its fields. Made by `shown_property`."""

    def __init__(self, read: Callable[[Any], Value], declaration: Declaration) -> None:
        self.read = read
        self.declaration = declaration
        self.__doc__ = read.__doc__

    @overload
    def __get__(self, row: None, owner: type) -> ShownProperty[Value]: ...
    @overload
    def __get__(self, row: object, owner: type) -> Value: ...
    def __get__(self, row: object | None, owner: type) -> ShownProperty[Value] | Value:
        return self if row is None else self.read(row)


class ShownMethod(Generic[Value]):
    """A declared value of a row that depends on the time. Made by `shown_method`."""

    def __init__(self, read: Callable[[Any, datetime], Value], declaration: Declaration) -> None:
        self.read = read
        self.declaration = declaration
        self.__doc__ = read.__doc__

    @overload
    def __get__(self, row: None, owner: type) -> ShownMethod[Value]: ...
    @overload
    def __get__(self, row: object, owner: type) -> Callable[[datetime], Value]: ...
    def __get__(
        self, row: object | None, owner: type
    ) -> ShownMethod[Value] | Callable[[datetime], Value]:
        return self if row is None else partial(self.read, row)


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
    may_be_null: bool = False,
    serializer: Any = None,
    is_quantity: bool = False,
    is_read_only: bool = False,
    default: Any = MISSING,
) -> Any:
    """Return the dataclass field; see Declaration for the arguments."""
    declaration = Declaration(
        *(
            label,
            meaning,
            on_page,
            in_api,
            link,
            tuple(map(str, choices)),
            empty,
            api_name,
            empty_is_null,
        ),
        may_be_null=may_be_null,
        serializer=serializer,
        is_quantity=is_quantity,
        is_read_only=is_read_only,
    )
    return dataclasses.field(default=default, metadata={_KEY: declaration})


def shown_property(
    label: str,
    meaning: str = "",
    *,
    on_page: bool = True,
    api_name: str = "",
    empty_is_null: bool = False,
    may_be_null: bool = False,
    choices: Iterable[str] = (),
    is_method: bool = False,
    serializer: Any = None,
    is_read_only: bool = False,
    may_be_absent: bool = False,
) -> Callable[[Callable[[Any], Value]], ShownProperty[Value]]:
    """Return a decorator that makes a method a declared property, in its place among the fields.

    See Declaration for the arguments. The return type of the method is the type of the field.
    """
    declaration = Declaration(
        *(label, meaning, on_page, True, "", tuple(map(str, choices)), "", api_name, empty_is_null),
        may_be_null=may_be_null,
        is_method=is_method,
        serializer=serializer,
        is_read_only=is_read_only,
        may_be_absent=may_be_absent,
    )

    def decorate(read: Callable[[Any], Value]) -> ShownProperty[Value]:
        return ShownProperty(read, declaration)

    return decorate


def shown_method(
    label: str, meaning: str = "", *, on_page: bool = True
) -> Callable[[Callable[[Any, datetime], Value]], ShownMethod[Value]]:
    """Return a decorator that declares a method whose value depends on the time, such as a sentence with an age.

    The method takes `now`. The JSON has its value at the time of the answer.
    """
    declaration = Declaration(label, meaning, on_page, True, "", (), "", is_method=True)

    def decorate(read: Callable[[Any, datetime], Value]) -> ShownMethod[Value]:
        return ShownMethod(read, declaration)

    return decorate


@cache
def fields_of(row: type) -> tuple[Field, ...]:
    """Return the declared fields and properties of a row in the order of their declaration."""
    types = get_type_hints(row)
    declared = [
        Field(field.name, types[field.name], field.metadata[_KEY])
        for field in dataclasses.fields(row)
        if _KEY in field.metadata
    ]
    for name in dir(row):
        member = getattr(row, name, None)
        if isinstance(member, ShownProperty | ShownMethod):
            returned = get_type_hints(member.read)["return"]
            declared.append(Field(name, returned, member.declaration))
    return tuple(sorted(declared, key=_order))


def _order(field: Field) -> int:
    return field.declaration.order
