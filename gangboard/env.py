"""Typed readers of environment variables that fail loudly and remember what they read.

Every variable of gangboard goes through here, so `manage.py print_settings` can list them all.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")


class SettingError(ValueError):
    """A variable has a value that cannot be used. The text names it and what is wanted."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable as it was read. `shown` hides secrets."""

    name: str
    meaning: str
    shown: str
    is_set: bool


_read: dict[str, Variable] = {}


def variables() -> tuple[Variable, ...]:
    """Return all variables read so far, by name."""
    return tuple(_read[name] for name in sorted(_read))


def _record(name: str, meaning: str, shown: str, raw: str | None) -> None:
    _read[name] = Variable(name, meaning, shown, raw is not None)


def _convert(name: str, raw: str, convert: Callable[[str], T], wanted: str) -> T:
    try:
        return convert(raw)
    except ValueError as error:
        raise SettingError(f"{name} is {raw!r}; it must be {wanted}") from error


def read_text(name: str, default: str, meaning: str) -> str:
    """Return the text of a variable, or the default when it is not set."""
    raw = os.environ.get(name)
    value = default if raw is None else raw
    _record(name, meaning, value, raw)
    return value


def read_address(name: str, default: str, meaning: str, *, schemes: tuple[str, ...]) -> str:
    """Return an address that may hold a password: from NAME, or the file that NAME_FILE names.

    It is the default, or begins with one of `schemes`. Raises SettingError, which repeats no part of it.
    """
    raw = os.environ.get(name)
    file = os.environ.get(f"{name}_FILE")
    if raw is None and file:
        raw = _read_file(name, file)
    value = default if raw is None else raw
    if value != default:
        _check_address(name, value, schemes)
    _record(name, f"{meaning} ({name}_FILE names a file instead)", hide_secrets(value), raw)
    return value


def _check_address(name: str, address: str, schemes: tuple[str, ...]) -> None:
    """Refuse what others would take apart elsewhere: they put the pieces into their errors."""
    scheme, found, _ = address.partition("://")
    if not found or scheme.lower() not in schemes:
        *others, last = (f"{one}://" for one in schemes)
        raise SettingError(
            f"{name} must begin with {', '.join(others)} or {last} (what it begins with is not "
            "shown: it may be a secret)"
        )
    if not _can_be_taken_apart(address):
        raise SettingError(
            f"{name} cannot be taken apart into user, password, host, port and path (it is not shown: "
            "it may hold a password). In a user, a password or a query write @ as %40, : as %3A, / as %2F, "
            "? as %3F, # as %23, [ as %5B, ] as %5D and % as %25"
        )


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


_TOKEN = re.compile(r"[!-~]*")
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


def _read_file(name: str, file: str) -> str:
    """Return what a file holds. The SettingError does not repeat its name: it may be the secret itself."""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        why = str(error.strerror)
    except UnicodeDecodeError:
        why = "it is not UTF-8"
    raise SettingError(f"the file that {name}_FILE names cannot be read: {why}")


def read_bool(name: str, *, default: bool, meaning: str) -> bool:
    """Return on/off, yes/no, true/false, 1/0 as a bool."""

    def convert(raw: str) -> bool:
        word = raw.strip().lower()
        if word in {"1", "true", "yes", "on"}:
            return True
        if word in {"0", "false", "no", "off", ""}:
            return False
        raise ValueError(raw)

    raw = os.environ.get(name)
    value = default if raw is None else _convert(name, raw, convert, "on or off")
    _record(name, meaning, "on" if value else "off", raw)
    return value


def read_number(
    name: str, default: float, meaning: str, *, least: float = 0, most: float = 1e9
) -> float:
    """Return a number between `least` and `most`; the unit stands in the meaning."""
    raw = os.environ.get(name)
    value = default if raw is None else _convert(name, raw, float, "a number")
    if not least <= value <= most:
        raise SettingError(f"{name} is {value:g}; it must be from {least:g} to {most:g}")
    _record(name, meaning, f"{value:g}", raw)
    return value


def read_list(name: str, default: tuple[str, ...], meaning: str) -> tuple[str, ...]:
    """Return a comma-separated list."""
    raw = os.environ.get(name)
    value = default
    if raw is not None:
        value = tuple(part.strip() for part in raw.split(",") if part.strip())
    _record(name, meaning, ", ".join(value), raw)
    return value


def read_networks(name: str, meaning: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return a comma-separated list of networks or single addresses; none where it is not set."""

    def convert(raw: str) -> tuple[IPv4Network | IPv6Network, ...]:
        return tuple(ip_network(part.strip()) for part in raw.split(",") if part.strip())

    raw = os.environ.get(name, "")
    value = _convert(name, raw, convert, "networks such as 10.0.0.0/8, separated by commas")
    _record(name, meaning, ", ".join(map(str, value)), os.environ.get(name))
    return value


def read_secret(name: str, made_in: Path, meaning: str, make: Callable[[], str]) -> str:
    """Return a secret from NAME or the file that NAME_FILE names; else make it once, mode 0600.

    A file that is named and cannot be read is an error, never a reason to make a new secret.
    """
    raw = os.environ.get(name)
    file = os.environ.get(f"{name}_FILE")
    _record(name, f"{meaning} ({name}_FILE names a file instead)", "(hidden)", raw or file)
    if raw:
        return raw
    if file:
        return _read_file(name, file)
    return _made_once(made_in / name.lower().removeprefix("gangboard_"), make)


def read_token(name: str, meaning: str) -> str:
    """Return a token that others send, from NAME or the file that NAME_FILE names; empty where none is set.

    Raises SettingError, which does not repeat it, for characters that no header can carry.
    """
    raw = os.environ.get(name)
    file = os.environ.get(f"{name}_FILE")
    value = _read_file(name, file) if file and not raw else raw or ""
    if not _TOKEN.fullmatch(value):
        raise SettingError(
            f"{name} must be of ASCII letters, digits and signs without blanks (it is not shown)"
        )
    shown = "(hidden)" if value else ""
    _record(name, f"{meaning} ({name}_FILE names a file instead)", shown, value or None)
    return value


def keep_private(path: Path) -> None:
    """Take everybody else's rights to a file or folder of ours away, where it is there."""
    try:
        found = path.stat()
        if found.st_uid == os.geteuid() and found.st_mode & 0o077:
            path.chmod(found.st_mode & 0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SettingError(f"{path} cannot be kept from others: {error.strerror}") from error


def _made_once(path: Path, make: Callable[[], str]) -> str:
    """Read the file; when it is not there, write it so that of two processes one wins."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as draft_file:
            draft_file.write(make())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first; its secret counts
        finally:
            draft.unlink()
    keep_private(path)
    return path.read_text(encoding="utf-8").strip()
