"""What can go wrong between us and an API server, in codes for machines and sentences for people."""

from __future__ import annotations

import unicodedata

PERMANENT = frozenset(
    {
        "tls",
        "unauthorized",
        "forbidden",
        "not-found",
        "redirected",
        "not-json",
        "too-large",
        "bad-request",
        "credentials",
    }
)
"""Codes that the same request will meet again until a person or the cluster changes something."""

LONGEST_SENTENCE = 4000
"""Characters. Longer only when a server made it so."""


def clean_text(text: str, limit: int = LONGEST_SENTENCE) -> str:
    """One line without control, bidirectional or invisible characters, cut to `limit` characters.

    What servers write ends up on pages and in logs, where such characters forge lines.
    """
    # Look at little more than what can be kept: a server may send a megabyte.
    plain = "".join(
        " " if unicodedata.category(character).startswith(("C", "Zl", "Zp")) else character
        for character in text[: limit * 4]
    )
    line = " ".join(plain.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


class KubeError(Exception):
    """A request that did not do what was asked. Chained to what caused it.

    Codes: unreachable, timeout, tls, unauthorized, forbidden, not-found, gone, throttled,
    server-error, redirected, not-json, too-large, broken-off, bad-request, credentials.
    """

    def __init__(
        self,
        code: str,
        sentence: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = clean_text(sentence)
        """One sentence for a person: which server and path, and what was seen. No secrets."""
        self.status = status
        """The HTTP status, where the server gave one."""
        self.retry_after = retry_after
        """Seconds that the server asked to wait, at most 60."""

    @property
    def permanent(self) -> bool:
        """The same request will fail again until somebody changes something."""
        return self.code in PERMANENT

    def __str__(self) -> str:
        return self.sentence


class CredentialError(KubeError):
    """A kubeconfig, token or certificate that cannot be used, found before any request is sent."""

    def __init__(self, sentence: str, *, commands: tuple[str, ...] = ()) -> None:
        super().__init__("credentials", sentence)
        # A pickled exception is made again from its arguments.
        self.args = (sentence,)
        self.commands = commands
        """Shell commands that help, one a line at the end of the sentence."""
        if commands:
            self.sentence = "\n".join((self.sentence, *commands))
