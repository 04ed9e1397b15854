"""Bearer tokens: their form, their expiry, and token files that a kubelet renews."""

from __future__ import annotations

import base64
import binascii
import re
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gangboard.kube.credential_files import read_small_file
from gangboard.kube.errors import CredentialError

TOKEN = re.compile(r"[A-Za-z0-9._~+/:=-]+")
"""Any other text must not be in a header, and is the content of some other file."""

REREAD_SECONDS = 60.0


class _Claims(msgspec.Struct):
    exp: float | None = None


_CLAIMS = msgspec.json.Decoder(_Claims)


def token_expiry(token: str) -> datetime | None:
    """Return when a JWT expires by its `exp` claim, unverified. None if it has none."""
    segments = token.split(".")
    if len(segments) != 3:
        return None
    try:
        claims = base64.urlsafe_b64decode(segments[1] + "=" * (-len(segments[1]) % 4))
        seconds = _CLAIMS.decode(claims).exp
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (binascii.Error, ValueError, OverflowError, OSError, RecursionError):
        return None


def check_token(token: str, source: str) -> str:
    """Return the token without surrounding space. Raises CredentialError with a sentence about the source."""
    stripped = token.strip()
    if not stripped:
        raise CredentialError(f"{source} is empty; a bearer token is needed.")
    if not TOKEN.fullmatch(stripped):
        raise CredentialError(f"{source} does not hold a bearer token (one word on one line).")
    return stripped


class TokenFile:
    """A token in a file that another process renews. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._token = ""
        self._stamp: tuple[int, int, int] | None = None
        self._read_at = 0.0

    def current(self) -> str:
        """Return the current token. The file is read again after a change, and every 60 s."""
        with self._lock:
            stamp = self._read_stamp()
            stale = time.monotonic() - self._read_at >= REREAD_SECONDS
            if stamp is None or stamp != self._stamp or stale:
                content = read_small_file(self._path, "The token file")
                self._token = check_token(content, f"The token file {self._path}")
                self._stamp, self._read_at = stamp, time.monotonic()
            return self._token

    def _read_stamp(self) -> tuple[int, int, int] | None:
        try:
            # Follows the symbolic link that a kubelet replaces, so a new target is detected.
            status = self._path.stat()
        except OSError:
            return None
        return (status.st_mtime_ns, status.st_ino, status.st_size)
