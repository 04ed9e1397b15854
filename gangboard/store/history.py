"""Verdicts in the order of time: spans that begin and end on change only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any


def record_verdicts(
    rows: Sequence[Mapping[str, Any]], before: Mapping[str, Mapping[str, Any]], *, at: datetime
) -> None:
    """Begin a span for each gang whose code or health is new, and end the one before.

    `rows` are gangs as stored now, `before` the same by uid as they were. Inside `writing`.
    """


def end_spans(cluster_id: int, uids: Sequence[str], *, at: datetime) -> None:
    """End the spans of gangs whose owners were seen deleted. Inside `writing`."""
