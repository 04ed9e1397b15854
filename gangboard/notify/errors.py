"""What is said when something about messages cannot be done."""

from __future__ import annotations


class NotifyError(ValueError):
    """What was asked for cannot be done. The text is one sentence for the person who asked."""
