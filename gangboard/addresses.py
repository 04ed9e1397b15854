"""Addresses that contain a password: whether they can be parsed, and how they may be shown."""

from __future__ import annotations

import re
from urllib.parse import urlsplit


def address_problem(address: str, schemes: tuple[str, ...]) -> str:
    """Return why an address cannot be used, as the end of a sentence; empty if it can.

    It must begin with one of `schemes`. Libraries quote parts of an address that they cannot parse, so
    gangboard refuses it first. The text repeats no part of the address.
    """
    scheme, separator, _ = address.partition("://")
    if not separator or scheme.lower() not in schemes:
        *others, last = (f"{known}://" for known in schemes)
        return (
            f"must begin with {', '.join(others)} or {last} (what it begins with is not "
            "shown: it may be a secret)"
        )
    if not _can_be_taken_apart(address):
        return (
            "cannot be taken apart into user, password, host, port and path (it is not shown: "
            "it may hold a password). In a user, a password or a query write @ as %40, : as %3A, / as %2F, "
            "? as %3F, # as %23, [ as %5B, ] as %5D and % as %25"
        )
    return ""


def _can_be_taken_apart(address: str) -> bool:
    """Return whether the port is a number, and each `@` precedes the host if there is one."""
    if any(one in address for one in "\t\r\n"):
        return False  # The parser would drop them silently.
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return False
    after_host = address.partition("://")[2][len(parts.netloc) :]
    return port != 0 and not (parts.netloc and "@" in after_host)


_WORD = re.compile(r"\S+")
_USER = re.compile(r"://[^\s/?#@:]*:")
_VALUE = re.compile(r"""([?&][\w.-]+=)(?:\\.|[^\s&#"'\\])+""")
"""A parameter name and its value in a query string, also inside JSON and quotes."""
_SECRET_NAMES = ("password", "passwd", "secret", "token", "api_key", "apikey")


def hide_passwords(text: str) -> str:
    """Return a text without the passwords of its addresses, neither of users nor in query strings.

    A text without blanks before an `@` may be a password as a whole, so all of it is hidden.
    """
    return _VALUE.sub(_without_value, _WORD.sub(_without_password, text))


def _without_password(found: re.Match[str]) -> str:
    word = found[0]
    user, end = _USER.search(word), word.rfind("@")
    if user is None or end < user.end():
        return word
    return f"{word[: user.end()]}(hidden){word[end:]}"


def _without_value(found: re.Match[str]) -> str:
    name = found[1].lower()
    return f"{found[1]}(hidden)" if any(word in name for word in _SECRET_NAMES) else found[0]


def hide_secrets(address: str) -> str:
    """Return an address that may be shown: without its password and its query values.

    The part before the last `@` has the user and the password, which may contain an `@` itself. If the parts
    cannot be told apart, only the scheme is shown.
    """
    scheme, found, rest = address.partition("://")
    before, at, place = rest.rpartition("@")
    if not found or "?" in before or "#" in before:
        return f"{scheme}://(hidden)" if found else "(hidden)" if address else ""
    user, colon, _ = before.partition(":")
    host, question, query = place.partition("?")
    names = (part.partition("=")[0] for part in query.split("&")) if question else ()
    shown = "&".join(f"{name}=(hidden)" for name in names)
    return f"{scheme}://{user}{colon and ':(hidden)'}{at}{host}{question}{shown}"
