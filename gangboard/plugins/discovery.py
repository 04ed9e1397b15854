"""Discovery: finds the members of a registry in their folder."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from operator import attrgetter
from types import ModuleType
from typing import Any, TypeVar

Member = TypeVar("Member")


class RegistryError(RuntimeError):
    """A member is incomplete, or its key is already taken."""


def find_members(
    package: ModuleType,
    base: type,
    name: str,
    *arguments: object,
    methods: Sequence[str] = (),
    key: Callable[[Any], str] | None = None,
) -> tuple[Any, ...]:
    """Return an instance of each subclass of `base` in a package, sorted by key. `arguments` go to its constructor.

    A subclass that does not set the attribute `name`, such as `label`, is only a base of others. The value of
    that attribute is the key, unless `key` returns another one.

    Raises RegistryError in these cases:

    - A file has no member.
    - A member lacks a required attribute, or does not override all of `methods`.
    - Two members have the same key.
    """
    classes = _classes(package, base, name, methods)
    return sorted_by_key((class_(*arguments) for class_ in classes), key or attrgetter(name))


def _classes(
    package: ModuleType, base: type, name: str, methods: Sequence[str]
) -> Iterator[type[Any]]:
    for modules in member_modules(package):
        classes = [
            value
            for module in modules
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, base)
            and value.__module__ == module.__name__
            and bool(getattr(value, name, None))
        ]
        if not classes:
            file = modules[0].__name__
            raise RegistryError(f"{file} has no subclass of {base.__name__} with a {name}")
        for class_ in classes:
            missing = _missing_attributes(class_, base, methods)
            if missing:
                class_path = f"{class_.__module__}.{class_.__name__}"
                raise RegistryError(f"{class_path} has no {' and no '.join(missing)}")
            yield class_


def member_modules(package: ModuleType) -> Iterator[tuple[ModuleType, ...]]:
    """Yield the modules of each file and each subfolder of a package. The package of a subfolder comes first."""
    for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = import_module(entry.name)
        below = pkgutil.walk_packages(module.__path__, f"{entry.name}.") if entry.ispkg else ()
        yield module, *(import_module(info.name) for info in below)


def _missing_attributes(class_: type, base: type, methods: Iterable[str]) -> list[str]:
    """Return the attributes that a base class declares without a value and the methods that are not overridden."""
    declared = (name for above in class_.__mro__ for name in inspect.get_annotations(above))
    unset = [name for name in dict.fromkeys(declared) if not hasattr(class_, name)]
    return [*unset, *(name for name in methods if getattr(class_, name) is getattr(base, name))]


def find_constants(package: ModuleType, constant: str, types: tuple[type, ...]) -> Iterator[Any]:
    """Yield the members in constants of the modules below a package.

    A module has one member in `constant` (RULE), or several in a tuple with the plural name (RULES). Raises
    RegistryError for a module that has neither, or a value of another type.
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


def sorted_by_key(members: Iterable[Member], key: Callable[[Member], str]) -> tuple[Member, ...]:
    """Return the members sorted by key. Raises RegistryError if two of them have the same key."""
    members_by_key: dict[str, Member] = {}
    for member in members:
        name = key(member)
        if name in members_by_key:
            raise RegistryError(f"{type(member).__module__} registers {name!r} a second time")
        members_by_key[name] = member
    return tuple(members_by_key[name] for name in sorted(members_by_key))
