"""Annotations by which gangboard leaves word on an object. People can edit them: read, not trusted."""

from __future__ import annotations

import msgspec

from gangboard.decode.wire import Wire, read_text
from gangboard.domain.hold import ACTION_ANNOTATION, HELD_BY, PAUSED_PARALLELISM

# Ids of actions are shorter and names of objects no longer; other text is not from gangboard.
_MAX_TEXT = 253
_MAX_PARALLELISM = 2**31 - 1


class WireActionAnnotations(Wire):
    """The annotation of whatever an action wrote to."""

    action: str | None = msgspec.field(default=None, name=ACTION_ANNOTATION)

    @property
    def last_action(self) -> str:
        """Id of the action that changed the object last, or empty."""
        return _capped(self.action)


class WireJobAnnotations(WireActionAnnotations):
    """The annotations of a Job that an action or the policy of the Hold wrote to."""

    held: str | None = msgspec.field(default=None, name=HELD_BY)
    parallelism: str | None = msgspec.field(default=None, name=PAUSED_PARALLELISM)

    @property
    def held_by(self) -> str:
        """Name of the Hold that turned a resume back, or empty."""
        return _capped(self.held)

    @property
    def paused_parallelism(self) -> int | None:
        """The parallelism that is kept while it is 0; None for nothing and for what is no number."""
        text = self.parallelism or ""
        if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_PARALLELISM))):
            return None
        number = int(text)
        return number if number <= _MAX_PARALLELISM else None


def _capped(text: str | None) -> str:
    read = read_text(text)
    return read if len(read) <= _MAX_TEXT else ""
