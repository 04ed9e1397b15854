"""Errors of requests to an API server, with codes for machines and sentences for people."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum


class KubeErrorCode(StrEnum):
    """The reason why a request failed."""

    UNREACHABLE = "unreachable"
    """No connection was made: the name or address does not work, or no server listens there."""
    TIMEOUT = "timeout"
    """The response did not end, or no byte arrived, within the deadline."""
    TLS = "tls"
    """The connection is not secure: a bad certificate, or no TLS at all."""
    CREDENTIALS = "credentials"
    """A kubeconfig, token or certificate cannot be used. No request was sent."""
    UNAUTHORIZED = "unauthorized"
    """401: the server rejects the credentials."""
    FORBIDDEN = "forbidden"
    """403: the account lacks the permission."""
    POLICY_NOT_READY = "policy-not-ready"
    """403 of an API server that does not know the parameters of an admission policy yet.

    After its start a server refuses so for up to 29 s (observed)."""
    NOT_FOUND = "not-found"
    """404: the path or the object does not exist, see `KubeError.is_object_missing`."""
    GONE = "gone"
    """410: the requested state, such as a resourceVersion, has expired."""
    THROTTLED = "throttled"
    """429: the server asks to slow down."""
    SERVER_ERROR = "server-error"
    """5xx, or a response that no healthy server sends."""
    REDIRECTED = "redirected"
    """3xx: the server redirects elsewhere. Redirects are not followed."""
    NOT_JSON = "not-json"
    """The response is not from Kubernetes."""
    TOO_LARGE = "too-large"
    """The response exceeds one of our limits."""
    BROKEN_OFF = "broken-off"
    """The response ended early."""
    BAD_REQUEST = "bad-request"
    """Another 4xx."""
    ALREADY_EXISTS = "already-exists"
    """409 to a create: an object of that name exists."""
    CONFLICT = "conflict"
    """409: the object is not in the state that the request requires."""
    INVALID = "invalid"
    """422: the server does not accept the object."""
    FORBIDDEN_ADDRESS = "forbidden-address"
    """A person entered an address to which this installation does not connect. No request was sent."""
    SAME_CLUSTER = "same-cluster"
    """gangboard has another name for this cluster: its `kube-system` has the same uid."""
    OTHER_CLUSTER = "other-cluster"
    """A different cluster answers than the one that was added: its `kube-system` has another uid."""


PERMANENT = frozenset(
    {
        KubeErrorCode.TLS,
        KubeErrorCode.UNAUTHORIZED,
        KubeErrorCode.FORBIDDEN,
        KubeErrorCode.NOT_FOUND,
        KubeErrorCode.REDIRECTED,
        KubeErrorCode.NOT_JSON,
        KubeErrorCode.TOO_LARGE,
        KubeErrorCode.BAD_REQUEST,
        KubeErrorCode.ALREADY_EXISTS,
        KubeErrorCode.INVALID,
        KubeErrorCode.CREDENTIALS,
        KubeErrorCode.FORBIDDEN_ADDRESS,
        KubeErrorCode.SAME_CLUSTER,
        KubeErrorCode.OTHER_CLUSTER,
    }
)
"""Codes that the same request will get again until a person or the cluster changes something."""

LONGEST_SENTENCE = 4000
"""Maximum characters. Only long texts of servers reach it."""


def clean_text(text: str, limit: int = LONGEST_SENTENCE) -> str:
    """Return one line without control, bidirectional or invisible characters, cut to `limit`.

    Text from servers is shown on pages and in logs, where such characters can forge lines.
    """
    # Read little more than the limit, because a server may send a megabyte.
    plain = "".join(
        " " if unicodedata.category(character).startswith(("C", "Zl", "Zp")) else character
        for character in text[: limit * 4]
    )
    line = " ".join(plain.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


class WriteOutcome(StrEnum):
    """The known outcome of a failed write."""

    NOT_SENT = "not-sent"
    """No byte was sent, because there was no connection or no token. The object is certainly unchanged."""
    ANSWERED = "answered"
    """The server refused it with a response. The object is certainly unchanged."""
    UNKNOWN = "unknown"
    """At least its first byte may have been sent, and no response tells the outcome. Read the object to find out."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of a Status's `details.causes`: what is wrong with which field."""

    field: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ApiStatus:
    """The Kubernetes Status of a refused request. All fields are empty if the body was no Status.

    Texts are cleaned and cut, and the sent token is removed.
    """

    reason: str = ""
    """The reason of Kubernetes: `Forbidden`, `NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, …"""
    message: str = ""
    kind: str = ""
    """The resource or kind of the object. Servers write plurals here, and sometimes the kind."""
    name: str = ""
    """The name of the object. Empty in the 404 of a path that is not served."""
    causes: tuple[Cause, ...] = ()


class KubeError(Exception):
    """A failed request, chained to its cause. `code` is a KubeErrorCode."""

    def __init__(
        self,
        code: str,
        sentence: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        api_status: ApiStatus = ApiStatus(),
        audit_id: str = "",
    ) -> None:
        super().__init__(str(code), sentence)
        self.code = str(code)
        self.sentence = clean_text(sentence)
        """One sentence for people: server, path and problem. No secrets."""
        self.status = status
        """The HTTP status, if the server sent one."""
        self.retry_after = retry_after
        """Seconds that the server asked to wait, at most 60."""
        self.api_status = api_status
        self.audit_id = audit_id
        """The id of the request in the server's audit log. Empty if the response has none."""
        self.write_outcome: WriteOutcome | None = None
        """The known outcome of a write. None for requests that only read."""

    @property
    def is_object_missing(self) -> bool:
        """True for the 404 of one object of a served resource. Other 404s are paths that are not served.

        In the 404 of a create the missing object can be the namespace: see `api_status.kind`.
        """
        return (
            self.status == 404
            and self.api_status.reason == "NotFound"
            and bool(self.api_status.name)
        )

    @property
    def permanent(self) -> bool:
        """True if the same request will fail again until a person or the cluster changes something."""
        return self.code in PERMANENT

    def __str__(self) -> str:
        return self.sentence


class CredentialError(KubeError):
    """A kubeconfig, token or certificate that cannot be used. It is raised before any request is sent."""

    def __init__(self, sentence: str, *, commands: tuple[str, ...] = ()) -> None:
        super().__init__(KubeErrorCode.CREDENTIALS, sentence)
        # Unpickling an exception calls its class with these arguments.
        self.args = (sentence,)
        self.commands = commands
        """Shell commands that help. The sentence ends with them, one on each line."""
        if commands:
            self.sentence = "\n".join((self.sentence, *commands))
