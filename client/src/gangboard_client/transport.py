"""Requests to the server: deadlines, retries, and one sentence for every failure."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import urllib3

from gangboard_client import __version__, clock
from gangboard_client.errors import NotReachedError, RefusedError, UsageError
from gangboard_client.schema import OPERATIONS

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
"""For one try, from its beginning to the last byte of the answer."""
LEAST_SECONDS = 1.0
"""A try has at least this long, whatever the caller's deadline is."""
RETRY_SECONDS = 60.0
"""For all tries of one request."""
TRIES = 4
"""Tries while the server cannot be reached. A busy server that says when to come back is asked more often."""
FIRST_PAUSE = 0.5
LARGEST_ANSWER = 64 * 1024 * 1024
_CHUNK = 65_536
_REASON_LENGTH = 200

Query = Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """A good answer."""

    data: Any
    now: datetime
    """The server's time. Ages are counted from it, so a wrong clock here does no harm."""
    retry_after: float | None


class Server:
    """A gangboard server, as one caller sees it."""

    def __init__(self, address: str, token: str, *, ca_file: str = "") -> None:
        """`address` is what settings.read_address returns. Raises UsageError for a bad CA file."""
        self.address = address
        self.secret = token
        self._headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {token}",
            "User-Agent": f"gangboard-client/{__version__}",
        }
        self._pool = _pool(address, ca_file)
        self.deadline: float | None = None
        """When the caller gives up (`clock.monotonic`): no try goes on longer."""

    def ask(
        self,
        operation: str,
        *parts: str,
        query: Query | None = None,
        body: object = None,
        key: str = "",
        seconds: float = ANSWER_SECONDS,
    ) -> Answer:
        """Send a request until it is answered; `parts` fill the path, `key` is the Idempotency-Key.

        Every operation may be sent twice: actions have a key, all others change nothing. Raises RefusedError and
        NotReachedError.
        """
        give_up_at = clock.monotonic() + RETRY_SECONDS
        if self.deadline is not None:
            give_up_at = min(give_up_at, self.deadline)
            seconds = max(LEAST_SECONDS, min(seconds, self.deadline - clock.monotonic()))
        pause, tries = FIRST_PAUSE, 0
        while True:
            tries += 1
            try:
                return self._try(operation, parts, query or {}, body, key, seconds)
            except NotReachedError as error:
                if not error.may_repeat or tries >= TRIES:
                    raise
                wait = pause
                if clock.monotonic() + wait > give_up_at:
                    raise
            except RefusedError as error:
                said = error.retry_after
                if not error.is_passing or (said is None and tries >= TRIES):
                    raise
                wait = pause if said is None else max(said, pause)
                if clock.monotonic() + wait > give_up_at:
                    raise
            clock.sleep(wait)
            pause *= 2

    def _try(
        self,
        operation: str,
        parts: tuple[str, ...],
        query: Query,
        body: object,
        key: str,
        seconds: float,
    ) -> Answer:
        method, path, known, *_ = OPERATIONS[operation]
        if unknown := set(query) - set(known):
            raise UsageError(f"{operation} has no parameter {', '.join(sorted(unknown))}.")
        headers = dict(self._headers)
        if key:
            headers["Idempotency-Key"] = key
        if body is not None:
            headers["Content-Type"] = "application/json"
        status, answered, text = self._exchange(
            method,
            f"{self.address}/api/v1/{_filled(path, parts)}{'?' if query else ''}{urlencode(query)}",
            headers,
            None if body is None else json.dumps(body).encode(),
            seconds,
        )
        return self._read(status, answered, text)

    def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        deadline = clock.monotonic() + seconds
        timeout = urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds)
        try:
            response = self._pool.request(
                method,
                url,
                headers=headers,
                body=body,
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                return response.status, response.headers, self._body(response, deadline)
            finally:
                response.close()
        except urllib3.exceptions.HTTPError as error:
            raise self._not_reached(error) from error

    def _body(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        found = b""
        while chunk := response.read1(_CHUNK):
            found += chunk
            if len(found) > LARGEST_ANSWER:
                raise NotReachedError(
                    f"{self.address} sent more than {LARGEST_ANSWER} bytes.", may_repeat=False
                )
            if clock.monotonic() > deadline:
                raise NotReachedError(f"{self.address} did not send its whole answer in time.")
        return found

    def _not_reached(self, error: urllib3.exceptions.HTTPError) -> NotReachedError:
        if _is_caused_by(error, ssl.SSLCertVerificationError):
            sentence = (
                f"The certificate of {self.address} is not trusted: {_reason(error)}. "
                "Name the file of its certificate authority with --ca-file."
            )
            return NotReachedError(sentence, may_repeat=False)
        if isinstance(error, urllib3.exceptions.SSLError):
            sentence = f"{self.address} does not speak TLS as this client does: {_reason(error)}."
            return NotReachedError(sentence, may_repeat=False)
        refused = isinstance(error, urllib3.exceptions.NewConnectionError)  # a timeout in urllib3
        if isinstance(error, urllib3.exceptions.TimeoutError) and not refused:
            return NotReachedError(f"{self.address} did not answer in time.")
        return NotReachedError(f"{self.address} cannot be reached: {_reason(error)}.")

    def _redirected(self, location: str) -> NotReachedError:
        """Return the error for a redirect, which is never followed: it could take the token elsewhere."""
        where = urlsplit(location)
        if not where.netloc:
            sentence = f"{self.address} redirects to a page: gangboard is not at this address."
        else:
            sentence = f"{self.address} redirects to {where.scheme}://{where.netloc.rpartition('@')[2]}: if that is gangboard, name it with --server."
        return NotReachedError(sentence, may_repeat=False)

    def _read(self, status: int, headers: Mapping[str, str], text: bytes) -> Answer:
        """Return a good answer. Raises RefusedError and NotReachedError for all others."""
        said = _seconds(headers.get("Retry-After"), _now(headers))
        if 300 <= status < 400:
            raise self._redirected(headers.get("Location", ""))
        try:
            data = json.loads(text)
        except ValueError:
            data = None
        if isinstance(data, dict) and 200 <= status < 300:
            return Answer(data, _now(headers), said)
        if isinstance(data, dict) and isinstance(data.get("detail"), str):
            refused = RefusedError(
                _sentence(data), status=status, action_id=str(data.get("action_id") or "")
            )
        else:
            kind = headers.get("Content-Type", "no type")
            sentence = f"{self.address} did not answer as gangboard does (status {status}, {kind})."
            if 200 <= status < 300:
                raise NotReachedError(sentence, may_repeat=False)
            refused = RefusedError(sentence, status=status)
        refused.retry_after = said
        raise refused


def _pool(address: str, ca_file: str) -> urllib3.PoolManager:
    """Return a pool that trusts the system's authorities, or those of a file, and goes through its proxy."""
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"The CA file {ca_file} cannot be used: {error}.") from error
    host, scheme = urlsplit(address).netloc, urlsplit(address).scheme
    proxy = urllib.request.getproxies().get(scheme)
    if proxy and not is_loopback(address) and not urllib.request.proxy_bypass(host):
        parts = urlsplit(proxy)
        account = f"{parts.username or ''}:{parts.password or ''}" if parts.username else ""
        named = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        given = urllib3.make_headers(proxy_basic_auth=account) if account else None
        return urllib3.ProxyManager(named, proxy_headers=given, ssl_context=context)
    return urllib3.PoolManager(ssl_context=context)


def is_loopback(address: str) -> bool:
    """Return whether an address is one of this machine."""
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _filled(path: str, parts: tuple[str, ...]) -> str:
    for part in parts:
        before, _, rest = path.partition("{")
        path = before + quote(part, safe="") + rest.partition("}")[2]
    return path


def _sentence(problem: Mapping[str, Any]) -> str:
    """Return the server's sentence, with the name of the field if it is about one."""
    detail = str(problem["detail"])
    errors = problem.get("errors")
    if isinstance(errors, dict) and errors:
        fields = ", ".join(str(name) for name in errors)
        return f"{fields}: {detail}"
    return detail


def _now(headers: Mapping[str, str]) -> datetime:
    try:
        return parsedate_to_datetime(headers["Date"]).astimezone(UTC)
    except (KeyError, ValueError):
        return datetime.now(UTC)


def _seconds(text: str | None, now: datetime) -> float | None:
    """Return the seconds of Retry-After, which are a number or a date."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it, the first cause last."""
    inner: BaseException | None = error
    while inner is not None:
        yield inner
        inner = inner.__cause__ or inner.__context__


def _is_caused_by(error: Exception, kind: type[BaseException]) -> bool:
    return any(isinstance(one, kind) for one in _causes(error))


def _reason(error: Exception) -> str:
    """Return what the operating system or OpenSSL said."""
    *_, inner = _causes(error)
    text = getattr(inner, "verify_message", None) or getattr(inner, "strerror", None) or str(inner)
    return " ".join(text.split())[:_REASON_LENGTH].rstrip(".")
