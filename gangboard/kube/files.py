"""Reads files that a kubeconfig or a pod's mount names, and nothing that is not a small text."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from gangboard.kube.errors import CredentialError, clean_text

LARGEST_FILE = 1024 * 1024
"""Bytes."""


def read_small_file(path: Path, what: str) -> str:
    """Return the text of a file of at most 1 MiB, no device or pipe. Raises CredentialError."""
    name = clean_text(str(path))
    try:
        if not path.is_file():
            problem = "is not a plain file" if path.exists() else "does not exist"
            raise CredentialError(f"{what} {name} {problem}.")
        with path.open("rb") as file:
            return small_text(file, f"{what} {name}")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise CredentialError(f"{what} {name} cannot be read: {why}.") from error


def small_text(file: BinaryIO, what: str) -> str:
    """Return the text of an open file of at most 1 MiB. Raises CredentialError that begins with `what`."""
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise CredentialError(f"{what} is larger than 1 MiB.")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CredentialError(f"{what} is not text.") from error
