"""What an error says, as a sentence on a page."""

from __future__ import annotations


def sentence_of(error: Exception) -> str:
    """Return the text of an error with a capital at the beginning and a full stop at the end."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
