"""Typed readers of environment variables. They reject invalid values and remember each variable.

Every variable of gangboard is read here, so that `manage.py print_settings` can list them all. An empty
variable counts as not set, because compose files pass empty values for names that `.env` leaves out.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from gangboard.addresses import address_problem, hide_secrets
from gangboard.prometheus_sources import PrometheusSource, read_sources

T = TypeVar("T")


class SettingError(ValueError):
    """A variable has an unusable value. The text names it and the expected value."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable that was read. `shown` hides secrets."""

    name: str
    meaning: str
    shown: str
    is_set: bool


_read: dict[str, Variable] = {}
_files: dict[str, Path | None] = {}
"""Secret files that were read, by variable NAME, for each variable that NAME_FILE can replace."""


def variables() -> tuple[Variable, ...]:
    """Return all variables read so far, by name."""
    return tuple(_read[name] for name in sorted(_read))


def secret_files() -> tuple[Path, ...]:
    """Return the secret files that NAME_FILE variables name."""
    return tuple(file for file in _files.values() if file is not None)


_PREFIX = "GANGBOARD_"
_SERVICE_VARIABLE = re.compile(r"_SERVICE_(HOST|PORT)|_PORT_\d+_(TCP|UDP|SCTP)|_PORT\Z")
"""Variables that Kubernetes sets in each pod for a Service whose name begins with `gangboard`."""


def unknown_variable_warnings() -> tuple[str, ...]:
    """Return a sentence for each variable that begins with GANGBOARD_ and is not a setting."""
    known = {name.removeprefix(_PREFIX) for name in (*_read, *(f"{name}_FILE" for name in _files))}
    sentences = []
    for name in sorted(name for name in os.environ if name.startswith(_PREFIX)):
        rest = name.removeprefix(_PREFIX)
        if rest in known or _SERVICE_VARIABLE.search(name):
            continue
        nearest = difflib.get_close_matches(rest, sorted(known), n=1)
        hint = f"did you mean {_PREFIX}{nearest[0]}?" if nearest else "see manage.py print_settings"
        sentences.append(f"{name} is no setting of gangboard: {hint}")
    return tuple(sentences)


def record(name: str, meaning: str, shown: str, raw: str | None) -> None:
    """Remember a variable for `variables`. `raw` is None if it is not set."""
    _read[name] = Variable(name, meaning, shown, raw is not None)


def _raw(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def _convert(name: str, raw: str, convert: Callable[[str], T], wanted: str) -> T:
    try:
        return convert(raw)
    except ValueError as error:
        raise SettingError(f"{name} is {raw!r}; it must be {wanted}") from error


def read_folder(name: str, default: Path, meaning: str) -> Path:
    """Return a folder of gangboard, which need not exist yet. Permissions of other users are removed."""
    raw = _raw(name)
    path = default if raw is None else Path(raw)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFDIR
    except OSError as error:
        raise SettingError(
            f"{name} is {str(path)!r}, which cannot be used: {error.strerror}"
        ) from error
    if not stat.S_ISDIR(mode):
        raise SettingError(f"{name} is {str(path)!r}; it must be a folder")
    if mode & stat.S_ISVTX or path.resolve() == Path(path.anchor or "/"):
        raise SettingError(
            f"{name} is {str(path)!r}, which others use; it must be a folder of its own"
        )
    restrict_to_owner(path)
    record(name, meaning, str(path), raw)
    return path


def read_url(name: str, meaning: str) -> str:
    """Return the URL of the pages without a trailing slash; empty if not set."""
    raw = _raw(name)
    if raw is not None and not _URL.fullmatch(raw):
        raise SettingError(
            f"{name} is {raw!r}; it must be an address such as https://gangs.example.com"
        )
    value = (raw or "").rstrip("/")
    record(name, meaning, value, raw)
    return value


_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)"
_URL = re.compile(rf"https?://{_HOST}(:\d{{1,5}})?(/[^\s?#]*)?")
HOSTS = re.compile(rf"\*|\.?{_HOST}")
"""A host name as in Django's ALLOWED_HOSTS, without scheme and port."""
ORIGINS = re.compile(rf"https?://(\*\.)?{_HOST}(:\d{{1,5}})?")
"""An origin as browsers send it, without a path or a trailing slash."""


