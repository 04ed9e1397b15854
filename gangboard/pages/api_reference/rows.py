"""The API as the reference shows it: resources, calls, parameters, answers, objects and fields."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiType:
    """The type of a value: JSON's own words, with the object or the words that it may have."""

    words: str
    """Such as `string or null`. Ends with `of` where an object follows."""
    schema: str = ""
    """Name of the object; empty for plain values."""
    choices: tuple[str, ...] = ()
    """All words that the value can be; empty where any text is possible."""


@dataclass(frozen=True, slots=True)
class ApiField:
    """A field of an object, or a parameter of a call."""

    name: str
    type: ApiType
    meaning: str
    place: str = ""
    """`query`, `path` or `header` of a parameter; empty for a field."""
    is_optional: bool = False
    """Whether the field may be absent. Parameters are not marked: only those of the path are needed."""
    usual: str = ""
    """The value of a parameter that is left out; empty if it has none."""


@dataclass(frozen=True, slots=True)
class ApiObject:
    """A JSON object of requests or answers."""

    name: str
    meaning: str
    fields: tuple[ApiField, ...]


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A good answer of a call."""

    status: str
    """Number and phrase, such as `202 Accepted`."""
    content: str
    """Media type; empty without a body."""
    schema: str
    """Name of the object in it; empty for other content."""
    meaning: str


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One method of one address."""

    id: str
    """The operation's id in the OpenAPI document."""
    method: str
    path: str
    """Behind `/api/v1/`."""
    summary: str
    """The first sentence about it."""
    details: tuple[str, ...]
    """The paragraphs after it."""
    parameters: tuple[ApiField, ...]
    body: str
    """Name of the object that is sent; empty for none."""
    answers: tuple[ApiAnswer, ...]
    errors: tuple[str, ...]
    """Number and phrase of each error."""


@dataclass(frozen=True, slots=True)
class ApiResource:
    """Calls whose addresses begin with the same word."""

    name: str
    calls: tuple[ApiCall, ...]
    objects: tuple[ApiObject, ...]
    """All that occur in them, in the order in which they are met."""
