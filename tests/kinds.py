"""Kinds of owners as the registry has them."""

from __future__ import annotations

from typing import TypeVar

from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind

Kind = TypeVar("Kind", bound=OwnerKind)


def registered(class_: type[Kind]) -> Kind:
    """Return the registered instance of a kind."""
    return next(kind for kind in registry.owner_kinds() if type(kind) is class_)
