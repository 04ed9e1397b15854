"""Addresses that hold a password: whether they can be taken apart, and how they may be shown."""

from __future__ import annotations

import re
from urllib.parse import urlsplit


def address_problem(address: str, schemes: tuple[str, ...]) -> str:
    """Return why an address cannot be used, as the end of a sentence; empty if it can.

    It begins with one of `schemes`. Libraries repeat pieces of an address that they cannot parse, so
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
    """Whether the port is a number, and every @ stands before the host where there is one."""
    if any(one in address for one in "\t\r\n"):
        return False  # they would be dropped in silence
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
"""A name of a query, and its value as it stands in JSON and quotes too."""
_SECRET_NAMES = ("password", "passwd", "secret", "token", "api_key", "apikey")


def hide_passwords(text: str) -> str:
    """Return a text without the passwords of the addresses in it: of users, and in query strings.

    What has no blank and ends with an `@` may all be one password; rather too much is hidden.
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
    """Return an address as it may be shown: without password, and without the values of its query.

    What stands before the last `@` names the person and the password, which may have an `@` of its own.
    Where it cannot be told which part is which, nothing but the scheme is shown.
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
