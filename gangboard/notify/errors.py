"""The error of changes to rules and channels."""

from __future__ import annotations


class NotifyError(ValueError):
    """A refused change. The text is one sentence for the person who wanted it."""
