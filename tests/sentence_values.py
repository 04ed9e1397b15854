"""Values that a rule fills into a sentence. Only the catalogue compares the wording (`tests.catalogue`)."""

from __future__ import annotations

import re

_VALUE = re.compile(
    r"[\w“”…./:=@%+-]*\d[\w“”…./:=@%+-]*"  # a number, or a name with a digit
    r"|\b(?!(?:[Rr]e|anti)-)\w+(?:[-/=:.@]\w+)+"  # a name of several parts; no word like `re-creating`
)


def values_in(*sentences: str) -> str:
    """Return the numbers and names of these sentences in their order: `2 run-workers-0 zone=moon`.

    A name of letters alone is a word like others.
    """
    values = (value.group() for sentence in sentences for value in _VALUE.finditer(sentence))
    return " ".join(value.rstrip(".:-") for value in values)
