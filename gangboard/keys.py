"""Keys of this installation. They come from a variable or a file, or are created once in the state folder."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path

from cryptography.fernet import Fernet

from gangboard.env import SettingError, record, restrict_to_owner, text_of_file

SHORTEST_SECRET = 32
"""Characters; `openssl rand -hex 32` prints 64."""
FEWEST_CHARACTERS = 5
"""Number of different characters that Django's own check requires."""


def fernet_problem(key: str) -> str:
    """Return why a text is not a Fernet key, as the end of a sentence; empty if it is one."""
    try:
        Fernet(key)
    except ValueError:
        return "must be a Fernet key, as `openssl rand -base64 32 | tr +/ -_` makes one"
    return ""


def secret_problem(key: str) -> str:
    """Return why a key can be guessed, as the end of a sentence; empty if it cannot."""
    if len(key) >= SHORTEST_SECRET and len(set(key)) >= FEWEST_CHARACTERS:
        return ""
    return (
        f"must have at least {SHORTEST_SECRET} characters, {FEWEST_CHARACTERS} different ones among "
        "them, as `openssl rand -hex 32` makes them"
    )


def read_keys(
    name: str,
    meaning: str,
    *,
    folder: Path,
    make: Callable[[], str],
    problem: Callable[[str], str],
) -> tuple[str, ...]:
    """Return the keys of NAME or of the file that NAME_FILE names, newest first.

    Blanks, lines or commas separate them. Without either, one is created once in `folder`, mode 0600. Raises
    SettingError, which repeats no key. An unreadable file is an error, never a reason for a new key.
    """
    raw = os.environ.get(name) or text_of_file(name)
    place = "" if raw is None or os.environ.get(name) else f", from the file of {name}_FILE,"
    if raw is None:
        path = folder / name.lower().removeprefix("gangboard_")
        text, place = _read_or_create(name, path, make), f", from {path},"
    else:
        text = raw
    keys = tuple(key for key in re.split(r"[\s,]+", text) if key)
    problems = [problem(key) for key in keys] or ["holds no key"]
    for number, fault in enumerate(problems, 1):
        if fault:
            key_name = f"key {number} of {name}" if len(keys) > 1 else name
            raise SettingError(f"{key_name}{place} {fault} (it is not shown)")
    shown_keys = "(hidden)" if len(keys) == 1 else f"({len(keys)} keys, hidden)"
    record(name, f"{meaning} ({name}_FILE names a file instead)", shown_keys, raw)
    return keys


def _read_or_create(name: str, path: Path, make: Callable[[], str]) -> str:
    """Return the text of the file. Create a missing file so that one of two simultaneous processes wins."""
    try:
        if not path.exists():
            _write_once(path, make())
        restrict_to_owner(path)
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingError(
            f"{name} is not set and cannot be kept in {path}: {error.strerror}. Set it, or name another "
            "folder in GANGBOARD_STATE"
        ) from error


def _write_once(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as draft_file:
        draft_file.write(text)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # Another process was first, and its secret counts.
    finally:
        draft.unlink()
