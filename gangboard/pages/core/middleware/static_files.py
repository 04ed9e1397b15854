"""Static files below an address with a digest of all of them, so that browsers can cache them forever.

The digest is a folder in the address, so relative imports between modules keep the digest. An upgrade changes
it. There is no collect step.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any, cast

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.encoding import filepath_to_uri
from whitenoise.middleware import WhiteNoiseMiddleware

_DIGEST_BYTES = 6
_DIGEST = re.compile(rf"[0-9a-f]{{{2 * _DIGEST_BYTES}}}/")


@cache
def files_digest() -> str:
    """Return the digest of the names and contents of all static files."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for finder in finders.get_finders():
        for name, storage in sorted(finder.list(None), key=lambda file: str(file[0])):
            content = Path(storage.path(name)).read_bytes()
            digest.update(
                f"{getattr(storage, 'prefix', None) or ''}/{name}\0{len(content)}\0".encode()
            )
            digest.update(content)
    return digest.hexdigest()


class DigestStorage(StaticFilesStorage):
    """Storage whose file addresses contain the digest."""

    def url(self, name: str | None) -> str:
        """Return the address of a file."""
        return f"{self.base_url}{files_digest()}/{filepath_to_uri(name)}"


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Serves static files: cached forever below the digest, and for a minute at any other address.

    A page of another release has another digest. It gets the files of this release for a minute, because a
    request can reach either server during an upgrade.
    """

    files: dict[str, Any]
    static_prefix: str

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Serve the file, or let the next middleware answer."""
        if request.path_info not in self.files:
            file = self.files.get(self._without_digest(request.path_info))
            if file is not None:
                return cast("HttpResponseBase", self.serve(file, request))
        return cast("HttpResponseBase", super().__call__(request))

    def add_files_from_finders(self) -> None:
        """Add each file twice: under its name, and below the digest."""
        super().add_files_from_finders()
        for url in tuple(self.files):
            name = url.removeprefix(self.static_prefix)
            path = finders.find(name)
            self.add_file_to_dictionary(f"{self.static_prefix}{files_digest()}/{name}", path)

    def immutable_file_test(self, path: Any, url: str) -> bool:  # noqa: ARG002  # WhiteNoise's
        """Return whether the content of an address never changes."""
        return url.startswith(f"{self.static_prefix}{files_digest()}/")

    def _without_digest(self, path: str) -> str:
        if not path.startswith(self.static_prefix):
            return path
        return self.static_prefix + _DIGEST.sub("", path.removeprefix(self.static_prefix), count=1)
