"""What an error says, as a sentence on a page."""

from __future__ import annotations

from gangboard.domain.text import sentence_case


def sentence_of(error: Exception) -> str:
    """Return the text of an error with a capital at the beginning and a full stop at the end."""
    return f"{sentence_case(str(error)).removesuffix('.')}."