def read_choice(name: str, default: str, meaning: str, choices: tuple[str, ...]) -> str:
    """Return one of `choices`, which are upper case. The variable may be lower case."""
    raw = _raw(name)
    value = default if raw is None else raw.upper()
    if value not in choices:
        raise SettingError(
            f"{name} is {raw!r}; it must be {', '.join(choices[:-1])} or {choices[-1]}"
        )
    record(name, meaning, value, raw)
    return value


def read_address(name: str, default: str, meaning: str, *, schemes: tuple[str, ...]) -> str:
    """Return an address that may contain a password, from NAME or from the file that NAME_FILE names.

    It is the default, or begins with one of `schemes`. Raises SettingError, which repeats no part of it.
    """
    raw = os.environ.get(name)
    if raw is None:
        raw = text_of_file(name)
    value = default if raw is None else raw
    if value != default and (problem := address_problem(value, schemes)):
        raise SettingError(f"{name} {problem}")
    record(name, f"{meaning} ({name}_FILE names a file instead)", hide_secrets(value), raw)
    return value


def text_of_file(name: str) -> str | None:
    """Return the text of the file that NAME_FILE names; None if it is not set.

    The SettingError does not repeat the file's name, which may be the secret itself.
    """
    file_name = _raw(f"{name}_FILE")
    _files[name] = None if file_name is None else Path(file_name)
    if file_name is None:
        return None
    try:
        return Path(file_name).read_text(encoding="utf-8").strip()
    except OSError as error:
        reason = str(error.strerror)
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    raise SettingError(f"the file that {name}_FILE names cannot be read: {reason}")


def read_bool(name: str, *, default: bool, meaning: str) -> bool:
    """Return on/off, yes/no, true/false or 1/0 as a bool."""

    def convert(raw: str) -> bool:
        text = raw.lower()
        if text in {"1", "true", "yes", "on"}:
            return True
        if text in {"0", "false", "no", "off"}:
            return False
        raise ValueError(raw)

    raw = _raw(name)
    value = default if raw is None else _convert(name, raw, convert, "on or off")
    record(name, meaning, "on" if value else "off", raw)
    return value


def read_number(
    name: str, default: float, meaning: str, *, least: float = 0, most: float = 1e9
) -> float:
    """Return a number between `least` and `most`. The meaning names its unit."""
    raw = _raw(name)
    value = default if raw is None else _convert(name, raw, float, "a number")
    _check_range(name, value, least, most)
    record(name, meaning, f"{value:g}", raw)
    return value


def read_count(name: str, default: int, meaning: str, *, least: int, most: int) -> int:
    """Return a whole number between `least` and `most`."""
    raw = _raw(name)
    value = default if raw is None else _convert(name, raw, int, "a whole number")
    _check_range(name, value, least, most)
    record(name, meaning, str(value), raw)
    return value


