"""The files of gangboard that a block of code executes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import gangboard

_PACKAGE = Path(gangboard.__file__).parent
_LEFT_OUT = ("domain", "facts", "placement", "rules")
"""Packages that are read for their own sake: values, readings of a gang, arithmetic, and one file per reason."""


@contextmanager
def executed_files() -> Iterator[set[str]]:
    """Yield a set that receives the executed files by their path in the package, except those of `_LEFT_OUT`."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event != "call" or not file.is_relative_to(_PACKAGE):
            return
        path = file.relative_to(_PACKAGE)
        if path.parts[0] not in _LEFT_OUT:
            files.add(path.as_posix())

    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)
