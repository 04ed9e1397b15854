"""Fingerprints of decoders: rows that another decoder has stored are read again.

A decoder is the source of a resource's `wire`, `model` and `build`, with all that these import from `decode`,
`domain` and their own file or folder. So any edit there costs one list of the resource after the upgrade, even
an edit of a comment. A missed edit would leave rows without a new field for ever.
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
_BITS = 31
"""A fingerprint is stored in a signed column of 32 bits."""


@cache
def decoder_fingerprint(resource: Resource) -> int:
    """Return a number above 0 that changes with the source of the decoder and with `Resource.reads`."""
    digest = hashlib.sha256(repr(resource.reads).encode())
    for name in decoder_modules(resource):
        digest.update(_source(name))
    return int.from_bytes(digest.digest()[:4]) % (2**_BITS - 1) + 1


def decoder_modules(resource: Resource) -> tuple[str, ...]:
    """Return the names of the modules that decide how objects of a resource are read, sorted."""
    start = {class_.__module__ for class_ in (resource.wire, resource.model)}
    start |= set(_modules_of_build(resource.build))
    rooms = (*_SHARED, *(".".join(name.split(".")[:3]) for name in start))
    seen = {name for name in start if name.startswith("gangboard.")}
    for name in (waiting := sorted(seen)):
        for imported in _imports(name):
            if imported not in seen and imported.startswith(tuple(f"{room}." for room in rooms)):
                seen.add(imported)
                waiting.append(imported)
    return tuple(sorted(seen))


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
    found = []
    for node in ast.parse(_source(name)).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gangboard"):
            found.append(node.module)
            found += (f"{node.module}.{one.name}" for one in node.names)
    return tuple(one for one in found if _is_module(one))


@cache
def _is_module(name: str) -> bool:
    package = import_module(name.rpartition(".")[0])
    return hasattr(package, "__path__") and find_spec(name) is not None


@cache
def _source(name: str) -> bytes:
    path = import_module(name).__file__
    return Path(path).read_bytes() if path is not None else b""
