"""Paged lists: little memory, one consistent snapshot, and a certain end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

from gangboard.kube.connection import Query
from gangboard.kube.errors import KubeError, KubeErrorCode

PAGE_BYTES_TARGET = 64 * 1024 * 1024
MAX_PAGES = 5000
MAX_LIST_BYTES = 4 * 1024**3
"""Maximum bytes of one list. 150,000 pods are 300 pages and 0.9 GB."""


class Reader(Protocol):
    """A client that reads from one API server: a Connection, or a wrapper of one."""

    @property
    def host(self) -> str:
        """Name of the server, for sentences."""

    def get(self, path: str, query: Query = None) -> bytes:
        """Return the complete JSON answer. Raises KubeError."""


class Page(Protocol):
    """The `metadata` of a decoded page that `pages` reads."""

    @property
    def continue_token(self) -> str:
        """`metadata.continue`; empty on the last page."""

    @property
    def resource_version(self) -> str:
        """`metadata.resourceVersion`, from which a watch continues. It is the same on every page."""


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
    """Yield each decoded page of one list, in order. Each page has the reader's total deadline for itself.

    - `limit`: objects on a page. It is halved whenever a page has more than `page_bytes_target` bytes.
    - `most_bytes`: of the whole list, by default MAX_LIST_BYTES.
    - `seconds`: from now, after which no further page is requested, by default unlimited.

    Raises KubeError. With the code `gone` the snapshot has expired, and the list must start again. The pages before
    an error do not prove that any other object does not exist.
    """
    fixed = list(query.items() if isinstance(query, Mapping) else query or ())
    token = ""
    seen: set[str] = set()
    size = 0
    max_bytes = MAX_LIST_BYTES if most_bytes is None else most_bytes
    deadline = None if seconds is None else time.monotonic() + seconds
    for _ in range(MAX_PAGES):
        body, limit = _page(reader, path, fixed, limit, token)
        if len(body) > page_bytes_target:
            limit = max(1, limit // 2)
        size += len(body)
        if size > max_bytes:
            raise _endless(reader, path, KubeErrorCode.TOO_LARGE, f"{max_bytes / 1024**3:.3g} GiB")
        page = decode(body)
        del body  # the caller may work on the page for long, and needs no copy of its text
        token = page.continue_token
        if token in seen:
            raise KubeError(
                KubeErrorCode.SERVER_ERROR,
                f"{reader.host} repeats itself: it gave the same continue token twice"
                f" while listing {path}.",
            )
        seen.add(token)
        yield page
        if not token:
            return
        if deadline is not None and time.monotonic() > deadline:
            raise _endless(reader, path, KubeErrorCode.TIMEOUT, f"{seconds:g} s")
    raise _endless(reader, path, KubeErrorCode.TOO_LARGE, f"{MAX_PAGES} pages")


def _endless(reader: Reader, path: str, code: str, limit: str) -> KubeError:
    return KubeError(code, f"{reader.host} does not end the list: {limit} while listing {path}.")


def _page(
    reader: Reader, path: str, fixed: list[tuple[str, str]], limit: int, token: str
) -> tuple[bytes, int]:
    """Return the text of one page, and the limit that it was read with."""
    while True:
        page_query = [*fixed, ("limit", str(limit))]
        if token:
            page_query.append(("continue", token))
        try:
            return reader.get(path, page_query), limit
        except KubeError as error:
            if error.code != KubeErrorCode.TOO_LARGE or limit == 1:
                raise
        limit //= 2
