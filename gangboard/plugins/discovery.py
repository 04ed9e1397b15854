"""Finds the members of a registry by their folder."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import TypeVar

Member = TypeVar("Member")


class RegistryError(RuntimeError):
    """A member is incomplete, or has the key of another member."""


def find_classes(package: ModuleType, base: type[Member], name: str) -> Iterator[type[Member]]:
    """Yield the subclasses of `base` that the files of a package define.

    A class that does not set the attribute `name`, such as `key`, is only a base of others. Raises RegistryError for a
    file without a member, and for a member without a required attribute or method.
    """
    for modules in entries(package):
        classes = [
            value
            for module in modules
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, base)
            and value.__module__ == module.__name__
            and getattr(value, name, "")
        ]
        if not classes:
            file = modules[0].__name__
            raise RegistryError(f"{file} has no subclass of {base.__name__} with a {name}")
        for class_ in classes:
            missing = _missing(class_)
            if missing:
                where = f"{class_.__module__}.{class_.__name__}"
                raise RegistryError(f"{where} has no {' and no '.join(missing)}")
            yield class_


def entries(package: ModuleType) -> Iterator[tuple[ModuleType, ...]]:
    """Yield the modules of each file of a package and of each folder in it, the folder itself first."""
    for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = import_module(entry.name)
        below = pkgutil.walk_packages(module.__path__, f"{entry.name}.") if entry.ispkg else ()
        yield module, *(import_module(info.name) for info in below)


def _missing(class_: type) -> list[str]:
    """Return the attributes that a base declares without a value, and the abstract methods."""
    declared = (name for base in class_.__mro__ for name in inspect.get_annotations(base))
    unset = [name for name in dict.fromkeys(declared) if not hasattr(class_, name)]
    return [*unset, *sorted(getattr(class_, "__abstractmethods__", ()))]


def find_constants(
    package: ModuleType, constant: str, types: tuple[type[Member], ...]
) -> Iterator[Member]:
    """Yield the members that the modules below a package have as constants.

    A module has one member in `constant` (RULE), or several in a tuple whose name is its plural (RULES). Raises
    RegistryError for a module that has neither, or another type there.
    """
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if info.ispkg:
            continue
        module = import_module(info.name)
        for member in getattr(module, f"{constant}S", (getattr(module, constant, None),)) or (
            None,
        ):
            if not isinstance(member, types):
                names = " or ".join(type_.__name__ for type_ in types)
                raise RegistryError(f"{info.name} has no constant {constant} of type {names}")
            yield member


def by_key(members: Iterable[Member], key: Callable[[Member], str]) -> tuple[Member, ...]:
    """Return members sorted by key. Raises RegistryError for a key that two of them have."""
    found: dict[str, Member] = {}
    for member in members:
        name = key(member)
        if name in found:
            raise RegistryError(f"{type(member).__module__} registers {name!r} a second time")
        found[name] = member
    return tuple(found[name] for name in sorted(found))
