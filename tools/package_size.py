"""Size of the package `gangboard` without migrations."""

from __future__ import annotations

from pathlib import Path

import gangboard

SHORT = 50
"""Lines. A shorter file is rarely a topic of its own."""


def files() -> int:
    """Return the number of Python files."""
    return len(_line_counts())


def short_files() -> int:
    """Return the number of Python files with fewer than 50 lines, except `__init__`."""
    return sum(lines < SHORT for file, lines in _line_counts().items() if file.stem != "__init__")


def lines() -> int:
    """Return the number of lines in all Python files."""
    return sum(_line_counts().values())


def _line_counts() -> dict[Path, int]:
    sources = Path(gangboard.__file__).parent.rglob("*.py")
    return {
        file: len(file.read_text().splitlines())
        for file in sources
        if file.parent.name != "migrations"
    }