def _check_range(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise SettingError(f"{name} is {value:g}; it must be from {least:g} to {most:g}")


def read_list(
    name: str, default: tuple[str, ...], meaning: str, *, form: re.Pattern[str], wanted: str
) -> tuple[str, ...]:
    """Return a comma-separated list of texts of one form, in lower case."""
    raw = _raw(name)
    value = default
    if raw is not None:
        value = tuple(item.strip().lower() for item in raw.split(",") if item.strip())
    for item in value:
        if not form.fullmatch(item):
            raise SettingError(f"{name} has {item!r}; it must be {wanted}, separated by commas")
    record(name, meaning, ", ".join(value), raw)
    return value


def read_networks(name: str, meaning: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return a comma-separated list of networks or single addresses; empty if not set."""

    def convert(raw: str) -> tuple[IPv4Network | IPv6Network, ...]:
        return tuple(ip_network(item.strip()) for item in raw.split(",") if item.strip())

    raw = _raw(name)
    value = _convert(name, raw or "", convert, "networks such as 10.0.0.0/8, separated by commas")
    record(name, meaning, ", ".join(map(str, value)), raw)
    return value


def read_token(name: str, meaning: str) -> str:
    """Return a secret for the network, from NAME or from the file that NAME_FILE names; empty if not set.

    Raises SettingError, which does not repeat it, for characters that are invalid in a header.
    """
    value = os.environ.get(name, "") or text_of_file(name) or ""
    if not _TOKEN.fullmatch(value):
        raise SettingError(
            f"{name} must be of ASCII letters, digits and signs without blanks (it is not shown)"
        )
    shown_value = "(hidden)" if value else ""
    record(name, f"{meaning} ({name}_FILE names a file instead)", shown_value, value or None)
    return value


_TOKEN = re.compile(r"[!-~]*")


def read_text(name: str, default: str, meaning: str, *, form: re.Pattern[str], wanted: str) -> str:
    """Return a text of one form."""
    raw = _raw(name)
    value = default if raw is None else raw
    if value and not form.fullmatch(value):
        raise SettingError(f"{name} is {value!r}; it must be {wanted}")
    record(name, meaning, value, raw)
    return value


LINE = re.compile(r"[^\x00-\x1f\x7f]{1,400}")
"""Any text on one line."""
CLAIM = re.compile(r"[!-~]{1,200}")
"""Name of a claim of an identity provider."""
SCOPES = re.compile(r"[!-~]+([ ,]+[!-~]+)*")
"""Names separated by blanks or commas."""
LABEL_KEY = re.compile(
    r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
)
"""Key of a Kubernetes label or annotation."""
LABEL_KEYS = re.compile(rf"{LABEL_KEY.pattern}(,\s*{LABEL_KEY.pattern})*")
HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,99}")
"""Name of an HTTP header. An underscore would make it ambiguous."""


def read_prometheus(name: str, meaning: str) -> dict[str, PrometheusSource]:
    """Return the Prometheus source of each cluster; empty if not set. An invalid value is not repeated."""
    raw = _raw(name)
    try:
        value = {} if raw is None else read_sources(raw)
    except ValueError as error:
        raise SettingError(f"{name} must be {error}") from error
    record(name, meaning, raw or "", raw)
    return value


def read_issuer(name: str, meaning: str) -> str:
    """Return the address of an identity provider: https, or on this machine; empty if not set."""
    raw = _raw(name)
    value = raw or ""
    host = urlsplit(value).hostname or ""
    is_safe = value.startswith("https://") or host in {"localhost", "127.0.0.1", "::1"}
    if value and not (_URL.fullmatch(value) and is_safe):
        raise SettingError(
            f"{name} is {value!r}; it must be an address such as https://id.example.com/realms/main"
        )
    record(name, meaning, value, raw)
    return value


def read_words(
    name: str, default: tuple[str, ...], meaning: str, words: tuple[str, ...]
) -> tuple[str, ...]:
    """Return some of `words`, separated by commas; `none` selects none of them."""
    raw = _raw(name)
    value = default
    if raw is not None:
        items = {item.strip().lower() for item in raw.split(",") if item.strip()}
        selected = set() if items == {"none"} else items
        if unknown := selected - set(words):
            raise SettingError(
                f"{name} has {min(unknown)!r}; it must be {', '.join(words)}, several separated by "
                "commas, or none"
            )
        value = tuple(choice for choice in words if choice in selected)
    record(name, meaning, ", ".join(value) or "none", raw)
    return value


def restrict_to_owner(path: Path) -> None:
    """Remove the permissions of other users to a file or folder, if it exists."""
    try:
        status = path.stat()
        if status.st_uid == os.geteuid() and status.st_mode & 0o077:
            path.chmod(status.st_mode & 0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SettingError(f"{path} cannot be kept from others: {error.strerror}") from error
