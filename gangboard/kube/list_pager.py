"""Lists in pages: memory stays small, the snapshot stays one, and an end is certain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

from gangboard.kube.connection import Query
from gangboard.kube.errors import KubeError, KubeErrorCode

PAGE_BYTES_TARGET = 64 * 1024 * 1024
MAX_PAGES = 5000
MAX_LIST_BYTES = 4 * 1024**3
"""Most bytes of one list. 150,000 pods are 300 pages and 0.9 GB."""


class Reader(Protocol):
    """Whoever reads from one API server: a Connection, or what stands before one."""

    @property
    def host(self) -> str:
        """Name of the server, for sentences."""

    def get(self, path: str, query: Query = None) -> bytes:
        """Return the complete JSON answer. Raises KubeError."""


class Page(Protocol):
    """What `pages` must know of a decoded page: its `metadata`."""

    @property
    def continue_token(self) -> str:
        """`metadata.continue`; empty on the last page."""

    @property
    def resource_version(self) -> str:
        """`metadata.resourceVersion`: from where a watch goes on. The same on every page."""


P = TypeVar("P", bound=Page)


def pages(
    reader: Reader,
    path: str,
    decode: Callable[[bytes], P],
    *,
    limit: int = 500,
    page_bytes_target: int = PAGE_BYTES_TARGET,
    query: Query = None,
    most_bytes: int | None = None,
    seconds: float | None = None,
) -> Iterator[P]:
    """Each page of one list, decoded, in order; each has the reader's total deadline for itself.

    `limit` is in objects and is halved whenever a page is larger than `page_bytes_target` bytes.
    `most_bytes` of the whole list; None means MAX_LIST_BYTES. No page is asked for later than `seconds`
    from now; None means any time.
    Raises KubeError; with code `gone` the snapshot is lost and the whole list must start again,
    and what was yielded so far is no proof that anything else does not exist.
    """
    fixed = list(query.items() if isinstance(query, Mapping) else query or ())
    token = ""
    seen: set[str] = set()
    size = 0
    most = MAX_LIST_BYTES if most_bytes is None else most_bytes
    until = None if seconds is None else time.monotonic() + seconds
    for _ in range(MAX_PAGES):
        body, limit = _page(reader, path, fixed, limit, token)
        if len(body) > page_bytes_target:
            limit = max(1, limit // 2)
        size += len(body)
        if size > most:
            raise _endless(reader, path, KubeErrorCode.TOO_LARGE, f"{most / 1024**3:.3g} GiB")
        page = decode(body)
        del body  # while the caller works on the page, its text need not stay in memory
        token = page.continue_token
        if token in seen:
            raise KubeError(
                KubeErrorCode.SERVER_ERROR,
                f"{reader.host} goes round in circles: it gave the same continue token twice"
                f" while listing {path}.",
            )
        seen.add(token)
        yield page
        if not token:
            return
        if until is not None and time.monotonic() > until:
            raise _endless(reader, path, KubeErrorCode.TIMEOUT, f"{seconds:g} s")
    raise _endless(reader, path, KubeErrorCode.TOO_LARGE, f"{MAX_PAGES} pages")


def _endless(reader: Reader, path: str, code: str, most: str) -> KubeError:
    return KubeError(code, f"{reader.host} finds no end: {most} while listing {path}.")


def _page(
    reader: Reader, path: str, fixed: list[tuple[str, str]], limit: int, token: str
) -> tuple[bytes, int]:
    """Return the text of one page, and the limit with which it fitted."""
    while True:
        asked = [*fixed, ("limit", str(limit))]
        if token:
            asked.append(("continue", token))
        try:
            return reader.get(path, asked), limit
        except KubeError as error:
            if error.code != KubeErrorCode.TOO_LARGE or limit == 1:
                raise
        limit //= 2
