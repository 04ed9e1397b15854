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
from gangboard.plugins import registry
from gangboard.store import action_context

ROOMS = (gangboard.owners, gangboard.groups, gangboard.queues)
MEMBERS = sorted(
    f"{room.__name__}.{file.stem}"
    for room in ROOMS
    for file in Path(room.__path__[0]).iterdir()
    if not file.stem.startswith("_")
)
"""Every kind, grouping API and admission system, by its module."""
_find, _entries = registry._modules, registry.entries  # what a folder is looked through with


@contextmanager
def members(is_there: Callable[[str], bool]) -> Iterator[None]:
    """Have only those kinds, grouping APIs and admission systems whose modules are there; levers and rules stay."""

    def modules(package: ModuleType, constant: str) -> Iterator[ModuleType]:
        for module in _find(package, constant):
            if package not in ROOMS or is_there(module.__name__):
                yield module

    def entries(package: ModuleType) -> Iterator[tuple[ModuleType, ...]]:
        return (modules for modules in _entries(package) if is_there(modules[0].__name__))

    with (
        patch.object(registry, "_modules", modules),
        patch.object(registry, "entries", entries),
    ):
        forget()
        yield
    forget()


def forget() -> None:
    """Have the registries look through their folders anew."""
    for one in (*vars(registry).values(), action_context.action_models):
        if hasattr(one, "cache_clear"):
            one.cache_clear()
