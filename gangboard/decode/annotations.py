"""Annotations that gangboard writes to objects. Users can edit them, so they are untrusted input."""

from __future__ import annotations

import msgspec

from gangboard.decode.wire import Wire, read_text
from gangboard.domain.hold import ACTION_ANNOTATION, EXCLUSION, HELD_BY, PAUSED_PARALLELISM

# No action id or object name is longer, so a longer text is not from gangboard.
_MAX_TEXT = 253
_MAX_PARALLELISM = 2**31 - 1
_MAX_EXCLUSION = 16_384
"""Characters. The largest exclusion that gangboard writes has 20 host names, less than 6,000."""


class WireActionAnnotations(Wire):
    """Annotation of an object that an action changed."""

    action: str | None = msgspec.field(default=None, name=ACTION_ANNOTATION)

    @property
    def last_action(self) -> str:
        """Id of the action that changed the object last, or empty."""
        return _capped(self.action)


class WireJobAnnotations(WireActionAnnotations):
    """Annotations of a Job that an action or the policy of Holds changed."""

    held: str | None = msgspec.field(default=None, name=HELD_BY)
    parallelism: str | None = msgspec.field(default=None, name=PAUSED_PARALLELISM)

    excluded: str | None = msgspec.field(default=None, name=EXCLUSION)

    @property
    def exclusion(self) -> str:
        """Node requirement of a relocation as JSON, or empty."""
        value = read_text(self.excluded)
        return value if len(value) <= _MAX_EXCLUSION else ""

    @property
    def held_by(self) -> str:
        """Name of the Hold that reverted a resume, or empty."""
        return _capped(self.held)

    @property
    def paused_parallelism(self) -> int | None:
        """Former parallelism of a paused Job, or None if the annotation is missing or malformed."""
        text = self.parallelism or ""
        if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_PARALLELISM))):
            return None
        number = int(text)
        return number if number <= _MAX_PARALLELISM else None


def _capped(text: str | None) -> str:
    value = read_text(text)
    return value if len(value) <= _MAX_TEXT else ""
