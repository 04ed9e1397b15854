"""Fingerprints of decoders, by which stored rows of another decoder are read again.

The fingerprint covers the source of a resource's `wire`, `model` and `build`, with their imports from `decode`,
`domain` and their own file or folder. So any edit there, even of a comment, costs one list of the resource after the
upgrade. Without the fingerprint, stored rows would never get a new field.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gangboard.domain.api_resource import Resource

_SHARED = ("gangboard.decode", "gangboard.domain")
_LARGEST: int = 2**31 - 1
"""Largest fingerprint, because the column is a signed 32-bit integer."""


@cache
def decoder_fingerprint(resource: Resource) -> int:
    """Return a number above 0 that changes with the source of the decoder, `Resource.reads` and `Resource.submitter`."""
    digest = hashlib.sha256(repr((resource.reads, resource.submitter)).encode())
    for name in decoder_modules(resource):
        digest.update(_source(name))
    number = int.from_bytes(digest.digest()[:4], "big")
    return number % _LARGEST + 1


def decoder_modules(resource: Resource) -> tuple[str, ...]:
    """Return the sorted names of the modules that decide how objects of a resource are decoded."""
    start = {class_.__module__ for class_ in (resource.wire, resource.model)}
    start |= set(_modules_of_build(resource.build))
    packages = (*_SHARED, *(".".join(name.split(".")[:3]) for name in start))
    prefixes = tuple(f"{package}." for package in packages)
    modules = {name for name in start if name.startswith("gangboard.")}
    for name in (pending := sorted(modules)):
        for imported in _imports(name):
            if imported not in modules and imported.startswith(prefixes):
                modules.add(imported)
                pending.append(imported)
    return tuple(sorted(modules))


def _modules_of_build(build: Any) -> Iterator[str]:
    """Yield the modules of a function or a partial, or of all classes of a bound method."""
    if isinstance(build, partial):
        build = build.func
    if (owner := getattr(build, "__self__", None)) is not None:
        yield from (class_.__module__ for class_ in type(owner).__mro__)
    yield build.__module__


@cache
def _imports(name: str) -> tuple[str, ...]:
    """Return the modules that a module imports from gangboard at its top."""
    names = []
    for node in ast.parse(_source(name)).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gangboard"):
            names.append(node.module)
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(filter(_is_module, names))


@cache
def _is_module(name: str) -> bool:
    package = import_module(name.rpartition(".")[0])
    return hasattr(package, "__path__") and find_spec(name) is not None


@cache
def _source(name: str) -> bytes:
    path = import_module(name).__file__
    return Path(path).read_bytes() if path is not None else b""
