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
        *all_but_last, last = (f"{known}://" for known in schemes)
        return (
            f"must begin with {', '.join(all_but_last)} or {last} (what it begins with is not "
            "shown: it may be a secret)"
        )
    if not _is_parsable(address):
        return (
            "cannot be taken apart into user, password, host, port and path (it is not shown: "
            "it may hold a password). In a user, a password or a query write @ as %40, : as %3A, / as %2F, "
            "? as %3F, # as %23, [ as %5B, ] as %5D and % as %25"
        )
    return ""


def _is_parsable(address: str) -> bool:
    """Return whether the port is a number, and each `@` precedes the host if there is one."""
    if any(character in address for character in "\t\r\n"):
        return False  # The parser would drop them silently.
    try:
        url = urlsplit(address)
        port = url.port
    except ValueError:
        return False
    after_host = address.partition("://")[2][len(url.netloc) :]
    return port != 0 and not (url.netloc and "@" in after_host)


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


def _without_password(match: re.Match[str]) -> str:
    text = match[0]
    user, host_start = _USER.search(text), text.rfind("@")
    if user is None or host_start < user.end():
        return text
    return f"{text[: user.end()]}(hidden){text[host_start:]}"


def _without_value(match: re.Match[str]) -> str:
    name = match[1].lower()
    return (
        f"{match[1]}(hidden)"
        if any(secret_name in name for secret_name in _SECRET_NAMES)
        else match[0]
    )


def hide_secrets(address: str) -> str:
    """Return an address that may be shown: without its password and its query values.

    The part before the last `@` has the user and the password, which may contain an `@` itself. If the parts
    cannot be told apart, only the scheme is shown.
    """
    scheme, separator, rest = address.partition("://")
    user_info, at_sign, place = rest.rpartition("@")
    if not separator or "?" in user_info or "#" in user_info:
        return f"{scheme}://(hidden)" if separator else "(hidden)" if address else ""
    user, colon, _ = user_info.partition(":")
    host, question, query = place.partition("?")
    names = (parameter.partition("=")[0] for parameter in query.split("&")) if question else ()
    shown_query = "&".join(f"{name}=(hidden)" for name in names)
    return f"{scheme}://{user}{colon and ':(hidden)'}{at_sign}{host}{question}{shown_query}"
