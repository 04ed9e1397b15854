"""Where the server is, and the token: arguments, environment, and files below ~/.config/gangboard."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gangboard_client.errors import UsageError
from gangboard_client.transport import is_loopback

SERVER_VARIABLE = "GANGBOARD_SERVER"
TOKEN_VARIABLE = "GANGBOARD_TOKEN"  # noqa: S105  # a name
KEYRING_SERVICE = "gangboard"
_KNOWN = {"server": str, "ca_file": str, "token_file": str, "allow_http": bool, "keyring": bool}
_TOKEN = re.compile(r"[\x21-\x7e]+")
_API = re.compile(r"/api/v1/?$")


@dataclass(frozen=True)
class Settings:
    """What the client is told beside the command."""

    folder: Path
    server: str = ""
    ca_file: str = ""
    token_file: str = ""
    allow_http: bool = False
    keyring: bool = False

    @property
    def path(self) -> Path:
        """The file with these settings."""
        return self.folder / "client.toml"

    def stored_token(self) -> Path:
        """Return the file in which `login` keeps the token of this server, and of no other."""
        return self.folder / "tokens" / re.sub(r"[^A-Za-z0-9.-]+", "_", self.server)


def config_folder() -> Path:
    """Return the folder of the client's files."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "gangboard"


def read_settings(
    *, server: str = "", ca_file: str = "", token_file: str = "", allow_http: bool = False
) -> Settings:
    """Return the settings: arguments before the environment before the file. Raises UsageError."""
    folder = config_folder()
    told = _read_file(folder / "client.toml")
    named = server or os.environ.get(SERVER_VARIABLE, "") or str(told.get("server", ""))
    allowed = allow_http or bool(told.get("allow_http", False))
    return Settings(
        folder=folder,
        server=read_address(named, allow_http=allowed),
        ca_file=ca_file or str(told.get("ca_file", "")),
        token_file=token_file,
        allow_http=allowed,
        keyring=bool(told.get("keyring", False)),
    )


def _read_file(path: Path) -> dict[str, object]:
    try:
        told = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    for name, value in told.items():
        if name not in _KNOWN:
            raise UsageError(f"{path} has “{name}”; the settings are {', '.join(_KNOWN)}.")
        if not isinstance(value, _KNOWN[name]):
            raise UsageError(f"“{name}” in {path} is not a {_KNOWN[name].__name__}.")
    return told


def read_address(text: str, *, allow_http: bool) -> str:
    """Return the address of a server without a slash at its end. Raises UsageError."""
    if not text:
        raise UsageError(f"Name the server with --server, {SERVER_VARIABLE} or `gangboard login`.")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"The address of the server is not valid: {error}.") from error
    if parts.username is not None or parts.password is not None:
        raise UsageError("The address of the server has a user name: a token is the only way in.")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"{text!r} is not an address such as https://gangboard.example.com.")
    if parts.scheme == "http" and not allow_http and not is_loopback(text):
        raise UsageError(
            "http:// would send the token in plain text: use https://, or --allow-http if nobody can listen."
        )
    return f"{parts.scheme}://{parts.netloc}{_API.sub('', parts.path)}".rstrip("/")


def read_token(settings: Settings) -> str:
    """Return the token for the server. Raises UsageError, never with the token in it."""
    if settings.token_file:
        return checked_token(_text_of(Path(settings.token_file)), settings.token_file)
    if token := os.environ.get(TOKEN_VARIABLE, ""):
        return checked_token(token, TOKEN_VARIABLE)
    told = str(_read_file(settings.path).get("token_file", ""))
    if told:
        return checked_token(_text_of(Path(told).expanduser()), told)
    stored = settings.stored_token()
    if stored.exists():
        if stat.S_IMODE(stored.stat().st_mode) & 0o077:
            raise UsageError(f"Others may read {stored}: chmod 600 {stored}")
        return checked_token(_text_of(stored), str(stored))
    if settings.keyring and (token := _keyring().get_password(KEYRING_SERVICE, settings.server)):
        return checked_token(token, "the keyring")
    raise UsageError(
        f"There is no token for {settings.server}: run `gangboard login`, or give --token-file or {TOKEN_VARIABLE}."
    )


def checked_token(token: str, source: str) -> str:
    """Return a token without the space around it. Raises UsageError if it cannot be one."""
    token = token.strip()
    if _TOKEN.fullmatch(token) is None:
        raise UsageError(f"{source} holds no token: it looks like gb_<id>_<secret>.")
    return token


def _text_of(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"The token file {path} cannot be read: {reason}.") from error


def store_token(settings: Settings, token: str, *, in_keyring: bool) -> str:
    """Keep a token for its server, and the server as the usual one; return where the token is."""
    told = _read_file(settings.path)
    if settings.keyring and not in_keyring:
        with suppress(UsageError):  # a keyring that cannot be opened now keeps its token
            _keyring().delete_password(KEYRING_SERVICE, settings.server)
    told |= {"server": settings.server, "keyring": in_keyring}
    if settings.ca_file:
        told["ca_file"] = str(Path(settings.ca_file).resolve())
    if settings.allow_http:
        told["allow_http"] = True
    if in_keyring:
        _keyring().set_password(KEYRING_SERVICE, settings.server, token)
        settings.stored_token().unlink(missing_ok=True)
        place = "the keyring"
    else:
        _write_private(settings.stored_token(), token)
        place = str(settings.stored_token())
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in told.items())
    _write_private(settings.path, "".join(lines))
    return place


def _write_private(path: Path, text: str) -> None:
    """Replace a file that only its owner may read. Raises UsageError."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        new.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error


class _Keyring:
    """The keyring of the system, whose errors are sentences."""

    def __init__(self) -> None:
        try:
            import keyring
            from keyring.errors import KeyringError
        except ImportError as error:
            sentence = "The keyring needs a package: pipx install 'gangboard-client[keyring]' or keep a file."
            raise UsageError(sentence) from error
        self._keyring, self._error = keyring, KeyringError

    def get_password(self, service: str, name: str) -> str:
        try:
            return self._keyring.get_password(service, name) or ""
        except self._error as error:
            raise UsageError(f"The keyring cannot be read: {error}.") from error

    def set_password(self, service: str, name: str, password: str) -> None:
        try:
            self._keyring.set_password(service, name, password)
        except self._error as error:
            raise UsageError(f"The keyring cannot be written: {error}.") from error

    def delete_password(self, service: str, name: str) -> None:
        try:
            self._keyring.delete_password(service, name)
        except self._error as error:
            raise UsageError(f"The keyring cannot be written: {error}.") from error


def _keyring() -> _Keyring:
    return _Keyring()
