"""What can go wrong between us and an API server, in codes for machines and sentences for people."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum


class KubeErrorCode(StrEnum):
    """What went wrong with a request."""

    UNREACHABLE = "unreachable"
    """No connection was made: the name or address leads nowhere, or nobody listens."""
    TIMEOUT = "timeout"
    """It did not end, or nothing was heard, within the deadline."""
    TLS = "tls"
    """The connection is not secure: a certificate, or no TLS at all."""
    CREDENTIALS = "credentials"
    """A kubeconfig, token or certificate cannot be used: nothing was sent."""
    UNAUTHORIZED = "unauthorized"
    """401: the server rejects the credentials."""
    FORBIDDEN = "forbidden"
    """403: who asks may not do that."""
    NOT_FOUND = "not-found"
    """404: neither the path nor the object, see `KubeError.is_object_missing`."""
    GONE = "gone"
    """410: the state that was asked for, such as a resourceVersion, is not kept any more."""
    THROTTLED = "throttled"
    """429: the server asks to slow down."""
    SERVER_ERROR = "server-error"
    """5xx, or an answer that no healthy server gives."""
    REDIRECTED = "redirected"
    """3xx: it leads elsewhere, which is not followed."""
    NOT_JSON = "not-json"
    """The answer is not one of Kubernetes."""
    TOO_LARGE = "too-large"
    """The answer is over one of our bounds."""
    BROKEN_OFF = "broken-off"
    """The answer ended in the middle."""
    BAD_REQUEST = "bad-request"
    """Another 4xx."""
    ALREADY_EXISTS = "already-exists"
    """409 to a create: there is an object of that name."""
    CONFLICT = "conflict"
    """409: the object is another than the request says."""
    INVALID = "invalid"
    """422: the server does not accept what was sent."""
    FORBIDDEN_ADDRESS = "forbidden-address"
    """A person gave an address to which this installation does not connect: nothing was sent."""
    SAME_CLUSTER = "same-cluster"
    """Another name of gangboard's is this cluster already: its `kube-system` has the same uid."""
    OTHER_CLUSTER = "other-cluster"
    """Another cluster answers now than the one that was added: its `kube-system` has another uid."""


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
"""Codes that the same request will meet again until a person or the cluster changes something."""

LONGEST_SENTENCE = 4000
"""Characters. Longer only when a server made it so."""


def clean_text(text: str, limit: int = LONGEST_SENTENCE) -> str:
    """Return one line without control, bidirectional or invisible characters, cut to `limit`.

    What servers write ends up on pages and in logs, where such characters forge lines.
    """
    # Look at little more than what can be kept: a server may send a megabyte.
    plain = "".join(
        " " if unicodedata.category(character).startswith(("C", "Zl", "Zp")) else character
        for character in text[: limit * 4]
    )
    line = " ".join(plain.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


class WriteOutcome(StrEnum):
    """How far a write that failed has come."""

    NOT_SENT = "not-sent"
    """Nothing of it left: there was no connection, or no token. It has certainly changed nothing."""
    ANSWERED = "answered"
    """The server refused it and said so. It has certainly changed nothing."""
    UNKNOWN = "unknown"
    """At least its first byte may have left, and no answer tells what became of it: read and see."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of a Status's `details.causes`: what is wrong with which field."""

    field: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ApiStatus:
    """What the Kubernetes Status of a refusal says; all empty when something else was sent.

    Texts are cleaned and cut, and a token that we sent is not in them.
    """

    reason: str = ""
    """In Kubernetes' words: `Forbidden`, `NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, …"""
    message: str = ""
    kind: str = ""
    """The resource or kind that it is about. Servers write plurals here, and sometimes the kind."""
    name: str = ""
    """The object that it is about. Empty in the 404 of a path that is not served at all."""
    causes: tuple[Cause, ...] = ()


class KubeError(Exception):
    """A request that did not do what was asked. Chained to what caused it. `code` is a KubeErrorCode."""

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
        """One sentence for a person: which server and path, and what was seen. No secrets."""
        self.status = status
        """The HTTP status, where the server gave one."""
        self.retry_after = retry_after
        """Seconds that the server asked to wait, at most 60."""
        self.api_status = api_status
        self.audit_id = audit_id
        """Under which id the server's audit log has the request, where it said so."""
        self.write_outcome: WriteOutcome | None = None
        """How far a write has come; None for requests that only read."""

    @property
    def is_object_missing(self) -> bool:
        """A 404 for one object of a resource that is served; other 404s are paths not served.

        In the 404 of a create the missing object can be the namespace: see `said.kind`.
        """
        return (
            self.status == 404
            and self.api_status.reason == "NotFound"
            and bool(self.api_status.name)
        )

    @property
    def permanent(self) -> bool:
        """The same request will fail again until somebody changes something."""
        return self.code in PERMANENT

    def __str__(self) -> str:
        return self.sentence


class CredentialError(KubeError):
    """A kubeconfig, token or certificate that cannot be used, found before any request is sent."""

    def __init__(self, sentence: str, *, commands: tuple[str, ...] = ()) -> None:
        super().__init__(KubeErrorCode.CREDENTIALS, sentence)
        # A pickled exception is made again from its arguments.
        self.args = (sentence,)
        self.commands = commands
        """Shell commands that help, one a line at the end of the sentence."""
        if commands:
            self.sentence = "\n".join((self.sentence, *commands))
