"""A blueprint: an object that owners of a kind name and are made by, such as the runtime of a TrainJob."""

from __future__ import annotations

from dataclasses import dataclass, field

from gangboard.domain.objects import Meta


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What is kept of one. Only the file of the kind that names it reads `detail`."""

    meta: Meta
    """Of an object of the whole cluster the namespace is empty."""
    detail: dict[str, str] = field(default_factory=dict)
