"""The registries as they are with some of their files left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import gangboard.groups
import gangboard.owners
import gangboard.queues
from gangboard.plugins import discovery, reasons, registry
from gangboard.store import gang_objects

ROOMS = (gangboard.owners, gangboard.groups, gangboard.queues)
MEMBERS = sorted(
    f"{room.__name__}.{file.stem}"
    for room in ROOMS
    for file in Path(room.__path__[0]).iterdir()
    if not file.stem.startswith("_")
)
"""Every kind, grouping API and admission system, by its module."""
_member_modules = discovery.member_modules


@contextmanager
def members(is_there: Callable[[str], bool]) -> Iterator[None]:
    """Register only the kinds, grouping APIs and admission systems of these modules. Levers and rules stay."""

    def member_modules(package: ModuleType) -> Iterator[tuple[ModuleType, ...]]:
        for modules in _member_modules(package):
            if package not in ROOMS or is_there(modules[0].__name__):
                yield modules

    with patch.object(discovery, "member_modules", member_modules):
        forget()
        yield
    forget()


def forget() -> None:
    """Have the registries look through their folders anew."""
    for item in (*vars(registry).values(), *vars(reasons).values(), gang_objects.action_models):
        if hasattr(item, "cache_clear"):
            item.cache_clear()
